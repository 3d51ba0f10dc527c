//! A receiver that follows a script, on a thread of its own.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// No script waits longer than this for its client.
const PATIENCE: Duration = Duration::from_secs(20);

/// One step with a connection. After the last one it is closed; bytes that were not read make a reset of that.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Handshakes with the test certificate.
    Tls,
    /// Reads a request and records it.
    Hear,
    /// Waits for a request and leaves it unread.
    Await,
    Say(&'static str),
    /// Says this until the client has gone.
    SayForever(&'static str),
    /// Reads until the client has gone.
    WaitForEnd,
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct Heard {
    /// The how-manieth connection it came over, from zero.
    pub(super) connection: usize,
    pub(super) head: String,
    pub(super) body: String,
}

/// A running script: a list of steps for each connection.
pub(super) struct Receiver {
    port: u16,
    thread: JoinHandle<Vec<Heard>>,
}

impl Receiver {
    pub(super) fn new<const N: usize>(script: [&'static [Step]; N]) -> Self {
        Self::at("127.0.0.1", script)
    }

    pub(super) fn at<const N: usize>(ip: &str, script: [&'static [Step]; N]) -> Self {
        let listener = TcpListener::bind((ip.parse::<IpAddr>().unwrap(), 0)).expect("a free port on loopback");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let thread = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for (connection, steps) in script.into_iter().enumerate() {
                let (tcp, _) = listener.accept().expect("a client connects");
                play(tcp, steps, connection, &mut heard);
            }
            heard
        });
        Self { port, thread }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the end of the script, and for the runtime to have seen what it did to the connection.
    pub(super) async fn has_ended(&self) {
        while !self.thread.is_finished() {
            tokio::task::yield_now().await;
        }
        // With nothing else to run, each yield lets the runtime look at its sockets.
        tokio::task::yield_now().await;
    }

    /// Waits for the end of the script and returns what was heard.
    pub(super) fn heard(self) -> Vec<Heard> {
        self.thread.join().expect("the client kept to the script")
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn play(tcp: TcpStream, steps: &[Step], connection: usize, heard: &mut Vec<Heard>) {
    tcp.set_read_timeout(Some(PATIENCE)).expect("a limit above zero");
    tcp.set_nodelay(true).expect("a fresh connection");
    let looking = tcp.try_clone().expect("a second handle of the connection");
    let mut link: Box<dyn ReadWrite> = Box::new(tcp);
    for step in steps {
        match step {
            Step::Tls => {
                let tcp = looking.try_clone().expect("another handle of the connection");
                let server = ServerConnection::new(Arc::new(server_config())).expect("a usable certificate");
                link = Box::new(StreamOwned::new(server, tcp));
            }
            Step::Hear => heard.push(hear(&mut *link, connection)),
            Step::Await => {
                looking.peek(&mut [0]).expect("a request");
            }
            // A client that has gone is what some scripts are about; what it did is asserted on its own side.
            Step::Say(text) => drop(link.write_all(text.as_bytes()).and_then(|()| link.flush())),
            Step::SayForever(text) => while link.write_all(text.as_bytes()).is_ok() {},
            Step::WaitForEnd => while matches!(link.read(&mut [0; 1_024]), Ok(1..)) {},
        }
    }
}

fn hear(link: &mut dyn ReadWrite, connection: usize) -> Heard {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        fill(link, &mut bytes).expect("a request");
    };
    let head = String::from_utf8(bytes.drain(..head_end).collect()).expect("a head in ASCII");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    while bytes.len() < length {
        fill(link, &mut bytes).expect("a body");
    }
    assert_eq!(bytes.len(), length, "one request at a time");
    Heard { connection, head, body: String::from_utf8(bytes).expect("a body in UTF-8") }
}

fn fill(link: &mut dyn ReadWrite, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut space = [0; 4_096];
    match link.read(&mut space)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            bytes.extend_from_slice(&space[..count]);
            Ok(())
        }
    }
}

/// The root that issued the receivers' certificate.
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
