//! An HTTP server on loopback that stores the requests it receives, with unchanged bodies.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::check::{Checked, poll};

/// Path whose requests get an error response.
pub(crate) const BROKEN: &str = "/broken";
/// Time after which an idle connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Maximum size of a request body.
const BODY_BYTES_MAX: usize = 1 << 20;

/// One request to the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) event: Value,
}

impl Delivery {
    pub(crate) fn event_type(&self) -> &str {
        self.event["type"].as_str().unwrap_or_default()
    }

    /// Returns the id of the delivery as the API shows it, without the prefix.
    pub(crate) fn id(&self) -> &str {
        self.header("svix-id").trim_start_matches("msg_")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

pub(crate) struct Receiver {
    address: SocketAddr,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl Receiver {
    /// Starts a receiver, which runs until the program ends.
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let deliveries = Arc::<Mutex<Vec<Delivery>>>::default();
        let stored = Arc::clone(&deliveries);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stored = Arc::clone(&stored);
                std::thread::spawn(move || serve(&stream, &stored));
            }
        });
        Ok(Self { address, deliveries })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn at(&self, path: &str) -> Vec<Delivery> {
        let deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.iter().filter(|delivery| delivery.path == path).cloned().collect()
    }

    /// Polls until `accept` returns true for the deliveries to `path`. Returns them.
    pub(crate) async fn until(&self, path: &str, accept: impl Fn(&[Delivery]) -> bool) -> Checked<Vec<Delivery>> {
        let received = poll(async || {
            let deliveries = self.at(path);
            Ok(accept(&deliveries).then_some(deliveries))
        });
        received.await.map_err(|error| {
            let seen: Vec<String> = self.at(path).iter().map(|delivery| delivery.event_type().to_owned()).collect();
            format!("{error}; received {seen:?}").into()
        })
    }
}

/// Returns a loopback URL without a listener.
pub(crate) fn nowhere() -> io::Result<String> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    Ok(format!("http://{address}/nowhere"))
}

fn serve(stream: &TcpStream, stored: &Mutex<Vec<Delivery>>) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE_MAX))?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let headers = head(&mut reader)?;
        let length = headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length.filter(|bytes| *bytes <= BODY_BYTES_MAX).ok_or(io::ErrorKind::InvalidData)?];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8(body).map_err(|_| io::ErrorKind::InvalidData)?;
        let event = serde_json::from_str(&body).unwrap_or_default();
        let (status, text) =
            if path == BROKEN { ("500 Internal Server Error", "out of order") } else { ("200 OK", "received") };
        stored.lock().unwrap_or_else(PoisonError::into_inner).push(Delivery { path, headers, body, event });
        write!(writer, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{text}", text.len())?;
    }
}

fn head(reader: &mut impl BufRead) -> io::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok(headers) };
        let name = HeaderName::try_from(name).map_err(|_| io::ErrorKind::InvalidData)?;
        headers.append(name, HeaderValue::try_from(value.trim()).map_err(|_| io::ErrorKind::InvalidData)?);
    }
}
