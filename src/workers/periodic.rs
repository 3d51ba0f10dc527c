//! Periodic work.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::base::wakeup::Wakeup;

/// Rest after a page of background work, as a multiple of its duration.
const REST_FACTOR: u32 = 19;

/// Calls `work` immediately and then every `period` until `stop`. The stop drops a running call, so that
/// each step of `work` must leave the store consistent.
///
/// # Errors
/// The first failure of `work`.
pub async fn every<F, E>(period: Duration, stop: CancellationToken, work: impl Fn() -> F) -> Result<(), E>
where
    F: Future<Output = Result<(), E>>,
{
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = ticks.tick() => {}
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            result = work() => result?,
        }
    }
}

/// Calls `work` at once and then after each notification, until the stop. The stop drops `work` at an
/// await, so each of its commits must leave the store consistent.
///
/// # Errors
/// The first error of `work`.
pub async fn after_each<F, E>(wakeup: &Wakeup, stop: CancellationToken, work: impl Fn() -> F) -> Result<(), E>
where
    F: Future<Output = Result<(), E>>,
{
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            done = work() => done?,
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = wakeup.notified() => {}
        }
    }
}

/// Rests after a page of background work that began at `started`, so that the work uses at most a twentieth of one core.
pub async fn rest_after(started: Instant) {
    tokio::time::sleep(started.elapsed() * REST_FACTOR).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_drops_running_work() {
        let stop = CancellationToken::new();
        let work = || {
            stop.cancel();
            std::future::pending::<Result<(), ()>>()
        };

        assert_eq!(every(Duration::from_secs(3_600), stop.clone(), work).await, Ok(()));
    }
}
