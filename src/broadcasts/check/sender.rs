//! The findings of the sender's domain. Pure.

use super::model::{BroadcastFinding, FindingKind};
use crate::domains::{DomainRow, DomainStatus, RecordKind, RecordState, RecordStatus};

/// Returns the findings of a sender in a domain. `row` is the team's domain of that name.
///
/// The address of the sender, the signature and the return path have the same registered domain. The server signs with
/// the keys of that domain. The records decide whether receivers see this.
pub(super) fn check(domain: &str, row: Option<&DomainRow>) -> Vec<BroadcastFinding> {
    let Some(row) = row.filter(|row| row.status == DomainStatus::Verified) else {
        let message = format!("The domain {domain} of the sender is not verified. Verify it, or change the sender.");
        return vec![BroadcastFinding::new(FindingKind::SenderUnverified, message)];
    };
    let required = row.records.iter().filter(|record| record.kind.is_required());
    let broken = required.filter(|record| record.status != RecordStatus::Verified);
    let mut findings: Vec<_> =
        broken.map(|record| BroadcastFinding::new(FindingKind::SenderAlignment, broken_record(record))).collect();
    let dmarc = row.records.iter().find(|record| record.kind == RecordKind::Dmarc);
    // A domain that no check has looked at has no states.
    if !row.records.is_empty() && !dmarc.is_some_and(|record| record.status.counts_as_found()) {
        let message = format!(
            "The domain {domain} publishes no DMARC policy. Gmail and Yahoo refuse bulk email without one. Publish \
             `v=DMARC1; p=none;` at _dmarc.{domain}."
        );
        findings.push(BroadcastFinding::new(FindingKind::SenderAlignment, message));
    }
    findings
}

fn broken_record(record: &RecordState) -> String {
    let (what, effect) = match record.kind {
        RecordKind::ReturnPathMx => ("MX record of the return path", "bounces are lost"),
        RecordKind::ReturnPathSpf => ("SPF record of the return path", "SPF is not aligned"),
        RecordKind::DkimRsa | RecordKind::DkimEd25519 => ("DKIM record", "the signature cannot be checked"),
        RecordKind::Tracking | RecordKind::Dmarc => ("record", "receivers can refuse the email"),
    };
    match &record.detail {
        Some(detail) => format!("The {what} is wrong or missing, so that {effect}: {detail}."),
        None => format!("The {what} is wrong or missing, so that {effect}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::DkimKeyRow;

    fn row(status: DomainStatus, records: &[(RecordKind, RecordStatus)]) -> DomainRow {
        let key = || DkimKeyRow { selector: String::new(), record: String::new(), sealed: Vec::new() };
        let state = |(kind, status): &(RecordKind, RecordStatus)| RecordState {
            kind: *kind,
            status: *status,
            live: None,
            detail: Some("a line".into()),
            seen: Vec::new(),
            inherited_from: None,
            policy: None,
        };
        DomainRow {
            name: "example.com".into(),
            region: String::new(),
            status,
            return_path: "send".into(),
            open_tracking: false,
            click_tracking: false,
            tracking_subdomain: None,
            rsa: key(),
            ed25519: key(),
            records: records.iter().map(state).collect(),
            checked_ms: None,
            pending_since_ms: None,
            assumed: false,
            refusal: None,
            created_ms: 0,
        }
    }

    #[test]
    fn a_sender_needs_a_verified_domain_with_its_records() {
        use DomainStatus::{Pending, Verified};
        use FindingKind::{SenderAlignment, SenderUnverified};
        use RecordKind::{DkimEd25519, DkimRsa, Dmarc, ReturnPathSpf};
        let found = RecordStatus::Verified;
        let lost = RecordStatus::TemporaryFailure;
        for (row, expected) in [
            (None, vec![SenderUnverified]),
            (Some(row(Pending, &[])), vec![SenderUnverified]),
            (Some(row(Verified, &[])), vec![]),
            (Some(row(Verified, &[(DkimRsa, found), (Dmarc, found)])), vec![]),
            (Some(row(Verified, &[(DkimRsa, found), (Dmarc, lost)])), vec![]),
            (Some(row(Verified, &[(DkimRsa, found), (Dmarc, RecordStatus::NotStarted)])), vec![SenderAlignment]),
            (Some(row(Verified, &[(DkimRsa, found)])), vec![SenderAlignment]),
            (Some(row(Verified, &[(ReturnPathSpf, lost), (Dmarc, found)])), vec![SenderAlignment]),
            (Some(row(Verified, &[(DkimEd25519, RecordStatus::NotStarted), (Dmarc, found)])), vec![]),
        ] {
            let kinds: Vec<_> = check("example.com", row.as_ref()).into_iter().map(|finding| finding.kind).collect();

            assert_eq!(kinds, expected, "{:?}", row.map(|row| row.records));
        }
    }
}
