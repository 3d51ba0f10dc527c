//! Real reports of Postfix, Exim, OpenSMTPD and mailbox providers: `tests/fixtures/reports/README.md`.

use proptest::prelude::*;

use super::*;
use crate::events::BounceType;
use crate::ingest::model::{RecipientReport, ReportedOutcome};

const RETURN_PATH: &str = "b+agny23pzwbyabaaaaaaaaaaaaiaaa.k3mzq7ya@send.example.com";
const EMAIL: &str = "019b8d6d-f9b0-7000-8000-000000000002";

macro_rules! report {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reports/", $name, ".eml"))
    };
}

fn by_return_path() -> EmailLocator {
    EmailLocator::ReturnPath(RETURN_PATH.to_owned())
}

fn by_id() -> EmailLocator {
    EmailLocator::Returned(EmailId::parse(EMAIL).unwrap())
}

/// Returns the recipient and the outcome of the only finding, as text.
fn only_finding(report: &DeliveryReport) -> (String, String) {
    let [RecipientReport { recipients, outcome, at_ms: None }] = report.findings.as_slice() else {
        panic!("one finding: {report:?}")
    };
    let text = match outcome {
        ReportedOutcome::Delivered { reply } => format!("delivered: {}", reply.as_deref().unwrap_or_default()),
        ReportedOutcome::Delayed { reply } => format!("delayed: {}", reply.as_deref().unwrap_or_default()),
        ReportedOutcome::Bounced { bounce } => {
            assert_eq!(bounce.bounce_type, BounceType::Permanent, "{bounce:?}");
            format!("bounced {}: {}", bounce.subtype, bounce.diagnostic.join(", "))
        }
        ReportedOutcome::Failed { reason, diagnostic } => {
            format!("failed {reason}: {}", diagnostic.as_deref().unwrap_or_default())
        }
        ReportedOutcome::Complained { feedback_type } => {
            format!("complained: {}", feedback_type.as_deref().unwrap_or_default())
        }
    };
    (recipients.first().cloned().unwrap_or_default(), text)
}

#[test]
fn reports_of_real_servers_are_parsed() {
    let no_such_user = "bounced NoEmail: 550 5.1.1 No such user here";
    let content = "failed content_rejected: 554 5.7.1 Message content rejected";
    let greylisted = "450 4.7.1 Greylisted, please try again later";
    for (message, recipient, expected) in [
        (
            &report!("postfix-unknown-user")[..],
            "unknown@example.org",
            "bounced NoEmail: unknown user: \"unknown@example.org\"",
        ),
        (report!("postfix-remote-unknown-user"), "unknown.grace@example.org", no_such_user),
        (report!("postfix-content-refused"), "content.grace@example.org", content),
        (report!("postfix-expired"), "grey.grace@example.org", &format!("failed expired: {greylisted}")),
        (report!("postfix-delayed"), "grey.grace@example.org", &format!("delayed: {greylisted}")),
        (report!("postfix-success"), "ada@example.net", "delivered: delivery via virtual: delivered to maildir"),
        (report!("postfix-relayed"), "far.ada@example.net", "delivered: 250 2.0.0 Taken"),
        (report!("exim-unrouteable"), "unknown@example.org", "bounced NoEmail: Unrouteable address"),
        (report!("exim-remote-unknown-user"), "unknown.grace@example.org", no_such_user),
        (report!("exim-content-refused"), "content.grace@example.org", content),
        (report!("exim-delayed"), "grey.grace@example.org", &format!("delayed: {greylisted}")),
        (report!("exim-success"), "ada@example.net", "delivered: relayed via non SMTP router"),
        (report!("opensmtpd-mailer-failed"), "bounced.grace@example.org", "failed rejected: 5.3.0"),
    ] {
        let report = parse(message).expect("a report");

        assert_eq!(only_finding(&report), (recipient.to_owned(), expected.to_owned()));
        assert_eq!(report.references, [by_return_path(), by_id()]);
        assert_eq!(report.fallback, FallbackRecipient::OnlyRecipient);
    }
}

#[test]
fn a_complaint_is_located_by_the_unredacted_fields() {
    let redacted = parse(report!("arf-abuse")).unwrap();
    let full = parse(report!("arf-full")).unwrap();

    assert_eq!(only_finding(&redacted), (String::new(), "complained: abuse".to_owned()));
    assert_eq!(redacted.references, [by_id()]);
    assert_eq!(only_finding(&full), ("grace@example.org".to_owned(), "complained: fraud".to_owned()));
    assert_eq!(full.references, [by_return_path(), by_id()]);
}

#[test]
fn other_messages_are_not_reports() {
    let no_findings =
        String::from_utf8_lossy(report!("postfix-unknown-user")).replace("Action: failed", "Action: none");
    for message in [
        &report!("arf-not-spam")[..],
        report!("auto-reply"),
        no_findings.as_bytes(),
        b"",
        b"\r\n\r\n",
        b"Subject: Undelivered Mail Returned to Sender\r\n\r\n550 5.1.1 unknown",
        b"Content-Type: multipart/report\r\n\r\n--x\r\n",
        b"Content-Type: multipart/report; boundary=\"\"\r\n\r\n--\r\nContent-Type: message/delivery-status\r\n\r\n",
        b"\xff\xfe\x00",
    ] {
        assert_eq!(parse(message), None, "{}", message.escape_ascii());
    }
}

