//! What a conversation means for a recipient. Pure.

use super::retry::RetryDelay;
use super::smtp::{
    Action, BounceKind, FailReason, RecipientResult, Reply, SmtpPhase, Transaction, Undecided, classify,
};
use crate::events::{Bounce, BounceType};

/// What became of one recipient in one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecipientDisposition {
    /// A server has taken responsibility.
    Delivered {
        /// What it said.
        reply: String,
        /// Whether the recipient then reported the message, which only a simulated one does at once.
        complained: bool,
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
        /// What the other side said.
        reply: Option<String>,
    },
    /// To be tried again.
    Deferred(Deferral),
}

/// How a recipient is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deferral {
    /// Which delay applies.
    pub(super) pace: RetryDelay,
    /// Whether the attempt counts.
    pub(super) charge: Charge,
    /// What the other side said, or what went wrong.
    pub(super) reply: Option<String>,
    /// Given up after this many hours, sooner than the schedule says.
    pub(super) hours_max: Option<u32>,
    /// The next conversation uses one command at a time.
    pub(super) plainly: bool,
    /// The next conversation is about this recipient alone.
    pub(super) company: Grouping,
}

/// Who shares the next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// Those of the group that are deferred too.
    Group,
    /// Nobody.
    Alone,
}

/// Whether an attempt counts against the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charge {
    /// It was made.
    Counted,
    /// It did not get as far as the message.
    Free,
}

/// What a conversation means for the whole site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteHealth {
    /// It takes mail.
    Healthy,
    /// It asks for less: the lane waits before the next session.
    Throttled,
}

impl Deferral {
    /// Returns an ordinary deferral.
    pub(super) fn ordinary(reply: Option<String>) -> Self {
        Self {
            pace: RetryDelay::Ordinary,
            charge: Charge::Counted,
            reply,
            hours_max: None,
            plainly: false,
            company: Grouping::Group,
        }
    }

    /// Returns the deferral of what was never tried.
    pub(super) fn free(reply: Option<String>) -> Self {
        Self { charge: Charge::Free, ..Self::ordinary(reply) }
    }

    /// Returns the deferral of what goes on at once in another transaction.
    pub(super) fn at_once(reply: Option<String>) -> Self {
        Self { pace: RetryDelay::Immediate, ..Self::free(reply) }
    }
}

/// What a transaction was made under.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionContext<'a> {
    /// The host talked to.
    pub(super) host: &'a str,
    /// It already used one command at a time.
    pub(super) plainly: bool,
    /// The session had carried a message before.
    pub(super) reused: bool,
}

/// Reads a transaction: one fate a recipient, in its order, and the mood of the site.
pub(super) fn read_transaction(
    transaction: &Transaction,
    under: TransactionContext<'_>,
) -> (Vec<RecipientDisposition>, SiteHealth) {
    let mut mood = SiteHealth::Healthy;
    let mut fates = Vec::with_capacity(transaction.recipients.len());
    for (index, result) in transaction.recipients.iter().enumerate() {
        let (fate, seen) = read_result(result, under);
        let fate = reconsider(fate, result, index, transaction.recipients.len());
        if seen == SiteHealth::Throttled {
            mood = SiteHealth::Throttled;
        }
        fates.push(fate);
    }
    (fates, mood)
}

/// Takes the other recipients of the transaction into account.
fn reconsider(
    fate: RecipientDisposition,
    result: &RecipientResult,
    index: usize,
    recipients: usize,
) -> RecipientDisposition {
    let after_rcpt = matches!(result, RecipientResult::Refused { phase, .. } if *phase > SmtpPhase::Rcpt);
    match fate {
        // There is no smaller transaction than the one that a first recipient is refused in.
        RecipientDisposition::Deferred(deferral)
            if deferral.pace == RetryDelay::Immediate && is_split(result) && index == 0 =>
        {
            RecipientDisposition::Deferred(Deferral::ordinary(deferral.reply))
        }
        // A server that names a bad mailbox only after it has seen the message does not say whose:
        // each recipient is asked for alone before anybody bounces.
        RecipientDisposition::Bounced { bounce, .. } if after_rcpt && recipients > 1 => {
            let alone = Deferral::at_once(bounce.diagnostic.into_iter().next());
            RecipientDisposition::Deferred(Deferral { company: Grouping::Alone, ..alone })
        }
        fate => fate,
    }
}

/// Returns whether a recipient was sent on because the transaction had too many.
fn is_split(result: &RecipientResult) -> bool {
    match result {
        RecipientResult::Refused { .. } => true,
        RecipientResult::NotTried { reason, .. } => *reason == Undecided::OverRecipientLimit,
        RecipientResult::Accepted { .. } | RecipientResult::Ambiguous { .. } => false,
    }
}

