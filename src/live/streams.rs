//! The streams of the dashboard: their number, and their end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::filter::TypeFilter;
use super::stream::EventStream;
use crate::base::id::{ApiKeyId, SessionId, TeamId};
use crate::base::sync::lock;
use crate::event_bus::EventBus;

/// Open streams of all teams.
const STREAMS_MAX: usize = 64;
/// Open streams of one team, so that one team cannot use all of them.
const STREAMS_OF_TEAM_MAX: usize = 32;
/// Open streams of one session or one API key, so that one browser cannot use all streams of its team. A browser has one
/// stream for all of its tabs, and another one for a short time when it connects again.
const STREAMS_OF_CLIENT_MAX: usize = 4;

/// Client of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamClient {
    Session(SessionId),
    Key(ApiKeyId),
}

/// The streams of an instance.
#[derive(Debug)]
pub struct EventStreams {
    event_bus: EventBus,
    tasks: TaskTracker,
    stop: CancellationToken,
    open: Arc<Mutex<OpenStreams>>,
}

/// Number of open streams of each team and client.
#[derive(Debug, Default)]
struct OpenStreams {
    of_teams: HashMap<TeamId, usize>,
    of_clients: HashMap<StreamClient, usize>,
}

/// A limit of streams is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooManyStreams {
    OfClient(StreamClient),
    OfTeam,
    OfAll,
}

impl fmt::Display for TooManyStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (owner, max) = match self {
            Self::OfClient(StreamClient::Session(_)) => ("A session", STREAMS_OF_CLIENT_MAX),
            Self::OfClient(StreamClient::Key(_)) => ("An API key", STREAMS_OF_CLIENT_MAX),
            Self::OfTeam => ("A team", STREAMS_OF_TEAM_MAX),
            Self::OfAll => ("The server", STREAMS_MAX),
        };
        write!(f, "{owner} may have {max} streams of events. Close one, and try again.")
    }
}

/// Permit for one stream. Dropping it releases it.
#[derive(Debug)]
pub struct StreamPermit {
    open: Arc<Mutex<OpenStreams>>,
    team: TeamId,
    client: StreamClient,
}

impl EventStreams {
    /// Creates the registry; `tasks` owns the tasks of the streams.
    pub fn new(event_bus: EventBus, tasks: TaskTracker) -> Self {
        Self { event_bus, tasks, stop: CancellationToken::new(), open: Arc::default() }
    }

    /// Opens a stream of the events of a team that are published from now on.
    ///
    /// # Errors
    /// [`TooManyStreams`] if the client, the team or the server has reached its limit.
    pub fn open(
        &self,
        team: TeamId,
        client: StreamClient,
        filter: TypeFilter,
    ) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        lock(&self.open).add(team, client)?;
        let permit = StreamPermit { open: Arc::clone(&self.open), team, client };
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

impl OpenStreams {
    fn add(&mut self, team: TeamId, client: StreamClient) -> Result<(), TooManyStreams> {
        let of_client = self.of_clients.get(&client).copied().unwrap_or(0);
        let of_team = self.of_teams.get(&team).copied().unwrap_or(0);
        if of_client >= STREAMS_OF_CLIENT_MAX {
            return Err(TooManyStreams::OfClient(client));
        }
        if of_team >= STREAMS_OF_TEAM_MAX {
            return Err(TooManyStreams::OfTeam);
        }
        if self.len() >= STREAMS_MAX {
            return Err(TooManyStreams::OfAll);
        }
        self.of_clients.insert(client, of_client + 1);
        self.of_teams.insert(team, of_team + 1);
        Ok(())
    }

    fn remove(&mut self, team: TeamId, client: StreamClient) {
        decrement(&mut self.of_teams, team);
        decrement(&mut self.of_clients, client);
    }

    fn len(&self) -> usize {
        self.of_teams.values().sum()
    }
}

/// Decrements a count, and deletes it at 0, so that the map has open streams only.
fn decrement<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        lock(&self.open).remove(self.team, self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> EventStreams {
        EventStreams::new(EventBus::default(), TaskTracker::new())
    }

    fn open(live: &EventStreams, team: u8, client: u8) -> Result<(StreamPermit, EventStream), TooManyStreams> {
        let client = StreamClient::Session(SessionId::from_bytes([client; 16]));
        live.open(TeamId::from_bytes([team; 16]), client, TypeFilter::everything())
    }

    #[test]
    fn streams_are_limited_for_each_client_each_team_and_all_teams() {
        let live = streams();
        let (mut streams, mut client) = (Vec::new(), 0);
        for team in [1, 2] {
            for _ in 0..STREAMS_OF_TEAM_MAX / STREAMS_OF_CLIENT_MAX {
                client += 1;
                streams.extend((0..STREAMS_OF_CLIENT_MAX).map(|_| open(&live, team, client).unwrap()));
                assert!(matches!(open(&live, team, client), Err(TooManyStreams::OfClient(_))), "{client}");
            }
            assert!(matches!(open(&live, team, 100), Err(TooManyStreams::OfTeam)), "{team}");
        }
        assert!(matches!(open(&live, 3, 100), Err(TooManyStreams::OfAll)), "there are {}", streams.len());

        streams.pop();
        streams.push(open(&live, 3, 100).unwrap());
        assert!(matches!(open(&live, 2, client), Err(TooManyStreams::OfAll)));

        streams.clear();
        let open = lock(&live.open);
        assert!(open.of_teams.is_empty() && open.of_clients.is_empty(), "{open:?}");
    }

    #[test]
    fn a_key_and_a_session_with_the_same_id_are_two_clients() {
        let live = streams();
        let of_session: Vec<_> = (0..STREAMS_OF_CLIENT_MAX).map(|_| open(&live, 1, 1).unwrap()).collect();

        let key = StreamClient::Key(ApiKeyId::from_bytes([1; 16]));
        let of_key = live.open(TeamId::from_bytes([1; 16]), key, TypeFilter::everything());

        assert!(of_key.is_ok() && open(&live, 1, 1).is_err(), "{of_session:?}");
    }

    /// Runs a stream that ends only if it is canceled.
    fn run(live: &EventStreams, revoked: &CancellationToken) {
        let (permit, _stream) = open(live, 1, 1).unwrap();
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

        assert_eq!(lock(&live.open).len(), 0);
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

        assert_eq!(lock(&live.open).len(), 1);
    }
}
