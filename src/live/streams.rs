//! The streams of the dashboard: their number and their end.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::filter::TypeFilter;
use super::stream::EventStream;
use crate::base::id::TeamId;
use crate::base::sync::lock;
use crate::event_bus::EventBus;

/// Open streams of all teams. A browser has one stream for each window.
const STREAMS_MAX: usize = 64;
/// Open streams of one team, so that one team cannot use all of them.
const STREAMS_OF_TEAM_MAX: usize = 8;

/// The streams of an instance.
#[derive(Debug)]
pub struct EventStreams {
    event_bus: EventBus,
    tasks: TaskTracker,
    stop: CancellationToken,
    open: Arc<Mutex<HashMap<TeamId, usize>>>,
}

/// The limit of streams is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStreams;

impl fmt::Display for TooManyStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "A team may have {STREAMS_OF_TEAM_MAX} streams of events, and all teams {STREAMS_MAX}. Close one, and try again."
        )
    }
}

/// Permit for one stream. Dropping it releases it.
#[derive(Debug)]
pub struct StreamPermit {
    open: Arc<Mutex<HashMap<TeamId, usize>>>,
    team: TeamId,
}

impl EventStreams {
    /// Creates the registry; `tasks` owns the tasks of the streams.
    pub fn new(event_bus: EventBus, tasks: TaskTracker) -> Self {
        Self { event_bus, tasks, stop: CancellationToken::new(), open: Arc::default() }
    }

    /// Opens a stream of the events of a team that are published from now on.
    ///
    /// # Errors
    /// [`TooManyStreams`] if the team or the server has reached its limit.
    pub fn open(&self, team: TeamId, filter: TypeFilter) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        let mut open = lock(&self.open);
        let of_team = open.get(&team).copied().unwrap_or(0);
        if of_team >= STREAMS_OF_TEAM_MAX || open.values().sum::<usize>() >= STREAMS_MAX {
            return Err(TooManyStreams);
        }
        open.insert(team, of_team + 1);
        drop(open);
        let permit = StreamPermit { open: Arc::clone(&self.open), team };
        Ok((permit, EventStream::new(&self.event_bus, team, filter)))
    }

    /// Spawns the future that writes a stream. Cancels it when the key is revoked or the server stops.
    pub fn run(&self, revoked: CancellationToken, writing: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = revoked.cancelled() => {}
                () = writing => {}
            }
        });
    }

    /// Ends every stream, including streams that are opened later.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        if let Some(of_team) = open.get_mut(&self.team) {
            *of_team -= 1;
            if *of_team == 0 {
                open.remove(&self.team);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> EventStreams {
        EventStreams::new(EventBus::default(), TaskTracker::new())
    }

    fn open(live: &EventStreams, team: u8) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        live.open(TeamId::from_bytes([team; 16]), TypeFilter::everything())
    }

    #[test]
    fn streams_are_limited_for_each_team_and_for_all_teams() {
        let live = streams();
        let mut streams = Vec::new();
        for team in 0..8 {
            streams.extend((0..STREAMS_OF_TEAM_MAX).map(|_| open(&live, team).unwrap()));
            assert!(open(&live, team).is_err(), "{team}");
        }
        assert!(open(&live, 100).is_err(), "there are {}", streams.len());

        streams.pop();
        streams.push(open(&live, 100).unwrap());
        assert!(open(&live, 7).is_err());

        streams.clear();
        assert!(lock(&live.open).is_empty());
    }

    /// Runs a stream that ends only if it is canceled.
    fn run(live: &EventStreams, revoked: &CancellationToken) {
        let (permit, _stream) = open(live, 1).unwrap();
        live.run(revoked.clone(), async move {
            let _permit = permit;
            std::future::pending::<()>().await;
        });
    }

    #[tokio::test]
    async fn a_stop_ends_streams_and_releases_their_permits() {
        let live = streams();
        run(&live, &CancellationToken::new());

        live.stop();
        live.tasks.close();
        live.tasks.wait().await;

        assert!(lock(&live.open).is_empty());
    }

    #[tokio::test]
    async fn a_revoked_key_ends_its_own_streams_and_releases_their_permits() {
        let live = streams();
        let (revoked, kept) = (CancellationToken::new(), CancellationToken::new());
        for key in [&revoked, &revoked, &kept] {
            run(&live, key);
        }

        revoked.cancel();
        while live.tasks.len() > 1 {
            tokio::task::yield_now().await;
        }

        assert_eq!(lock(&live.open).values().sum::<usize>(), 1);
    }
}
