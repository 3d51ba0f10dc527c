//! Steps of the wall clock.
//!
//! Due times are times of the wall clock, because they must survive a restart. Pauses and waits use the monotonic clock.
//! After a step back, groups that wait for a retry would wait as much longer. They become due again. Scheduled mail keeps
//! its time. After a step forward, retries are due when the clock says so, and scheduled mail when the step has lasted for
//! ten minutes ([`crate::base::confirmed_clock`]).

use std::sync::Arc;

use tokio::sync::Semaphore;
use tracing::{error, info, warn};

use super::engine::Engine;
use super::queue::{QUEUE_START, QueueKey, make_due, read_ahead};
use super::schedule::Now;
use crate::base::clock::CLOCK_STEP_MS;
use crate::store::{StoreError, WriteTx};

/// Detection of steps, and the scan of the queue that follows a step back.
#[derive(Debug)]
pub(super) struct ClockSteps {
    /// The wall clock minus the monotonic clock at the last observation.
    offset_ms: Option<i64>,
    /// The one permit of a running scan.
    turn: Arc<Semaphore>,
}

impl Default for ClockSteps {
    fn default() -> Self {
        Self { offset_ms: None, turn: Arc::new(Semaphore::new(1)) }
    }
}

impl ClockSteps {
    /// Compares the clocks. After a step back, starts a scan of the queue. The first call starts one too, because the
    /// clock may have been set back before the start.
    pub(super) fn observe(&mut self, engine: &Arc<Engine>, now: Now) {
        let is_first = self.offset_ms.is_none();
        let step_ms = self.step_ms(now);
        let step_s = step_ms / 1_000;
        if step_ms < 0 {
            warn!(step_s, "the clock was set back by {} s: retries become due again", -step_s);
        } else if step_ms > 0 {
            match engine.context.confirmed_time().pending_ms {
                0 => info!(step_s, "the machine was suspended for about {step_s} s"),
                _ => warn!(
                    step_s,
                    "the clock was set forward by {step_s} s: scheduled mail of this time waits for 10 minutes, and leaves \
                     unless the clock is set back"
                ),
            }
        }
        if is_first || step_ms < 0 {
            let (engine, turn) = (Arc::clone(engine), Arc::clone(&self.turn));
            engine.tasks.clone().spawn(async move {
                let Ok(_turn) = turn.acquire_owned().await else { return };
                if let Err(error) = release_ahead(&engine).await {
                    error!(%error, "could not make deliveries due again after a step of the clock: {error}");
                }
            });
        }
    }

    /// Returns the step since the last observation; 0 if it is smaller than [`CLOCK_STEP_MS`].
    fn step_ms(&mut self, now: Now) -> i64 {
        let offset_ms = now.wall_ms - now.elapsed_ms;
        let step_ms = offset_ms - self.offset_ms.replace(offset_ms).unwrap_or(offset_ms);
        if step_ms.abs() > CLOCK_STEP_MS { step_ms } else { 0 }
    }
}

/// Makes the groups due that are due too far in the future, one page a transaction.
async fn release_ahead(engine: &Engine) -> Result<(), StoreError> {
    wait_for_earlier_transactions(engine).await?;
    let (mut from, mut released) = (Some(QUEUE_START), 0);
    while let Some(start) = from.take_if(|_| !engine.is_stopping()) {
        match release_page(engine, start).await {
            Ok((next, groups)) => {
                from = next;
                released += groups;
            }
            Err(error) if error.is_outage() => {
                engine.wait_for_store().await;
                from = Some(start);
            }
            Err(error) => return Err(error),
        }
    }
    if released > 0 {
        info!(groups = released, "made {released} deliveries due again, because the clock was set back");
        engine.notifier.rescan();
    }
    Ok(())
}

/// Waits until the transactions are committed that may have read the clock before the step: the scan must not pass their
/// groups.
async fn wait_for_earlier_transactions(engine: &Engine) -> Result<(), StoreError> {
    while !engine.is_stopping() {
        match engine.context.store.write_bulk::<_, StoreError>(|_| Ok(())).await {
            Err(error) if error.is_outage() => engine.wait_for_store().await,
            committed => return committed,
        }
    }
    Ok(())
}

async fn release_page(engine: &Engine, start: QueueKey) -> Result<(Option<QueueKey>, usize), StoreError> {
    let (store, now_ms) = (&engine.context.store, engine.context.now_ms());
    let page = store.read(move |tx| read_ahead(tx, start, now_ms)).await?;
    if page.keys.is_empty() {
        return Ok((page.next, 0));
    }
    let (keys, next) = (page.keys, page.next);
    let released = store.write_bulk(move |tx: &WriteTx<'_>| make_due(tx, &keys, now_ms)).await?;
    Ok((next, released))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::context::Context;
    use crate::delivery::engine::tests::engine;
    use crate::delivery::queue::DueKey;
    use crate::delivery::queue::tests::{ADA, put_due};
    use crate::emails::RecipientKind;
    use crate::store::Reads as _;
    use crate::tables::DUE;

    #[test]
    fn a_step_is_a_change_of_the_wall_clock_that_the_monotonic_clock_does_not_make() {
        let mut clock = ClockSteps::default();
        for (wall_ms, elapsed_ms, expected) in [
            (5 * DAY_MS, 0, 0),
            (5 * DAY_MS + 1_000, 1_000, 0),
            (5 * DAY_MS + 61_000, 2_000, 0),
            (5 * DAY_MS + 3_600_000, 3_541_000, 0),
            (4 * DAY_MS, 3_541_000, -DAY_MS - 3_600_000),
            (4 * DAY_MS + 1_000, 3_542_000, 0),
            (5 * DAY_MS + 1_000, 3_542_000, DAY_MS),
        ] {
            assert_eq!(clock.step_ms(Now { wall_ms, elapsed_ms }), expected, "{wall_ms} {elapsed_ms}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_group_of_a_transaction_that_read_the_clock_before_the_step_becomes_due() {
        let (_directory, context) = Context::temporary();
        let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        let parts = keys[0].parts();
        let take = move |tx: &WriteTx<'_>| {
            let row = tx.get(&DUE, &parts)?.unwrap();
            tx.delete(&DUE, &parts).map(|_| row)
        };
        let row = context.commit(take).await;
        let gate = Arc::new(Barrier::new(2));
        let (store, in_transaction) = (context.store.clone(), Arc::clone(&gate));
        let storing = TaskTracker::new().spawn(async move {
            let put_again = move |tx: &WriteTx<'_>| {
                in_transaction.wait();
                in_transaction.wait();
                tx.put(&DUE, &parts, &row)
            };
            store.write::<_, StoreError>(put_again).await
        });
        gate.wait();
        context.clock.step(-DAY_MS);
        let engine = engine(&context, &CancellationToken::new());

        let (released, _) = tokio::join!(release_ahead(&engine), async { gate.wait() });

        released.unwrap();
        storing.await.unwrap().unwrap();
        let due_times: Vec<_> = context.keys(&DUE).into_iter().map(|key| DueKey::from_parts(key).due_ms).collect();
        assert_eq!(due_times, [context.now_ms()]);
    }
}
