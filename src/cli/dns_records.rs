//! The DNS records of a domain as text: blocks to copy, and lines of a zone file. Pure.

use std::fmt::Write as _;

use crate::base::printable::printable;
use crate::dns::{self, DnsMatch};
use crate::domains::api::response::{DomainResponse, DomainWithRecordsResponse, RecordResponse};

/// TTL of the records in a zone file, in seconds. Any TTL works.
const TTL_S: u32 = 3_600;
/// Characters of the problem of a record.
const DETAIL_CHARS_MAX: usize = 400;
/// Maximum length of a character string (RFC 1035 §3.3). A longer text consists of several.
const STRING_BYTES_MAX: usize = 255;

/// Formats a domain and its records as blocks. Each field is on its own line, with the complete name and value. The
/// results of lookups are shown if the domain has been checked.
pub(super) fn blocks(domain: &DomainWithRecordsResponse, is_checked: bool) -> String {
    let DomainWithRecordsResponse { domain, records, recommended_records } = domain;
    let DomainResponse { id, name, status, .. } = domain;
    let mut text = format!("{name}  {status}  {id}");
    for record in records {
        add_block(&mut text, name, record, "", is_checked);
    }
    for record in recommended_records {
        add_block(&mut text, name, record, ", recommended", is_checked);
    }
    text
}

fn add_block(text: &mut String, domain: &str, record: &RecordResponse, kind: &str, is_checked: bool) {
    let RecordResponse { record: purpose, dns_type, status, value, priority, live, detail, .. } = record;
    let live = if is_checked { format!(", {live} in the DNS") } else { String::new() };
    text.push('\n');
    let mut field = |name: &str, value: &str| {
        // A write to a string does not fail.
        let _ = write!(text, "\n{name:<8}  {value}");
    };
    field("Record", &format!("{purpose}{kind}: {status}{live}"));
    field("Name", &full_name(domain, record));
    field("Type", dns_type);
    if let Some(priority) = priority {
        field("Priority", &priority.to_string());
    }
    field("Value", value);
    if let Some(detail) = detail
        && is_checked
    {
        // Other servers write parts of it.
        field("Problem", &printable(detail, DETAIL_CHARS_MAX));
    }
}

/// Formats the records of a domain as lines of a zone file (RFC 1035 §5). The recommended DMARC record is a comment
/// unless the last check found that no such record exists: it would replace a stricter policy.
pub(super) fn zone(domain: &DomainWithRecordsResponse) -> String {
    let DomainWithRecordsResponse { domain, records, recommended_records } = domain;
    let mut text = format!("; Records of {} for Ringmail.\n$TTL {TTL_S}", domain.name);
    for record in records {
        add_line(&mut text, "", &domain.name, record);
    }
    for record in recommended_records {
        match &record.live {
            live if live == DnsMatch::Missing.as_str() => add_line(&mut text, "", &domain.name, record),
            live if live == DnsMatch::Found.as_str() => {}
            _ => {
                text.push_str("\n; Recommended, unless the domain has such a record:");
                add_line(&mut text, "; ", &domain.name, record);
            }
        }
    }
    text
}

fn add_line(text: &mut String, start: &str, domain: &str, record: &RecordResponse) {
    let data = match (record.dns_type.as_str(), record.priority) {
        ("TXT", _) => strings(&record.value),
        (_, Some(priority)) => format!("{priority} {}", absolute(&record.value)),
        (_, None) => absolute(&record.value),
    };
    let name = absolute(&full_name(domain, record));
    // A write to a string does not fail.
    let _ = write!(text, "\n{start}{name} IN {} {data}", record.dns_type);
}

/// Returns the complete name of a record. Its name in the API is relative to the registrable domain.
fn full_name(domain: &str, record: &RecordResponse) -> String {
    format!("{}.{}", record.name, dns::registrable(domain))
}

fn absolute(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}

/// Returns a text as quoted character strings.
fn strings(text: &str) -> String {
    let quoted = text.as_bytes().chunks(STRING_BYTES_MAX).map(|chunk| {
        let escaped: String = chunk.iter().map(|byte| escape(*byte)).collect();
        format!("\"{escaped}\"")
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Escapes a byte of a quoted string (RFC 1035 §5.1).
fn escape(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\{other:03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::DomainId;

    #[test]
    fn a_long_text_is_split_and_special_bytes_are_escaped() {
        for (text, quoted) in [
            (String::new(), String::new()),
            ("v=spf1 ~all".into(), "\"v=spf1 ~all\"".to_owned()),
            ("a\"b\\c".into(), "\"a\\\"b\\\\c\"".into()),
            ("ü\n".into(), "\"\\195\\188\\010\"".into()),
            ("x".repeat(255), format!("\"{}\"", "x".repeat(255))),
            ("x".repeat(511), format!("\"{0}\" \"{0}\" \"x\"", "x".repeat(255))),
        ] {
            assert_eq!(strings(&text), quoted, "{text:?}");
        }
    }

    /// Returns a domain whose DMARC record has this result of the last check.
    fn domain(live: &str) -> DomainWithRecordsResponse {
        let record = serde_json::json!({
            "record": "DMARC", "name": "_dmarc", "type": "TXT", "ttl": "Auto", "status": "pending",
            "value": "v=DMARC1; p=none;", "live": live, "detail": "Published: \u{1b}[2J",
        });
        let domain = serde_json::json!({
            "object": "domain", "id": DomainId::MIN, "name": "shop.example", "status": "pending",
            "created_at": "2026-01-05T09:00:00.000Z", "region": "us-east-1", "open_tracking": false,
            "click_tracking": false, "tracking_subdomain": null,
            "capabilities": { "sending": "enabled", "receiving": "disabled" },
            "records": [], "recommended_records": [record],
        });
        serde_json::from_value(domain).unwrap()
    }

    #[test]
    fn a_zone_has_a_dmarc_record_only_if_the_last_check_found_none() {
        let line = "_dmarc.shop.example. IN TXT \"v=DMARC1; p=none;\"";
        for (live, expected) in [
            ("missing", Some(line.to_owned())),
            ("found", None),
            ("mismatch", Some(format!("; {line}"))),
            ("unknown", Some(format!("; {line}"))),
        ] {
            let zone = zone(&domain(live));
            assert_eq!(zone.lines().find(|text| text.contains("_dmarc")), expected.as_deref(), "{live}");
        }
    }

    #[test]
    fn a_problem_cannot_control_the_terminal() {
        let blocks = blocks(&domain("mismatch"), true);
        assert!(blocks.contains("Problem   Published:  [2J"), "{blocks}");
    }
}
