//! The records a domain should publish, and their form in the API. Pure.

use super::model::{NAME_CHARS_MAX, RecordKind, RecordState, RecordStatus};
use super::settings::DomainSettings;
use super::store::DomainRow;
use crate::dns::{self, DnsMatch, DnsRecord};

/// Recommended DMARC record for a domain without one: a policy that makes receivers refuse nothing.
const DMARC_RECOMMENDED: &str = "v=DMARC1; p=none;";

/// Longest generated selector.
pub(super) const SELECTOR_CHARS: usize = 16;
/// Length of the part of a DKIM record name that precedes the domain.
const KEY_PREFIX_CHARS: usize = SELECTOR_CHARS + "._domainkey.".len();

/// A record that a domain should publish, with its complete name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpectedRecord {
    pub(super) kind: RecordKind,
    pub(super) expected: DnsRecord,
}

/// An expected record with the result of the last check, in the form of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordView {
    /// Purpose: `SPF`, `DKIM`, `Tracking` or `DMARC`.
    pub record: &'static str,
    /// Name relative to the registrable domain, as control panels expect it.
    pub name: String,
    /// Type of the record: `TXT`, `MX` or `CNAME`.
    pub dns_type: &'static str,
    pub value: String,
    /// Preference of an MX record.
    pub priority: Option<u16>,
    pub status: RecordStatus,
    /// Result of the last lookup; `None` before the first check.
    pub live: Option<DnsMatch>,
    /// One line that explains the problem.
    pub detail: Option<String>,
    /// Published values that differ from `value`.
    pub seen: Vec<String>,
    /// Parent domain that publishes the DMARC policy.
    pub inherited_from: Option<String>,
    /// DMARC policy that applies to the domain.
    pub policy: Option<String>,
}

/// Returns the records for sending, signing and tracking, in the order of the API.
pub(super) fn expected(row: &DomainRow, settings: &DomainSettings) -> Vec<ExpectedRecord> {
    let name = &row.name;
    let return_path = row.return_path_host();
    let values = settings.return_path();
    let key = |selector: &str, value: &str| DnsRecord::Txt {
        name: format!("{selector}._domainkey.{name}"),
        value: value.to_owned(),
    };
    let mut records = vec![
        ExpectedRecord {
            kind: RecordKind::ReturnPathMx,
            expected: DnsRecord::Mx { name: return_path.clone(), priority: values.mx_priority, host: values.mx_host },
        },
        ExpectedRecord {
            kind: RecordKind::ReturnPathSpf,
            expected: DnsRecord::Txt { name: return_path, value: values.spf },
        },
        ExpectedRecord { kind: RecordKind::DkimRsa, expected: key(&row.rsa.selector, &row.rsa.record) },
        ExpectedRecord { kind: RecordKind::DkimEd25519, expected: key(&row.ed25519.selector, &row.ed25519.record) },
    ];
    if let Some(label) = &row.tracking_subdomain {
        let target = settings.tracking_target();
        records.push(ExpectedRecord {
            kind: RecordKind::Tracking,
            expected: DnsRecord::Cname { name: format!("{label}.{name}"), target },
        });
    }
    records
}

/// Returns the recommended DMARC record.
pub(super) fn recommended_dmarc(row: &DomainRow) -> ExpectedRecord {
    let expected = DnsRecord::Txt { name: format!("_dmarc.{}", row.name), value: DMARC_RECOMMENDED.to_owned() };
    ExpectedRecord { kind: RecordKind::Dmarc, expected }
}

/// Returns all records that a check looks up: the expected ones and the recommended one.
pub(super) fn all(row: &DomainRow, settings: &DomainSettings) -> Vec<ExpectedRecord> {
    let mut records = expected(row, settings);
    records.push(recommended_dmarc(row));
    records
}

/// Returns whether the names of all records of a domain are short enough. `labels` contains the labels of the return
/// path and the tracking host.
pub(super) fn names_fit(name: &str, labels: &[&str]) -> bool {
    let longest_label = labels.iter().map(|label| label.len() + 1).max().unwrap_or(0);
    name.len() + longest_label.max(KEY_PREFIX_CHARS) <= NAME_CHARS_MAX
}

/// Returns the complete name of a record.
pub(super) fn full_name(expected: &DnsRecord) -> &str {
    match expected {
        DnsRecord::Txt { name, .. } | DnsRecord::Mx { name, .. } | DnsRecord::Cname { name, .. } => name,
    }
}

