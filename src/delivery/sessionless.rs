//! Settlement of groups without an SMTP session: simulated recipients, destinations without servers, and abandoned
//! leases.

use std::sync::Arc;

use super::engine::Engine;
use super::outcome::{Deferral, RecipientDisposition};
use super::queue::{Claimed, LaneClaim, claim_lane};
use super::retry::{RetryDelay, RetrySchedule};
use super::rows::DueRow;
use super::schedule::Taken;
use super::settle::{Settlement, settle};
use super::simulated::{self, SimulatedOutcome};
use super::smtp::FailReason;
use super::transport::NoRoute;
use crate::base::clock::TimestampMs;
use crate::dns::Freshness;
use crate::events::{Bounce, BounceType};
use crate::store::StoreError;
use tracing::error;

/// Number of groups that one transaction settles.
const PAGE_GROUPS: usize = 50;

/// Reason why a group has no SMTP session.
#[derive(Clone, Debug)]
pub(super) enum SessionlessReason {
    /// The recipients are simulated.
    Simulated,
    /// The destination accepts no mail.
    Undeliverable(NoRoute),
    /// The domain or the addresses of its servers do not exist.
    Missing { no_route: NoRoute, freshness: Freshness },
    /// This server does not connect to the servers of the destination.
    Unroutable(NoRoute),
    /// The lookup of the servers failed temporarily.
    Unknown { reason: String },
}

/// Claims and settles due groups of a lane without a session, one page in each transaction, until a stop. After a failed
/// lookup, only the first group of the first lane reports the delay, and the others wait without an attempt. Of a slowed
/// team, settles one group a second.
pub(super) async fn settle_lane(engine: &Engine, taken: &Taken, reason: &SessionlessReason) {
    let lane = taken.lane;
    let is_one = matches!(reason, SessionlessReason::Unknown { .. });
    let groups_max = if is_one { 1 } else { PAGE_GROUPS };
    loop {
        let (context, schedule, reason) = (engine.context.clone(), engine.settings.schedule.clone(), reason.clone());
        let settled = engine.context.store.write_bulk::<_, StoreError>(move |tx| {
            let now_ms = context.confirmed_time().now_ms;
            let LaneClaim { groups, rest, pace } = claim_lane(tx, &context, lane, None, groups_max)?;
            let mut requeued = Vec::new();
            for claimed in groups {
                let settlement = settlement_for(claimed, &schedule, &reason, now_ms);
                requeued.extend(settle(tx, &context, &schedule, &settlement)?);
            }
            Ok((requeued, rest, pace))
        });
        match settled.await {
            Ok((requeued, rest, pace)) => {
                engine.notifier.groups_queued(requeued);
                if rest.ready == 0 || is_one || pace.is_slowed() || engine.is_stopping() {
                    engine.claimed(taken, rest, pace);
                    break;
                }
            }
            Err(error) => {
                if !error.is_outage() {
                    error!(%error, "could not settle deliveries: {error}");
                }
                engine.schedule().claim_failed(taken, engine.now());
                break;
            }
        }
    }
    engine.notifier.wake();
}

/// Requeues the groups of abandoned leases as possible duplicates: a server may have accepted the
/// message before the worker failed.
pub(super) async fn release_abandoned(engine: &Engine) {
    for claimed in engine.leases.abandoned() {
        let due = DueRow { possible_duplicate: true, ..claimed.due.clone() };
        let disposition = RecipientDisposition::Deferred(Deferral::immediate(None));
        let settlement = Settlement::uniform(Arc::new(Claimed { due, ..Claimed::clone(&claimed) }), disposition, None);
        engine.settle(settlement).await;
    }
}

/// Returns the settlement of a claimed group for this reason.
fn settlement_for(
    claimed: Claimed,
    schedule: &RetrySchedule,
    reason: &SessionlessReason,
    now_ms: TimestampMs,
) -> Settlement {
    let disposition = match reason {
        SessionlessReason::Simulated => return simulate(claimed),
        SessionlessReason::Undeliverable(NoRoute { status, message }) => undeliverable(message, status),
        SessionlessReason::Missing { no_route, freshness } => {
            // A cached answer is the answer of the first lookup.
            match *freshness == Freshness::Fresh && schedule.is_confirmed_missing(&claimed.due, now_ms) {
                true => undeliverable(&no_route.message, no_route.status),
                false => RecipientDisposition::Deferred(unconfirmed(no_route)),
            }
        }
        SessionlessReason::Unroutable(NoRoute { status, message }) => unroutable(message, status),
        SessionlessReason::Unknown { reason } => {
            // The destination waits for its next lookup, and the group with it.
            let reply = Some(format!("4.4.3 {reason}"));
            RecipientDisposition::Deferred(Deferral { delay: RetryDelay::Held, ..Deferral::free(reply) })
        }
    };
    Settlement::uniform(Arc::new(claimed), disposition, None)
}

/// Returns the deferral until the lookup that confirms a missing destination.
fn unconfirmed(NoRoute { status, message }: &NoRoute) -> Deferral {
    // The permanent code belongs to the bounce that may follow.
    let status = format!("4{}", &status[1..]);
    Deferral::unconfirmed(format!("{status} {message}; it is looked up again before the email bounces"))
}

/// Returns the bounce of a destination that accepts no mail, such as a missing domain or a null MX.
fn undeliverable(message: &str, status: &str) -> RecipientDisposition {
    let bounce = Bounce {
        // Clients recognize a bounce by the words `bounce message`. No server was contacted, so none sent one.
        message: format!("This server wrote the bounce message: {message}"),
        bounce_type: BounceType::Permanent,
        subtype: "NoEmail".to_owned(),
        diagnostic: vec![format!("{status} {message}")],
    };
    RecipientDisposition::Bounced { bounce, suppresses: true }
}

