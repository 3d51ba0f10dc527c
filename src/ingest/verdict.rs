//! The outcome of a refusal that another system reports. Pure.
//!
//! The other system has given up, so every outcome is final: a refusal that our own delivery would retry has expired
//! or was rejected there. Only a recipient that does not exist bounces.

use super::model::{ReportedOutcome, one_line};
use crate::base::enhanced_code::EnhancedCode;
use crate::delivery::smtp::{Action, FailReason, RefusalClass, Reply, SmtpPhase, classify, parse_reply};
use crate::events::{Bounce, BounceType};

/// Clients recognize a bounce by the words `bounce message`.
const MESSAGE: &str = "The recipient's mail system sent a bounce message.";

/// Reported refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReportedRefusal<'a> {
    /// `Status` (RFC 3464 §2.3.4), such as `5.1.1`.
    pub(super) status: Option<&'a str>,
    /// Diagnostic text, with or without a reply code, such as `550 5.1.1 No such user`.
    pub(super) diagnostic: Option<&'a str>,
    /// Host that refused.
    pub(super) host: Option<&'a str>,
}

impl ReportedRefusal<'_> {
    /// Returns the outcome for the recipient.
    pub(super) fn outcome(self) -> ReportedOutcome {
        let diagnostic = self.text();
        let Some(reply) = self.reply() else {
            return ReportedOutcome::Failed { reason: FailReason::Rejected.as_str().to_owned(), diagnostic };
        };
        let verdict = classify(SmtpPhase::Rcpt, &reply, self.host.unwrap_or_default());
        match verdict.action {
            Action::Bounce | Action::ConfirmBounce => {
                ReportedOutcome::Bounced { bounce: reported(verdict.subtype, diagnostic) }
            }
            action => ReportedOutcome::Failed { reason: reason(action, &reply).as_str().to_owned(), diagnostic },
        }
    }

    /// Returns the outcome if the refusal is unambiguous.
    pub(super) fn clear_outcome(self) -> Option<ReportedOutcome> {
        let verdict = classify(SmtpPhase::Rcpt, &self.reply()?, self.host.unwrap_or_default());
        let is_clear = !matches!(verdict.class, RefusalClass::Unknown | RefusalClass::Temporary);
        is_clear.then(|| self.outcome())
    }

    /// Returns the diagnostic text, or else the status.
    pub(super) fn text(self) -> Option<String> {
        match (self.status, self.diagnostic.and_then(one_line)) {
            (_, Some(diagnostic)) => Some(diagnostic),
            (Some(status), None) => one_line(status),
            (None, None) => None,
        }
    }

    /// Returns the refusal as an SMTP reply. A reply code in the diagnostic text is from the refusing host. It takes
    /// precedence over the status, which is `5.0.0` in the reports of many systems.
    fn reply(self) -> Option<Reply> {
        let status = self.status.and_then(enhanced_code);
        let text = self.diagnostic.and_then(one_line).unwrap_or_default();
        if let Some(reply) = reply_of(&text) {
            let known = reply.enhanced.or(status.filter(|(class, _, _)| u16::from(*class) == reply.code / 100));
            return Some(Reply { enhanced: known, ..reply });
        }
        let (class, subject, detail) = match status {
            Some(status) => status,
            None if text.is_empty() => return None,
            // A final refusal without a code.
            None => (5, 0, 0),
        };
        let code = if class == 4 { 450 } else { 550 };
        Some(Reply { code, enhanced: Some((class, subject, detail)), text })
    }
}

/// Parses a reply of one line. Reporting systems join the lines of a longer reply.
fn reply_of(text: &str) -> Option<Reply> {
    let (code, rest) = text.split_at_checked(3)?;
    let rest = rest.strip_prefix([' ', '-']).or(rest.is_empty().then_some(rest))?;
    let (reply, _) = parse_reply(format!("{code} {rest}\n").as_bytes()).ok()?;
    (reply.is_transient() || reply.is_permanent()).then_some(reply)
}

/// Parses an enhanced status code, such as `5.1.1`, and ignores the rest of the text.
fn enhanced_code(status: &str) -> Option<EnhancedCode> {
    let (reply, _) = parse_reply(format!("550 {}\n", one_line(status)?).as_bytes()).ok()?;
    reply.enhanced.filter(|(class, _, _)| *class != 2)
}

