//! How many streams of the dashboard there may be, and when they end.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::filter::TypeFilter;
use super::watch::EventStream;
use crate::base::id::TeamId;
use crate::event_bus::EventBus;

/// Streams at once: a browser has one for each open window.
const STREAMS_MAX: usize = 64;
/// Streams of one team, so that none takes them all.
const STREAMS_OF_TEAM_MAX: usize = 8;

/// The streams of an instance.
#[derive(Debug)]
pub struct EventStreams {
    announcer: EventBus,
    tasks: TaskTracker,
    stop: CancellationToken,
    open: Arc<Mutex<HashMap<TeamId, usize>>>,
}

/// There are as many streams as there may be.
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

/// A stream's place among those there may be. Dropping it gives it back.
#[derive(Debug)]
pub struct StreamPermit {
    open: Arc<Mutex<HashMap<TeamId, usize>>>,
    team: TeamId,
}

impl EventStreams {
    /// Joins the announcer with the tracker that owns the streams' tasks.
    pub fn new(announcer: EventBus, tasks: TaskTracker) -> Self {
        Self { announcer, tasks, stop: CancellationToken::new(), open: Arc::default() }
    }

    /// Begins a stream of a team's events: what is announced from here on is seen.
    ///
    /// # Errors
    /// [`TooManyStreams`].
    pub fn open(&self, team: TeamId, filter: TypeFilter) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        let mut open = lock(&self.open);
        let of_team = open.get(&team).copied().unwrap_or(0);
        if of_team >= STREAMS_OF_TEAM_MAX || open.values().sum::<usize>() >= STREAMS_MAX {
            return Err(TooManyStreams);
        }
        open.insert(team, of_team + 1);
        drop(open);
        let place = StreamPermit { open: Arc::clone(&self.open), team };
        Ok((place, EventStream::new(&self.announcer, team, filter)))
    }

    /// Runs what writes a stream, until it ends, its key is revoked or the server stops.
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

    /// Ends every stream, and those that are opened from here on.
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

fn lock(open: &Mutex<HashMap<TeamId, usize>>) -> MutexGuard<'_, HashMap<TeamId, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> EventStreams {
        EventStreams::new(EventBus::default(), TaskTracker::new())
    }

    fn open(live: &EventStreams, team: u8) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        live.open(TeamId::from_bytes([team; 16]), TypeFilter::everything())
    }

    #[test]
    fn a_team_has_eight_streams_and_all_teams_have_sixty_four() {
        let live = live();
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

    /// Runs a stream that does not end by itself.
    fn run(live: &EventStreams, revoked: &CancellationToken) {
        let (place, _watch) = open(live, 1).unwrap();
        live.run(revoked.clone(), async move {
            let _place = place;
            std::future::pending::<()>().await;
        });
    }

    #[tokio::test]
    async fn a_stop_ends_streams_and_frees_their_places() {
        let live = live();
        run(&live, &CancellationToken::new());

        live.stop();
        live.tasks.close();
        live.tasks.wait().await;

        assert!(lock(&live.open).is_empty());
    }

    #[tokio::test]
    async fn a_revoked_key_ends_its_own_streams_and_frees_their_places() {
        let live = live();
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
