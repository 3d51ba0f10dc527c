//! What a report says. Pure.

use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::events::Bounce;

/// The longest text of another system that is kept, in characters.
const TEXT_CHARS_MAX: usize = 1_000;
/// The longest address that is looked at, in bytes: RFC 5321 §4.5.3.1.3 allows a path of 256 octets.
const ADDRESS_BYTES_MAX: usize = 320;

/// What one report says about one email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryReport {
    /// What may name the email, the surest first.
    pub references: Vec<EmailLocator>,
    /// What became of its recipients.
    pub findings: Vec<RecipientReport>,
    /// Who is meant by a finding that names no recipient of the email.
    pub stand: FallbackRecipient,
}

impl DeliveryReport {
    /// Returns how many bytes its texts have.
    pub(super) fn text_bytes(&self) -> usize {
        self.findings.iter().map(RecipientReport::text_bytes).sum()
    }
}

impl RecipientReport {
    fn text_bytes(&self) -> usize {
        let kept = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let recipients: usize = self.recipients.iter().map(String::len).sum();
        recipients
            + match &self.outcome {
                ReportedOutcome::Delivered { reply } | ReportedOutcome::Delayed { reply } => kept(reply),
                ReportedOutcome::Bounced { bounce, suppresses: _ } => {
                    let diagnostic: usize = bounce.diagnostic.iter().map(String::len).sum();
                    bounce.message.len() + bounce.subtype.len() + diagnostic
                }
                ReportedOutcome::Failed { reason, diagnostic } => reason.len() + kept(diagnostic),
                ReportedOutcome::Complained { feedback_type } => kept(feedback_type),
            }
    }
}

/// What may name an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmailLocator {
    /// An address that may be a return path of ours, which proves itself.
    ReturnPath(String),
    /// An id that a relay of ours gives.
    Email(EmailId),
    /// The `Message-ID` of the message that a notice returns. Everybody who has seen the message
    /// knows it.
    Returned(EmailId),
}

/// Who is meant by a finding that names no recipient of the email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackRecipient {
    /// Nobody.
    None,
    /// The only recipient there is: mail is forwarded under other addresses, and complaints come
    /// without any.
    OnlyRecipient,
}

/// What became of one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientReport {
    /// Addresses that may name the recipient, the surest first.
    pub recipients: Vec<String>,
    /// What became of it.
    pub outcome: ReportedOutcome,
    /// When, if the report says so.
    pub at_ms: Option<TimestampMs>,
}

/// What became of a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportedOutcome {
    /// Delivered.
    Delivered {
        /// What was said.
        reply: Option<String>,
    },
    /// Refused for the time being; the other system tries again.
    Delayed {
        /// What was said.
        reply: Option<String>,
    },
    /// Refused for good because of the recipient.
    Bounced {
        /// Why.
        bounce: Bounce,
        /// Whether the address joins the suppression list.
        suppresses: bool,
    },
    /// Given up for a reason that is not the recipient's.
    Failed {
        /// Why, in one word.
        reason: String,
        /// What was said.
        diagnostic: Option<String>,
    },
    /// Reported as spam.
    Complained {
        /// The type of the report (RFC 5965 §3.1).
        feedback_type: Option<String>,
    },
}

/// Returns a text of another system as it is kept: on one line, bounded; `None` when nothing is left.
pub(super) fn kept(text: &str) -> Option<String> {
    let visible = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let text: String = visible.take(TEXT_CHARS_MAX).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns an address as it is compared; `None` when it can be none.
pub(super) fn address(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text).trim();
    (bare.len() <= ADDRESS_BYTES_MAX && bare.contains('@')).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_text_is_one_bounded_line() {
        assert_eq!(kept(" 550 a\r\n\tb \0 "), Some("550 a   b".to_owned()));
        assert_eq!(kept("\r\n"), None);
        assert_eq!(kept(&"ä".repeat(2_000)).unwrap().chars().count(), TEXT_CHARS_MAX);
    }

    #[test]
    fn an_address_stands_with_or_without_angle_brackets() {
        assert_eq!(address(" <Ada@example.net> "), Some("Ada@example.net".to_owned()));
        assert_eq!(address("ada@example.net"), Some("ada@example.net".to_owned()));
        for text in ["", "<>", "ada", &format!("{}@example.net", "a".repeat(400))] {
            assert_eq!(address(text), None);
        }
    }
}
