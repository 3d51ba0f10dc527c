//! The verb's end: to the server that holds the store, or straight into a store that nobody holds.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::direct::{DirectError, DirectStore};
use super::request::Request;
use super::response::Response;
use super::socket::{read_line, short_path, write_line};
use super::{REQUEST_TIMEOUT, RESPONSE_BYTES_MAX, SOCKET_NAME, execute};
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::config::{Config, DevSetup, Purpose};
use crate::store::{OpenError, StoreKind};

/// How long a store is waited for that is in use while nobody answers: a server that starts or
/// stops, or another verb.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// The pause between two looks at such a store.
const IN_USE_PAUSE: Duration = Duration::from_millis(50);
/// How long reaching the socket may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a response is waited for: longer than the server takes over a request.
const RESPONSE_TIMEOUT: Duration = REQUEST_TIMEOUT.saturating_add(Duration::from_secs(5));

/// Why a request has no response.
#[derive(Debug)]
pub enum AdminClientError {
    /// There is no store.
    NoStore(PathBuf),
    /// The store cannot be opened.
    Open(OpenError),
    /// A process holds the store and does not answer.
    Unreachable { socket: PathBuf, why: io::Error },
    /// What it answers does not read.
    Unreadable { socket: PathBuf, why: io::Error },
}

impl std::fmt::Display for AdminClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStore(path) => write!(
                f,
                "there is no store at {}; start `ringmail serve` first, or name its directory with --data-dir",
                path.display()
            ),
            Self::Open(error) => error.fmt(f),
            Self::Unreachable { socket, why } => write!(
                f,
                "a process holds the store and does not answer at {} ({why}); \
                 run this as the same user, or restart the server",
                socket.display()
            ),
            Self::Unreadable { socket, why } => write!(
                f,
                "what the server at {} answers does not read ({why}); is it of another version?",
                socket.display()
            ),
        }
    }
}

impl std::error::Error for AdminClientError {}

impl AdminClientError {
    fn of_conversation(socket: &Path, why: io::Error) -> Self {
        let socket = socket.to_owned();
        match why.kind() {
            io::ErrorKind::InvalidData => Self::Unreadable { socket, why },
            _ => Self::Unreachable { socket, why },
        }
    }
}

/// Reads a response out of its line.
fn parse(line: &[u8]) -> io::Result<Response> {
    // By itself the error of a value that breaks off would be that of a stream that does.
    serde_json::from_slice(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A way to ask.
pub struct AdminClient(Way);

enum Way {
    Running { stream: Box<BufReader<UnixStream>>, socket: PathBuf },
    Direct(Box<DirectStore>),
}

impl AdminClient {
    /// Finds the way to the store of a configuration, whichever command it belongs to.
    ///
    /// # Errors
    /// [`AdminClientError`].
    pub async fn open(config: Config) -> Result<Self, AdminClientError> {
        let started = monotonic();
        let mut config = config;
        loop {
            match blocking::run({
                let config = config.clone();
                move || DirectStore::open(&config)
            })
            .await
            {
                Ok(direct) => return Ok(Self(Way::Direct(Box::new(direct)))),
                Err(DirectError::NoStore(path)) => return Err(AdminClientError::NoStore(path)),
                Err(DirectError::Open(OpenError::OtherKind { found, .. })) if found != config.purpose.kind() => {
                    config.purpose = match found {
                        StoreKind::Serve => Purpose::Serve,
                        StoreKind::Dev => Purpose::Dev(DevSetup::default()),
                    };
                    continue;
                }
                Err(DirectError::Open(OpenError::InUse(_))) => {}
                Err(DirectError::Open(error)) => return Err(AdminClientError::Open(error)),
            }
            match Self::connect(&config.data_dir).await {
                Ok(door) => return Ok(door),
                Err(error) if started.elapsed() >= IN_USE_MAX => return Err(error),
                Err(_) => tokio::time::sleep(IN_USE_PAUSE).await,
            }
        }
    }

    /// Reaches the server that runs over a data directory.
    ///
    /// # Errors
    /// [`AdminClientError::Unreachable`].
    pub async fn connect(data_dir: &Path) -> Result<Self, AdminClientError> {
        let socket = data_dir.join(SOCKET_NAME);
        let connected = async {
            let (short, _directory) = short_path(&socket)?;
            UnixStream::connect(short).await
        };
        match timeout(CONNECT_TIMEOUT, connected).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => Ok(Self(Way::Running { stream: Box::new(BufReader::new(stream)), socket })),
            Err(why) => Err(AdminClientError::Unreachable { socket, why }),
        }
    }

    /// Returns whether a server answers, and will go on working once the verb has ended.
    pub fn is_running(&self) -> bool {
        matches!(self.0, Way::Running { .. })
    }

    /// Asks.
    ///
    /// # Errors
    /// [`AdminClientError::Unreachable`] when the server goes away before it answers, and
    /// [`AdminClientError::Unreadable`].
    pub async fn request(&mut self, request: Request) -> Result<Response, AdminClientError> {
        match &mut self.0 {
            Way::Direct(direct) => Ok(execute(&direct.services, request).await),
            Way::Running { stream, socket } => {
                let asked = async {
                    write_line(stream.get_mut(), &request).await?;
                    let line = read_line(stream, RESPONSE_BYTES_MAX).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                    parse(&line)
                };
                let answered = timeout(RESPONSE_TIMEOUT, asked).await;
                answered
                    .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                    .map_err(|why| AdminClientError::of_conversation(socket, why))
            }
        }
    }

    /// Waits for what the server says next; none once it has hung up, and where none runs.
    ///
    /// # Errors
    /// [`AdminClientError::Unreachable`] when the connection breaks, and [`AdminClientError::Unreadable`].
    pub async fn next_response(&mut self) -> Result<Option<Response>, AdminClientError> {
        let Way::Running { stream, socket } = &mut self.0 else { return Ok(None) };
        let read = match read_line(stream, RESPONSE_BYTES_MAX).await {
            Ok(Some(line)) => parse(&line).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        read.map_err(|why| AdminClientError::of_conversation(socket, why))
    }

    /// Closes a store that was opened; a running server keeps its own.
    pub async fn close(self) {
        if let Way::Direct(direct) = self.0 {
            direct.close().await;
        }
    }
}
