//! The command lines of sender and recipients, and refusals before any byte is sent.

use std::borrow::Cow;

use mail_send::smtp::message::Parameters;

use super::SmtpPhase;
use super::capabilities::Capabilities;
use super::outcome::{IncompleteReason, RecipientResult};
use super::reply::Reply;

/// Maximum number of recipients in one transaction if the server announces no limit. Every server must accept this
/// many (RFC 5321 §4.5.3.1.8).
pub const RCPT_MAX_DEFAULT: u32 = 100;
/// Maximum length of a path (RFC 5321 §4.5.3.1.3), including the angle brackets.
const PATH_BYTES_MAX: usize = 256;

/// SMTP envelope: sender and recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Return path; empty for the null sender.
    pub sender: String,
    pub recipients: Vec<String>,
}

/// Encoding of a message. The body is always 7-bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageEncoding {
    SevenBit,
    /// The header contains UTF-8 (RFC 6532).
    Utf8Header,
}

impl MessageEncoding {
    /// Returns the encoding of a message in pieces.
    pub(super) fn of(message: &[&[u8]]) -> Self {
        if message.iter().all(|piece| piece.is_ascii()) { Self::SevenBit } else { Self::Utf8Header }
    }
}

/// The MAIL and RCPT commands of one transaction.
///
/// Internationalized addresses follow RFC 6531. There is no downgrade on the way. A recipient with a non-ASCII local
/// part is refused with 5.6.7 if the server has no SMTPUTF8. So is every recipient of a message with a UTF-8 header.
/// The composer avoids such a header if the server is known to lack the extension.
pub(super) struct EnvelopePlan {
    /// MAIL command; empty if it was refused.
    pub(super) mail: String,
    /// For each recipient of the envelope, the RCPT command or the result without one.
    pub(super) recipients: Vec<Result<String, RecipientResult>>,
}

impl EnvelopePlan {
    /// Returns the commands for a server with these capabilities. If MAIL is refused, all recipients are.
    pub(super) fn new(
        envelope: &Envelope,
        message_bytes: u64,
        encoding: MessageEncoding,
        capabilities: &Capabilities,
    ) -> Self {
        let refused = |reply: Reply| Err(RecipientResult::Refused { phase: SmtpPhase::Precheck, reply });
        let mail = mail_command(envelope, message_bytes, encoding, capabilities);
        let rcpt_max = capabilities.rcpt_max.unwrap_or(RCPT_MAX_DEFAULT);
        let mut accepted = 0;
        let recipients = envelope
            .recipients
            .iter()
            .map(|recipient| {
                if let Err(reply) = &mail {
                    return refused(reply.clone());
                }
                let path = match rcpt_path(recipient, capabilities) {
                    Ok(path) => path,
                    Err(reply) => return refused(reply),
                };
                if accepted >= rcpt_max {
                    return Err(RecipientResult::NotTried {
                        reason: IncompleteReason::OverRecipientLimit,
                        phase: SmtpPhase::Precheck,
                        reply: None,
                    });
                }
                accepted += 1;
                Ok(format!("RCPT TO:<{path}>\r\n"))
            })
            .collect();
        Self { mail: mail.unwrap_or_default(), recipients }
    }
}

