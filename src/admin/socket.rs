//! Server side of the socket.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::request::{AdminServices, AdminVerb, Request, ServerVerb, execute, subscribe};
use super::response::{AdminError, Response};
use super::{LINE_BYTES_MAX, REQUEST_TIMEOUT, SOCKET_NAME, tail};

/// Maximum number of connections. Further connections wait in the backlog of the socket.
const CONNECTIONS_MAX: usize = 16;
/// Maximum number of live streams. Streams are long, and other verbs need free connections.
const TAILS_MAX: usize = 8;
/// Time after which a connection without a request is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for the write of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that running requests get to finish when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept. The usual cause is a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Longest path for a socket. `sun_path` has 108 bytes with its NUL, and the temporary name has a
/// suffix.
const PATH_BYTES_MAX: usize = 100;
const ROOT_UID: u32 = 0;

/// The bound socket. Drop deletes its file.
#[derive(Debug)]
pub struct AdminListener {
    listener: UnixListener,
    owner_uid: u32,
    paths: Vec<PathBuf>,
}

impl AdminListener {
    /// Binds the socket in the data directory, or in `runtime_dir` with a symbolic link in the data
    /// directory. In `runtime_dir`, the file name contains a hash of the data directory, so that several
    /// instances can share `runtime_dir`. Deletes a socket that an earlier process left behind; the
    /// caller must hold the store.
    ///
    /// # Errors
    /// If a directory cannot hold a socket, or if the path exists and is not a socket.
    pub fn bind(data_dir: &Path, runtime_dir: Option<&Path>) -> io::Result<Self> {
        let link = data_dir.join(SOCKET_NAME);
        let path = match runtime_dir {
            Some(directory) => directory.join(runtime_name(data_dir)?),
            None => link.clone(),
        };
        let temporary = path.with_extension("sock.new");
        remove_stale(&path)?;
        remove_stale(&temporary)?;
        let listener = {
            let (short, _directory) = short_path(&temporary)?;
            UnixListener::bind(short)?
        };
        // The socket gets its name after its mode, so that no other user can connect in between.
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o600))?;
        let owner_uid = fs::metadata(&temporary)?.uid();
        fs::rename(&temporary, &path)?;
        let mut paths = vec![path.clone()];
        if path != link {
            remove_stale(&link)?;
            std::os::unix::fs::symlink(fs::canonicalize(&path)?, &link)?;
            paths.push(link);
        }
        Ok(Self { listener, owner_uid, paths })
    }
}

impl Drop for AdminListener {
    fn drop(&mut self) {
        for path in &self.paths {
            // If this fails, the next start deletes the file.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the file name of a data directory's socket in a runtime directory.
fn runtime_name(data_dir: &Path) -> io::Result<String> {
    let data_dir = fs::canonicalize(data_dir)?;
    let digest = Sha256::digest(data_dir.as_os_str().as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("ringmail-{hash}.sock"))
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() || found.file_type().is_symlink() => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is not a socket", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns a path that is short enough for a socket address: the path itself, or a path through an
/// open file of its directory. The caller must keep the returned file open while it uses the path.
pub(super) fn short_path(path: &Path) -> io::Result<(PathBuf, Option<fs::File>)> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.to_owned(), None));
    };
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let directory = fs::File::open(directory)?;
    let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((short, Some(directory)))
}

