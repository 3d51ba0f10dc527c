//! Dispositions and the health of the site.

use std::time::Duration;

use super::*;
use crate::delivery::smtp::{ConnectionState, SiteThrottle};

const CONTEXT: TransactionContext<'_> = TransactionContext {
    host: "mx.example.net",
    is_final: true,
    without_pipelining: false,
    reused: false,
    is_confirmed_missing: false,
};

fn reply(code: u16, text: &str) -> Reply {
    let (reply, _) = crate::delivery::smtp::parse_reply(format!("{code} {text}\r\n").as_bytes()).unwrap();
    reply
}

fn refused(phase: SmtpPhase, code: u16, text: &str) -> RecipientResult {
    RecipientResult::Refused { phase, reply: reply(code, text) }
}

fn dispositions(recipients: Vec<RecipientResult>) -> (Vec<RecipientDisposition>, SiteHealth) {
    let transaction = Transaction { recipients, connection: ConnectionState::Reusable, transcript: String::new() };
    read_transaction(&transaction, CONTEXT)
}

fn deferral(disposition: &RecipientDisposition) -> &Deferral {
    match disposition {
        RecipientDisposition::Deferred(deferral) => deferral,
        other => panic!("expected a deferral, got {other:?}"),
    }
}

#[test]
fn the_warm_up_plan_counts_messages_that_were_sent() {
    let delivered = || RecipientDisposition::Delivered { reply: "250 Ok".into(), complained: false };
    let deferred = || RecipientDisposition::Deferred(Deferral::ordinary(None));
    // The server closed the session, or takes no further recipient in this transaction.
    let free = || RecipientDisposition::Deferred(Deferral::immediate(None));
    for (dispositions, sent, counted) in [
        (vec![delivered()], 1, 0),
        (vec![delivered(), deferred()], 1, 1),
        (vec![delivered(), free()], 1, 0),
        (vec![free(), free()], 0, 0),
        (vec![free(), deferred()], 1, 1),
    ] {
        let counts = WarmUpRow::of(&dispositions);
        assert_eq!((counts.sent, counts.deferred, counts.bounced), (sent, counted, 0), "{dispositions:?}");
    }
}

#[test]
fn the_acceptance_of_a_host_that_is_not_final_is_no_delivery() {
    let context = TransactionContext { is_final: false, ..CONTEXT };
    let accepted = RecipientResult::Accepted { reply: reply(250, "2.0.0 queued") };
    let unknown = refused(SmtpPhase::Rcpt, 550, "5.1.1 no such user");

    assert_eq!(read_result(&accepted, context), (RecipientDisposition::Relayed, SiteHealth::Healthy));
    assert!(matches!(read_result(&unknown, context).0, RecipientDisposition::Bounced { .. }));
}

#[test]
fn each_recipient_has_its_own_disposition() {
    let (dispositions, health) = dispositions(vec![
        RecipientResult::Accepted { reply: reply(250, "2.0.0 queued") },
        refused(SmtpPhase::Rcpt, 550, "5.1.1 no such user"),
        refused(SmtpPhase::Rcpt, 450, "4.2.1 try later"),
        refused(SmtpPhase::Rcpt, 550, "5.7.1 message content rejected as spam"),
    ]);

    assert_eq!(health, SiteHealth::Healthy);
    assert!(matches!(&dispositions[0], RecipientDisposition::Delivered { reply, .. } if reply.contains("queued")));
    assert!(
        matches!(&dispositions[1], RecipientDisposition::Bounced { suppresses: true, bounce } if bounce.subtype == "NoEmail")
    );
    assert_eq!(deferral(&dispositions[2]).charge, Charge::Counted);
    assert!(matches!(&dispositions[3], RecipientDisposition::Failed { .. }));
}

/// Clients recognize a bounce by the words `bounce message`.
#[test]
fn the_message_of_a_refusal_says_that_the_server_sent_a_bounce_message() {
    for (phase, name) in [(SmtpPhase::Rcpt, "RCPT"), (SmtpPhase::Body, "message")] {
        let (dispositions, _) = dispositions(vec![refused(phase, 550, "5.1.1 no such user")]);

        let [RecipientDisposition::Bounced { bounce, .. }] = &dispositions[..] else { panic!("{dispositions:?}") };
        let message = format!("The recipient's mail server sent a bounce message: it refused the email at {name}.");
        assert_eq!(bounce.message, message);
        assert_eq!(bounce.diagnostic, ["550 5.1.1 no such user"]);
    }
}

