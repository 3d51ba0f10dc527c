//! From the result of an SMTP transaction to a disposition for each recipient. No I/O.

use super::retry::RetryDelay;
use super::smtp::{Action, FailReason, IncompleteReason, RecipientResult, Reply, SmtpPhase, Transaction, classify};
use crate::events::{Bounce, BounceType};

/// Result of one attempt for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecipientDisposition {
    /// A server has accepted responsibility for the message (RFC 5321 §6.1).
    Delivered {
        reply: String,
        /// Whether the recipient complained. Only `true` for a simulated recipient.
        complained: bool,
    },
    /// A smarthost has accepted the message in order to pass it on. Its report decides the outcome.
    Relayed,
    /// Permanently refused because of the recipient address.
    Bounced {
        bounce: Bounce,
        /// Whether to add the address to the suppression list.
        suppresses: bool,
    },
    /// Given up for a reason other than the recipient address.
    Failed {
        /// Name of the reason, as stored in the event.
        reason: String,
        reply: Option<String>,
    },
    /// Temporarily refused, or not attempted. Returns to the queue.
    Deferred(Deferral),
}

/// Parameters of the next attempt for a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deferral {
    pub(super) delay: RetryDelay,
    pub(super) charge: Charge,
    /// Reply of the server, or description of the error.
    pub(super) reply: Option<String>,
    /// Hours after the first due time until the recipient fails, if earlier than the schedule's end.
    pub(super) hours_max: Option<u32>,
    /// Whether the next attempt sends one command at a time.
    pub(super) without_pipelining: bool,
    pub(super) grouping: Grouping,
}

/// Recipients that share the next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// The other deferred recipients of the group.
    Group,
    /// No other recipient.
    Alone,
}

/// Whether an attempt counts in the retry schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charge {
    Counted,
    /// The attempt does not count, for example because the server never received the envelope.
    Free,
}

/// Health of a site after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteHealth {
    Healthy,
    /// The site limits or breaks off transactions. Its cooldown starts.
    Throttled,
}

impl Deferral {
    /// Returns a deferral with the delay of the schedule, of an attempt that counts.
    pub(super) fn ordinary(reply: Option<String>) -> Self {
        Self {
            delay: RetryDelay::Ordinary,
            charge: Charge::Counted,
            reply,
            hours_max: None,
            without_pipelining: false,
            grouping: Grouping::Group,
        }
    }

    /// Returns the deferral until the attempt that confirms a missing destination.
    pub(super) fn unconfirmed(reply: String) -> Self {
        Self { delay: RetryDelay::Confirm, ..Self::ordinary(Some(reply)) }
    }

    /// Returns a deferral with the delay of the schedule, of an attempt that does not count.
    pub(super) fn free(reply: Option<String>) -> Self {
        Self { charge: Charge::Free, ..Self::ordinary(reply) }
    }

    /// Returns a deferral without a delay, of an attempt that does not count.
    pub(super) fn immediate(reply: Option<String>) -> Self {
        Self { delay: RetryDelay::Immediate, ..Self::free(reply) }
    }
}

/// Circumstances of a transaction that affect its dispositions.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionContext<'a> {
    /// Name of the receiving host.
    pub(super) host: &'a str,
    /// Whether the host's acceptance is the delivery.
    pub(super) is_final: bool,
    /// Whether the transaction already used one command at a time.
    pub(super) without_pipelining: bool,
    /// Whether the session was used for an earlier message.
    pub(super) reused: bool,
    /// Whether the destination has been missing for the confirmation time.
    pub(super) is_confirmed_missing: bool,
}

/// Returns one disposition for each recipient, in the order of the envelope, and the health of the
/// site.
pub(super) fn read_transaction(
    transaction: &Transaction,
    context: TransactionContext<'_>,
) -> (Vec<RecipientDisposition>, SiteHealth) {
    let mut health = SiteHealth::Healthy;
    let mut dispositions = Vec::with_capacity(transaction.recipients.len());
    for (index, result) in transaction.recipients.iter().enumerate() {
        let (disposition, result_health) = read_result(result, context);
        let disposition = adjust(disposition, result, index, transaction.recipients.len());
        if result_health == SiteHealth::Throttled {
            health = SiteHealth::Throttled;
        }
        dispositions.push(disposition);
    }
    (dispositions, health)
}

/// Adjusts a disposition to the position of the recipient and the number of recipients.
fn adjust(
    disposition: RecipientDisposition,
    result: &RecipientResult,
    index: usize,
    recipients: usize,
) -> RecipientDisposition {
    let after_rcpt = matches!(result, RecipientResult::Refused { phase, .. } if *phase > SmtpPhase::Rcpt);
    match disposition {
        // If the first recipient is refused, a smaller transaction cannot help.
        RecipientDisposition::Deferred(deferral)
            if deferral.delay == RetryDelay::Immediate && is_split(result) && index == 0 =>
        {
            RecipientDisposition::Deferred(Deferral::ordinary(deferral.reply))
        }
        // A refusal after RCPT does not name the bad mailbox. Each recipient is tried in a transaction
        // of its own before one of them bounces.
        RecipientDisposition::Bounced { bounce, .. } if after_rcpt && recipients > 1 => {
            let alone = Deferral::immediate(bounce.diagnostic.into_iter().next());
            RecipientDisposition::Deferred(Deferral { grouping: Grouping::Alone, ..alone })
        }
        disposition => disposition,
    }
}

