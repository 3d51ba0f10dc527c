//! What a conversation means for a recipient. Pure.

use super::retry::Pace;
use super::smtp::{Action, BounceKind, FailReason, Phase, RecipientResult, Reply, Transaction, Undecided, classify};
use crate::events::{Bounce, BounceType};

/// What became of one recipient in one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
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
    pub(super) pace: Pace,
    /// Whether the attempt counts.
    pub(super) charge: Charge,
    /// What the other side said, or what went wrong.
    pub(super) reply: Option<String>,
    /// Given up after this many hours, sooner than the schedule says.
    pub(super) hours_max: Option<u32>,
    /// The next conversation uses one command at a time.
    pub(super) plainly: bool,
    /// The next conversation is about this recipient alone.
    pub(super) company: Company,
}

/// Who shares the next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
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
pub(super) enum SiteMood {
    /// It takes mail.
    Fine,
    /// It asks for less: the lane waits before the next session.
    Strained,
}

impl Deferral {
    /// Returns an ordinary deferral.
    pub(super) fn ordinary(reply: Option<String>) -> Self {
        Self {
            pace: Pace::Ordinary,
            charge: Charge::Counted,
            reply,
            hours_max: None,
            plainly: false,
            company: Company::Group,
        }
    }

    /// Returns the deferral of what was never tried.
    pub(super) fn free(reply: Option<String>) -> Self {
        Self { charge: Charge::Free, ..Self::ordinary(reply) }
    }

    /// Returns the deferral of what goes on at once in another transaction.
    pub(super) fn at_once(reply: Option<String>) -> Self {
        Self { pace: Pace::AtOnce, ..Self::free(reply) }
    }
}

/// What a transaction was made under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    /// The host talked to.
    pub(super) host: &'a str,
    /// It already used one command at a time.
    pub(super) plainly: bool,
    /// The session had carried a message before.
    pub(super) reused: bool,
}

/// Reads a transaction: one fate a recipient, in its order, and the mood of the site.
pub(super) fn read_transaction(transaction: &Transaction, under: Circumstances<'_>) -> (Vec<Fate>, SiteMood) {
    let mut mood = SiteMood::Fine;
    let mut fates = Vec::with_capacity(transaction.recipients.len());
    for (index, result) in transaction.recipients.iter().enumerate() {
        let (fate, seen) = read_result(result, under);
        let fate = reconsider(fate, result, index, transaction.recipients.len());
        if seen == SiteMood::Strained {
            mood = SiteMood::Strained;
        }
        fates.push(fate);
    }
    (fates, mood)
}