/// Serves requests until `stop`. Then waits for running requests, up to a timeout.
pub async fn serve(listener: AdminListener, services: AdminServices, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    let tails = Arc::new(Semaphore::new(TAILS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.listener.accept(), if connections.len() < CONNECTIONS_MAX => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                let server = Server { services: services.clone(), tails: Arc::clone(&tails), stop: stop.clone() };
                connections.spawn(server.serve_connection(stream, listener.owner_uid));
            }
            Err(error) => {
                warn!(%error, "could not accept a connection of the command line: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(STOP_TIMEOUT, finished).await.is_err() {
        warn!("the shutdown interrupted requests of the command line");
    }
}

struct Server {
    services: AdminServices,
    tails: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Server {
    async fn serve_connection(self, stream: UnixStream, owner_uid: u32) {
        let is_allowed = stream.peer_cred().is_ok_and(|peer| may_connect(peer.uid(), owner_uid));
        let mut stream = BufReader::new(stream);
        if !is_allowed {
            let error = AdminError::failed("this server answers only the user it runs as, and root");
            // The client may have closed the connection already.
            let _ = write_line(stream.get_mut(), &Response::Refused(error)).await;
            return;
        }
        if let Err(error) = self.serve_requests(stream).await {
            debug!(%error, "a connection of the command line failed: {error}");
        }
    }

    async fn serve_requests(self, mut stream: BufReader<UnixStream>) -> io::Result<()> {
        loop {
            let line = tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                line = timeout(IDLE_TIMEOUT, read_line(&mut stream, LINE_BYTES_MAX)) => line,
            };
            let Some(line) = line.unwrap_or(Ok(None))? else { return Ok(()) };
            let response = match parse(&line) {
                Ok(Request { team, verb: AdminVerb::Server(ServerVerb::Tail { types }) }) => {
                    let Ok(_permit) = self.tails.try_acquire() else {
                        let sentence = format!("{TAILS_MAX} other programs show events already; end one of them first");
                        return write_line(stream.get_mut(), &Response::Refused(AdminError::failed(sentence))).await;
                    };
                    match subscribe(&self.services, team, &types).await {
                        Ok(events) => {
                            tail::write_events(stream, events, &self.stop).await;
                            return Ok(());
                        }
                        Err(error) => Response::Refused(error),
                    }
                }
                Ok(request) => self.execute(request).await,
                Err(error) => Response::Refused(error),
            };
            write_line(stream.get_mut(), &response).await?;
        }
    }

    async fn execute(&self, request: Request) -> Response {
        timeout(REQUEST_TIMEOUT, execute(&self.services, request)).await.unwrap_or_else(|_| {
            let seconds = REQUEST_TIMEOUT.as_secs();
            let sentence = format!("the server did not finish the request within {seconds} seconds");
            Response::Refused(AdminError::failed(sentence))
        })
    }
}

/// Returns whether a user may send requests: the owner of the socket and root may.
const fn may_connect(peer_uid: u32, owner_uid: u32) -> bool {
    peer_uid == owner_uid || peer_uid == ROOT_UID
}

fn parse(line: &[u8]) -> Result<Request, AdminError> {
    serde_json::from_slice(line).map_err(|error| {
        AdminError::failed(format!(
            "the server does not know this request ({error}); check that it has the same version"
        ))
    })
}

/// Reads a line without its newline; `None` at the end of the stream.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the stream ends within a line, and
/// [`io::ErrorKind::InvalidData`] if the line is longer than `bytes_max`.
pub(super) async fn read_line(
    stream: &mut (impl AsyncBufRead + Unpin),
    bytes_max: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = bytes_max as u64 + 1;
    stream.take(most).read_until(b'\n', &mut line).await?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() == bytes_max => Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
        Some(_) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line is incomplete")),
    }
}

/// Writes a value as a line of JSON.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] after [`WRITE_TIMEOUT`].
pub(super) async fn write_line(stream: &mut UnixStream, value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    timeout(WRITE_TIMEOUT, stream.write_all(&line)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        read_line(&mut BufReader::new(bytes), LINE_BYTES_MAX).await
    }

    #[tokio::test]
    async fn a_line_ends_at_its_newline_and_has_a_maximum_length() {
        assert_eq!(read(b"{}\nrest").await.unwrap(), Some(b"{}".to_vec()));
        assert_eq!(read(b"").await.unwrap(), None);
        assert_eq!(read(b"{").await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let longest = [vec![b'x'; LINE_BYTES_MAX], vec![b'\n']].concat();
        assert_eq!(read(&longest).await.unwrap().map(|line| line.len()), Some(LINE_BYTES_MAX));
        for too_long in [LINE_BYTES_MAX + 1, 2 * LINE_BYTES_MAX] {
            let read = read(&vec![b'x'; too_long]).await;
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn only_the_owner_and_root_may_connect() {
        for (peer, owner, allowed) in
            [(1000, 1000, true), (0, 1000, true), (1001, 1000, false), (0, 0, true), (1000, 0, false)]
        {
            assert_eq!(may_connect(peer, owner), allowed, "{peer} connects to {owner}");
        }
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_any_other_file_is_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(SOCKET_NAME);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());

        let bound = AdminListener::bind(directory.path(), None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(bound);
        assert!(!path.exists());

        fs::write(&path, b"precious").unwrap();
        assert!(AdminListener::bind(directory.path(), None).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[tokio::test]
    async fn two_stores_that_share_a_runtime_directory_have_different_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let subdirectory = |name: &str| {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (one, other, runtime_dir) = (subdirectory("one"), subdirectory("other"), subdirectory("run"));

        let first = AdminListener::bind(&one, Some(&runtime_dir)).unwrap();
        let second = AdminListener::bind(&other, Some(&runtime_dir)).unwrap();

        let (to_one, to_other) = (one.join(SOCKET_NAME), other.join(SOCKET_NAME));
        assert_ne!(fs::read_link(&to_one).unwrap(), fs::read_link(&to_other).unwrap());
        drop(second);
        assert!(UnixStream::connect(&to_one).await.is_ok());
        assert!(UnixStream::connect(&to_other).await.is_err());
        drop(first);
        assert!(fs::read_dir(&runtime_dir).unwrap().next().is_none());
    }

    #[tokio::test]
    async fn the_path_in_the_data_directory_reaches_the_socket_despite_a_long_path_or_a_runtime_directory() {
        let directory = tempfile::tempdir().unwrap();
        let data_dir = directory.path().join("d".repeat(150));
        let runtime_dir = directory.path().join("run");
        fs::create_dir(&data_dir).unwrap();
        fs::create_dir(&runtime_dir).unwrap();

        for runtime_dir in [None, Some(runtime_dir.as_path())] {
            let bound = AdminListener::bind(&data_dir, runtime_dir).unwrap();
            let (path, _directory) = short_path(&data_dir.join(SOCKET_NAME)).unwrap();

            assert!(UnixStream::connect(path).await.is_ok());
            drop(bound);
        }
        assert!(fs::read_dir(&data_dir).unwrap().next().is_none());
        assert!(fs::read_dir(&runtime_dir).unwrap().next().is_none());
    }
}
