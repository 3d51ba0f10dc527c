//! A server that executes a script.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Time limit for each read from the client.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// One step of a script.
pub(in crate::delivery) enum Step {
    /// Sends this text in one write.
    Reply(&'static str),
    /// Sends this text one byte at a time, with a pause after each, until the client closes.
    ReplySlowly(&'static str, Duration),
    /// Reads and records lines until one starts with this text.
    Expect(&'static str),
    /// Reads and records a message with its final dot.
    ExpectMessage,
    /// Reads at least this many bytes without recording them.
    Discard(usize),
    /// Performs a TLS handshake with the test certificate.
    Tls,
    /// Waits without reading or closing until the other end of the channel is dropped.
    Stall(Receiver<()>),
    /// Calls a function.
    Call(Box<dyn FnOnce() + Send>),
    /// Reads until the client closes.
    WaitForEnd,
    /// As `WaitForEnd`. Fails if the client sends a final dot.
    ExpectEndWithoutMessage,
    /// Closes the connection. The next step accepts another one.
    Close,
}

/// A running script.
pub(in crate::delivery) struct Peer {
    pub(in crate::delivery) address: SocketAddr,
    thread: JoinHandle<Vec<String>>,
}

impl Peer {
    pub(in crate::delivery) fn new(script: impl IntoIterator<Item = Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound listener has an address");
        let script: Vec<Step> = script.into_iter().collect();
        let thread = std::thread::spawn(move || play(&listener, script));
        Self { address, thread }
    }

    /// Waits for the end of the script, and until the runtime has polled the closed connection.
    pub(in crate::delivery) async fn has_ended(&self) {
        while !self.thread.is_finished() {
            tokio::task::yield_now().await;
        }
        // If no other task is ready, each yield makes the runtime poll its sockets.
        tokio::task::yield_now().await;
    }

    /// Waits for the end of the script and returns the recorded lines.
    pub(in crate::delivery) fn received(self) -> Vec<String> {
        self.thread.join().expect("the client follows the script")
    }
}

/// Returns the steps of commands with their replies.
pub(super) fn exchanges(pairs: &[(&'static str, &'static str)]) -> Vec<Step> {
    pairs.iter().flat_map(|&(command, reply)| [Step::Expect(command), Step::Reply(reply)]).collect()
}

/// Returns the first steps of most scripts.
pub(in crate::delivery) fn greeting(extensions: &'static str) -> Vec<Step> {
    vec![Step::Reply("220 mx.example.test ESMTP\r\n"), Step::Expect("EHLO"), Step::Reply(extensions)]
}

pub(in crate::delivery) const PIPELINING: &str = "250-mx.example.test\r\n250-PIPELINING\r\n250 SIZE 1000000\r\n";
pub(in crate::delivery) const PLAIN: &str = "250-mx.example.test\r\n250 SIZE 1000000\r\n";
pub(in crate::delivery) const STARTTLS: &str = "250-mx.example.test\r\n250-PIPELINING\r\n250 STARTTLS\r\n";

enum Socket {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Socket {
    fn io(&mut self) -> &mut dyn ReadWrite {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Tls(tls) => &mut **tls,
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Tls(tls) => &tls.sock,
        }
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

struct Connection {
    socket: Socket,
    pending: Vec<u8>,
}

impl Connection {
    fn accept(listener: &TcpListener) -> Self {
        let (tcp, _) = listener.accept().expect("a client connects");
        tcp.set_read_timeout(Some(READ_TIMEOUT)).expect("a limit above zero");
        tcp.set_nodelay(true).expect("a fresh connection");
        Self { socket: Socket::Tcp(tcp), pending: Vec::new() }
    }

    /// Returns the bytes up to and including `end`.
    fn read_until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        let mut seen = 0;
        loop {
            let fresh = self.pending[seen..].windows(end.len());
            if let Some(start) = fresh.into_iter().position(|window| window == end) {
                return Ok(self.pending.drain(..seen + start + end.len()).collect());
            }
            seen = self.pending.len().saturating_sub(end.len());
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut space = [0; 16 * 1024];
        let count = self.socket.io().read(&mut space)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.pending.extend_from_slice(&space[..count]);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.io().write_all(bytes)?;
        self.socket.io().flush()
    }

    fn start_tls(self) -> Self {
        let Socket::Tcp(tcp) = self.socket else {
            panic!("a script starts TLS once");
        };
        let server = ServerConnection::new(Arc::new(server_config())).expect("a usable certificate");
        Self { socket: Socket::Tls(Box::new(StreamOwned::new(server, tcp))), pending: Vec::new() }
    }
}

fn server_config() -> ServerConfig {
    let certificate = CertificateDer::from_slice(include_bytes!("fixtures/mx.example.test.der"));
    let key = include_bytes!("fixtures/mx.example.test.key.der").as_slice();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the key belongs to the certificate")
}

fn play(listener: &TcpListener, script: Vec<Step>) -> Vec<String> {
    let mut received = Vec::new();
    let mut connection = None;
    for step in script {
        let mut open = connection.take().unwrap_or_else(|| Connection::accept(listener));
        match step {
            // Some scripts test a client that closes early. Their assertions are on the side of the client.
            Step::Reply(text) => drop(open.write(text.as_bytes())),
            Step::ReplySlowly(text, pause) => reply_slowly(&mut open, text, pause),
            Step::Expect(start) => loop {
                let line = open
                    .read_until(b"\r\n")
                    .unwrap_or_else(|error| panic!("waiting for {start:?} after {received:?}: {error}"));
                let line = String::from_utf8_lossy(&line).trim_end().to_string();
                let is_last = line.starts_with(start);
                received.push(line);
                if is_last {
                    break;
                }
            },
            Step::ExpectMessage => {
                let message = open.read_until(b"\r\n.\r\n").expect("a message with its final dot");
                received.push(String::from_utf8_lossy(&message).into_owned());
            }
            Step::Discard(count) => {
                while open.pending.len() < count {
                    open.fill().expect("a message that long");
                }
                open.pending.clear();
            }
            Step::Stall(end) => drop(end.recv()),
            Step::Call(function) => function(),
            Step::Tls => open = open.start_tls(),
            Step::WaitForEnd => while open.fill().is_ok() {},
            Step::ExpectEndWithoutMessage => {
                let end = loop {
                    if let Err(error) = open.fill() {
                        break error.kind();
                    }
                };
                assert_eq!(end, io::ErrorKind::UnexpectedEof, "the client closes");
                let dot = open.pending.windows(5).find(|window| *window == b"\r\n.\r\n");
                assert_eq!(dot, None, "the client ended the message");
            }
            Step::Close => {
                let _ = open.socket.tcp().shutdown(Shutdown::Write);
                // Unread bytes would turn the close into a reset, and the client would lose the replies.
                let tcp = open.socket.tcp();
                tcp.set_nonblocking(true).expect("an open connection");
                while open.fill().is_ok() {}
                continue;
            }
        }
        connection = Some(open);
    }
    received
}

fn reply_slowly(open: &mut Connection, text: &str, pause: Duration) {
    let tcp = open.socket.tcp();
    tcp.set_read_timeout(Some(pause)).expect("a pause above zero");
    for byte in text.bytes() {
        if open.write(&[byte]).is_err() {
            break;
        }
        // This read is the pause. It times out unless the client closes.
        match open.fill() {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    let tcp = open.socket.tcp();
    tcp.set_read_timeout(Some(READ_TIMEOUT)).expect("a limit above zero");
}
