//! Classification of replies as providers send them.

use proptest::prelude::*;

use crate::delivery::smtp::{
    Action, BounceKind, FailReason, RefusalClass, Reply, SiteThrottle, SmtpPhase, classify, parse_reply,
};

use SmtpPhase::{Auth, Body, Data, Ehlo, Greeting, Mail, Precheck, Rcpt};

const GMAIL: &str = "gmail-smtp-in.l.google.com";
const OUTLOOK: &str = "hotmail-com.olc.protection.outlook.com.";
const YAHOO: &str = "mta5.am0.yahoodns.net";
const OTHER: &str = "mx.example.test";

fn reply(line: &str) -> Reply {
    parse_reply(format!("{line}\r\n").as_bytes()).unwrap().0
}

fn phase(name: &str) -> SmtpPhase {
    let phases = [Greeting, Ehlo, Auth, Precheck, Mail, Rcpt, Data, Body];
    phases.into_iter().find(|phase| format!("{phase:?}") == name).expect("the name of a phase")
}

#[test]
fn each_listed_refusal_of_a_provider_has_its_class() {
    let lines = include_str!("fixtures/refusals.txt").lines();
    let mut count = 0;
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(4, " | ").collect();
        let [name, host, class, text] = columns[..] else {
            panic!("four columns: {line}");
        };

        let verdict = classify(phase(name), &reply(&text.replace("\\n", "\r\n")), host);

        assert_eq!(format!("{:?}", verdict.class), class, "{line}\n{verdict:?}");
        count += 1;
    }
    assert_eq!(count, 120);
}

#[test]
fn a_reply_of_a_provider_suppresses_only_a_recipient_that_it_names_and_limits_its_site() {
    let lines = include_str!("fixtures/providers.txt").lines();
    let (mut count, mut limits) = (0, 0);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(5, " | ").collect();
        let [name, host, class, effect, text] = columns[..] else {
            panic!("five columns: {line}");
        };
        let (suppression, throttle) = effect.split_once(", ").unwrap_or((effect, ""));

        let verdict = classify(phase(name), &reply(&text.replace("\\n", "\r\n")), host);

        assert_eq!(format!("{:?}", verdict.class), class, "{line}\n{verdict:?}");
        let actual = match verdict.action {
            Action::Bounce => "suppressed",
            Action::ConfirmBounce => "confirmed",
            _ => "kept",
        };
        assert_eq!(actual, suppression, "{line}\n{verdict:?}");
        let actual = match verdict.action {
            Action::HoldSite { throttle, .. } | Action::ThrottleSite { throttle } => match throttle {
                SiteThrottle::Halve => "halve",
                SiteThrottle::Trickle { minutes: 90 } => "trickle",
                SiteThrottle::Trickle { .. } => "another time",
                SiteThrottle::Stop { .. } => "stop",
            },
            _ => "none",
        };
        assert!(throttle.is_empty() || throttle == actual, "{line}\n{verdict:?}");
        (count, limits) = (count + 1, limits + usize::from(!throttle.is_empty()));
    }
    assert!(count >= 100 && limits >= 30, "{count} replies, {limits} of them with a limit");
}

