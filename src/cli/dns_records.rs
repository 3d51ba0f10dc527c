//! The DNS records of a domain as text: blocks to copy, and lines of a zone file. Pure.

use std::fmt::Write as _;

use crate::dns;
use crate::domains::RecordStatus;
use crate::domains::api::response::{DomainResponse, DomainWithRecordsResponse, RecordResponse};

/// TTL of the records in a zone file, in seconds. Any TTL works.
const TTL_S: u32 = 3_600;
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
        field("Problem", detail);
    }
}

/// Formats the records of a domain as lines of a zone file (RFC 1035 §5). A DMARC record that exists is left
/// out: the recommended one would replace a stricter policy.
pub(super) fn zone(domain: &DomainWithRecordsResponse) -> String {
    let DomainWithRecordsResponse { domain, records, recommended_records } = domain;
    let mut text = format!("; Records of {} for Ringmail.\n$TTL {TTL_S}", domain.name);
    let recommended = recommended_records.iter().filter(|record| record.status != RecordStatus::Verified.as_str());
    for record in records.iter().chain(recommended) {
        let data = match (record.dns_type.as_str(), record.priority) {
            ("TXT", _) => strings(&record.value),
            (_, Some(priority)) => format!("{priority} {}", absolute(&record.value)),
            (_, None) => absolute(&record.value),
        };
        let name = absolute(&full_name(&domain.name, record));
        // A write to a string does not fail.
        let _ = write!(text, "\n{name} IN {} {data}", record.dns_type);
    }
    text
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
}
