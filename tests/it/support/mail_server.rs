//! A mail server in the test process. It accepts all mail, and its STARTTLS works, fails or is absent.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Behaviour of STARTTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartTls {
    Works,
    /// Offered and refused with 454.
    Refused,
    /// Offered, and the server closes the connection without a reply.
    HangsUp,
    NotOffered,
}

/// A message that the server accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) recipient: String,
    pub(crate) has_tls: bool,
}

/// A client that greeted the server with EHLO.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SmtpClient {
    /// Name in EHLO.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
}

#[derive(Debug)]
struct State {
    starttls: StartTls,
    /// Number of STARTTLS commands, including those that failed.
    starttls_commands: usize,
    received: Vec<Received>,
    /// Reply to MAIL instead of an acceptance. A 421 closes the connection.
    refusal: Option<&'static str>,
    /// Number of connections, and of MAIL commands.
    connections: usize,
    mail_commands: usize,
    clients: Vec<SmtpClient>,
}

/// A running mail server. Its threads end with the process.
pub(crate) struct MailServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl MailServer {
    pub(crate) fn start(starttls: StartTls) -> Self {
        Self::start_on("127.0.0.1", "0", starttls)
    }

    /// Starts a server on an address of the loopback network.
    pub(crate) fn start_on(address: &str, port: &str, starttls: StartTls) -> Self {
        let listener = TcpListener::bind(format!("{address}:{port}")).expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let state = Arc::new(Mutex::new(State {
            starttls,
            starttls_commands: 0,
            received: Vec::new(),
            refusal: None,
            connections: 0,
            mail_commands: 0,
            clients: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client may close the connection at any time.
                std::thread::spawn(move || drop(serve(connection, &state)));
            }
        });
        Self { address, state }
    }

    pub(crate) fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub(crate) fn set_starttls(&self, starttls: StartTls) {
        self.with(|state| state.starttls = starttls);
    }

    /// Refuses every message at MAIL with a reply, or accepts messages again.
    pub(crate) fn set_refusal(&self, refusal: Option<&'static str>) {
        self.with(|state| state.refusal = refusal);
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.with(|state| state.connections)
    }

    /// Returns the number of MAIL commands, including those that were refused.
    pub(crate) fn mail_commands(&self) -> usize {
        self.with(|state| state.mail_commands)
    }

    /// Returns the number of STARTTLS commands, including those that failed.
    pub(crate) fn starttls_commands(&self) -> usize {
        self.with(|state| state.starttls_commands)
    }

    /// Returns the accepted messages, oldest first.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.with(|state| state.received.clone())
    }

    /// Returns the clients that sent EHLO, oldest first.
    pub(crate) fn clients(&self) -> Vec<SmtpClient> {
        self.with(|state| state.clients.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn serve(tcp: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    tcp.set_nodelay(true)?;
    let raw = tcp.try_clone()?;
    let mut stream: BufReader<Box<dyn ReadWrite>> = BufReader::new(Box::new(tcp));
    let (mut has_tls, mut recipients) = (false, Vec::new());
    lock().connections += 1;
    reply(&mut stream, "220 mx.test ESMTP")?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let verb = line.split([' ', '\r']).next().unwrap_or_default().to_ascii_uppercase();
        if let Some(name) = line.strip_prefix("EHLO ") {
            let address = raw.peer_addr()?.ip();
            lock().clients.push(SmtpClient { name: name.trim_end().to_owned(), address });
        }
        match verb.as_str() {
            "EHLO" if has_tls || lock().starttls == StartTls::NotOffered => reply(&mut stream, "250 mx.test")?,
            "EHLO" => reply(&mut stream, "250-mx.test\r\n250 STARTTLS")?,
            "STARTTLS" => {
                lock().starttls_commands += 1;
                let starttls = lock().starttls;
                match starttls {
                    StartTls::Works => {}
                    StartTls::HangsUp => return Ok(()),
                    StartTls::Refused | StartTls::NotOffered => {
                        reply(&mut stream, "454 4.7.0 TLS not available")?;
                        continue;
                    }
                }
                reply(&mut stream, "220 Ready")?;
                let session = ServerConnection::new(Arc::new(server_config())).expect("a usable certificate");
                stream = BufReader::new(Box::new(StreamOwned::new(session, raw.try_clone()?)));
                has_tls = true;
            }
            "MAIL" => {
                lock().mail_commands += 1;
                let refusal = lock().refusal;
                reply(&mut stream, refusal.unwrap_or("250 Ok"))?;
                if refusal.is_some_and(|refusal| refusal.starts_with("421")) {
                    return Ok(());
                }
            }
            "RCPT" => {
                recipients.push(line.trim_end().trim_start_matches("RCPT TO:<").trim_end_matches('>').to_owned());
                reply(&mut stream, "250 Ok")?;
            }
            "DATA" => {
                reply(&mut stream, "354 Go on")?;
                loop {
                    let mut bytes = Vec::new();
                    if stream.read_until(b'\n', &mut bytes)? == 0 {
                        return Ok(());
                    }
                    if bytes == b".\r\n" {
                        break;
                    }
                }
                lock().received.extend(recipients.drain(..).map(|recipient| Received { recipient, has_tls }));
                reply(&mut stream, "250 2.0.0 Accepted")?;
            }
            "QUIT" => return reply(&mut stream, "221 Bye"),
            _ => reply(&mut stream, "250 Ok")?,
        }
    }
}

fn reply(stream: &mut BufReader<Box<dyn ReadWrite>>, text: &str) -> io::Result<()> {
    let stream = stream.get_mut();
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    stream.flush()
}

fn server_config() -> ServerConfig {
    let certificate = include_bytes!("../../../src/delivery/smtp/tests/fixtures/mx.example.test.der").as_slice();
    let key = include_bytes!("../../../src/delivery/smtp/tests/fixtures/mx.example.test.key.der").as_slice();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_slice(certificate)], key)
        .expect("the key belongs to the certificate")
}