#[test]
fn a_bad_mailbox_reported_after_the_message_is_tried_alone_before_it_bounces() {
    let late = || refused(SmtpPhase::Body, 550, "5.1.1 no such user");

    let (several, _) = dispositions(vec![late(), late()]);
    let (single, _) = dispositions(vec![late()]);

    assert!(several.iter().all(|disposition| deferral(disposition).grouping == Grouping::Alone));
    assert!(matches!(single[0], RecipientDisposition::Bounced { .. }));
}

#[test]
fn a_domain_that_the_server_calls_missing_bounces_only_after_a_confirmation() {
    let unknown = refused(SmtpPhase::Rcpt, 550, "5.1.2 domain not found");
    let read = |is_confirmed_missing| read_result(&unknown, TransactionContext { is_confirmed_missing, ..CONTEXT }).0;

    let first = read(false);
    assert_eq!((deferral(&first).delay, deferral(&first).charge), (RetryDelay::Confirm, Charge::Counted));
    assert!(matches!(read(true), RecipientDisposition::Bounced { suppresses: true, .. }));
}

#[test]
fn recipients_over_the_limit_are_retried_immediately_except_the_first() {
    let over = || refused(SmtpPhase::Rcpt, 452, "4.5.3 too many recipients");

    let (dispositions, _) = dispositions(vec![over(), over()]);

    assert_eq!(deferral(&dispositions[0]).delay, RetryDelay::Ordinary);
    assert_eq!(deferral(&dispositions[1]).delay, RetryDelay::Immediate);
    assert_eq!(deferral(&dispositions[1]).charge, Charge::Free);
}

#[test]
fn a_closing_server_throttles_the_site_and_the_attempt_counts_only_after_mail() {
    let closing = |phase| RecipientResult::NotTried {
        reason: IncompleteReason::Closing,
        phase,
        reply: Some(reply(421, "4.3.2 going down")),
    };

    let (before, health) = dispositions(vec![closing(SmtpPhase::Precheck)]);
    let (during, _) = dispositions(vec![closing(SmtpPhase::Data)]);

    assert!(matches!(health, SiteHealth::Throttled(_)));
    assert_eq!(deferral(&before[0]).charge, Charge::Free);
    assert_eq!(deferral(&during[0]).charge, Charge::Counted);
}

#[test]
fn a_session_closed_between_two_messages_does_not_change_the_health_of_the_site() {
    let ended = RecipientResult::NotTried { reason: IncompleteReason::Lost, phase: SmtpPhase::Precheck, reply: None };
    let transaction =
        Transaction { recipients: vec![ended], connection: ConnectionState::Closed, transcript: String::new() };

    let (dispositions, health) = read_transaction(&transaction, TransactionContext { reused: true, ..CONTEXT });

    assert_eq!(health, SiteHealth::Unknown);
    assert_eq!(deferral(&dispositions[0]).delay, RetryDelay::Immediate);
    assert_eq!(deferral(&dispositions[0]).charge, Charge::Free);
}

#[test]
fn a_withdrawn_message_is_due_again_immediately_and_does_not_change_the_health_of_the_site() {
    let (reason, phase) = (IncompleteReason::Withdrawn, SmtpPhase::Body);
    let withdrawn = RecipientResult::NotTried { reason, phase, reply: None };

    let (dispositions, health) = dispositions(vec![withdrawn; 2]);

    assert_eq!(health, SiteHealth::Unknown);
    for disposition in &dispositions {
        let deferral = deferral(disposition);
        assert_eq!((deferral.delay, deferral.charge), (RetryDelay::Immediate, Charge::Free));
    }
}

#[test]
fn a_protocol_error_is_retried_once_without_pipelining() {
    let not_understood = [refused(SmtpPhase::Mail, 503, "5.5.1 bad sequence of commands")];
    let transaction = Transaction {
        recipients: not_understood.to_vec(),
        connection: ConnectionState::Reusable,
        transcript: String::new(),
    };

    let (first, _) = read_transaction(&transaction, CONTEXT);
    let (second, _) = read_transaction(&transaction, TransactionContext { without_pipelining: true, ..CONTEXT });

    assert!(deferral(&first[0]).without_pipelining);
    assert!(matches!(second[0], RecipientDisposition::Failed { .. }));
}

#[test]
fn a_message_without_a_reply_is_deferred() {
    let (dispositions, health) = dispositions(vec![RecipientResult::Ambiguous { reason: IncompleteReason::Lost }]);

    assert!(matches!(health, SiteHealth::Throttled(_)));
    let Deferral { reply, ambiguous_host, .. } = deferral(&dispositions[0]);
    assert!(reply.as_deref().unwrap().contains("may have arrived"));
    assert_eq!(ambiguous_host.as_deref(), Some(CONTEXT.host));
}

