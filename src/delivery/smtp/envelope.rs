//! Sender and recipients as command lines, and what is refused before a byte is sent.

use std::borrow::Cow;

use mail_send::smtp::message::Parameters;

use super::SmtpPhase;
use super::capabilities::Capabilities;
use super::outcome::{RecipientResult, Undecided};
use super::reply::Reply;

/// Recipients of one transaction where the server announces no limit: what every server must take (RFC 5321
/// §4.5.3.1.8).
pub const RCPT_MAX_DEFAULT: u32 = 100;
/// Bytes of a path (RFC 5321 §4.5.3.1.3), angle brackets included.
const PATH_BYTES_MAX: usize = 256;

/// Who a message comes from and who it goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The return path; empty for the null sender.
    pub sender: String,
    pub recipients: Vec<String>,
}

/// The commands of one transaction.
pub(super) struct Plan {
    pub(super) mail: String,
    /// For each recipient of the envelope its command, or why there is none.
    pub(super) recipients: Vec<Result<String, RecipientResult>>,
}

impl Plan {
    /// Decides what can be asked of a server that announced these capabilities.
    pub(super) fn new(envelope: &Envelope, message_bytes: u64, capabilities: &Capabilities) -> Self {
        let refused = |reply: Reply| Err(RecipientResult::Refused { phase: SmtpPhase::Precheck, reply });
        let whole = mail_command(envelope, message_bytes, capabilities);
        let rcpt_max = capabilities.rcpt_max.unwrap_or(RCPT_MAX_DEFAULT);
        let mut accepted = 0;
        let recipients = envelope
            .recipients
            .iter()
            .map(|recipient| {
                if let Err(reply) = &whole {
                    return refused(reply.clone());
                }
                let path = match rcpt_path(recipient, capabilities) {
                    Ok(path) => path,
                    Err(reply) => return refused(reply),
                };
                if accepted >= rcpt_max {
                    return Err(RecipientResult::NotTried {
                        reason: Undecided::OverRecipientLimit,
                        phase: SmtpPhase::Precheck,
                        reply: None,
                    });
                }
                accepted += 1;
                Ok(format!("RCPT TO:<{path}>\r\n"))
            })
            .collect();
        Self { mail: whole.unwrap_or_default(), recipients }
    }
}

/// Writes MAIL, or the reply that a server would give to it.
fn mail_command(envelope: &Envelope, message_bytes: u64, capabilities: &Capabilities) -> Result<String, Reply> {
    if let Some(size_max) = capabilities.size_max
        && message_bytes > size_max
    {
        // RFC 1870 §6.1: a client need not offer what the server has said it will not take.
        let text = format!("{message_bytes} bytes, and the server takes {size_max}");
        return Err(Reply::local(552, (5, 3, 4), text));
    }
    let Some(sender) = path(&envelope.sender) else {
        let text = "the return path cannot be written as a command".to_string();
        return Err(Reply::local(553, (5, 1, 7), text));
    };
    let needs_utf8 = !sender.is_ascii();
    if needs_utf8 && !capabilities.smtputf8() {
        return Err(no_smtputf8());
    }
    // A recipient that needs UTF-8 takes the whole transaction into it; where the server lacks it, that recipient
    // alone is refused.
    let wants_utf8 = needs_utf8
        || (capabilities.smtputf8()
            && envelope.recipients.iter().any(|recipient| path(recipient).is_some_and(|path| !path.is_ascii())));
    let mut parameters = Parameters::new();
    if capabilities.size() {
        parameters.add(("SIZE".to_string(), message_bytes.to_string()));
    }
    if wants_utf8 {
        // RFC 6531 §3.4; the header may then hold UTF-8 too, which is eight bits wide.
        parameters.add("SMTPUTF8");
        if capabilities.eight_bit_mime() {
            parameters.add(("BODY", "8BITMIME"));
        }
    }
    Ok(format!("MAIL FROM:<{sender}>{parameters}\r\n"))
}

fn rcpt_path<'a>(recipient: &'a str, capabilities: &Capabilities) -> Result<Cow<'a, str>, Reply> {
    match path(recipient) {
        Some(path) if path.is_empty() => Err(bad_recipient()),
        Some(path) if path.is_ascii() || capabilities.smtputf8() => Ok(path),
        Some(_) => Err(no_smtputf8()),
        None => Err(bad_recipient()),
    }
}

fn bad_recipient() -> Reply {
    let text = "the address cannot be written as a command".to_string();
    Reply::local(501, (5, 1, 3), text)
}

/// RFC 6531 §3.5 and the code it registers.
fn no_smtputf8() -> Reply {
    let text = "the local part is not ASCII, and the server does not announce SMTPUTF8".to_string();
    Reply::local(553, (5, 6, 7), text)
}