/// Returns the reason for a failure. A temporary reply means that the retry period ended.
fn reason(action: Action, reply: &Reply) -> FailReason {
    match action {
        Action::Fail { reason } => reason,
        _ if reply.is_transient() || matches!(reply.enhanced, Some((4, _, _))) => FailReason::Expired,
        _ => FailReason::Rejected,
    }
}

/// Returns the details of a reported bounce.
pub(super) fn reported(subtype: &str, diagnostic: Option<String>) -> Bounce {
    Bounce {
        message: MESSAGE.to_owned(),
        bounce_type: BounceType::Permanent,
        subtype: subtype.to_owned(),
        diagnostic: diagnostic.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn short(outcome: &ReportedOutcome) -> String {
        match outcome {
            ReportedOutcome::Bounced { bounce } => format!("{} {}", bounce.bounce_type.as_str(), bounce.subtype),
            ReportedOutcome::Failed { reason, .. } => reason.clone(),
            other => panic!("a refusal is final: {other:?}"),
        }
    }

    #[test]
    fn only_a_recipient_that_does_not_exist_bounces() {
        for (status, diagnostic, expected) in [
            (Some("5.1.1"), Some("550 5.1.1 No such user here"), "Permanent NoEmail"),
            (Some("5.0.0"), Some("550 5.1.1 No such user here"), "Permanent NoEmail"),
            (Some("5.0.0"), Some("550-5.1.1 The account does not exist. 550 5.1.1 Try again"), "Permanent NoEmail"),
            (Some("5.1.1"), None, "Permanent NoEmail"),
            (Some("5.1.1"), Some("unknown user: \"ada\""), "Permanent NoEmail"),
            (Some("5.0.0"), Some("Unrouteable address"), "Permanent NoEmail"),
            (None, Some("User unknown"), "Permanent NoEmail"),
            (Some("5.1.2 (bad domain)"), None, "Permanent NoEmail"),
            (Some("5.7.1"), Some("554 5.7.1 Message content rejected"), "content_rejected"),
            (Some("5.0.0"), Some("554 5.7.1 Message content rejected"), "content_rejected"),
            (Some("5.3.4"), Some("552 5.3.4 Message too big"), "message_too_large"),
            (Some("5.7.26"), Some("550 5.7.26 Unauthenticated email is not accepted"), "authentication_failed"),
            (Some("5.7.1"), Some("550 5.7.1 blocked using a blocklist"), "rejected"),
            (Some("5.2.2"), Some("552 5.2.2 Mailbox full"), "rejected"),
            (Some("4.7.1"), Some("450 4.7.1 Greylisted, please try again later"), "expired"),
            (Some("5.0.0"), Some("450 4.7.1 Greylisted, please try again later"), "expired"),
            (Some("4.4.1"), Some("connect to mx.example.org[192.0.2.1]:25: Connection timed out"), "expired"),
            (Some("4.1.1"), None, "expired"),
            (Some("5.0.0"), None, "rejected"),
            (Some("5.0.0"), Some("554 transaction failed"), "rejected"),
            (None, None, "rejected"),
            (Some("2.0.0"), None, "rejected"),
            (Some("nonsense"), Some(""), "rejected"),
        ] {
            let outcome = ReportedRefusal { status, diagnostic, host: None }.outcome();

            assert_eq!(short(&outcome), expected, "{status:?} {diagnostic:?}");
        }
    }

    #[test]
    fn the_diagnostic_text_is_returned_verbatim() {
        let refusal = |status, diagnostic| ReportedRefusal { status, diagnostic, host: None };

        assert_eq!(refusal(Some("5.1.1"), Some("550 5.1.1 Unknown")).text().as_deref(), Some("550 5.1.1 Unknown"));
        assert_eq!(refusal(Some("5.1.1"), None).text().as_deref(), Some("5.1.1"));
        assert_eq!(refusal(None, Some("\r\n")).text(), None);
    }

    #[test]
    fn an_ambiguous_text_has_no_clear_outcome() {
        let clear =
            |diagnostic| ReportedRefusal { diagnostic: Some(diagnostic), ..ReportedRefusal::default() }.clear_outcome();

        assert!(clear("550 5.1.1 No such user").is_some());
        assert!(clear("554 5.7.1 spam").is_some());
        assert!(clear("550 5.0.0 No").is_none());
        assert!(clear("").is_none());
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(status in "\\PC{0,20}", diagnostic in "([245][0-9]{2}[ -])?\\PC{0,60}", host: String) {
            let _ = ReportedRefusal { status: Some(&status), diagnostic: Some(&diagnostic), host: Some(&host) }.outcome();
        }
    }
}