fn read_result(result: &RecipientResult, under: TransactionContext<'_>) -> (RecipientDisposition, SiteHealth) {
    match result {
        RecipientResult::Accepted { reply } => {
            (RecipientDisposition::Delivered { reply: reply.to_string(), complained: false }, SiteHealth::Healthy)
        }
        RecipientResult::Refused { phase, reply } => read_refusal(*phase, reply, under.host, under.plainly),
        // RFC 5321 §3.8: a server may close between messages, and many do after a few. That is not
        // about this message, nor about the site.
        RecipientResult::NotTried { phase, .. } if *phase < SmtpPhase::Mail && under.reused => {
            (RecipientDisposition::Deferred(Deferral::at_once(None)), SiteHealth::Healthy)
        }
        RecipientResult::NotTried { reason: Undecided::OverRecipientLimit, .. } => {
            (RecipientDisposition::Deferred(Deferral::at_once(None)), SiteHealth::Healthy)
        }
        RecipientResult::NotTried { phase, reply, reason } => {
            let said = reply.as_ref().map_or_else(|| format!("{reason} at {phase}"), Reply::to_string);
            // A message whose envelope the server never saw is not charged.
            let deferral =
                if *phase < SmtpPhase::Mail { Deferral::free(Some(said)) } else { Deferral::ordinary(Some(said)) };
            (RecipientDisposition::Deferred(deferral), SiteHealth::Throttled)
        }
        RecipientResult::Ambiguous { reason } => {
            let said = format!("no reply to the message ({reason}); it may have arrived");
            (RecipientDisposition::Deferred(Deferral::ordinary(Some(said))), SiteHealth::Throttled)
        }
    }
}

/// Reads a refusal by its text and code.
pub(super) fn read_refusal(
    phase: SmtpPhase,
    reply: &Reply,
    host: &str,
    plainly: bool,
) -> (RecipientDisposition, SiteHealth) {
    let verdict = classify(phase, reply, host);
    let said = reply.to_string();
    let deferred = |deferral| (RecipientDisposition::Deferred(deferral), SiteHealth::Healthy);
    match verdict.action {
        Action::Bounce { suppress } => {
            let bounce = Bounce {
                message: format!("The recipient's mail server refused the message at {phase}."),
                bounce_type: bounce_type(verdict.kind),
                subtype: verdict.subtype.to_owned(),
                diagnostic: vec![said],
            };
            (RecipientDisposition::Bounced { bounce, suppresses: suppress }, SiteHealth::Healthy)
        }
        Action::Fail { reason } => (
            RecipientDisposition::Failed { reason: reason.as_str().to_owned(), reply: Some(said) },
            SiteHealth::Healthy,
        ),
        Action::Retry => deferred(Deferral::ordinary(Some(said))),
        Action::RetryShort => deferred(Deferral { pace: RetryDelay::Short, ..Deferral::ordinary(Some(said)) }),
        Action::RetryLimited { hours } => {
            deferred(Deferral { hours_max: Some(hours), ..Deferral::ordinary(Some(said)) })
        }
        Action::HoldSite { .. } | Action::ThrottleSite { .. } => {
            (RecipientDisposition::Deferred(Deferral::ordinary(Some(said))), SiteHealth::Throttled)
        }
        Action::SplitRecipients => deferred(Deferral::at_once(Some(said))),
        Action::RetryWithoutPipelining if plainly => {
            let reason = FailReason::Rejected.as_str().to_owned();
            (RecipientDisposition::Failed { reason, reply: Some(said) }, SiteHealth::Healthy)
        }
        Action::RetryWithoutPipelining => deferred(Deferral { plainly: true, ..Deferral::ordinary(Some(said)) }),
    }
}

fn bounce_type(kind: BounceKind) -> BounceType {
    match kind {
        BounceKind::Permanent => BounceType::Permanent,
        BounceKind::Transient => BounceType::Transient,
        BounceKind::Undetermined => BounceType::Undetermined,
    }
}