/// Returns an address as it stands between angle brackets: the domain in A-labels, the local part untouched.
///
/// `None` for what would end the brackets or the line early. Addresses are parsed where they enter; this is the last
/// door before the wire.
fn path(address: &str) -> Option<Cow<'_, str>> {
    let address = match address.rsplit_once('@') {
        Some((local, domain)) if !domain.is_ascii() => {
            // RFC 6531 §3.7.1 would let the domain go as UTF-8, but only to a server with the extension.
            let domain = idna::domain_to_ascii(domain).ok()?;
            Cow::Owned(format!("{local}@{domain}"))
        }
        _ => Cow::Borrowed(address),
    };
    let mut is_quoted = false;
    let mut is_escaped = false;
    for char in address.chars() {
        match char {
            char if char.is_control() => return None,
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '<' | '>' | ' ' if !is_quoted => return None,
            _ => {}
        }
    }
    (!is_quoted && address.len() + 2 <= PATH_BYTES_MAX).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn envelope(sender: &str, recipients: &[&str]) -> Envelope {
        Envelope { sender: sender.to_string(), recipients: recipients.iter().map(ToString::to_string).collect() }
    }

    fn announced(lines: &str) -> Capabilities {
        Capabilities::parse(format!("250-mx\r\n{lines}").as_bytes())
    }

    fn refusal(result: &Result<String, RecipientResult>) -> Option<(u8, u16, u16)> {
        match result {
            Err(RecipientResult::Refused { phase: SmtpPhase::Precheck, reply }) => reply.enhanced,
            _ => None,
        }
    }

    #[test]
    fn commands_follow_what_was_announced() {
        let cases = [
            ("", "a@x.test", "", "MAIL FROM:<>\r\n"),
            ("b@y.test", "a@x.test", "", "MAIL FROM:<b@y.test>\r\n"),
            ("b@y.test", "a@x.test", "250 SIZE\r\n", "MAIL FROM:<b@y.test> SIZE=70\r\n"),
            ("b@y.test", "a@x.test", "250 SIZE 70\r\n", "MAIL FROM:<b@y.test> SIZE=70\r\n"),
            ("b@y.test", "a@x.test", "250 SMTPUTF8\r\n", "MAIL FROM:<b@y.test>\r\n"),
            ("b@y.test", "é@x.test", "250 SMTPUTF8\r\n", "MAIL FROM:<b@y.test> SMTPUTF8\r\n"),
            (
                "é@y.test",
                "a@x.test",
                "250-8BITMIME\r\n250 SMTPUTF8\r\n",
                "MAIL FROM:<é@y.test> SMTPUTF8 BODY=8BITMIME\r\n",
            ),
        ];
        for (sender, recipient, lines, expected) in cases {
            let plan = Plan::new(&envelope(sender, &[recipient]), 70, &announced(lines));

            assert_eq!(plan.mail, expected);
            assert_eq!(plan.recipients[0], Ok(format!("RCPT TO:<{recipient}>\r\n")));
        }
    }

    #[test]
    fn a_domain_always_leaves_in_a_labels() {
        let plan = Plan::new(&envelope("", &["a@bücher.test"]), 1, &announced(""));

        assert_eq!(plan.recipients[0].as_deref(), Ok("RCPT TO:<a@xn--bcher-kva.test>\r\n"));
    }

    #[test]
    fn a_message_over_the_announced_size_is_not_offered() {
        let plan = Plan::new(&envelope("", &["a@x.test", "b@x.test"]), 71, &announced("250 SIZE 70\r\n"));

        assert!(plan.recipients.iter().all(|result| refusal(result) == Some((5, 3, 4))));
    }

    #[test]
    fn only_the_recipient_that_needs_utf8_fails_without_it() {
        let plan = Plan::new(&envelope("", &["a@x.test", "é@x.test"]), 1, &announced(""));

        assert_eq!(plan.mail, "MAIL FROM:<>\r\n");
        assert!(plan.recipients[0].is_ok());
        assert_eq!(refusal(&plan.recipients[1]), Some((5, 6, 7)));
    }

    #[test]
    fn recipients_past_the_limit_wait_for_another_transaction() {
        let plan =
            Plan::new(&envelope("", &["a@x.test", "b@x.test", "c@x.test"]), 1, &announced("250 LIMITS RCPTMAX=2\r\n"));

        assert!(plan.recipients[1].is_ok());
        assert!(matches!(
            plan.recipients[2],
            Err(RecipientResult::NotTried { reason: Undecided::OverRecipientLimit, .. })
        ));
    }

    #[test]
    fn an_address_cannot_end_its_command() {
        let cases = [
            "",
            "a@x.test> SIZE=1",
            "a@x.test\r\nDATA",
            "a@x.test\0",
            "<a@x.test>",
            "a b@x.test",
            "\"a@x.test",
            "\"a\\\"@x.test",
            "a\u{85}@x.test",
            "a@\u{fffd}.test",
        ];
        for address in cases {
            let plan = Plan::new(&envelope("", &[address]), 1, &announced("250 SMTPUTF8\r\n"));

            assert_eq!(refusal(&plan.recipients[0]), Some((5, 1, 3)), "{address:?}");
        }
        let plan = Plan::new(&envelope("a\n@x.test", &["a@x.test"]), 1, &announced(""));
        assert_eq!(refusal(&plan.recipients[0]), Some((5, 1, 7)));
        let plan = Plan::new(&envelope("", &["\"a> b\"@x.test"]), 1, &announced(""));
        assert_eq!(plan.recipients[0].as_deref(), Ok("RCPT TO:<\"a> b\"@x.test>\r\n"));
    }

    proptest! {
        #[test]
        fn every_command_is_one_line_of_bounded_length(address in "\\PC{0,40}|[ -~\r\n\\x00-\\x1f]{0,300}") {
            let plan = Plan::new(&envelope(&address, &[&address]), 1, &announced("250 SMTPUTF8\r\n"));
            for line in plan.recipients.iter().flatten().chain([&plan.mail]) {
                prop_assert!(line.is_empty() || line.ends_with("\r\n"));
                prop_assert!(line.len() <= 2 + 4 * PATH_BYTES_MAX);
                prop_assert_eq!(line.matches(['\r', '\n']).count(), if line.is_empty() { 0 } else { 2 });
            }
        }
    }
}
