//! Work that is done again and again.

use std::future::Future;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Calls `work` at once and then every `period` until the stop.
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
            _ = ticks.tick() => work().await?,
        }
    }
}
