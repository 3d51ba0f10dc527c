//! Groups that are settled without a conversation: simulated recipients, and destinations that
//! have no servers.

use std::sync::Arc;

use super::engine::Engine;
use super::outcome::{Deferral, RecipientDisposition, undeliverable};
use super::queue::{Claimed, Due, DueKey, claim};
use super::retry::{CONFIRM_AFTER_MS, RetryDelay};
use super::rows::DueRow;
use super::settle::{Settlement, settle};
use super::simulated::{self, SimulatedOutcome};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::events::{Bounce, BounceType};
use crate::store::{Reads, StoreError, WriteTx, name_hash};
use crate::tables::DESTINATIONS;
use tracing::error;

/// A destination that took mail this recently is looked up once more before its name's absence
/// counts.
const REMEMBERED_MS: i64 = 30 * DAY_MS;

/// Why there is no conversation.
#[derive(Clone, Debug)]
pub(super) enum SessionlessReason {
    /// The recipients are simulated.
    Simulated,
    /// The destination takes no mail.
    Undeliverable {
        /// The enhanced status code.
        status: &'static str,
        /// Why.
        message: String,
    },
    /// The destination's name does not exist.
    Vanished,
    /// The destination's servers cannot be found for the moment.
    Unknown {
        /// Why.
        reason: String,
    },
    /// The groups expired while their site failed.
    Expired,
}

/// Claims and settles groups in one transaction.
pub(super) async fn settle_groups(engine: &Engine, groups: Vec<Due>, reason: &SessionlessReason) {
    let keys: Vec<DueKey> = groups.into_iter().map(|due| due.key).collect();
    let (context, schedule, reason) = (engine.context.clone(), engine.settings.schedule.clone(), reason.clone());
    let claiming = keys.clone();
    let settled = engine.context.store.write_bulk::<_, StoreError>(move |tx| {
        let now_ms = context.now_ms();
        let mut requeued = Vec::new();
        for claimed in claim(tx, &context, &claiming)? {
            let settlement = judge(tx, claimed, &reason, now_ms)?;
            requeued.extend(settle(tx, &context, &schedule, &settlement)?);
        }
        Ok(requeued)
    });
    match settled.await {
        Ok(requeued) => engine.bell.groups_queued(requeued),
        // The groups are still in the table; the next reconciliation finds them.
        Err(error) => error!(%error, "some deliveries could not be settled: {error}"),
    }
    engine.forget(&keys);
}

/// Puts back the leases of this boot that nobody holds, as possible duplicates: their conversations
/// may have come to an end that was never stored.
pub(super) async fn release_abandoned(engine: &Engine) {
    for claimed in engine.held.abandoned() {
        let due = DueRow { possible_duplicate: true, ..claimed.due.clone() };
        let fate = RecipientDisposition::Deferred(Deferral::at_once(None));
        let settlement = Settlement::alike(Arc::new(Claimed { due, ..Claimed::clone(&claimed) }), fate, None);
        engine.settle(settlement).await;
    }
}

fn judge(
    tx: &WriteTx<'_>,
    claimed: Claimed,
    reason: &SessionlessReason,
    now_ms: TimestampMs,
) -> Result<Settlement, StoreError> {
    let fate = match reason {
        SessionlessReason::Simulated => return Ok(simulate(claimed)),
        SessionlessReason::Undeliverable { status, message } => undeliverable(message, status),
        SessionlessReason::Vanished if !is_confirmed(&claimed, now_ms) && took_mail(tx, &claimed, now_ms)? => {
            let since_ms = claimed.due.vanished_ms.unwrap_or(now_ms);
            let due = DueRow { vanished_ms: Some(since_ms), ..claimed.due };
            let said = "5.1.2 the domain does not exist; it took mail lately, so it is looked up once more";
            let deferral = Deferral { pace: RetryDelay::Confirm, ..Deferral::ordinary(Some(said.into())) };
            return Ok(Settlement::alike(
                Arc::new(Claimed { due, ..claimed }),
                RecipientDisposition::Deferred(deferral),
                None,
            ));
        }
        SessionlessReason::Vanished => undeliverable("The recipient's domain does not exist.", "5.1.2"),
        SessionlessReason::Unknown { reason } => {
            RecipientDisposition::Deferred(Deferral::ordinary(Some(format!("4.4.3 {reason}"))))
        }
        SessionlessReason::Expired => RecipientDisposition::Failed { reason: "expired".into(), reply: None },
    };
    Ok(Settlement::alike(Arc::new(claimed), fate, None))
}

/// Returns whether the destination's name has been gone long enough to be gone.
fn is_confirmed(claimed: &Claimed, now_ms: TimestampMs) -> bool {
    claimed.due.vanished_ms.is_some_and(|since_ms| now_ms - since_ms >= CONFIRM_AFTER_MS)
}

fn took_mail(tx: &WriteTx<'_>, claimed: &Claimed, now_ms: TimestampMs) -> Result<bool, StoreError> {
    let known = tx.get(&DESTINATIONS, &(name_hash(&claimed.due.destination),))?;
    Ok(known.is_some_and(|known| now_ms - known.delivered_ms < REMEMBERED_MS))
}

/// Gives each simulated recipient the outcome its name asks for. The recipients of a group share a
/// destination, and so they are all simulated.
fn simulate(claimed: Claimed) -> Settlement {
    let outcomes: Vec<Option<SimulatedOutcome>> =
        claimed.addresses().iter().map(|address| simulated::outcome(address)).collect();
    let first_attempt = claimed.due.attempts == 0;
    let fates = outcomes.iter().map(|outcome| simulated_disposition(*outcome, first_attempt)).collect();
    Settlement { simulated: true, ..Settlement::new(Arc::new(claimed), fates, None) }
}

fn simulated_disposition(outcome: Option<SimulatedOutcome>, first_attempt: bool) -> RecipientDisposition {
    match outcome {
        Some(SimulatedOutcome::Bounced) => {
            let bounce = Bounce {
                message: "The recipient's mail server refused the message.".into(),
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
