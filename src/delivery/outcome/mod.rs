//! From the result of an SMTP transaction to a disposition for each recipient. No I/O.

#[cfg(test)]
mod tests;

use super::retry::RetryDelay;
use super::rows::WarmUpRow;
use super::site_refusal::{SiteRefusal, named_pause};
use super::smtp::{
    Action, FailReason, IncompleteReason, RecipientResult, RefusalClass, Reply, SmtpPhase, Transaction, classify,
};
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
    /// Host that did not reply to the message and may have it.
    pub(super) ambiguous_host: Option<String>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SiteHealth {
    /// No result of the transaction is about the site.
    Unknown,
    Healthy,
    /// The site limits or breaks off transactions, and is throttled.
    Throttled(SiteRefusal),
}

impl SiteHealth {
    /// Returns the health with the more severe refusal.
    fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Throttled(one), Self::Throttled(other)) => Self::Throttled(one.or_worse(other)),
            (throttled @ Self::Throttled(_), _) | (_, throttled @ Self::Throttled(_)) => throttled,
            (Self::Unknown, other) | (other, Self::Unknown) => other,
            (Self::Healthy, Self::Healthy) => Self::Healthy,
        }
    }
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
            ambiguous_host: None,
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
    let mut health = SiteHealth::Unknown;
    let mut dispositions = Vec::with_capacity(transaction.recipients.len());
    for (index, result) in transaction.recipients.iter().enumerate() {
        let (disposition, result_health) = read_result(result, context);
        let disposition = adjust(disposition, result, index, transaction.recipients.len());
        health = health.or_worse(result_health);
        dispositions.push(disposition);
    }
    (dispositions, health)
}

/// Returns the first reply of a transaction because of which the owner of the sender's domain must check its DNS records.
///
/// A temporary refusal can be a failed lookup of the receiver. Gmail's 4.7.26 and 4.7.27 limit mail without authentication.
pub(super) fn authentication_refusal<'t>(transaction: &'t Transaction, host: &str) -> Option<&'t Reply> {
    transaction.recipients.iter().find_map(|result| {
        let (phase, reply) = match result {
            RecipientResult::Refused { phase, reply } => (*phase, reply),
            RecipientResult::NotTried { phase, reply: Some(reply), .. } => (*phase, reply),
            RecipientResult::Accepted { .. }
            | RecipientResult::Ambiguous { .. }
            | RecipientResult::NotTried { reply: None, .. } => return None,
        };
        let is_final = reply.is_permanent() || matches!(reply.enhanced, Some((4, 7, 26 | 27)));
        let is_refusal = is_final && classify(phase, reply, host).class == RefusalClass::Authentication;
        is_refusal.then_some(reply)
    })
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
        // close is no sign about this message or the site, unless the reply is about the reputation of this server.
        RecipientResult::NotTried { phase, reply, .. } if *phase < SmtpPhase::Mail && context.reused => {
            let refusal = reply.as_ref().map(|reply| SiteRefusal::of_session(SmtpPhase::Mail, reply, context.host));
            let health = refusal.filter(SiteRefusal::is_suspension).map_or(SiteHealth::Unknown, SiteHealth::Throttled);
            (RecipientDisposition::Deferred(Deferral::immediate(None)), health)
        }
        RecipientResult::NotTried {
            reason: IncompleteReason::OverRecipientLimit | IncompleteReason::Withdrawn,
            ..
        } => (RecipientDisposition::Deferred(Deferral::immediate(None)), SiteHealth::Unknown),
        RecipientResult::NotTried { phase, reply, reason } => {
            let reason = format!("{reason} at {phase}");
            let (deferral, refusal) = match reply {
                Some(reply) => (deferral(reply), SiteRefusal::of_session(*phase, reply, context.host)),
                None => (Deferral::ordinary(Some(reason.clone())), SiteRefusal::broken_off(reason)),
            };
            // The attempt does not count if the server never received the envelope.
            let charge = if *phase < SmtpPhase::Mail { Charge::Free } else { Charge::Counted };
            (RecipientDisposition::Deferred(Deferral { charge, ..deferral }), SiteHealth::Throttled(refusal))
        }
        RecipientResult::Ambiguous { reason } => {
            let reply = format!("no reply to the message ({reason}); it may have arrived");
            let refusal = SiteRefusal::broken_off(reply.clone());
            let deferral = Deferral { ambiguous_host: Some(context.host.into()), ..Deferral::ordinary(Some(reply)) };
            (RecipientDisposition::Deferred(deferral), SiteHealth::Throttled(refusal))
        }
    }
}

/// Returns the deferral until the time that the reply names, or else of the schedule.
fn deferral(reply: &Reply) -> Deferral {
    let delay = named_pause(reply).map_or(RetryDelay::Ordinary, |pause| RetryDelay::Named { pause });
    Deferral { delay, ..Deferral::ordinary(Some(reply.to_string())) }
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
        Action::Retry => deferred(deferral(reply)),
        Action::RetryShort => {
            let named = deferral(reply);
            let delay = if named.delay == RetryDelay::Ordinary { RetryDelay::Short } else { named.delay };
            deferred(Deferral { delay, ..named })
        }
        Action::RetryLimited { hours } => deferred(Deferral { hours_max: Some(hours), ..deferral(reply) }),
        action @ (Action::HoldSite { .. } | Action::ThrottleSite { .. }) => {
            let health = SiteHealth::Throttled(SiteRefusal::new(reply, action));
            (RecipientDisposition::Deferred(deferral(reply)), health)
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

/// Returns the counts of an attempt in one line, for its stored row.
pub(super) fn summary(dispositions: &[RecipientDisposition]) -> String {
    let count = |matches: fn(&RecipientDisposition) -> bool| dispositions.iter().filter(|it| matches(it)).count();
    let delivered = count(|disposition| matches!(disposition, RecipientDisposition::Delivered { .. }));
    let relayed = count(|disposition| matches!(disposition, RecipientDisposition::Relayed));
    let deferred = count(|disposition| matches!(disposition, RecipientDisposition::Deferred(_)));
    let refused = dispositions.len() - delivered - relayed - deferred;
    let accepted =
        if relayed > 0 { format!("{relayed} accepted by the relay") } else { format!("{delivered} delivered") };
    format!("{accepted}, {deferred} deferred, {refused} refused")
}

/// Returns whether the recipient is deferred by an attempt that does not count.
fn is_free(disposition: &RecipientDisposition) -> bool {
    matches!(disposition, RecipientDisposition::Deferred(deferral) if deferral.charge == Charge::Free)
}

impl WarmUpRow {
    /// Returns the counts of one transaction. A message whose attempt does not count was not sent: many servers close a
    /// session after some messages.
    pub(super) fn of(dispositions: &[RecipientDisposition]) -> Self {
        let has = |matches: fn(&RecipientDisposition) -> bool| u32::from(dispositions.iter().any(matches));
        Self {
            sent: has(|disposition| !is_free(disposition)),
            deferred: has(|it| matches!(it, RecipientDisposition::Deferred(_)) && !is_free(it)),
            bounced: has(|disposition| matches!(disposition, RecipientDisposition::Bounced { .. })),
            complained: 0,
        }
    }
}