#[test]
fn the_pause_that_a_reply_names_is_the_delay_of_the_message() {
    let named = |seconds| RetryDelay::Named { pause: Duration::from_secs(seconds) };
    for (code, text, delay) in [
        (451, "4.7.1 Greylisted, try again in 300 seconds", named(300)),
        (451, "4.7.1 Greylisted, try again later", RetryDelay::Short),
        (452, "4.2.2 Mailbox full, retry after 1 hour", named(3_600)),
        (450, "4.3.0 try again in 10 minutes", named(600)),
        (450, "4.3.0 busy", RetryDelay::Ordinary),
    ] {
        let (dispositions, _) = dispositions(vec![refused(SmtpPhase::Rcpt, code, text)]);
        assert_eq!(deferral(&dispositions[0]).delay, delay, "{text}");
    }
}

#[test]
fn the_most_severe_refusal_throttles_the_site() {
    let (_, health) = dispositions(vec![
        RecipientResult::Accepted { reply: reply(250, "2.0.0 queued") },
        refused(SmtpPhase::Rcpt, 450, "4.7.1 rate limit exceeded"),
        refused(SmtpPhase::Rcpt, 421, "4.7.0 [TSS04] Messages deferred, try again in 5 minutes"),
        refused(SmtpPhase::Rcpt, 450, "4.7.1 rate limit exceeded"),
    ]);

    let SiteHealth::Throttled(refusal) = health else { panic!("{health:?}") };
    assert_eq!(refusal.throttle, SiteThrottle::Stop { minutes: 120 });
    assert_eq!(refusal.pause, Some(Duration::from_secs(300)));
}

#[test]
fn a_session_closed_between_two_messages_for_reputation_throttles_the_site() {
    for (text, is_throttled) in
        [("4.7.0 too many messages in this session", false), ("4.7.28 unusual rate of unsolicited mail", true)]
    {
        let closing = RecipientResult::NotTried {
            reason: IncompleteReason::Closing,
            phase: SmtpPhase::Precheck,
            reply: Some(reply(421, text)),
        };

        let (disposition, health) = read_result(&closing, TransactionContext { reused: true, ..CONTEXT });

        assert_eq!(matches!(health, SiteHealth::Throttled(_)), is_throttled, "{text}");
        assert_eq!(deferral(&disposition).charge, Charge::Free);
    }
}

#[test]
fn a_refusal_for_authentication_concerns_the_owner_of_the_domain_unless_it_can_be_a_failed_lookup() {
    use IncompleteReason::Closing;
    let unauthenticated =
        |phase, code, text| vec![RecipientResult::Accepted { reply: reply(250, "Ok") }, refused(phase, code, text)];
    let limited = reply(421, "4.7.26 rate limited because it is unauthenticated");
    let closed = RecipientResult::NotTried { reason: Closing, phase: SmtpPhase::Body, reply: Some(limited) };
    for (recipients, expected) in [
        (unauthenticated(SmtpPhase::Body, 550, "5.7.26 unauthenticated"), Some("550 5.7.26 unauthenticated")),
        (
            unauthenticated(SmtpPhase::Mail, 550, "5.7.515 does not meet the level"),
            Some("550 5.7.515 does not meet the level"),
        ),
        (
            unauthenticated(SmtpPhase::Body, 550, "5.7.23 SPF validation failed"),
            Some("550 5.7.23 SPF validation failed"),
        ),
        (vec![closed], Some("421 4.7.26 rate limited because it is unauthenticated")),
        (unauthenticated(SmtpPhase::Rcpt, 450, "4.1.8 sender address rejected: domain not found"), None),
        (unauthenticated(SmtpPhase::Body, 451, "4.7.24 SPF lookup failed"), None),
        (unauthenticated(SmtpPhase::Body, 550, "5.7.1 rejected as spam"), None),
        (vec![RecipientResult::NotTried { reason: Closing, phase: SmtpPhase::Body, reply: None }], None),
        (vec![RecipientResult::Ambiguous { reason: IncompleteReason::Lost }], None),
    ] {
        let transaction = Transaction { recipients, connection: ConnectionState::Reusable, transcript: String::new() };

        let refusal = authentication_refusal(&transaction, "mx.example.net").map(ToString::to_string);

        assert_eq!(refusal.as_deref(), expected, "{transaction:?}");
    }
}
