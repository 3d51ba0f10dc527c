//! Replies as providers send them, and what they must come to.

use proptest::prelude::*;

use crate::delivery::smtp::{
    Action, BounceKind, Class, FailReason, Phase, Reply, SitePace, classify, parse_reply,
};

use Phase::{Auth, Body, Data, Ehlo, Greeting, Mail, Precheck, Rcpt};

const GMAIL: &str = "gmail-smtp-in.l.google.com";
const OUTLOOK: &str = "hotmail-com.olc.protection.outlook.com.";
const OFFICE: &str = "example-test.mail.protection.outlook.com";
const YAHOO: &str = "mta5.am0.yahoodns.net";
const OTHER: &str = "mx.example.test";

fn reply(line: &str) -> Reply {
    parse_reply(format!("{line}\r\n").as_bytes()).unwrap().0
}

fn check(cases: &[(Phase, &str, &str, Class)]) {
    for (phase, host, line, expected) in cases {
        let verdict = classify(*phase, &reply(line), host);

        assert_eq!(verdict.class, *expected, "{phase} {host} {line}: {verdict:?}");
    }
}

#[test]
fn every_class_has_its_type_and_its_action() {
    let fail = |reason| Action::Fail { reason };
    let trickle = SitePace::Trickle { minutes: 90 };
    let hold = Action::HoldSite { pace: trickle, delist: None };
    let halve = Action::ThrottleSite { pace: SitePace::Halve };
    let suppress = Action::Bounce { suppress: true };
    let full = Action::RetryLimited { hours: 24 };
    let cases = [
        ("550 5.1.1 no", Class::BadMailbox, "Permanent", "NoEmail", suppress),
        ("550 5.1.2 no", Class::BadDomain, "Permanent", "NoEmail", suppress),
        ("552 5.2.2 full", Class::MailboxFull, "Transient", "MailboxFull", full),
        ("452 4.2.2 full", Class::MailboxFull, "Transient", "MailboxFull", full),
        ("450 4.2.1 later", Class::Greylisted, "Transient", "General", Action::RetryShort),
        ("552 5.3.4 big", Class::TooLarge, "Transient", "MessageTooLarge", fail(FailReason::TooLarge)),
        ("554 5.7.1 spam", Class::Content, "Transient", "ContentRejected", fail(FailReason::Content)),
        ("554 5.7.1 attachment type", Class::Attachment, "Transient", "AttachmentRejected", fail(FailReason::Attachment)),
        ("550 5.7.26 no", Class::Authentication, "Transient", "General", fail(FailReason::Authentication)),
        ("550 5.7.708 no", Class::Blocked, "Transient", "General", hold),
        ("421 4.3.2 busy", Class::RateLimited, "Transient", "General", halve),
        ("421 4.7.28 rate", Class::RateLimited, "Transient", "General", Action::ThrottleSite { pace: trickle }),
        ("452 4.5.3 many", Class::TooManyRecipients, "Transient", "General", Action::SplitRecipients),
        ("500 5.5.1 what", Class::Protocol, "Undetermined", "Undetermined", Action::RetryWithoutPipelining),
        ("553 5.6.7 utf8", Class::AddressUnsupported, "Undetermined", "Undetermined", fail(FailReason::AddressUnsupported)),
        ("554 5.4.7 old", Class::Expired, "Transient", "General", fail(FailReason::Expired)),
        ("451 4.3.0 later", Class::Temporary, "Transient", "General", Action::Retry),
        ("550 5.7.1 no", Class::Unknown, "Undetermined", "Undetermined", fail(FailReason::Rejected)),
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
fn enhanced_codes_decide_where_they_say_enough() {
    check(&[
        (Rcpt, OTHER, "550 5.1.0 Address rejected", Class::BadMailbox),
        (Rcpt, OTHER, "550 #5.1.0 Address rejected.", Class::BadMailbox),
        (Rcpt, OTHER, "501 5.1.3 Bad recipient address syntax", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.1.6 moved", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.2.1 account is inactive", Class::BadMailbox),
        (Rcpt, OTHER, "556 5.1.10 null MX", Class::BadDomain),
        (Rcpt, OTHER, "550 5.4.4 unable to route", Class::BadDomain),
        (Rcpt, OTHER, "450 4.1.1 unverified address", Class::Greylisted),
        (Rcpt, OTHER, "451 4.7.1 Greylisting in action, please come back later", Class::Greylisted),
        (Rcpt, OTHER, "450 4.2.0 <a@b>: Recipient address rejected: Greylisted", Class::Greylisted),
        (Rcpt, OTHER, "450 4.7.0 graylisted", Class::Greylisted),
        (Rcpt, OTHER, "450 4.7.1 Client host rejected: cannot find your hostname", Class::Temporary),
        (Body, OTHER, "550 5.2.3 too long", Class::TooLarge),
        (Body, OTHER, "550 5.6.0 broken MIME", Class::Content),
        (Body, OTHER, "554 5.6.1 unsupported media", Class::Content),
        (Body, OTHER, "552 5.7.0 blocked", Class::Content),
        (Body, OTHER, "550 5.7.20 no passing DKIM signature", Class::Authentication),
        (Body, OTHER, "550 5.7.23 SPF validation failed", Class::Authentication),
        (Body, OTHER, "550 5.7.25 reverse DNS validation failed", Class::Authentication),
        (Mail, OTHER, "550 5.7.27 sender has null MX", Class::Authentication),
        (Mail, OTHER, "550 5.1.8 domain of sender address does not resolve", Class::Authentication),
        (Mail, OTHER, "553 5.1.7 bad sender syntax", Class::Authentication),
        (Rcpt, OTHER, "550 5.5.3 too many", Class::TooManyRecipients),
        (Mail, OTHER, "555 5.5.4 unsupported option", Class::Protocol),
        (Mail, OTHER, "421 4.7.0 try again later, closing connection", Class::RateLimited),
        (Rcpt, OTHER, "450 4.4.1 no answer from next hop", Class::Temporary),
        (Rcpt, OTHER, "452 4.3.1 insufficient system storage", Class::Temporary),
    ]);
}

#[test]
fn words_decide_where_codes_do_not() {
    check(&[
        (Rcpt, OTHER, "550 User unknown", Class::BadMailbox),
        (Rcpt, OTHER, "550 sorry, no mailbox here by that name (#5.1.1)", Class::BadMailbox),
        (Rcpt, OTHER, "550 Unrouteable address", Class::BadMailbox),
        (Rcpt, OTHER, "553 5.3.0 <a@b>... No such user here", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.7.1 no such user", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.0.0 mailbox unavailable", Class::BadMailbox),
        (Rcpt, OTHER, "552 user is over quota", Class::MailboxFull),
        (Rcpt, OTHER, "554 mailbox full", Class::MailboxFull),
        (Body, OTHER, "552 message size exceeds fixed limit", Class::TooLarge),
        (Body, OTHER, "554 Message rejected: virus found", Class::Content),
        (Body, OTHER, "550 5.7.1 Message rejected as spam by content filter", Class::Content),
        (Body, OTHER, "554 5.7.1 bad attachment: this file type is not accepted", Class::Attachment),
        (Body, OTHER, "550 5.7.1 rejected by DMARC policy", Class::Authentication),
        (Rcpt, OTHER, "550 5.7.1 <b@c>: Sender address rejected: Domain not found", Class::Authentication),
        (Rcpt, OTHER, "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org", Class::Blocked),
        (Rcpt, OTHER, "450 4.7.1 Client host [192.0.2.1] blocked using bl.spamcop.net", Class::Blocked),
        (Rcpt, OTHER, "550 your IP address has been listed", Class::Blocked),
        (Rcpt, OTHER, "450 greylisted, try again in 300 seconds", Class::Greylisted),
        (Mail, OTHER, "451 too many connections from your host", Class::RateLimited),
        (Rcpt, OTHER, "550 5.7.1 too many recipients in this message", Class::TooManyRecipients),
        (Rcpt, OTHER, "452 too many recipients", Class::TooManyRecipients),
        // Words beside a code that is clear are not asked.
        (Rcpt, OTHER, "550 5.1.1 user unknown, and not because of spam", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.7.26 user unknown", Class::Authentication),
    ]);
}

#[test]
fn basic_codes_and_phases_decide_what_is_left() {
    check(&[
        (Rcpt, OTHER, "421", Class::RateLimited),
        (Rcpt, OTHER, "450", Class::Temporary),
        (Rcpt, OTHER, "451", Class::Temporary),
        (Rcpt, OTHER, "452", Class::MailboxFull),
        (Mail, OTHER, "452", Class::Temporary),
        (Mail, OTHER, "500", Class::Protocol),
        (Data, OTHER, "503", Class::Protocol),
        (Rcpt, OTHER, "504", Class::Protocol),
        (Rcpt, OTHER, "550", Class::Unknown),
        (Body, OTHER, "550 no", Class::Unknown),
        (Data, OTHER, "554", Class::Unknown),
        (Rcpt, OTHER, "550 5.7.1 Relaying denied", Class::Unknown),
        (Rcpt, OTHER, "552", Class::MailboxFull),
        (Mail, OTHER, "552", Class::TooLarge),
        (Body, OTHER, "552", Class::TooLarge),
        (Greeting, OTHER, "554", Class::Blocked),
        (Greeting, OTHER, "554 5.7.1 go away", Class::Blocked),
        (Greeting, OTHER, "550 go away", Class::SiteRefused),
        (Greeting, OTHER, "450 greylisted", Class::Greylisted),
        (Greeting, OTHER, "451 busy", Class::Temporary),
        (Ehlo, OTHER, "550 5.1.1 who are you", Class::SiteRefused),
        (Ehlo, OTHER, "504 5.5.2 need a FQDN", Class::SiteRefused),
        (Ehlo, OTHER, "554 5.7.1 blocked using sbl.spamhaus.org", Class::Blocked),
        (Auth, OTHER, "535 5.7.8 credentials invalid", Class::SiteRefused),
        (Auth, OTHER, "454 4.7.0 temporary failure", Class::RateLimited),
        (Mail, OTHER, "550 5.1.1 sender unknown", Class::SiteRefused),
        (Mail, OTHER, "550", Class::SiteRefused),
        (Mail, OTHER, "550 5.2.2 quota", Class::SiteRefused),
        (Mail, OTHER, "450 4.2.2 quota", Class::Temporary),
        (Precheck, OTHER, "552 5.3.4 too big", Class::TooLarge),
        (Precheck, OTHER, "501 5.1.3 bad address", Class::BadMailbox),
        (Precheck, OTHER, "553 5.6.7 no SMTPUTF8", Class::AddressUnsupported),
    ]);
}

#[test]
fn microsoft_means_what_it_says_in_its_own_way() {
    check(&[
        (Mail, OUTLOOK, "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Part of their network is on our block list (S3140).", Class::Blocked),
        (Mail, OUTLOOK, "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. (S3150)", Class::Blocked),
        (Rcpt, OFFICE, "550 5.7.606 Access denied, banned sending IP [192.0.2.1]", Class::Blocked),
        (Rcpt, OFFICE, "550 5.7.649 Access denied", Class::Blocked),
        (Rcpt, OFFICE, "550 5.7.511 Access denied, banned sender", Class::Blocked),
        (Rcpt, OFFICE, "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.", Class::Blocked),
        (Mail, OUTLOOK, "451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.", Class::RateLimited),
        (Mail, OFFICE, "451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (AS77712)", Class::RateLimited),
        (Rcpt, OUTLOOK, "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.5.0 wrong state", Class::Protocol),
        (Rcpt, OFFICE, "550 5.4.1 Recipient address rejected: Access denied. AS(201806281)", Class::BadMailbox),
        (Rcpt, OTHER, "550 5.4.1 Recipient address rejected: Access denied.", Class::Unknown),
        (Rcpt, OFFICE, "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup", Class::BadDomain),
        (Body, OUTLOOK, "550 5.7.515 Access denied, sending domain does not meet the required authentication level.", Class::Authentication),
        (Body, OFFICE, "550 5.7.509 Access denied, sending domain does not pass DMARC verification", Class::Authentication),
    ]);
    let verdict = classify(Mail, &reply("550 5.7.1 on our block list (S3140)"), OUTLOOK);
    let Action::HoldSite { pace, delist } = verdict.action else {
        panic!("{verdict:?}");
    };
    assert_eq!(pace, SitePace::Trickle { minutes: 90 });
    assert!(delist.is_some());
}

#[test]
fn yahoo_names_its_reasons_in_brackets() {
    check(&[
        (Mail, YAHOO, "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints - 4.16.55.1", Class::Blocked),
        (Mail, YAHOO, "421 4.7.0 [TSS09] Messages temporarily deferred", Class::RateLimited),
        (Mail, YAHOO, "421 4.7.0 [TS01] Messages from 192.0.2.1 temporarily deferred", Class::RateLimited),
        (Mail, YAHOO, "421 4.7.1 [TS03] All messages from 192.0.2.1 will be permanently deferred; Retrying will NOT succeed.", Class::Blocked),
        (Greeting, YAHOO, "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list", Class::Blocked),
        (Body, YAHOO, "554 delivery error: dd This user doesn't have a yahoo.com account (a@yahoo.com) [0]", Class::BadMailbox),
        (Body, YAHOO, "552 1 Requested mail action aborted, mailbox not found", Class::BadMailbox),
        (Body, YAHOO, "554 5.7.9 Message not accepted for policy reasons.", Class::Content),
        (Body, YAHOO, "554 Message not allowed - [PH01] Email not accepted", Class::Content),
    ]);
    let verdict = classify(Mail, &reply("421 4.7.0 [TSS04] deferred"), YAHOO);
    assert!(matches!(verdict.action, Action::HoldSite { pace: SitePace::Stop { minutes: 120 }, .. }));
    let verdict = classify(Mail, &reply("421 4.7.0 [TSS05] deferred"), YAHOO);
    assert!(matches!(verdict.action, Action::ThrottleSite { pace: SitePace::Trickle { .. } }));
}

#[test]
fn google_explains_itself_over_several_lines() {
    check(&[
        (Rcpt, GMAIL, "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n550 5.1.1 double-checking the recipient's email address", Class::BadMailbox),
        (Rcpt, GMAIL, "550 5.2.1 The email account that you tried to reach is inactive.", Class::BadMailbox),
        (Rcpt, GMAIL, "550-5.2.1 The user you are trying to contact is receiving mail at a\r\n550 5.2.1 rate that prevents additional messages from being delivered.", Class::Temporary),
        (Rcpt, GMAIL, "450 4.2.1 The user you are trying to contact is receiving mail too quickly.", Class::Temporary),
        (Rcpt, GMAIL, "452 4.2.2 The recipient's inbox is out of storage space.", Class::MailboxFull),
        (Rcpt, GMAIL, "552 5.2.2 The email account that you tried to reach is over quota.", Class::MailboxFull),
        (Body, GMAIL, "421-4.7.28 Our system has detected an unusual rate of unsolicited mail originating\r\n421 4.7.28 from your IP address.", Class::RateLimited),
        (Body, GMAIL, "550-5.7.26 This mail has been blocked because the sender is unauthenticated.\r\n550 5.7.26 Gmail requires all senders to authenticate", Class::Authentication),
        (Body, GMAIL, "421-4.7.26 This mail has been rate limited because it is unauthenticated.\r\n421 4.7.26 x", Class::Authentication),
        (Body, GMAIL, "552 5.7.0 This message was blocked because its content presents a potential security issue.", Class::Attachment),
        (Body, GMAIL, "550 5.7.1 Our system has detected that this message is likely unsolicited mail.", Class::Content),
        (Body, GMAIL, "550-5.7.1 [192.0.2.1] Our system has detected that this message is suspicious due to the very low\r\n550 5.7.1 reputation of the sending IP address.", Class::Blocked),
        (Rcpt, GMAIL, "452 4.5.3 Your message has too many recipients.", Class::TooManyRecipients),
        (Data, GMAIL, "550 5.4.5 Daily user sending limit exceeded.", Class::RateLimited),
    ]);
    // A permanent code for something that passes: tried again, and the address is not touched.
    let verdict = classify(Rcpt, &reply("550 5.2.1 is receiving mail at a rate that"), GMAIL);
    assert_eq!(verdict.action, Action::Retry);
}

#[test]
fn rejected_credentials_hold_the_smarthost() {
    let verdict = classify(Auth, &reply("535 5.7.8 no"), OTHER);

    assert!(matches!(verdict.action, Action::HoldSite { .. }), "{verdict:?}");
}

#[test]
fn codes_that_contradict_themselves_are_read_mildly() {
    for line in ["450 5.1.1 no such user", "550 4.1.1 no such user", "450 no such user"] {
        let verdict = classify(Rcpt, &reply(line), OTHER);

        assert_eq!(verdict.kind, BounceKind::Transient, "{line}");
        assert!(matches!(verdict.action, Action::Retry | Action::RetryShort), "{line}");
    }
}

fn any_phase() -> impl Strategy<Value = Phase> {
    prop_oneof![
        Just(Greeting), Just(Ehlo), Just(Phase::StartTls), Just(Auth), Just(Precheck), Just(Mail),
        Just(Rcpt), Just(Data), Just(Body),
    ]
}

proptest! {
    #[test]
    fn no_refusal_breaks_the_rules_of_the_table(
        phase in any_phase(),
        code in 400u16..600,
        enhanced in proptest::option::of((prop_oneof![Just(4u8), Just(5)], 0u16..9, 0u16..800)),
        text in "\\PC{0,60}|(user unknown|over quota|spamhaus|\\[tss04\\]|too many recipients|dmarc|virus|greylist)",
        host in "(mx\\.)?(google\\.com|outlook\\.com|yahoodns\\.net|x\\.test)\\.?",
    ) {
        let verdict = classify(phase, &Reply { code, enhanced, text }, &host);

        let is_terminal = matches!(verdict.action, Action::Bounce { .. } | Action::Fail { .. });
        if code < 500 {
            prop_assert!(!is_terminal, "a 4xx ended a message: {:?}", verdict);
        }
        let is_bounce = matches!(verdict.action, Action::Bounce { suppress: true });
        prop_assert_eq!(is_bounce, verdict.kind == BounceKind::Permanent);
        prop_assert!(!is_bounce || phase >= Rcpt || phase == Precheck, "{:?} at {}", verdict, phase);
        prop_assert!(!is_bounce || matches!(verdict.class, Class::BadMailbox | Class::BadDomain));
    }
}
