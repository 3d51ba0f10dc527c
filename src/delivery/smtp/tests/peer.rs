//! A server that follows a script.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// No script waits longer than this for its client.
const PATIENCE: Duration = Duration::from_secs(20);

/// One line of a script.
pub(super) enum Step {
    /// Says this, in one write.
    Say(&'static str),
    /// Says these bytes one at a time, until the client has gone.
    Drip(&'static str, Duration),
    /// Reads lines and records them until one starts with this.
    Hear(&'static str),
    /// Reads a message and records it whole.
    HearMessage,
    /// Reads at least this many bytes, and records none.
    Swallow(usize),
    /// Handshakes with the test certificate.
    Tls,
    /// Neither reads nor closes until the other end of the channel is dropped.
    Stall(Receiver<()>),
    /// Reads until the client has gone.
    WaitForEnd,
    /// Closes, and goes on with the next connection.
    Close,
}

/// A running script.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    thread: JoinHandle<Vec<String>>,
}

impl Peer {
    pub(super) fn new(script: impl IntoIterator<Item = Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound listener has an address");
        let script: Vec<Step> = script.into_iter().collect();
        let thread = std::thread::spawn(move || play(&listener, script));
        Self { address, thread }
    }

    /// Waits for the end of the script, and for the runtime to have seen what it did to the connection.
    pub(super) async fn has_ended(&self) {
        while !self.thread.is_finished() {
            tokio::task::yield_now().await;
        }
        // With nothing else to run, each yield lets the runtime look at its sockets.
        tokio::task::yield_now().await;
    }

    /// Waits for the end of the script and returns what was heard, line by line.
    pub(super) fn heard(self) -> Vec<String> {
        self.thread.join().expect("the client kept to the script")
    }
}

/// The first lines of nearly every script.
pub(super) fn greeting(extensions: &'static str) -> Vec<Step> {
    vec![Step::Say("220 mx.example.test ESMTP\r\n"), Step::Hear("EHLO"), Step::Say(extensions)]
}

pub(super) const PIPELINING: &str = "250-mx.example.test\r\n250-PIPELINING\r\n250 SIZE 1000000\r\n";
pub(super) const PLAIN: &str = "250-mx.example.test\r\n250 SIZE 1000000\r\n";
pub(super) const STARTTLS: &str = "250-mx.example.test\r\n250-PIPELINING\r\n250 STARTTLS\r\n";

enum Link {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Link {
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
    link: Link,
    pending: Vec<u8>,
}

impl Connection {
    fn accept(listener: &TcpListener) -> Self {
        let (tcp, _) = listener.accept().expect("a client connects");
        tcp.set_read_timeout(Some(PATIENCE)).expect("a limit above zero");
        tcp.set_nodelay(true).expect("a fresh connection");
        Self { link: Link::Tcp(tcp), pending: Vec::new() }
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
        let count = self.link.io().read(&mut space)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.pending.extend_from_slice(&space[..count]);
        Ok(())
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.link.io().write_all(bytes)?;
        self.link.io().flush()
    }

    fn start_tls(self) -> Self {
        let Link::Tcp(tcp) = self.link else {
            panic!("a script starts TLS once");
        };
        let server = ServerConnection::new(Arc::new(server_config())).expect("a usable certificate");
        Self { link: Link::Tls(Box::new(StreamOwned::new(server, tcp))), pending: Vec::new() }
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
    let mut heard = Vec::new();
    let mut connection = None;
    for step in script {
        let mut open = connection.take().unwrap_or_else(|| Connection::accept(listener));
        match step {
            // A client that has gone is what some scripts are about; what it did is asserted on its own side.
            Step::Say(text) => drop(open.say(text.as_bytes())),
            Step::Drip(text, pause) => drip(&mut open, text, pause),
            Step::Hear(start) => loop {
                let line = open
                    .read_until(b"\r\n")
                    .unwrap_or_else(|error| panic!("waiting for {start:?} after {heard:?}: {error}"));
                let line = String::from_utf8_lossy(&line).trim_end().to_string();
                let is_last = line.starts_with(start);
                heard.push(line);
                if is_last {
                    break;
                }
            },
            Step::HearMessage => {
                let message = open.read_until(b"\r\n.\r\n").expect("a message with its final dot");
                heard.push(String::from_utf8_lossy(&message).into_owned());
            }
            Step::Swallow(count) => {
                while open.pending.len() < count {
                    open.fill().expect("a message that long");
                }
                open.pending.clear();
            }
            Step::Stall(end) => drop(end.recv()),
            Step::Tls => open = open.start_tls(),
            Step::WaitForEnd => while open.fill().is_ok() {},
            Step::Close => {
                let _ = open.link.tcp().shutdown(Shutdown::Write);
                // Unread bytes would turn the close into a reset that overtakes what was said.
                let tcp = open.link.tcp();
                tcp.set_nonblocking(true).expect("an open connection");
                while open.fill().is_ok() {}
                continue;
            }
        }
        connection = Some(open);
    }
    heard
}

fn drip(open: &mut Connection, text: &str, pause: Duration) {
    let tcp = open.link.tcp();
    tcp.set_read_timeout(Some(pause)).expect("a pause above zero");
    for byte in text.bytes() {
        if open.say(&[byte]).is_err() {
            break;
        }
        // The pause: reading finds nothing until the client gives up.
        match open.fill() {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    let tcp = open.link.tcp();
    tcp.set_read_timeout(Some(PATIENCE)).expect("a limit above zero");
}
