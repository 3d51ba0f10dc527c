//! The records a domain should publish, and how they are printed. Pure.

use super::model::{NAME_CHARS_MAX, RecordKind, RecordState, RecordStatus};
use super::settings::DomainSettings;
use super::store::DomainRow;
use crate::dns::{self, DnsMatch, ExpectedRecord};

/// The policy that is advised when a domain has none: receivers report, and refuse nothing.
const DMARC_ADVICE: &str = "v=DMARC1; p=none;";

/// The longest selector that is drawn, in characters.
pub(super) const SELECTOR_CHARS: usize = 16;
/// What stands before a domain's name in a key's record.
const KEY_PREFIX_CHARS: usize = SELECTOR_CHARS + "._domainkey.".len();

/// A record that a domain should publish, under its complete name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpectedRecord {
    pub(super) kind: RecordKind,
    pub(super) expected: ExpectedRecord,
}

/// A record as it is printed: its name relative to the registered domain, which is how control
/// panels take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordView {
    /// What it is for: `SPF`, `DKIM`, `Tracking` or `DMARC`.
    pub record: &'static str,
    /// The name, relative to the registered domain.
    pub name: String,
    /// The DNS type.
    pub dns_type: &'static str,
    /// The value.
    pub value: String,
    /// The preference of an MX.
    pub priority: Option<u16>,
    /// What the last check made of it.
    pub status: RecordStatus,
    /// What the name servers answered.
    pub live: Option<DnsMatch>,
    /// One line that says what is wrong.
    pub detail: Option<String>,
    /// The parent domain a DMARC policy comes from.
    pub inherited_from: Option<String>,
    /// The DMARC policy in force.
    pub policy: Option<String>,
}

/// Returns the records that sending, signing and tracking use, in the order they are printed.
pub(super) fn expected(row: &DomainRow, settings: &DomainSettings) -> Vec<ExpectedRecord> {
    let name = &row.name;
    let return_path = row.return_path_host();
    let values = settings.return_path();
    let key = |selector: &str, value: &str| ExpectedRecord::Txt {
        name: format!("{selector}._domainkey.{name}"),
        value: value.to_owned(),
    };
    let mut records = vec![
        ExpectedRecord {
            kind: RecordKind::ReturnPathMx,
            expected: ExpectedRecord::Mx {
                name: return_path.clone(),
                priority: values.mx_priority,
                host: values.mx_host,
            },
        },
        ExpectedRecord {
            kind: RecordKind::ReturnPathSpf,
            expected: ExpectedRecord::Txt { name: return_path, value: values.spf },
        },
        ExpectedRecord { kind: RecordKind::DkimRsa, expected: key(&row.rsa.selector, &row.rsa.record) },
        ExpectedRecord { kind: RecordKind::DkimEd25519, expected: key(&row.ed25519.selector, &row.ed25519.record) },
    ];
    if let Some(label) = &row.tracking_subdomain {
        let target = settings.tracking_target();
        records.push(ExpectedRecord {
            kind: RecordKind::Tracking,
            expected: ExpectedRecord::Cname { name: format!("{label}.{name}"), target },
        });
    }
    records
}

/// Returns the DMARC record that is advised.
pub(super) fn dmarc_advice(row: &DomainRow) -> ExpectedRecord {
    let expected = ExpectedRecord::Txt { name: format!("_dmarc.{}", row.name), value: DMARC_ADVICE.to_owned() };
    ExpectedRecord { kind: RecordKind::Dmarc, expected }
}

/// Returns the records and the advice: everything a check looks for.
pub(super) fn all(row: &DomainRow, settings: &DomainSettings) -> Vec<ExpectedRecord> {
    let mut records = expected(row, settings);
    records.push(dmarc_advice(row));
    records
}

/// Returns whether the names of a domain's records are names: `labels` are those of its return
/// path and of its tracking host.
pub(super) fn names_fit(name: &str, labels: &[&str]) -> bool {
    let longest_label = labels.iter().map(|label| label.len() + 1).max().unwrap_or(0);
    name.len() + longest_label.max(KEY_PREFIX_CHARS) <= NAME_CHARS_MAX
}