#[test]
fn words_about_the_sender_win_over_every_sign_of_a_bad_mailbox() {
    let signs = [
        "5.1.0",
        "5.1.1",
        "5.1.3",
        "5.1.6",
        "5.1.10",
        "5.2.1",
        "mailbox unavailable",
        "user unknown",
        "5.1.2",
        "5.4.4",
    ];
    let causes = [
        "invalid DNS PTR record",
        "no reverse DNS",
        "cannot find your hostname",
        "blocked using zen.spamhaus.org",
        "your IP is on our blocklist",
        "your IP was refused",
        "rejected by policy",
        "Sender address rejected",
        "the sender domain does not exist",
        "relaying denied",
        "DNS lookup failed",
    ];
    let of_providers = [
        (OUTLOOK, "550 5.5.0 Requested action not taken: mailbox unavailable"),
        (OUTLOOK, "550 5.1.10 RESOLVER.ADR.RecipientNotFound"),
        (OUTLOOK, "550 5.4.1 Recipient address rejected: Access denied"),
        (YAHOO, "554 delivery error: dd This user doesn't have a yahoo.com account"),
        (YAHOO, "552 1 Requested mail action aborted, mailbox not found"),
    ];
    let everywhere =
        signs.into_iter().flat_map(|sign| [OTHER, OUTLOOK, YAHOO, GMAIL].map(|host| (host, format!("550 {sign}"))));
    let everywhere = everywhere.chain(of_providers.map(|(host, sign)| (host, sign.to_owned())));
    for (host, sign) in everywhere {
        for cause in causes {
            let verdict = classify(Rcpt, &reply(&format!("{sign} - {cause}")), host);

            let is_kept =
                matches!(verdict.action, Action::Fail { .. } | Action::HoldSite { .. } | Action::ThrottleSite { .. });
            assert!(is_kept, "{host} {sign} {cause}: {verdict:?}");
        }
    }
    for (host, sign) in of_providers {
        let twice = format!("{sign} - {}", &sign[4..]);
        for text in [sign, &twice] {
            assert_eq!(classify(Rcpt, &reply(text), host).action, Action::Bounce, "{text}");
        }
    }
}

#[test]
fn every_class_has_its_bounce_type_and_action() {
    let fail = |reason| Action::Fail { reason };
    let trickle = SiteThrottle::Trickle { minutes: 90 };
    let hold = Action::HoldSite { throttle: trickle, delist: None };
    let halve = Action::ThrottleSite { throttle: SiteThrottle::Halve };
    let full = Action::RetryLimited { hours: 24 };
    let cases = [
        ("550 5.1.1 no", RefusalClass::BadMailbox, "Permanent", "NoEmail", Action::Bounce),
        ("550 5.1.2 no", RefusalClass::BadDomain, "Permanent", "NoEmail", Action::ConfirmBounce),
        ("552 5.2.2 full", RefusalClass::MailboxFull, "Transient", "MailboxFull", full),
        ("452 4.2.2 full", RefusalClass::MailboxFull, "Transient", "MailboxFull", full),
        ("450 4.2.1 later", RefusalClass::Greylisted, "Transient", "General", Action::RetryShort),
        ("552 5.3.4 big", RefusalClass::TooLarge, "Transient", "MessageTooLarge", fail(FailReason::TooLarge)),
        ("554 5.7.1 spam", RefusalClass::Content, "Transient", "ContentRejected", fail(FailReason::Content)),
        (
            "554 5.7.1 attachment type",
            RefusalClass::Attachment,
            "Transient",
            "AttachmentRejected",
            fail(FailReason::Attachment),
        ),
        ("550 5.7.26 no", RefusalClass::Authentication, "Transient", "General", fail(FailReason::Authentication)),
        ("550 5.7.708 no", RefusalClass::Blocked, "Transient", "General", hold),
        ("421 4.3.2 busy", RefusalClass::RateLimited, "Transient", "General", halve),
        (
            "421 4.7.28 rate",
            RefusalClass::RateLimited,
            "Transient",
            "General",
            Action::ThrottleSite { throttle: trickle },
        ),
        ("452 4.5.3 many", RefusalClass::TooManyRecipients, "Transient", "General", Action::SplitRecipients),
        ("500 5.5.1 what", RefusalClass::Protocol, "Undetermined", "Undetermined", Action::RetryWithoutPipelining),
        (
            "553 5.6.7 utf8",
            RefusalClass::AddressUnsupported,
            "Undetermined",
            "Undetermined",
            fail(FailReason::AddressUnsupported),
        ),
        ("554 5.4.7 old", RefusalClass::Expired, "Transient", "General", fail(FailReason::Expired)),
        ("451 4.3.0 later", RefusalClass::Temporary, "Transient", "General", Action::Retry),
        ("550 5.7.1 no", RefusalClass::Unknown, "Undetermined", "Undetermined", fail(FailReason::Rejected)),
    ];
    for (line, class, kind, subtype, action) in cases {
        let verdict = classify(Rcpt, &reply(line), OTHER);

        assert_eq!(
            (verdict.class, verdict.kind.as_str(), verdict.subtype, verdict.action),
            (class, kind, subtype, action),
            "{line}"
        );
    }
}