/// Returns the failure of a destination whose servers this server does not connect to.
fn unroutable(message: &str, status: &str) -> RecipientDisposition {
    let reason = FailReason::Unroutable.as_str().to_owned();
    RecipientDisposition::Failed { reason, reply: Some(format!("{status} {message}")) }
}

/// Returns a settlement with the outcome that each address requests. The recipients of a group share
/// a destination, so all of them are simulated.
fn simulate(claimed: Claimed) -> Settlement {
    let outcomes: Vec<Option<SimulatedOutcome>> =
        claimed.addresses().iter().map(|address| simulated::outcome(address)).collect();
    let first_attempt = claimed.due.attempts == 0;
    let dispositions = outcomes.iter().map(|outcome| simulated_disposition(*outcome, first_attempt)).collect();
    Settlement { simulated: true, ..Settlement::new(Arc::new(claimed), dispositions, None) }
}

fn simulated_disposition(outcome: Option<SimulatedOutcome>, first_attempt: bool) -> RecipientDisposition {
    match outcome {
        Some(SimulatedOutcome::Bounced) => {
            let bounce = Bounce {
                message: "The recipient's mail server sent a bounce message: it refused the email.".into(),
                bounce_type: BounceType::Permanent,
                subtype: "General".into(),
                diagnostic: vec!["550 5.1.1 simulated bounce".into()],
            };
            RecipientDisposition::Bounced { bounce, suppresses: false }
        }
        Some(SimulatedOutcome::Delayed) if first_attempt => {
            RecipientDisposition::Deferred(Deferral::ordinary(Some("451 4.7.1 simulated delay".into())))
        }
        Some(
            SimulatedOutcome::Delivered
            | SimulatedOutcome::Delayed
            | SimulatedOutcome::Complained
            | SimulatedOutcome::Suppressed,
        )
        | None => {
            let complained = outcome == Some(SimulatedOutcome::Complained);
            RecipientDisposition::Delivered { reply: "250 2.0.0 simulated delivery".into(), complained }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;
    use crate::delivery::queue::{DueKey, LaneKey};
    use crate::delivery::rows::Class;
    use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};

    /// Returns the disposition of a group whose destination is missing since `vanished_ms`.
    fn disposition(
        vanished_ms: Option<TimestampMs>,
        reason: &SessionlessReason,
        now_ms: TimestampMs,
    ) -> RecipientDisposition {
        let schedule = RetrySchedule {
            delays: vec![Duration::from_secs(60)],
            expire_after: Duration::from_secs(3_600),
            expire_broadcasts_after: Duration::from_secs(3_600),
            confirm_after: Duration::from_millis(900),
        };
        let recipient = RecipientRow::example("ada@gone.example", RecipientState::InFlight, LastEvent::Sent);
        let lane = LaneKey::new("gone.example", Class::Transactional, Id::MIN);
        let claimed = Claimed {
            key: DueKey { lane, due_ms: 0, email: Id::MIN, group: 0 },
            due: DueRow { vanished_ms, ..DueRow::fresh(Id::MIN, "gone.example".into(), 0) },
            row: EmailRow::example(vec![recipient], LastEvent::Sent),
            recipients: vec![0],
        };
        settlement_for(claimed, &schedule, reason, now_ms).dispositions.remove(0)
    }

    #[test]
    fn a_missing_destination_bounces_only_after_a_fresh_lookup_confirms_it() {
        let no_route = NoRoute { status: "5.1.2", message: "the domain does not exist".into() };
        let missing = |freshness| SessionlessReason::Missing { no_route: no_route.clone(), freshness };
        for (vanished_ms, freshness, now_ms, bounces) in [
            (None, Freshness::Fresh, 5_000, false),
            (Some(1_000), Freshness::Fresh, 1_899, false),
            (Some(1_000), Freshness::Cached, 1_900, false),
            (Some(1_000), Freshness::Fresh, 1_900, true),
        ] {
            match disposition(vanished_ms, &missing(freshness), now_ms) {
                RecipientDisposition::Bounced { bounce, suppresses: true } if bounces => {
                    assert_eq!(bounce.message, "This server wrote the bounce message: the domain does not exist");
                    assert_eq!(bounce.diagnostic, ["5.1.2 the domain does not exist"]);
                }
                RecipientDisposition::Deferred(deferral) if !bounces => {
                    assert!(deferral.reply.unwrap().starts_with("4.1.2 the domain does not exist; "));
                }
                other => panic!("{vanished_ms:?} {freshness:?} {now_ms}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_destination_that_this_server_does_not_connect_to_fails_and_a_null_mx_bounces() {
        let no_route = |status| NoRoute { status, message: "no route".into() };

        let unroutable = disposition(None, &SessionlessReason::Unroutable(no_route("5.4.6")), 0);
        let null_mx = disposition(None, &SessionlessReason::Undeliverable(no_route("5.1.10")), 0);

        let reply = Some("5.4.6 no route".to_owned());
        assert_eq!(unroutable, RecipientDisposition::Failed { reason: "unroutable".into(), reply });
        let RecipientDisposition::Bounced { bounce, suppresses: true } = &null_mx else { panic!("{null_mx:?}") };
        assert_eq!(bounce.message, "This server wrote the bounce message: no route");
    }
}
