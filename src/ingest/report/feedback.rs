//! `message/feedback-report` (RFC 5965 §3): a recipient reported a message.

use super::fields::HeaderFields;
use crate::ingest::model::{RecipientReport, ReportedOutcome, address};

/// Feedback types that are complaints: the registered types (RFC 5965 §7.3) except `not-spam`, and without later types
/// such as `auth-failure`.
const COMPLAINTS: [&str; 4] = ["abuse", "fraud", "virus", "other"];

/// Parses a report; returns `None` if it is not a complaint.
pub(super) fn read(fields: &HeaderFields) -> Option<RecipientReport> {
    let stated_type = fields.one("Feedback-Type")?.to_ascii_lowercase();
    let feedback_type = COMPLAINTS.into_iter().find(|known| *known == stated_type)?;
    let mut named = fields
        .all("Original-Rcpt-To")
        .filter_map(|value| address(value.split_once(';').map_or(value, |(_type, address)| address)));
    // With several recipients, the complaining one is unknown.
    let recipients = named.next().filter(|_| named.next().is_none()).into_iter().collect();
    let outcome = ReportedOutcome::Complained { feedback_type: Some(feedback_type.to_owned()) };
    Some(RecipientReport { recipients, outcome, at_ms: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_feedback_types_are_complaints() {
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
    fn the_complaining_recipient_is_known_if_one_is_named() {
        let recipients =
            |rest: &str| read(&HeaderFields::first(&format!("Feedback-Type: abuse\n{rest}"))).unwrap().recipients;

        assert_eq!(recipients("Original-Rcpt-To: <ada@example.net>\n"), ["ada@example.net"]);
        assert_eq!(recipients("Original-Rcpt-To: rfc822; ada@example.net\n"), ["ada@example.net"]);
        assert_eq!(recipients("Original-Rcpt-To: redacted\n"), [""; 0]);
        assert_eq!(recipients("Original-Rcpt-To: a@example.net\nOriginal-Rcpt-To: b@example.net\n"), [""; 0]);
    }
}
