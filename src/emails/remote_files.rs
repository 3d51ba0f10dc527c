//! Files that attachments name by the URL in `path`.
//!
//! A file is fetched once, before the transaction that accepts its email, and stored like any other attachment. The
//! fetches of one team, and of all teams, are limited.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::base::keyed::{KeyedValues, SharedValue};
use crate::http_client::{CustomerUrl, FetchError, FetchLimits, FetchedFile, HttpClient, UrlPolicy};

/// Time for all files of one request, including the wait for a permit. Most clients wait at least this long.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of concurrent fetches of one team.
const TEAM_FETCHES_MAX: usize = 4;
/// Maximum number of concurrent fetches of all teams. Each needs a socket, and memory only for the bytes received.
const FETCHES_MAX: usize = 64;

/// Fetches the files of attachments.
pub struct RemoteFiles {
    client: HttpClient,
    teams: KeyedValues<TeamId, Arc<Semaphore>>,
    process: Arc<Semaphore>,
}

/// The right to fetch one file.
struct FetchPermit {
    _team: OwnedSemaphorePermit,
    _process: OwnedSemaphorePermit,
    // The last field: the semaphore of the team is dropped after its permit is released.
    _of_team: SharedValue<TeamId, Arc<Semaphore>>,
}

/// The reason that a file is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteFileError {
    /// The team, or all teams, have too many fetches in progress.
    Busy,
    Fetch(FetchError),
}

impl RemoteFiles {
    /// Returns the fetcher of an instance.
    pub fn new(client: HttpClient) -> Self {
        Self { client, teams: KeyedValues::default(), process: Arc::new(Semaphore::new(FETCHES_MAX)) }
    }

    /// Returns the policy for the URLs of files.
    pub fn policy(&self) -> &UrlPolicy {
        self.client.policy()
    }

    /// Fetches a file of at most `bytes_max` bytes until `deadline`. [`HttpClient::fetch`] describes `reserve` and the
    /// reservation of the file.
    pub async fn fetch<M>(
        &self,
        team: TeamId,
        url: CustomerUrl,
        bytes_max: usize,
        deadline: Instant,
        now_ms: TimestampMs,
        reserve: &mut (dyn FnMut(usize) -> Option<M> + Send),
    ) -> Result<(FetchedFile, Option<M>), RemoteFileError> {
        let permit = tokio::time::timeout_at(deadline, self.permit(team)).await;
        let _permit = permit.ok().flatten().ok_or(RemoteFileError::Busy)?;
        let limits = FetchLimits { bytes_max, overall: deadline.saturating_duration_since(Instant::now()) };
        self.client.fetch(url, limits, now_ms, reserve).await.map_err(RemoteFileError::Fetch)
    }

    /// Waits for a permit. The permit of the team comes first: otherwise the waiting fetches of one team could take
    /// every permit of the process.
    async fn permit(&self, team: TeamId) -> Option<FetchPermit> {
        let of_team = self.teams.get_or_insert_with(team, || Arc::new(Semaphore::new(TEAM_FETCHES_MAX)));
        let team = Arc::clone(&of_team).acquire_owned().await.ok()?;
        let process = Arc::clone(&self.process).acquire_owned().await.ok()?;
        Some(FetchPermit { _team: team, _process: process, _of_team: of_team })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::dns::{Guard, Resolver};
    use crate::http_client::HttpTimeouts;

    const NOW_MS: TimestampMs = 1_000_000_000_000;

    fn files() -> RemoteFiles {
        let guard = Guard::allowing(vec!["127.0.0.1/32".parse().unwrap()]);
        let policy = UrlPolicy { guard, plain_http: true, local_names: false, extra_roots: Vec::new() };
        // No name is looked up: the host of the tests is an address.
        let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
        RemoteFiles::new(HttpClient::new(resolver, policy, HttpTimeouts::default()).unwrap())
    }

    async fn fetch(
        files: &RemoteFiles,
        team: TeamId,
        address: SocketAddr,
        time: Duration,
    ) -> Result<FetchedFile, RemoteFileError> {
        let url = CustomerUrl::parse(&format!("http://{address}/a"), files.policy()).unwrap();
        let fetched = files.fetch(team, url, 10, Instant::now() + time, NOW_MS, &mut |_| Some(())).await;
        fetched.map(|(file, _)| file)
    }

    #[tokio::test]
    async fn the_fetches_of_a_team_are_limited_and_other_teams_do_not_wait() {
        let files = files();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (team, other) = (TeamId::MIN, TeamId::MAX);
        let long = Duration::from_secs(20);
        let mut streams = Vec::new();

        // The server answers none of the first requests.
        let first = futures_of(&files, team, address, long, TEAM_FETCHES_MAX);
        tokio::pin!(first);
        while streams.len() < TEAM_FETCHES_MAX {
            tokio::select! {
                accepted = listener.accept() => streams.push(accepted.unwrap().0),
                () = &mut first => panic!("the server did not answer"),
            }
        }
        let waited = tokio::select! {
            waited = fetch(&files, team, address, Duration::from_millis(50)) => waited,
            () = &mut first => panic!("the server did not answer"),
        };
        let answered = tokio::join!(fetch(&files, other, address, long), async {
            let mut stream = listener.accept().await.unwrap().0;
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHi").await.unwrap();
            stream
        });

        assert_eq!(waited.unwrap_err(), RemoteFileError::Busy);
        assert_eq!(answered.0.unwrap().content, b"Hi");
        drop(streams);
        first.await;
        assert_eq!(files.teams.len(), 0);
    }

    /// Fetches `count` files at once and waits for all results.
    async fn futures_of(files: &RemoteFiles, team: TeamId, address: SocketAddr, time: Duration, count: usize) {
        let mut fetches: Vec<_> = (0..count).map(|_| Box::pin(fetch(files, team, address, time))).collect();
        std::future::poll_fn(|cx| {
            fetches.retain_mut(|fetch| fetch.as_mut().poll(cx).is_pending());
            if fetches.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}
