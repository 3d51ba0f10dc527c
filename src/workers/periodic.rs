//! Periodic work.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

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
    let run = async {
        loop {
            ticks.tick().await;
            work().await?;
        }
    };
    stop.run_until_cancelled(run).await.unwrap_or(Ok(()))
}

/// Calls `work` at once and then after each `wait`, until the stop. The stop drops either at an await, so each commit of
/// `work` must leave the store consistent. A [`Wakeup`](crate::base::wakeup::Wakeup) stores a notification during `work`,
/// which ends the next wait.
///
/// # Errors
/// The first error of `work`.
pub async fn repeat<F, W, E>(stop: CancellationToken, work: impl Fn() -> F, wait: impl Fn() -> W) -> Result<(), E>
where
    F: Future<Output = Result<(), E>>,
    W: Future,
{
    let run = async {
        loop {
            work().await?;
            wait().await;
        }
    };
    stop.run_until_cancelled(run).await.unwrap_or(Ok(()))
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
