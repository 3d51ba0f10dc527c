//! `message/feedback-report` (RFC 5965 §3): a recipient who reported a message.

use super::fields::HeaderFields;
use crate::ingest::model::{RecipientReport, ReportedOutcome, address};

/// The types that are complaints: the registered ones (RFC 5965 §7.3) without `not-spam`, and without
/// later ones about other things, such as `auth-failure`.
const COMPLAINTS: [&str; 4] = ["abuse", "fraud", "virus", "other"];

/// Reads a report; `None` when it is no complaint.
pub(super) fn read(fields: &HeaderFields) -> Option<RecipientReport> {
    let said = fields.one("Feedback-Type")?.to_ascii_lowercase();
    let feedback_type = COMPLAINTS.into_iter().find(|known| *known == said)?;
    let mut named = fields
        .all("Original-Rcpt-To")
        .filter_map(|value| address(value.split_once(';').map_or(value, |(_type, address)| address)));
    // Of several recipients it is not said who complained.
    let recipients = named.next().filter(|_| named.next().is_none()).into_iter().collect();
    let outcome = ReportedOutcome::Complained { feedback_type: Some(feedback_type.to_owned()) };
    Some(RecipientReport { recipients, outcome, at_ms: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_of_a_known_type() {
        for (feedback_type, expected) in [
            ("abuse", Some("abuse")),
            ("Fraud", Some("fraud")),
            ("virus", Some("virus")),
            ("other", Some("other")),
            ("not-spam", None),
            ("auth-failure", None),
            ("", None),
        ] {
            let found = read(&HeaderFields::first(&format!("Feedback-Type: {feedback_type}\nVersion: 1\n")));
            let found = found.map(|found| found.outcome);
            let expected = expected.map(|kind| ReportedOutcome::Complained { feedback_type: Some(kind.to_owned()) });
            assert_eq!(found, expected, "{feedback_type}");
        }
    }

    #[test]
    fn who_complained_is_known_when_one_recipient_is_named() {
        let recipients =
            |rest: &str| read(&HeaderFields::first(&format!("Feedback-Type: abuse\n{rest}"))).unwrap().recipients;

        assert_eq!(recipients("Original-Rcpt-To: <ada@example.net>\n"), ["ada@example.net"]);
        assert_eq!(recipients("Original-Rcpt-To: rfc822; ada@example.net\n"), ["ada@example.net"]);
        assert_eq!(recipients("Original-Rcpt-To: redacted\n"), [""; 0]);
        assert_eq!(recipients("Original-Rcpt-To: a@example.net\nOriginal-Rcpt-To: b@example.net\n"), [""; 0]);
    }
}
