//! Delivery reports. Pure.

use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::events::Bounce;

/// Characters of a text of another system that are stored.
const TEXT_CHARS_MAX: usize = 1_000;
/// Bytes of an address. RFC 5321 §4.5.3.1.3 allows a path of 256 octets.
const ADDRESS_BYTES_MAX: usize = 320;

/// Report about one email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Locators of the email, the most reliable first.
    pub references: Vec<EmailLocator>,
    /// Reported outcomes.
    pub findings: Vec<RecipientReport>,
    /// Recipient that a finding applies to if it names no recipient of the email.
    pub fallback: FallbackRecipient,
}

impl DeliveryReport {
    /// Returns the size of the texts in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        self.findings.iter().map(RecipientReport::text_bytes).sum()
    }
}

impl RecipientReport {
    fn text_bytes(&self) -> usize {
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let recipients: usize = self.recipients.iter().map(String::len).sum();
        recipients
            + match &self.outcome {
                ReportedOutcome::Delivered { reply } | ReportedOutcome::Delayed { reply } => bytes(reply),
                ReportedOutcome::Bounced { bounce } => {
                    let diagnostic: usize = bounce.diagnostic.iter().map(String::len).sum();
                    bounce.message.len() + bounce.subtype.len() + diagnostic
                }
                ReportedOutcome::Failed { reason, diagnostic } => reason.len() + bytes(diagnostic),
                ReportedOutcome::Complained { feedback_type } => bytes(feedback_type),
            }
    }
}

/// Locator of an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmailLocator {
    /// Address that may be a return path of this server. A valid return path contains a MAC.
    ReturnPath(String),
    /// Id in the event of an authenticated relay.
    Email(EmailId),
    /// `Message-ID` of the returned message. Every recipient of the message knows it.
    Returned(EmailId),
}

/// Recipient that a report applies to if it names none of the email's recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackRecipient {
    None,
    /// The only recipient. Forwarded email bounces under other addresses, and complaints name none.
    OnlyRecipient,
}

/// Reported outcome of one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientReport {
    /// Addresses of the recipient, the most reliable first.
    pub recipients: Vec<String>,
    pub outcome: ReportedOutcome,
    /// Time of the outcome, if the report states it.
    pub at_ms: Option<TimestampMs>,
}

/// Outcome in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportedOutcome {
    Delivered {
        /// Reply of the remote server.
        reply: Option<String>,
    },
    /// Temporarily refused. The other system retries.
    Delayed {
        /// Reply of the remote server.
        reply: Option<String>,
    },
    /// Permanently refused because of the recipient, whose address is added to the suppression list.
    Bounced { bounce: Bounce },
    /// Given up for a reason other than the recipient, or without sufficient evidence against the recipient.
    Failed {
        /// Reason code.
        reason: String,
        /// Last reply of the remote server.
        diagnostic: Option<String>,
    },
    /// Reported as spam.
    Complained {
        /// `Feedback-Type` of the report (RFC 5965 §3.1).
        feedback_type: Option<String>,
    },
}

/// Returns the text as one line of bounded length, without control characters; `None` if it is empty.
pub(super) fn one_line(text: &str) -> Option<String> {
    let visible = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let text: String = visible.take(TEXT_CHARS_MAX).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the address without angle brackets; `None` if it is not an address or too long.
pub(super) fn address(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text).trim();
    (bare.len() <= ADDRESS_BYTES_MAX && bare.contains('@')).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_bounded_line() {
        assert_eq!(one_line(" 550 a\r\n\tb \0 "), Some("550 a   b".to_owned()));
        assert_eq!(one_line("\r\n"), None);
        assert_eq!(one_line(&"ä".repeat(2_000)).unwrap().chars().count(), TEXT_CHARS_MAX);
    }

    #[test]
    fn an_address_may_have_angle_brackets() {
        assert_eq!(address(" <Ada@example.net> "), Some("Ada@example.net".to_owned()));
        assert_eq!(address("ada@example.net"), Some("ada@example.net".to_owned()));
        for text in ["", "<>", "ada", &format!("{}@example.net", "a".repeat(400))] {
            assert_eq!(address(text), None);
        }
    }
}
