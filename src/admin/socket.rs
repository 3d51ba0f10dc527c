//! The server's end of the socket.

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

use super::request::Request;
use super::response::{AdminError, Response};
use super::services::AdminServices;
use super::{LINE_BYTES_MAX, REQUEST_TIMEOUT, SOCKET_NAME, execute, tail};

/// Conversations at once. A person types one verb at a time; a script that starts more waits.
const CONVERSATIONS_MAX: usize = 16;
/// Conversations at once that watch events: they last, and leave room for the others.
const TAILS_MAX: usize = 8;
/// How long a conversation may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long writing a response may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long running requests may go on once the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a failed accept: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest path a socket can have, with room for the suffix of the name it is made under:
/// `sun_path` holds 108 bytes with its NUL.
const PATH_BYTES_MAX: usize = 100;
const ROOT_UID: u32 = 0;

/// The bound socket. Dropping it removes the file.
#[derive(Debug)]
pub struct AdminListener {
    listener: UnixListener,
    owner_uid: u32,
    paths: Vec<PathBuf>,
}

impl AdminListener {
    /// Binds the socket beside the store, or in `runtime_dir` with a link beside the store. There
    /// it is named after the data directory: instances that share the directory have a socket
    /// each, and no verb reaches another's store. What
    /// an earlier process left there is removed: whoever calls this holds the store.
    ///
    /// # Errors
    /// When the directory does not take a socket, or something that is none lies in its place.
    pub fn bind(data_dir: &Path, runtime_dir: Option<&Path>) -> io::Result<Self> {
        let link = data_dir.join(SOCKET_NAME);
        let path = match runtime_dir {
            Some(directory) => directory.join(runtime_name(data_dir)?),
            None => link.clone(),
        };
        let made = path.with_extension("sock.new");
        remove_stale(&path)?;
        remove_stale(&made)?;
        let listener = {
            let (short, _directory) = short_path(&made)?;
            UnixListener::bind(short)?
        };
        // The name appears with its final mode, so that no moment lets others in.
        fs::set_permissions(&made, fs::Permissions::from_mode(0o600))?;
        let owner_uid = fs::metadata(&made)?.uid();
        fs::rename(&made, &path)?;
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
            // The next start removes what could not be removed here.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the name of the socket of a data directory among those of other data directories.
fn runtime_name(data_dir: &Path) -> io::Result<String> {
    let place = fs::canonicalize(data_dir)?;
    let digest = Sha256::digest(place.as_os_str().as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("ringmail-{hash}.sock"))
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() || found.file_type().is_symlink() => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is no socket", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns a path that fits a socket's address: the path itself, or one through the open directory,
/// which must stay open for as long as the path is used.
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

/// Answers requests until `stop`; then finishes those it has begun.
pub async fn serve(listener: AdminListener, services: AdminServices, stop: CancellationToken) {
    let mut conversations = JoinSet::new();
    let tails = Arc::new(Semaphore::new(TAILS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.listener.accept(), if conversations.len() < CONVERSATIONS_MAX => accepted,
            Some(_) = conversations.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                let asked = Asked { services: services.clone(), tails: Arc::clone(&tails), stop: stop.clone() };
                conversations.spawn(converse(stream, listener.owner_uid, asked));
            }
            Err(error) => {
                warn!(%error, "a connection of the command line was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    let finished = async { while conversations.join_next().await.is_some() {} };
    if timeout(STOP_TIMEOUT, finished).await.is_err() {
        warn!("requests of the command line were cut off by the stop");
    }
}

/// What a conversation is answered from.
struct Asked {
    services: AdminServices,
    tails: Arc<Semaphore>,
    stop: CancellationToken,
}

async fn converse(stream: UnixStream, owner_uid: u32, asked: Asked) {
    let Asked { services, tails, stop } = asked;
    let allowed = stream.peer_cred().is_ok_and(|peer| may_ask(peer.uid(), owner_uid));
    let mut stream = BufReader::new(stream);
    if !allowed {
        let refusal = AdminError::failed("this server answers the user it runs as, and root");
        // Whoever hung up before the refusal has understood it.
        let _ = write_line(stream.get_mut(), &Response::Refused(refusal)).await;
        return;
    }
    loop {
        let line = tokio::select! {
            () = stop.cancelled() => return,
            line = timeout(IDLE_TIMEOUT, read_line(&mut stream, LINE_BYTES_MAX)) => line,
        };
        let line = match line {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(error)) => {
                debug!(%error, "a conversation with the command line broke off: {error}");
                return;
            }
        };
        let response = match parse(&line) {
            Ok(Request::Tail { team, types }) => {
                let Ok(_permit) = tails.try_acquire() else {
                    let sentence = format!("{TAILS_MAX} others watch events already; end one of them first");
                    let _ = write_line(stream.get_mut(), &Response::Refused(AdminError::failed(sentence))).await;
                    return;
                };
                match execute::watch(&services, team, &types).await {
                    Ok(watch) => return tail::show(stream, watch, &stop).await,
                    Err(refusal) => Response::Refused(refusal),
                }
            }
            Ok(request) => answer(&services, request).await,
            Err(refusal) => Response::Refused(refusal),
        };
        if let Err(error) = write_line(stream.get_mut(), &response).await {
            debug!(%error, "a conversation with the command line broke off: {error}");
            return;
        }
    }
}

/// The server answers the user it runs as, and root.
const fn may_ask(peer_uid: u32, owner_uid: u32) -> bool {
    peer_uid == owner_uid || peer_uid == ROOT_UID
}

fn parse(line: &[u8]) -> Result<Request, AdminError> {
    serde_json::from_slice(line).map_err(|error| {
        AdminError::failed(format!(
            "the running server does not know this request ({error}); is it of another version?"
        ))
    })
}

async fn answer(services: &AdminServices, request: Request) -> Response {
    timeout(REQUEST_TIMEOUT, execute(services, request)).await.unwrap_or_else(|_| {
        let seconds = REQUEST_TIMEOUT.as_secs();
        Response::Refused(AdminError::failed(format!("the server did not finish the request within {seconds} seconds")))
    })
}

/// Reads a line without its end; none at the end of the stream.
///
/// # Errors
/// When the stream breaks; [`io::ErrorKind::UnexpectedEof`] when it ends within a line, and
/// [`io::ErrorKind::InvalidData`] when the line is longer than `bytes_max`.
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
        Some(_) if line.len() == bytes_max => Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long")),
        Some(_) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a line is cut off")),
    }
}

/// Writes a value as a line.
///
/// # Errors
/// When the stream breaks or does not take the line in time.
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
    async fn a_line_ends_at_its_newline_and_never_grows_without_bound() {
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
    fn the_owner_and_root_may_ask_and_nobody_else() {
        for (peer, owner, allowed) in
            [(1000, 1000, true), (0, 1000, true), (1001, 1000, false), (0, 0, true), (1000, 0, false)]
        {
            assert_eq!(may_ask(peer, owner), allowed, "{peer} asks {owner}");
        }
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_anything_else_is_left_alone() {
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
    async fn two_stores_with_one_runtime_directory_have_a_socket_each() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (one, other, runtime_dir) = (place("one"), place("other"), place("run"));

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
    async fn a_long_path_and_a_runtime_directory_are_both_reached_from_beside_the_store() {
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