/// Returns whether the recipient may be deferred because the transaction had too many recipients.
fn is_split(result: &RecipientResult) -> bool {
    match result {
        RecipientResult::Refused { .. } => true,
        RecipientResult::NotTried { reason, .. } => *reason == IncompleteReason::OverRecipientLimit,
        RecipientResult::Accepted { .. } | RecipientResult::Ambiguous { .. } => false,
    }
}

fn read_result(result: &RecipientResult, context: TransactionContext<'_>) -> (RecipientDisposition, SiteHealth) {
    match result {
        RecipientResult::Accepted { .. } if !context.is_final => (RecipientDisposition::Relayed, SiteHealth::Healthy),
        RecipientResult::Accepted { reply } => {
            (RecipientDisposition::Delivered { reply: reply.to_string(), complained: false }, SiteHealth::Healthy)
        }
        RecipientResult::Refused { phase, reply } => read_refusal(*phase, reply, context),
        // RFC 5321 §3.8: a server may close between messages, and many do after some messages. The
        // close is no sign about this message or the site.
        RecipientResult::NotTried { phase, .. } if *phase < SmtpPhase::Mail && context.reused => {
            (RecipientDisposition::Deferred(Deferral::immediate(None)), SiteHealth::Healthy)
        }
        RecipientResult::NotTried { reason: IncompleteReason::OverRecipientLimit, .. } => {
            (RecipientDisposition::Deferred(Deferral::immediate(None)), SiteHealth::Healthy)
        }
        RecipientResult::NotTried { phase, reply, reason } => {
            let reply_text = reply.as_ref().map_or_else(|| format!("{reason} at {phase}"), Reply::to_string);
            // The attempt does not count if the server never received the envelope.
            let deferral = if *phase < SmtpPhase::Mail {
                Deferral::free(Some(reply_text))
            } else {
                Deferral::ordinary(Some(reply_text))
            };
            (RecipientDisposition::Deferred(deferral), SiteHealth::Throttled)
        }
        RecipientResult::Ambiguous { reason } => {
            let reply_text = format!("no reply to the message ({reason}); it may have arrived");
            (RecipientDisposition::Deferred(Deferral::ordinary(Some(reply_text))), SiteHealth::Throttled)
        }
    }
}

/// Returns the disposition that follows from a refusal, and the health of the site.
pub(super) fn read_refusal(
    phase: SmtpPhase,
    reply: &Reply,
    context: TransactionContext<'_>,
) -> (RecipientDisposition, SiteHealth) {
    let verdict = classify(phase, reply, context.host);
    let reply_text = reply.to_string();
    let deferred = |deferral| (RecipientDisposition::Deferred(deferral), SiteHealth::Healthy);
    match verdict.action {
        Action::ConfirmBounce if !context.is_confirmed_missing => deferred(Deferral::unconfirmed(reply_text)),
        Action::Bounce | Action::ConfirmBounce => {
            let bounce = Bounce {
                // Clients recognize a bounce by the words `bounce message`.
                message: format!("The recipient's mail server sent a bounce message: it refused the email at {phase}."),
                bounce_type: BounceType::Permanent,
                subtype: verdict.subtype.to_owned(),
                diagnostic: vec![reply_text],
            };
            (RecipientDisposition::Bounced { bounce, suppresses: true }, SiteHealth::Healthy)
        }
        Action::Fail { reason } => (
            RecipientDisposition::Failed { reason: reason.as_str().to_owned(), reply: Some(reply_text) },
            SiteHealth::Healthy,
        ),
        Action::Retry => deferred(Deferral::ordinary(Some(reply_text))),
        Action::RetryShort => deferred(Deferral { delay: RetryDelay::Short, ..Deferral::ordinary(Some(reply_text)) }),
        Action::RetryLimited { hours } => {
            deferred(Deferral { hours_max: Some(hours), ..Deferral::ordinary(Some(reply_text)) })
        }
        Action::HoldSite { .. } | Action::ThrottleSite { .. } => {
            (RecipientDisposition::Deferred(Deferral::ordinary(Some(reply_text))), SiteHealth::Throttled)
        }
        Action::SplitRecipients => deferred(Deferral::immediate(Some(reply_text))),
        Action::RetryWithoutPipelining if context.without_pipelining => {
            let reason = FailReason::Rejected.as_str().to_owned();
            (RecipientDisposition::Failed { reason, reply: Some(reply_text) }, SiteHealth::Healthy)
        }
        Action::RetryWithoutPipelining => {
            deferred(Deferral { without_pipelining: true, ..Deferral::ordinary(Some(reply_text)) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp::ConnectionState;

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
        let read =
            |is_confirmed_missing| read_result(&unknown, TransactionContext { is_confirmed_missing, ..CONTEXT }).0;

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

        assert_eq!(health, SiteHealth::Throttled);
        assert_eq!(deferral(&before[0]).charge, Charge::Free);
        assert_eq!(deferral(&during[0]).charge, Charge::Counted);
    }

    #[test]
    fn a_session_closed_between_two_messages_leaves_the_site_healthy() {
        let ended =
            RecipientResult::NotTried { reason: IncompleteReason::Lost, phase: SmtpPhase::Precheck, reply: None };
        let transaction =
            Transaction { recipients: vec![ended], connection: ConnectionState::Closed, transcript: String::new() };

        let (dispositions, health) = read_transaction(&transaction, TransactionContext { reused: true, ..CONTEXT });

        assert_eq!(health, SiteHealth::Healthy);
        assert_eq!(deferral(&dispositions[0]).delay, RetryDelay::Immediate);
        assert_eq!(deferral(&dispositions[0]).charge, Charge::Free);
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

        assert_eq!(health, SiteHealth::Throttled);
        assert!(deferral(&dispositions[0]).reply.as_deref().unwrap().contains("may have arrived"));
    }
}
