//! A receiver that runs a script in its own thread.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Time limit of each read from the client.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// One step on a connection. The connection is closed after the last step, with a reset if bytes are unread.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Performs the TLS handshake with the test certificate.
    Tls,
    /// Reads and records a request.
    ReadRequest,
    /// Waits for a request without reading it.
    AwaitRequest,
    Write(&'static str),
    /// Writes the text repeatedly until the client closes the connection.
    WriteForever(&'static str),
    /// Reads until the client closes the connection.
    ReadToEnd,
}

/// A recorded request.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    /// Index of its connection, from zero.
    pub(super) connection: usize,
    pub(super) head: String,
    pub(super) body: String,
}

/// A running script: a list of steps for each connection.
pub(super) struct Receiver {
    port: u16,
    thread: JoinHandle<Vec<ReceivedRequest>>,
}

impl Receiver {
    pub(super) fn new<const N: usize>(script: [&'static [Step]; N]) -> Self {
        Self::at("127.0.0.1", script)
    }

    pub(super) fn at<const N: usize>(ip: &str, script: [&'static [Step]; N]) -> Self {
        let listener = TcpListener::bind((ip.parse::<IpAddr>().unwrap(), 0)).expect("a free port on loopback");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let thread = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for (connection, steps) in script.into_iter().enumerate() {
                let (tcp, _) = listener.accept().expect("a client connects");
                play(tcp, steps, connection, &mut requests);
            }
            requests
        });
        Self { port, thread }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits until the script has ended and the runtime has processed the socket events of the connection.
    pub(super) async fn wait_for_end(&self) {
        while !self.thread.is_finished() {
            tokio::task::yield_now().await;
        }
        // With no other task to run, each yield lets the runtime poll its sockets.
        tokio::task::yield_now().await;
    }

    /// Waits for the end of the script and returns the recorded requests.
    pub(super) fn requests(self) -> Vec<ReceivedRequest> {
        self.thread.join().expect("the client follows the script")
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn play(tcp: TcpStream, steps: &[Step], connection: usize, requests: &mut Vec<ReceivedRequest>) {
    tcp.set_read_timeout(Some(READ_TIMEOUT)).expect("a limit above zero");
    tcp.set_nodelay(true).expect("a fresh connection");
    let socket = tcp.try_clone().expect("a second handle of the connection");
    let mut stream: Box<dyn ReadWrite> = Box::new(tcp);
    for step in steps {
        match step {
            Step::Tls => {
                let tcp = socket.try_clone().expect("another handle of the connection");
                let server = ServerConnection::new(Arc::new(server_config())).expect("a usable certificate");
                stream = Box::new(StreamOwned::new(server, tcp));
            }
            Step::ReadRequest => requests.push(read_request(&mut *stream, connection)),
            Step::AwaitRequest => {
                socket.peek(&mut [0]).expect("a request");
            }
            // In some scripts the client closes the connection first, so a failed write is not an error here. The test
            // asserts the result of the client.
            Step::Write(text) => drop(stream.write_all(text.as_bytes()).and_then(|()| stream.flush())),
            Step::WriteForever(text) => while stream.write_all(text.as_bytes()).is_ok() {},
            Step::ReadToEnd => while matches!(stream.read(&mut [0; 1_024]), Ok(1..)) {},
        }
    }
}

fn read_request(stream: &mut dyn ReadWrite, connection: usize) -> ReceivedRequest {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        fill(stream, &mut bytes).expect("a request");
    };
    let head = String::from_utf8(bytes.drain(..head_end).collect()).expect("a head in ASCII");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    while bytes.len() < length {
        fill(stream, &mut bytes).expect("a body");
    }
    assert_eq!(bytes.len(), length, "one request at a time");
    ReceivedRequest { connection, head, body: String::from_utf8(bytes).expect("a body in UTF-8") }
}

fn fill(stream: &mut dyn ReadWrite, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut space = [0; 4_096];
    match stream.read(&mut space)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            bytes.extend_from_slice(&space[..count]);
            Ok(())
        }
    }
}

/// Returns the root certificate that issued the receiver's certificate.
pub(super) fn root() -> CertificateDer<'static> {
    CertificateDer::from_slice(include_bytes!("fixtures/root.der"))
}

fn server_config() -> ServerConfig {
    let certificate = CertificateDer::from_slice(include_bytes!("fixtures/hook.example.der"));
    let key = include_bytes!("fixtures/hook.example.key.der").as_slice();
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)))
        .expect("the key belongs to the certificate");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}
