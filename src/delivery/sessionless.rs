//! Settlement of groups without an SMTP session: simulated recipients, destinations without servers,
//! expired groups and abandoned leases.

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

/// Maximum age of the last delivery to a destination for which a missing domain is confirmed by a
/// second lookup before its recipients bounce.
const RECENT_DELIVERY_MS: i64 = 30 * DAY_MS;

/// Reason why a group has no SMTP session.
#[derive(Clone, Debug)]
pub(super) enum SessionlessReason {
    /// The recipients are simulated.
    Simulated,
    /// The destination accepts no mail.
    Undeliverable {
        /// Enhanced status code (RFC 3463).
        status: &'static str,
        message: String,
    },
    /// The domain does not exist.
    Vanished,
    /// The lookup of the servers failed temporarily.
    Unknown { reason: String },
    /// The retry period ended while the site failed.
    Expired,
}

/// Claims and settles groups in one transaction. Logs a store error and leaves the groups queued.
pub(super) async fn settle_groups(engine: &Engine, groups: Vec<Due>, reason: &SessionlessReason) {
    let keys: Vec<DueKey> = groups.into_iter().map(|due| due.key).collect();
    let (context, schedule, reason) = (engine.context.clone(), engine.settings.schedule.clone(), reason.clone());
    let claiming = keys.clone();
    let settled = engine.context.store.write_bulk::<_, StoreError>(move |tx| {
        let now_ms = context.now_ms();
        let mut requeued = Vec::new();
        for claimed in claim(tx, &context, &claiming)? {
            let settlement = settlement_for(tx, claimed, &reason, now_ms)?;
            requeued.extend(settle(tx, &context, &schedule, &settlement)?);
        }
        Ok(requeued)
    });
    match settled.await {
        Ok(requeued) => engine.notifier.groups_queued(requeued),
        // The groups are still in the table. The next reconciliation loads them.
        Err(error) => error!(%error, "could not settle deliveries: {error}"),
    }
    engine.untrack(&keys);
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
    tx: &WriteTx<'_>,
    claimed: Claimed,
    reason: &SessionlessReason,
    now_ms: TimestampMs,
) -> Result<Settlement, StoreError> {
    let disposition = match reason {
        SessionlessReason::Simulated => return Ok(simulate(claimed)),
        SessionlessReason::Undeliverable { status, message } => undeliverable(message, status),
        SessionlessReason::Vanished if !is_confirmed(&claimed, now_ms) && accepted_recently(tx, &claimed, now_ms)? => {
            let since_ms = claimed.due.vanished_ms.unwrap_or(now_ms);
            let due = DueRow { vanished_ms: Some(since_ms), ..claimed.due };
            let reply_text = "5.1.2 the domain does not exist; it accepted mail recently, so it is looked up again";
            let deferral = Deferral { delay: RetryDelay::Confirm, ..Deferral::ordinary(Some(reply_text.into())) };
            return Ok(Settlement::uniform(
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
    Ok(Settlement::uniform(Arc::new(claimed), disposition, None))
}

/// Returns whether the domain has not existed for at least [`CONFIRM_AFTER_MS`].
fn is_confirmed(claimed: &Claimed, now_ms: TimestampMs) -> bool {
    claimed.due.vanished_ms.is_some_and(|since_ms| now_ms - since_ms >= CONFIRM_AFTER_MS)
}

/// Returns whether a server of the destination accepted a message in the last 30 days.
fn accepted_recently(tx: &WriteTx<'_>, claimed: &Claimed, now_ms: TimestampMs) -> Result<bool, StoreError> {
    let known = tx.get(&DESTINATIONS, &(name_hash(&claimed.due.destination),))?;
    Ok(known.is_some_and(|known| now_ms - known.delivered_ms < RECENT_DELIVERY_MS))
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