/// Takes the other recipients of the transaction into account.
fn reconsider(fate: Fate, result: &RecipientResult, index: usize, recipients: usize) -> Fate {
    let after_rcpt = matches!(result, RecipientResult::Refused { phase, .. } if *phase > Phase::Rcpt);
    match fate {
        // There is no smaller transaction than the one that a first recipient is refused in.
        Fate::Deferred(deferral) if deferral.pace == Pace::AtOnce && is_split(result) && index == 0 => {
            Fate::Deferred(Deferral::ordinary(deferral.reply))
        }
        // A server that names a bad mailbox only after it has seen the message does not say whose:
        // each recipient is asked for alone before anybody bounces.
        Fate::Bounced { bounce, .. } if after_rcpt && recipients > 1 => {
            let alone = Deferral::at_once(bounce.diagnostic.into_iter().next());
            Fate::Deferred(Deferral { company: Company::Alone, ..alone })
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

fn read_result(result: &RecipientResult, under: Circumstances<'_>) -> (Fate, SiteMood) {
    match result {
        RecipientResult::Accepted { reply } => {
            (Fate::Delivered { reply: reply.to_string(), complained: false }, SiteMood::Fine)
        }
        RecipientResult::Refused { phase, reply } => read_refusal(*phase, reply, under.host, under.plainly),
        // RFC 5321 §3.8: a server may close between messages, and many do after a few. That is not
        // about this message, nor about the site.
        RecipientResult::NotTried { phase, .. } if *phase < Phase::Mail && under.reused => {
            (Fate::Deferred(Deferral::at_once(None)), SiteMood::Fine)
        }
        RecipientResult::NotTried { reason: Undecided::OverRecipientLimit, .. } => {
            (Fate::Deferred(Deferral::at_once(None)), SiteMood::Fine)
        }
        RecipientResult::NotTried { phase, reply, reason } => {
            let said = reply.as_ref().map_or_else(|| format!("{reason} at {phase}"), Reply::to_string);
            // A message whose envelope the server never saw is not charged.
            let deferral =
                if *phase < Phase::Mail { Deferral::free(Some(said)) } else { Deferral::ordinary(Some(said)) };
            (Fate::Deferred(deferral), SiteMood::Strained)
        }
        RecipientResult::Ambiguous { reason } => {
            let said = format!("no reply to the message ({reason}); it may have arrived");
            (Fate::Deferred(Deferral::ordinary(Some(said))), SiteMood::Strained)
        }
    }
}

/// Reads a refusal by its text and code.
pub(super) fn read_refusal(phase: Phase, reply: &Reply, host: &str, plainly: bool) -> (Fate, SiteMood) {
    let verdict = classify(phase, reply, host);
    let said = reply.to_string();
    let deferred = |deferral| (Fate::Deferred(deferral), SiteMood::Fine);
    match verdict.action {
        Action::Bounce { suppress } => {
            let bounce = Bounce {
                message: format!("The recipient's mail server refused the message at {phase}."),
                bounce_type: bounce_type(verdict.kind),
                subtype: verdict.subtype.to_owned(),
                diagnostic: vec![said],
            };
            (Fate::Bounced { bounce, suppresses: suppress }, SiteMood::Fine)
        }
        Action::Fail { reason } => {
            (Fate::Failed { reason: reason.as_str().to_owned(), reply: Some(said) }, SiteMood::Fine)
        }
        Action::Retry => deferred(Deferral::ordinary(Some(said))),
        Action::RetryShort => deferred(Deferral { pace: Pace::Short, ..Deferral::ordinary(Some(said)) }),
        Action::RetryLimited { hours } => {
            deferred(Deferral { hours_max: Some(hours), ..Deferral::ordinary(Some(said)) })
        }
        Action::HoldSite { .. } | Action::ThrottleSite { .. } => {
            (Fate::Deferred(Deferral::ordinary(Some(said))), SiteMood::Strained)
        }
        Action::SplitRecipients => deferred(Deferral::at_once(Some(said))),
        Action::RetryWithoutPipelining if plainly => {
            let reason = FailReason::Rejected.as_str().to_owned();
            (Fate::Failed { reason, reply: Some(said) }, SiteMood::Fine)
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
pub(super) fn undeliverable(message: &str, status: &str) -> Fate {
    let bounce = Bounce {
        message: message.to_owned(),
        bounce_type: BounceType::Permanent,
        subtype: "NoEmail".to_owned(),
        diagnostic: vec![format!("{status} {message}")],
    };
    Fate::Bounced { bounce, suppresses: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp::ConnectionState;

    const UNDER: Circumstances<'_> = Circumstances { host: "mx.example.net", plainly: false, reused: false };

    fn reply(code: u16, text: &str) -> Reply {
        let (reply, _) = crate::delivery::smtp::parse_reply(format!("{code} {text}\r\n").as_bytes()).unwrap();
        reply
    }

    fn refused(phase: Phase, code: u16, text: &str) -> RecipientResult {
        RecipientResult::Refused { phase, reply: reply(code, text) }
    }

    fn fates(recipients: Vec<RecipientResult>) -> (Vec<Fate>, SiteMood) {
        let transaction = Transaction { recipients, connection: ConnectionState::Reusable, transcript: String::new() };
        read_transaction(&transaction, UNDER)
    }

    fn deferral(fate: &Fate) -> &Deferral {
        match fate {
            Fate::Deferred(deferral) => deferral,
            other => panic!("deferred is expected, and this is {other:?}"),
        }
    }

    #[test]
    fn each_recipient_has_a_fate_of_its_own() {
        let (fates, mood) = fates(vec![
            RecipientResult::Accepted { reply: reply(250, "2.0.0 queued") },
            refused(Phase::Rcpt, 550, "5.1.1 no such user"),
            refused(Phase::Rcpt, 450, "4.2.1 try later"),
            refused(Phase::Rcpt, 550, "5.7.1 message content rejected as spam"),
        ]);

        assert_eq!(mood, SiteMood::Fine);
        assert!(matches!(&fates[0], Fate::Delivered { reply, .. } if reply.contains("queued")));
        assert!(matches!(&fates[1], Fate::Bounced { suppresses: true, bounce } if bounce.subtype == "NoEmail"));
        assert_eq!(deferral(&fates[2]).charge, Charge::Counted);
        assert!(matches!(&fates[3], Fate::Failed { .. }));
    }

    #[test]
    fn a_bad_mailbox_named_after_the_message_is_asked_for_alone_before_it_bounces() {
        let late = || refused(Phase::Body, 550, "5.1.1 no such user");

        let (several, _) = fates(vec![late(), late()]);
        let (single, _) = fates(vec![late()]);

        assert!(several.iter().all(|fate| deferral(fate).company == Company::Alone));
        assert!(matches!(single[0], Fate::Bounced { .. }));
    }

    #[test]
    fn too_many_recipients_go_on_at_once_but_the_first_has_to_wait() {
        let over = || refused(Phase::Rcpt, 452, "4.5.3 too many recipients");

        let (fates, _) = fates(vec![over(), over()]);

        assert_eq!(deferral(&fates[0]).pace, Pace::Ordinary);
        assert_eq!(deferral(&fates[1]).pace, Pace::AtOnce);
        assert_eq!(deferral(&fates[1]).charge, Charge::Free);
    }

    #[test]
    fn a_server_that_closes_strains_the_site_and_charges_only_what_it_saw() {
        let closing = |phase| RecipientResult::NotTried {
            reason: Undecided::Closing,
            phase,
            reply: Some(reply(421, "4.3.2 going down")),
        };

        let (before, mood) = fates(vec![closing(Phase::Precheck)]);
        let (during, _) = fates(vec![closing(Phase::Data)]);

        assert_eq!(mood, SiteMood::Strained);
        assert_eq!(deferral(&before[0]).charge, Charge::Free);
        assert_eq!(deferral(&during[0]).charge, Charge::Counted);
    }

    #[test]
    fn a_session_that_ended_between_two_messages_says_nothing_about_the_site() {
        let ended = RecipientResult::NotTried { reason: Undecided::Lost, phase: Phase::Precheck, reply: None };
        let transaction =
            Transaction { recipients: vec![ended], connection: ConnectionState::Closed, transcript: String::new() };

        let (fates, mood) = read_transaction(&transaction, Circumstances { reused: true, ..UNDER });

        assert_eq!(mood, SiteMood::Fine);
        assert_eq!(deferral(&fates[0]).pace, Pace::AtOnce);
        assert_eq!(deferral(&fates[0]).charge, Charge::Free);
    }

    #[test]
    fn a_command_not_understood_is_tried_plainly_once() {
        let not_understood = [refused(Phase::Mail, 503, "5.5.1 bad sequence of commands")];
        let transaction = Transaction {
            recipients: not_understood.to_vec(),
            connection: ConnectionState::Reusable,
            transcript: String::new(),
        };

        let (first, _) = read_transaction(&transaction, UNDER);
        let (second, _) = read_transaction(&transaction, Circumstances { plainly: true, ..UNDER });

        assert!(deferral(&first[0]).plainly);
        assert!(matches!(second[0], Fate::Failed { .. }));
    }

    #[test]
    fn no_reply_to_the_message_is_tried_again() {
        let (fates, mood) = fates(vec![RecipientResult::Ambiguous { reason: Undecided::Lost }]);

        assert_eq!(mood, SiteMood::Strained);
        assert!(deferral(&fates[0]).reply.as_deref().unwrap().contains("may have arrived"));
    }
}