/// Returns the MAIL command, or the refusal that a server would send.
fn mail_command(
    envelope: &Envelope,
    message_bytes: u64,
    encoding: MessageEncoding,
    capabilities: &Capabilities,
) -> Result<String, Reply> {
    if let Some(size_max) = capabilities.size_max
        && message_bytes > size_max
    {
        // RFC 1870 §6.1: a client need not send a message above the announced size.
        let text = format!("the message has {message_bytes} bytes, and the server accepts {size_max}");
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
    let has_utf8_header = encoding == MessageEncoding::Utf8Header;
    if has_utf8_header && !capabilities.utf8_headers() {
        let text = "an address in the header is not ASCII, and the server does not announce SMTPUTF8 and 8BITMIME";
        return Err(Reply::local(554, (5, 6, 7), text.to_string()));
    }
    // One recipient that needs UTF-8 makes the whole transaction use it. If the server lacks SMTPUTF8, only that
    // recipient is refused.
    let wants_utf8 = needs_utf8
        || has_utf8_header
        || (capabilities.smtputf8()
            && envelope.recipients.iter().any(|recipient| path(recipient).is_some_and(|path| !path.is_ascii())));
    let mut parameters = Parameters::new();
    if capabilities.size() {
        parameters.add(("SIZE".to_string(), message_bytes.to_string()));
    }
    if wants_utf8 {
        // RFC 6531 §3.4. A UTF-8 header needs 8BITMIME.
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

/// Returns the refusal of RFC 6531 §3.5 with its enhanced code.
fn no_smtputf8() -> Reply {
    let text = "the local part is not ASCII, and the server does not announce SMTPUTF8".to_string();
    Reply::local(553, (5, 6, 7), text)
}

/// Returns an address for use between angle brackets: the domain in A-labels, the local part unchanged.
///
/// `None` if the address contains bytes that would end the brackets or the line, or is too long. The API has validated
/// the addresses already. This check prevents command injection if it missed one.
fn path(address: &str) -> Option<Cow<'_, str>> {
    let address = match address.rsplit_once('@') {
        Some((local, domain)) if !domain.is_ascii() => {
            // RFC 6531 §3.7.1 allows a UTF-8 domain, but only if the server has SMTPUTF8.
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
    use super::MessageEncoding::{SevenBit, Utf8Header};
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
    fn commands_depend_on_the_announced_extensions() {
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
            let plan = EnvelopePlan::new(&envelope(sender, &[recipient]), 70, SevenBit, &announced(lines));

            assert_eq!(plan.mail, expected);
            assert_eq!(plan.recipients[0], Ok(format!("RCPT TO:<{recipient}>\r\n")));
        }
    }

    #[test]
    fn a_domain_is_always_sent_in_a_labels() {
        let plan = EnvelopePlan::new(&envelope("", &["a@bücher.test"]), 1, SevenBit, &announced(""));

        assert_eq!(plan.recipients[0].as_deref(), Ok("RCPT TO:<a@xn--bcher-kva.test>\r\n"));
    }

    #[test]
    fn a_message_over_the_announced_size_is_refused_before_mail() {
        let plan =
            EnvelopePlan::new(&envelope("", &["a@x.test", "b@x.test"]), 71, SevenBit, &announced("250 SIZE 70\r\n"));

        assert!(plan.recipients.iter().all(|result| refusal(result) == Some((5, 3, 4))));
    }

    #[test]
    fn without_smtputf8_only_the_recipient_that_needs_it_is_refused() {
        let plan = EnvelopePlan::new(&envelope("", &["a@x.test", "é@x.test"]), 1, SevenBit, &announced(""));

        assert_eq!(plan.mail, "MAIL FROM:<>\r\n");
        assert!(plan.recipients[0].is_ok());
        assert_eq!(refusal(&plan.recipients[1]), Some((5, 6, 7)));
    }

    #[test]
    fn a_utf8_header_needs_smtputf8_and_8bitmime() {
        let plan = |lines| EnvelopePlan::new(&envelope("b@y.test", &["a@x.test"]), 1, Utf8Header, &announced(lines));

        let accepted = plan("250-8BITMIME\r\n250 SMTPUTF8\r\n");
        assert_eq!(accepted.mail, "MAIL FROM:<b@y.test> SMTPUTF8 BODY=8BITMIME\r\n");
        assert!(accepted.recipients[0].is_ok());
        for lines in ["", "250 8BITMIME\r\n", "250 SMTPUTF8\r\n"] {
            assert_eq!(refusal(&plan(lines).recipients[0]), Some((5, 6, 7)), "{lines}");
        }
        assert_eq!(MessageEncoding::of(&[b"To: a", b"@x.test\r\n"]), SevenBit);
        assert_eq!(MessageEncoding::of(&[b"To: ", "é@x.test\r\n".as_bytes()]), Utf8Header);
    }

    #[test]
    fn recipients_over_the_limit_need_another_transaction() {
        let plan = EnvelopePlan::new(
            &envelope("", &["a@x.test", "b@x.test", "c@x.test"]),
            1,
            SevenBit,
            &announced("250 LIMITS RCPTMAX=2\r\n"),
        );

        assert!(plan.recipients[1].is_ok());
        assert!(matches!(
            plan.recipients[2],
            Err(RecipientResult::NotTried { reason: IncompleteReason::OverRecipientLimit, .. })
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
            let plan = EnvelopePlan::new(&envelope("", &[address]), 1, SevenBit, &announced("250 SMTPUTF8\r\n"));

            assert_eq!(refusal(&plan.recipients[0]), Some((5, 1, 3)), "{address:?}");
        }
        let plan = EnvelopePlan::new(&envelope("a\n@x.test", &["a@x.test"]), 1, SevenBit, &announced(""));
        assert_eq!(refusal(&plan.recipients[0]), Some((5, 1, 7)));
        let plan = EnvelopePlan::new(&envelope("", &["\"a> b\"@x.test"]), 1, SevenBit, &announced(""));
        assert_eq!(plan.recipients[0].as_deref(), Ok("RCPT TO:<\"a> b\"@x.test>\r\n"));
    }

    proptest! {
        #[test]
        fn every_command_is_one_line_of_bounded_length(address in "\\PC{0,40}|[ -~\r\n\\x00-\\x1f]{0,300}") {
            let plan = EnvelopePlan::new(&envelope(&address, &[&address]), 1, SevenBit, &announced("250 SMTPUTF8\r\n"));
            for line in plan.recipients.iter().flatten().chain([&plan.mail]) {
                prop_assert!(line.is_empty() || line.ends_with("\r\n"));
                prop_assert!(line.len() <= 2 + 4 * PATH_BYTES_MAX);
                prop_assert_eq!(line.matches(['\r', '\n']).count(), if line.is_empty() { 0 } else { 2 });
            }
        }
    }
}
