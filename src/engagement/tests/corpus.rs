//! The corpus of requests `tests/fixtures/engagement.csv`: each row has the verdict that it must get.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::classify::{HitFacts, verdict_within};
use crate::engagement::PREFETCH_WINDOW;
use crate::engagement::classify::Elapsed;
use crate::engagement::rules::{MachineReason, MachineRules};

/// Returns the fields of each record of a CSV file (RFC 4180 §2).
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                fields.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut fields));
            }
            '\r' if !is_quoted => {}
            other => field.push(other),
        }
    }
    if !field.is_empty() || !fields.is_empty() {
        fields.push(field);
        records.push(fields);
    }
    records
}

#[test]
fn every_request_of_the_corpus_has_a_source_and_gets_its_verdict() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/engagement.csv");
    let text = fs::read_to_string(&path).unwrap();
    let records = records(&text);
    let (head, rows) = records.split_first().unwrap();
    let column = |name: &str| head.iter().position(|column| column == name).unwrap();
    let mut report = String::new();
    for row in rows.iter().filter(|row| row.iter().any(|field| !field.is_empty())) {
        let field = |name: &str| row[column(name)].as_str();
        let elapsed = match field("seconds_since_delivery") {
            "" => Elapsed::Unknown,
            seconds => Elapsed::SinceDelivery((seconds.parse::<f64>().unwrap() * 1_000.0) as i64),
        };
        let expected = field("reason");
        let facts = HitFacts {
            user_agent: field("user_agent"),
            address: field("ip").parse().ok(),
            is_prefetch: field("prefetch") == "1",
            is_link: field("target") == "link",
            elapsed,
            is_burst: match field("ms_to_other_link") {
                "" => false,
                apart_ms => MachineRules::embedded().is_burst(apart_ms.parse().unwrap()),
            },
        };
        let verdict = verdict_within(facts, *PREFETCH_WINDOW).map(MachineReason::as_str);
        let is_consistent = (field("verdict") == "person") == expected.is_empty();
        // A row that was made for the corpus has the source `constructed`.
        if field("source").trim().is_empty() {
            let _ = writeln!(report, "  {}: no source", field("id"));
        }
        if verdict.unwrap_or_default() != expected || !is_consistent {
            let _ = writeln!(report, "  {}: {verdict:?}, expected {expected:?}: {}", field("id"), field("user_agent"));
        }
    }
    assert!(rows.len() >= 300, "{} rows", rows.len());
    for reason in MachineReason::ALL {
        assert!(rows.iter().any(|row| row[column("reason")] == reason.as_str()), "no row for {reason:?}");
    }
    assert!(report.is_empty(), "wrong verdicts and rows without a source\n{report}");
}

#[test]
fn quotes_and_line_breaks_are_read() {
    let expected = [vec!["a", "b, \"c\"\nd"], vec!["", "e"]];
    assert_eq!(records("a,\"b, \"\"c\"\"\nd\"\r\n,e"), expected);
}