#[test]
fn a_report_inside_another_message_is_not_one() {
    let inner = String::from_utf8_lossy(report!("postfix-unknown-user")).into_owned();
    let forwarded = format!("Content-Type: multipart/mixed; boundary=out\r\n\r\n--out\r\n{inner}\r\n--out--\r\n");

    assert_eq!(parse(forwarded.as_bytes()), None);
}

#[test]
fn a_truncated_report_is_parsed_up_to_its_end() {
    let whole = report!("postfix-unknown-user");
    let returned = whole.windows(14).position(|window| window == b"message/rfc822").unwrap();

    let report = parse(&whole[..returned - 20]).unwrap();

    assert_eq!(report.references, [by_return_path()]);
}

#[test]
fn references_of_the_report_itself_are_ignored() {
    let status = String::from_utf8_lossy(report!("exim-unrouteable")).replace("\nMessage-ID:", "\nX-Message-ID:");
    let complaint = String::from_utf8_lossy(report!("arf-abuse")).replace("\nMessage-ID: <019", "\nX-Message-ID: <019");
    let answering = format!("References: <{EMAIL}@example.com>\r\nIn-Reply-To: <{EMAIL}@example.com>\r\n{complaint}");

    assert!(status.contains(&format!("References: <{EMAIL}@example.com>")));
    assert_eq!(parse(status.as_bytes()).unwrap().references, [by_return_path()]);
    assert_eq!(parse(answering.as_bytes()).unwrap().references, []);
}

#[test]
fn the_returned_message_follows_the_machine_readable_part() {
    let before = "--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <1@example.org>\r\n";
    let status = "--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx\r\n\r\n\
                  Final-Recipient: rfc822; ada@example.net\r\nAction: failed\r\n";
    let returned = before.replace("<1@", &format!("<{EMAIL}@"));
    let head = "Content-Type: multipart/report; boundary=b\r\n\r\n";
    let references = |parts: String| parse(format!("{head}{parts}--b--").as_bytes()).unwrap().references;

    assert_eq!(references(format!("{before}{status}{returned}")), [by_id()]);
    assert_eq!(references(format!("{returned}{status}")), []);
}

#[test]
fn deep_and_numerous_parts_are_parsed_within_the_limits() {
    let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(30_000);
    let multiparts: String = (0..10_000)
        .map(|depth| format!("Content-Type: multipart/report; boundary=b{depth}\r\n\r\n--b{depth}\r\n"))
        .collect();
    let head = "Content-Type: multipart/report; boundary=b\r\n\r\n";
    let parts = format!("{head}{}", "--b\r\n\r\n".repeat(100_000));
    let header = format!("{}\r\n\r\n", "To: b+a@b, ".repeat(90_000));
    // Incomplete encoded words (RFC 2047 §2), and sections of a parameter (RFC 2231 §3).
    let words = format!("Subject: {}\r\n\r\n", "=?ab?q? ".repeat(16_000));
    let pieces: String = (0..12_000).map(|number| format!(";\r\n a*{number}=b")).collect();
    let pieces = format!("Content-Type: text/plain{pieces}\r\n\r\n");
    let broken_words = format!("{head}{}", format!("--b\r\n{words}").repeat(7));
    let many_pieces = format!("{head}{}", format!("--b\r\n{pieces}").repeat(7));
    for message in [nested, multiparts, parts, header, broken_words, many_pieces] {
        assert_eq!(parse(message.as_bytes()), None);
    }
}

#[test]
fn only_addresses_with_the_tag_are_locators() {
    let mut references = References::default();
    references.add_return_paths("Ada <ada@example.net>, \"b+x\" <B+One.two@send.example.com>, b+nothing, <b+>");
    (0..100).for_each(|number| references.add_return_paths(&format!("b+{number}@example.com")));

    assert_eq!(references.0[0], EmailLocator::ReturnPath("B+One.two@send.example.com".to_owned()));
    assert_eq!(references.0[1], EmailLocator::ReturnPath("b+0@example.com".to_owned()));
    assert_eq!(references.0.len(), REFERENCES_MAX);
}

proptest! {
    #[test]
    fn no_report_causes_a_panic(
        kind in "message/(delivery-status|feedback-report|rfc822)|text/(plain|rfc822-headers)",
        fields in "((Action|Status|Final-Recipient|Diagnostic-Code|Feedback-Type|Message-ID|Original-Rcpt-To): ?[ -~äß]{0,30}\r?\n(\r?\n)?){0,12}",
    ) {
        let message = format!("To: b+x@y\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: {kind}\r\n\r\n{fields}\r\n--b--");
        if let Some(report) = parse(message.as_bytes()) {
            prop_assert!(!report.findings.is_empty() && report.references.len() <= REFERENCES_MAX);
        }
    }
}
