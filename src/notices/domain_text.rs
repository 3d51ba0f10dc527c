//! The texts of a notice about a domain whose mail was refused, because a server could not authenticate the sender. Pure.

use super::email_text::{NoticeEmail, REASON};
use crate::base::clock::to_iso;
use crate::base::id::DomainId;
use crate::base::printable::printable;
use crate::domains::DomainRefusal;

/// Characters of the reply in a notice. A stored reply is not longer.
const REPLY_CHARS_MAX: usize = 300;

/// Returns the refusal as a sentence without a full stop, for the log.
pub(super) fn refusal_sentence(name: &str, refusal: &DomainRefusal) -> String {
    let DomainRefusal { at_ms, email, host, reply } = refusal;
    let server = host.as_ref().map_or_else(|| "a mail server".to_owned(), |host| printable(host, REPLY_CHARS_MAX));
    let reply = printable(reply, REPLY_CHARS_MAX);
    format!(
        "{server} could not authenticate the sender of email {email} of the domain {name} at {}: {reply}; check SPF, \
         DKIM, and DMARC of the domain",
        to_iso(*at_ms)
    )
}

/// Returns the email about a refusal.
pub(super) fn refusal(domain: DomainId, name: &str, refusal: &DomainRefusal, team: &str) -> NoticeEmail {
    let DomainRefusal { at_ms, email, host, reply } = refusal;
    let server = host.as_ref().map(|host| format!("Server: {}\n", printable(host, REPLY_CHARS_MAX)));
    let text = format!(
        "A mail server refused an email of your domain, because it could not authenticate the sender.\n\n\
         Team: {team}\nDomain: {name}\n{}Reply: {}\nEmail: {email}\nTime: {}\n\n\
         Check SPF, DKIM, and DMARC of the domain: publish the records that GET /domains/{domain} lists, then verify the \
         domain again. If the reply names the IP address or its reverse DNS, ask the operator of the server to run \
         `ringmail doctor`.\n\n\
         The attempts for the email: GET /emails/{email}/attempts\n\n\
         While refusals continue, this notice is repeated once a day.\n\n{REASON}\n",
        server.unwrap_or_default(),
        printable(reply, REPLY_CHARS_MAX),
        to_iso(*at_ms)
    );
    NoticeEmail { subject: format!("A mail server could not authenticate {name}"), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EmailId;

    #[test]
    fn a_notice_names_the_domain_the_server_its_reply_and_the_next_step() {
        let refused = |host: Option<&str>| DomainRefusal {
            at_ms: 1_767_604_353_456,
            email: EmailId::MIN,
            host: host.map(Into::into),
            reply: "550 5.7.26 This mail is\u{1b} unauthenticated".into(),
        };
        for host in [Some("mx.example.net"), None] {
            let NoticeEmail { subject, text } = refusal(DomainId::MIN, "shop.example", &refused(host), "Acme");
            let line = refusal_sentence("shop.example", &refused(host));

            assert_eq!(subject, "A mail server could not authenticate shop.example");
            for words in ["Team: Acme\n", "Domain: shop.example\n", "GET /domains/00000000", "GET /emails/00000000"] {
                assert!(text.contains(words), "no {words:?} in {text}");
            }
            for told in [&text, &line] {
                for words in ["550 5.7.26 This mail is", "SPF, DKIM, and DMARC", "2026-01-05T09:12:33.456Z"] {
                    assert!(told.contains(words), "no {words:?} in {told}");
                }
                assert_eq!(told.contains("mx.example.net"), host.is_some(), "{told}");
                assert!(!told.contains('\u{1b}'), "{told:?}");
            }
            assert!(!line.contains('\n') && line.contains("the domain shop.example"), "{line}");
        }
    }
}