/// Returns the bounce of a destination that takes no mail: no such domain, a null MX.
pub(super) fn undeliverable(message: &str, status: &str) -> RecipientDisposition {
    let bounce = Bounce {
        message: message.to_owned(),
        bounce_type: BounceType::Permanent,
        subtype: "NoEmail".to_owned(),
        diagnostic: vec![format!("{status} {message}")],
    };
    RecipientDisposition::Bounced { bounce, suppresses: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp::ConnectionState;

    const UNDER: TransactionContext<'_> = TransactionContext { host: "mx.example.net", plainly: false, reused: false };

    fn reply(code: u16, text: &str) -> Reply {
        let (reply, _) = crate::delivery::smtp::parse_reply(format!("{code} {text}\r\n").as_bytes()).unwrap();
        reply
    }

    fn refused(phase: SmtpPhase, code: u16, text: &str) -> RecipientResult {
        RecipientResult::Refused { phase, reply: reply(code, text) }
    }

    fn fates(recipients: Vec<RecipientResult>) -> (Vec<RecipientDisposition>, SiteHealth) {
        let transaction = Transaction { recipients, connection: ConnectionState::Reusable, transcript: String::new() };
        read_transaction(&transaction, UNDER)
    }

    fn deferral(fate: &RecipientDisposition) -> &Deferral {
        match fate {
            RecipientDisposition::Deferred(deferral) => deferral,
            other => panic!("deferred is expected, and this is {other:?}"),
        }
    }

    #[test]
    fn each_recipient_has_a_fate_of_its_own() {
        let (fates, mood) = fates(vec![
            RecipientResult::Accepted { reply: reply(250, "2.0.0 queued") },
            refused(SmtpPhase::Rcpt, 550, "5.1.1 no such user"),
            refused(SmtpPhase::Rcpt, 450, "4.2.1 try later"),
            refused(SmtpPhase::Rcpt, 550, "5.7.1 message content rejected as spam"),
        ]);

        assert_eq!(mood, SiteHealth::Healthy);
        assert!(matches!(&fates[0], RecipientDisposition::Delivered { reply, .. } if reply.contains("queued")));
        assert!(
            matches!(&fates[1], RecipientDisposition::Bounced { suppresses: true, bounce } if bounce.subtype == "NoEmail")
        );
        assert_eq!(deferral(&fates[2]).charge, Charge::Counted);
        assert!(matches!(&fates[3], RecipientDisposition::Failed { .. }));
    }

    #[test]
    fn a_bad_mailbox_named_after_the_message_is_asked_for_alone_before_it_bounces() {
        let late = || refused(SmtpPhase::Body, 550, "5.1.1 no such user");

        let (several, _) = fates(vec![late(), late()]);
        let (single, _) = fates(vec![late()]);

        assert!(several.iter().all(|fate| deferral(fate).company == Grouping::Alone));
        assert!(matches!(single[0], RecipientDisposition::Bounced { .. }));
    }

    #[test]
    fn too_many_recipients_go_on_at_once_but_the_first_has_to_wait() {
        let over = || refused(SmtpPhase::Rcpt, 452, "4.5.3 too many recipients");

        let (fates, _) = fates(vec![over(), over()]);

        assert_eq!(deferral(&fates[0]).pace, RetryDelay::Ordinary);
        assert_eq!(deferral(&fates[1]).pace, RetryDelay::Immediate);
        assert_eq!(deferral(&fates[1]).charge, Charge::Free);
    }

    #[test]
    fn a_server_that_closes_strains_the_site_and_charges_only_what_it_saw() {
        let closing = |phase| RecipientResult::NotTried {
            reason: Undecided::Closing,
            phase,
            reply: Some(reply(421, "4.3.2 going down")),
        };

        let (before, mood) = fates(vec![closing(SmtpPhase::Precheck)]);
        let (during, _) = fates(vec![closing(SmtpPhase::Data)]);

        assert_eq!(mood, SiteHealth::Throttled);
        assert_eq!(deferral(&before[0]).charge, Charge::Free);
        assert_eq!(deferral(&during[0]).charge, Charge::Counted);
    }

    #[test]
    fn a_session_that_ended_between_two_messages_says_nothing_about_the_site() {
        let ended = RecipientResult::NotTried { reason: Undecided::Lost, phase: SmtpPhase::Precheck, reply: None };
        let transaction =
            Transaction { recipients: vec![ended], connection: ConnectionState::Closed, transcript: String::new() };

        let (fates, mood) = read_transaction(&transaction, TransactionContext { reused: true, ..UNDER });

        assert_eq!(mood, SiteHealth::Healthy);
        assert_eq!(deferral(&fates[0]).pace, RetryDelay::Immediate);
        assert_eq!(deferral(&fates[0]).charge, Charge::Free);
    }

    #[test]
    fn a_command_not_understood_is_tried_plainly_once() {
        let not_understood = [refused(SmtpPhase::Mail, 503, "5.5.1 bad sequence of commands")];
        let transaction = Transaction {
            recipients: not_understood.to_vec(),
            connection: ConnectionState::Reusable,
            transcript: String::new(),
        };

        let (first, _) = read_transaction(&transaction, UNDER);
        let (second, _) = read_transaction(&transaction, TransactionContext { plainly: true, ..UNDER });

        assert!(deferral(&first[0]).plainly);
        assert!(matches!(second[0], RecipientDisposition::Failed { .. }));
    }

    #[test]
    fn no_reply_to_the_message_is_tried_again() {
        let (fates, mood) = fates(vec![RecipientResult::Ambiguous { reason: Undecided::Lost }]);

        assert_eq!(mood, SiteHealth::Throttled);
        assert!(deferral(&fates[0]).reply.as_deref().unwrap().contains("may have arrived"));
    }
}