#[test]
fn a_block_has_a_throttle_and_a_delist_url() {
    let cases = [
        (OUTLOOK, "550 5.7.1 on our block list (S3140)", SiteThrottle::Trickle { minutes: 90 }),
        (YAHOO, "421 4.7.0 [TSS04] deferred", SiteThrottle::Stop { minutes: 120 }),
        (OTHER, "554 5.7.1 blocked using zen.spamhaus.org", SiteThrottle::Trickle { minutes: 90 }),
    ];
    for (host, line, expected) in cases {
        let Action::HoldSite { throttle, delist } = classify(Mail, &reply(line), host).action else {
            panic!("{line}");
        };
        assert_eq!(throttle, expected, "{line}");
        assert!(delist.is_some_and(|url| url.starts_with("https://")), "{line}");
    }
    let verdict = classify(Mail, &reply("421 4.7.0 [TSS05] deferred"), YAHOO);
    let throttle = SiteThrottle::Trickle { minutes: 90 };
    assert_eq!(verdict.action, Action::ThrottleSite { throttle });
}

#[test]
fn a_mailbox_over_its_receiving_rate_is_retried() {
    let verdict = classify(Rcpt, &reply("550 5.2.1 is receiving mail at a rate that"), GMAIL);

    assert_eq!(verdict.action, Action::Retry);
}

#[test]
fn rejected_credentials_hold_the_smarthost() {
    let verdict = classify(Auth, &reply("535 5.7.8 no"), OTHER);

    assert!(matches!(verdict.action, Action::HoldSite { .. }), "{verdict:?}");
}

#[test]
fn contradictory_codes_are_transient() {
    for line in ["450 5.1.1 no such user", "550 4.1.1 no such user", "450 no such user"] {
        let verdict = classify(Rcpt, &reply(line), OTHER);

        assert_eq!(verdict.kind, BounceKind::Transient, "{line}");
        assert!(matches!(verdict.action, Action::Retry | Action::RetryShort), "{line}");
    }
}

fn any_phase() -> impl Strategy<Value = SmtpPhase> {
    prop_oneof![
        Just(Greeting),
        Just(Ehlo),
        Just(SmtpPhase::StartTls),
        Just(Auth),
        Just(Precheck),
        Just(Mail),
        Just(Rcpt),
        Just(Data),
        Just(Body),
    ]
}

proptest! {
    #[test]
    fn every_verdict_satisfies_the_invariants(
        phase in any_phase(),
        code in 400u16..600,
        enhanced in proptest::option::of((prop_oneof![Just(4u8), Just(5)], 0u16..9, 0u16..800)),
        text in "\\PC{0,60}|(user unknown|over quota|spamhaus|\\[tss04\\]|too many recipients|dmarc|virus|greylist)",
        host in "(mx\\.)?(google\\.com|outlook\\.com|yahoodns\\.net|x\\.test)\\.?",
    ) {
        let verdict = classify(phase, &Reply { code, enhanced, text }, &host);

        let is_bounce = matches!(verdict.action, Action::Bounce | Action::ConfirmBounce);
        let is_terminal = is_bounce || matches!(verdict.action, Action::Fail { .. });
        if code < 500 {
            prop_assert!(!is_terminal, "a 4xx ended a message: {:?}", verdict);
        }
        prop_assert_eq!(is_bounce, verdict.kind == BounceKind::Permanent);
        prop_assert!(!is_bounce || phase >= Rcpt || phase == Precheck, "{:?} at {}", verdict, phase);
        prop_assert!(!is_bounce || matches!(verdict.class, RefusalClass::BadMailbox | RefusalClass::BadDomain));
    }
}
