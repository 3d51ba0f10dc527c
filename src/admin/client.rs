//! Client of the admin API: over the socket of the server that holds the store, or over the store
//! itself.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::direct::{DirectError, DirectStore};
use super::request::{AdminVerb, Request, execute};
use super::response::{AdminError, Response, ResponseBody};
use super::socket::{read_line, short_path, write_line};
use super::{REQUEST_TIMEOUT, RESPONSE_BYTES_MAX, SOCKET_NAME};
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::config::{Config, DevSetup, InstanceVerb};
use crate::store::{OpenError, StoreKind};

/// Time that [`AdminClient::open`] retries while the store is locked and no server answers: a server
/// starts or stops, or another verb runs.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// Pause between these retries.
const IN_USE_PAUSE: Duration = Duration::from_millis(50);
/// Timeout for the connection to the socket.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a response: longer than the timeout of the server.
const RESPONSE_TIMEOUT: Duration = REQUEST_TIMEOUT.saturating_add(Duration::from_secs(5));

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
pub enum AdminClientError {
    #[error("there is no store at {0}; start `ringmail serve` first, or name its directory with --data-dir")]
    NoStore(PathBuf),
    /// The store cannot be opened.
    #[error("{0}")]
    Open(OpenError),
    #[error(
        "a process holds the store and does not answer at {socket} ({why}); \
         run this as the same user, or restart the server"
    )]
    Unreachable { socket: PathBuf, why: io::Error },
    #[error("cannot decode the response of the server at {socket}: {why}. Check that the server has the same version.")]
    Unreadable { socket: PathBuf, why: io::Error },
    /// The response is of another kind.
    #[error("unexpected response: {0:?}. Check that the server has the same version.")]
    Unexpected(Box<Response>),
    /// The request is refused.
    #[error("{}", .0.message)]
    Refused(AdminError),
}

impl AdminClientError {
    fn of_connection(socket: &Path, why: io::Error) -> Self {
        let socket = socket.to_owned();
        match why.kind() {
            io::ErrorKind::InvalidData => Self::Unreadable { socket, why },
            _ => Self::Unreachable { socket, why },
        }
    }
}

fn parse(line: &[u8]) -> io::Result<Response> {
    // The own conversion of serde_json reports incomplete JSON as `UnexpectedEof`, the kind of a
    // closed connection.
    serde_json::from_slice(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Sends requests about one store, all for the same team.
pub struct AdminClient {
    team: Option<String>,
    connection: Connection,
}

enum Connection {
    Server { stream: Box<BufReader<UnixStream>>, socket: PathBuf },
    Direct(Box<DirectStore>),
}

impl AdminClient {
    /// Opens the store of a configuration, or connects to the server that holds it. Opens a store of
    /// `ringmail serve` and of `ringmail dev`, whichever the data directory has.
    ///
    /// # Errors
    /// [`AdminClientError::NoStore`], [`AdminClientError::Open`], and
    /// [`AdminClientError::Unreachable`] after [`IN_USE_MAX`].
    pub async fn open(mut config: Config, team: Option<String>) -> Result<Self, AdminClientError> {
        let started = monotonic();
        loop {
            let to_open = config.clone();
            match blocking::run(move || DirectStore::open(&to_open)).await {
                Ok(direct) => return Ok(Self { team, connection: Connection::Direct(Box::new(direct)) }),
                Err(DirectError::NoStore(path)) => return Err(AdminClientError::NoStore(path)),
                Err(DirectError::Open(OpenError::OtherKind { found, .. })) if found != config.purpose.kind() => {
                    config.purpose = match found {
                        StoreKind::Serve => InstanceVerb::Serve,
                        StoreKind::Dev => InstanceVerb::Dev(DevSetup::default()),
                    };
                    continue;
                }
                Err(DirectError::Open(OpenError::InUse(_))) => {}
                Err(DirectError::Open(error)) => return Err(AdminClientError::Open(error)),
            }
            match Self::connect(&config.data_dir, team.clone()).await {
                Err(_) if started.elapsed() < IN_USE_MAX => tokio::time::sleep(IN_USE_PAUSE).await,
                connected => return connected,
            }
        }
    }

    /// Connects to the server that holds the store of a data directory.
    ///
    /// # Errors
    /// [`AdminClientError::Unreachable`].
    pub async fn connect(data_dir: &Path, team: Option<String>) -> Result<Self, AdminClientError> {
        let socket = data_dir.join(SOCKET_NAME);
        let connected = async {
            let (short, _directory) = short_path(&socket)?;
            UnixStream::connect(short).await
        };
        match timeout(CONNECT_TIMEOUT, connected).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => {
                let stream = Box::new(BufReader::new(stream));
                Ok(Self { team, connection: Connection::Server { stream, socket } })
            }
            Err(why) => Err(AdminClientError::Unreachable { socket, why }),
        }
    }

    /// Returns whether a server executes the requests. If not, queued work waits for the next server.
    pub fn is_running(&self) -> bool {
        matches!(self.connection, Connection::Server { .. })
    }

    /// Executes a verb.
    ///
    /// # Errors
    /// [`AdminClientError::Refused`], and if the connection or the response fails
    /// [`AdminClientError::Unreachable`], [`AdminClientError::Unreadable`] or
    /// [`AdminClientError::Unexpected`].
    pub async fn request<T: ResponseBody>(&mut self, verb: impl Into<AdminVerb>) -> Result<T, AdminClientError> {
        match self.respond(verb.into()).await? {
            Response::Refused(error) => Err(AdminClientError::Refused(error)),
            response => T::from_response(response).map_err(AdminClientError::Unexpected),
        }
    }

    async fn respond(&mut self, verb: AdminVerb) -> Result<Response, AdminClientError> {
        let request = Request { team: self.team.clone(), verb };
        match &mut self.connection {
            Connection::Direct(direct) => Ok(execute(&direct.services, request).await),
            Connection::Server { stream, socket } => {
                let exchange = async {
                    write_line(stream.get_mut(), &request).await?;
                    let line = read_line(stream, RESPONSE_BYTES_MAX).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                    parse(&line)
                };
                let response = timeout(RESPONSE_TIMEOUT, exchange).await;
                response
                    .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                    .map_err(|why| AdminClientError::of_connection(socket, why))
            }
        }
    }

    /// Waits for the next response of a live stream; `None` if the server has closed the connection.
    ///
    /// # Errors
    /// [`AdminClientError::Unreachable`] if the connection fails, and [`AdminClientError::Unreadable`].
    pub async fn next_response(&mut self) -> Result<Option<Response>, AdminClientError> {
        let Connection::Server { stream, socket } = &mut self.connection else { return Ok(None) };
        let line = match read_line(stream, RESPONSE_BYTES_MAX).await {
            Ok(Some(line)) => parse(&line).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        line.map_err(|why| AdminClientError::of_connection(socket, why))
    }

    /// Closes the connection, or the store.
    pub async fn close(self) {
        if let Connection::Direct(direct) = self.connection {
            direct.close().await;
        }
    }
}