/// Returns the complete name of a record.
pub(super) fn full_name(expected: &ExpectedRecord) -> &str {
    match expected {
        ExpectedRecord::Txt { name, .. } | ExpectedRecord::Mx { name, .. } | ExpectedRecord::Cname { name, .. } => name,
    }
}

/// Prints an expected record with what is known of it.
pub(super) fn view(record: ExpectedRecord, row: &DomainRow) -> RecordView {
    let ExpectedRecord { kind, expected } = record;
    let state = row.records.iter().find(|state| state.kind == kind).cloned();
    let unseen = || RecordState::unseen(kind, RecordStatus::NotStarted);
    let RecordState { kind: _, status, live, detail, inherited_from, policy } = state.unwrap_or_else(unseen);
    let (name, dns_type, value, priority) = match expected {
        ExpectedRecord::Txt { name, value } => (name, "TXT", value, None),
        ExpectedRecord::Mx { name, priority, host } => (name, "MX", host, Some(priority)),
        ExpectedRecord::Cname { name, target } => (name, "CNAME", target, None),
    };
    let record = match kind {
        RecordKind::ReturnPathMx | RecordKind::ReturnPathSpf => "SPF",
        RecordKind::DkimRsa | RecordKind::DkimEd25519 => "DKIM",
        RecordKind::Tracking => "Tracking",
        RecordKind::Dmarc => "DMARC",
    };
    let name = relative(&name, dns::registrable(&row.name));
    RecordView { record, name, dns_type, value, priority, status, live, detail, inherited_from, policy }
}

fn relative(name: &str, apex: &str) -> String {
    let relative = name.strip_suffix(apex).and_then(|rest| rest.strip_suffix('.'));
    relative.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::testing::{row, settings};

    fn printed(row: &DomainRow, settings: &DomainSettings) -> Vec<String> {
        expected(row, settings)
            .into_iter()
            .chain([dmarc_advice(row)])
            .map(|record| {
                let RecordView { record, name, dns_type, value, priority, status, .. } = view(record, row);
                let priority = priority.map(|priority| format!("{priority} ")).unwrap_or_default();
                format!("{record} {name} {dns_type} {priority}{value} [{}]", status.as_str())
            })
            .collect()
    }

    #[test]
    fn records_are_printed_relative_to_the_registered_domain() {
        for (name, suffix) in
            [("example.org", ""), ("mail.example.org", ".mail"), ("a.b.example.co.uk", ".a.b"), ("example.co.uk", "")]
        {
            assert_eq!(
                printed(&row(name), &settings()),
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
    fn a_name_leaves_room_for_the_names_of_its_records() {
        for (name_chars, label_chars, fits) in [(225, 4, true), (226, 4, false), (189, 63, true), (190, 63, false)] {
            assert_eq!(names_fit(&"n".repeat(name_chars), &[&"l".repeat(label_chars)]), fits, "{name_chars}");
        }
    }

    #[test]
    fn a_tracking_host_adds_an_alias_of_the_public_address() {
        let row = DomainRow { tracking_subdomain: Some("links".into()), ..row("mail.example.org") };

        let printed = printed(&row, &settings());

        assert_eq!(printed[4], "Tracking links.mail CNAME app.ringmail.example [not_started]");
    }

    #[test]
    fn a_relay_s_return_path_replaces_our_own() {
        let relay = crate::domains::RelayRecords::parse("mx=20 in.relay.example; spf=include:relay.example");
        let settings = DomainSettings { relay_records: Some(relay.unwrap()), ..settings() };
        let row = DomainRow { return_path: "bounce".into(), ..row("example.org") };

        let printed = printed(&row, &settings);

        assert_eq!(printed[0], "SPF bounce MX 20 in.relay.example [not_started]");
        assert_eq!(printed[1], "SPF bounce TXT v=spf1 include:relay.example ~all [not_started]");
    }
}