/// Combines an expected record with its stored state.
pub(super) fn view(record: ExpectedRecord, row: &DomainRow) -> RecordView {
    let ExpectedRecord { kind, expected } = record;
    let state = row.records.iter().find(|state| state.kind == kind).cloned();
    let unchecked = || RecordState::unchecked(kind, RecordStatus::NotStarted);
    let RecordState { kind: _, status, live, detail, seen, inherited_from, policy } = state.unwrap_or_else(unchecked);
    let (name, dns_type, value, priority) = match expected {
        DnsRecord::Txt { name, value } => (name, "TXT", value, None),
        DnsRecord::Mx { name, priority, host } => (name, "MX", host, Some(priority)),
        DnsRecord::Cname { name, target } => (name, "CNAME", target, None),
    };
    let record = match kind {
        RecordKind::ReturnPathMx | RecordKind::ReturnPathSpf => "SPF",
        RecordKind::DkimRsa | RecordKind::DkimEd25519 => "DKIM",
        RecordKind::Tracking => "Tracking",
        RecordKind::Dmarc => "DMARC",
    };
    // A record that no check has looked up yet.
    let detail = match live {
        Some(_) => detail,
        None => Some(format!("{name}: not looked up yet; publish the record, then verify the domain")),
    };
    let name = relative(&name, dns::registrable(&row.name));
    RecordView { record, name, dns_type, value, priority, status, live, detail, seen, inherited_from, policy }
}

fn relative(name: &str, apex: &str) -> String {
    let relative = name.strip_suffix(apex).and_then(|rest| rest.strip_suffix('.'));
    relative.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::testing::{row, settings};

    fn formatted(row: &DomainRow, settings: &DomainSettings) -> Vec<String> {
        expected(row, settings)
            .into_iter()
            .chain([recommended_dmarc(row)])
            .map(|record| {
                let RecordView { record, name, dns_type, value, priority, status, .. } = view(record, row);
                let priority = priority.map(|priority| format!("{priority} ")).unwrap_or_default();
                format!("{record} {name} {dns_type} {priority}{value} [{}]", status.as_str())
            })
            .collect()
    }

    #[test]
    fn record_names_are_relative_to_the_registrable_domain() {
        for (name, suffix) in
            [("example.org", ""), ("mail.example.org", ".mail"), ("a.b.example.co.uk", ".a.b"), ("example.co.uk", "")]
        {
            assert_eq!(
                formatted(&row(name), &settings()),
                [
                    format!("SPF send{suffix} MX 10 mx.ringmail.example [not_started]"),
                    format!("SPF send{suffix} TXT v=spf1 a:mx.ringmail.example ~all [not_started]"),
                    format!("DKIM one-rsa._domainkey{suffix} TXT v=DKIM1; k=rsa; p=AAAA [not_started]"),
                    format!("DKIM one-ed._domainkey{suffix} TXT v=DKIM1; k=ed25519; p=BBBB [not_started]"),
                    format!("DMARC _dmarc{suffix} TXT v=DMARC1; p=none; [not_started]"),
                ],
                "{name}"
            );
        }
    }

    #[test]
    fn the_names_of_all_records_have_at_most_253_characters() {
        for (name_chars, label_chars, fits) in [(225, 4, true), (226, 4, false), (189, 63, true), (190, 63, false)] {
            assert_eq!(names_fit(&"n".repeat(name_chars), &[&"l".repeat(label_chars)]), fits, "{name_chars}");
        }
    }

    #[test]
    fn a_tracking_host_adds_a_cname_record_for_the_public_address() {
        let row = DomainRow { tracking_subdomain: Some("links".into()), ..row("mail.example.org") };

        let formatted = formatted(&row, &settings());

        assert_eq!(formatted[4], "Tracking links.mail CNAME app.ringmail.example [not_started]");
    }

    #[test]
    fn the_records_of_a_relay_replace_those_of_this_server() {
        let relay = crate::domains::RelayRecords::parse("mx=20 in.relay.example; spf=include:relay.example");
        let settings = DomainSettings { relay_records: Some(relay.unwrap()), ..settings() };
        let row = DomainRow { return_path: "bounce".into(), ..row("example.org") };

        let formatted = formatted(&row, &settings);

        assert_eq!(formatted[0], "SPF bounce MX 20 in.relay.example [not_started]");
        assert_eq!(formatted[1], "SPF bounce TXT v=spf1 include:relay.example ~all [not_started]");
    }
}
