//! A bound on concurrent scans: one scan of each team, and [`SCANS_MAX`] in the process.
//!
//! A team with many requests waits for its own scans and does not delay another team. A request waits
//! at most [`ScanLimiter::timeout`], and then fails with [`SegmentScanError::Busy`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::SegmentScanError;
use crate::base::id::TeamId;
use crate::base::keyed::{KeyedValues, SharedValue};
use crate::store::StoreError;

/// Maximum number of concurrent scans in the process. Each uses one of the concurrent reads of the store.
const SCANS_MAX: usize = 3;

/// The semaphores of scans.
pub(crate) struct ScanLimiter {
    timeout: Duration,
    /// Semaphores with one permit.
    teams: KeyedValues<TeamId, Arc<Semaphore>>,
    process: Arc<Semaphore>,
}

/// The right to scan the contacts of one team, until it is dropped.
#[derive(Debug)]
pub(crate) struct ScanPermit {
    _team: OwnedSemaphorePermit,
    _process: OwnedSemaphorePermit,
    // The last field: the semaphore of the team is dropped after its permit is released.
    _of_team: SharedValue<TeamId, Arc<Semaphore>>,
}

impl ScanLimiter {
    /// Returns a limiter that makes a request wait for at most `timeout`.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout, teams: KeyedValues::default(), process: Arc::new(Semaphore::new(SCANS_MAX)) }
    }

    /// Waits for a permit. Requests get permits in the order of their calls. Dropping the future leaves
    /// the queue.
    ///
    /// # Errors
    /// [`SegmentScanError::Busy`] after the timeout.
    pub(crate) async fn acquire(&self, team: TeamId) -> Result<ScanPermit, SegmentScanError> {
        let of_team = self.teams.get_or_insert_with(team, || Arc::new(Semaphore::new(1)));
        let acquire = async {
            // The permit of the team comes first: otherwise the waiting scans of one team could take
            // every permit of the process.
            let team = Arc::clone(&of_team).acquire_owned().await?;
            let process = Arc::clone(&self.process).acquire_owned().await?;
            Ok(ScanPermit { _team: team, _process: process, _of_team: of_team })
        };
        match tokio::time::timeout(self.timeout, acquire).await {
            Ok(permit) => permit.map_err(|_: tokio::sync::AcquireError| SegmentScanError::Store(StoreError::Closed)),
            Err(_) => Err(SegmentScanError::Busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;
    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_scan_waits_for_the_scan_of_its_team_and_not_for_another_team() {
        let limiter = ScanLimiter::new(LONG);
        let permit = limiter.acquire(TEAM).await.unwrap();
        let mut next = Box::pin(limiter.acquire(TEAM));
        tokio::select! {
            biased;
            _ = &mut next => panic!("the team has a permit"),
            other = limiter.acquire(OTHER) => drop(other.unwrap()),
        }

        drop(permit);
        next.await.unwrap();

        assert_eq!(limiter.process.available_permits(), SCANS_MAX);
    }

    #[tokio::test]
    async fn a_scan_that_cannot_start_in_time_is_refused() {
        let limiter = ScanLimiter::new(SHORT);
        let permit = limiter.acquire(TEAM).await.unwrap();

        let late = limiter.acquire(TEAM).await;

        assert!(matches!(late, Err(SegmentScanError::Busy)), "{late:?}");
        drop(permit);
        limiter.acquire(TEAM).await.unwrap();
    }

    #[tokio::test]
    async fn the_process_runs_a_bounded_number_of_scans() {
        let limiter = ScanLimiter::new(SHORT);
        let mut permits = Vec::new();
        for team in 0..SCANS_MAX {
            permits.push(limiter.acquire(Id::from_bytes([u8::try_from(team).unwrap(); 16])).await.unwrap());
        }

        let late = limiter.acquire(OTHER).await;

        assert!(matches!(late, Err(SegmentScanError::Busy)), "{late:?}");
        permits.pop();
        limiter.acquire(OTHER).await.unwrap();
    }
}
