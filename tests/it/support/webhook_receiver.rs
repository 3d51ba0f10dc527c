//! A receiver of webhooks in the test process. It accepts each delivery with 200 and keeps its body.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::retry_until_ok;

/// A running receiver. Its threads end with the process.
pub(crate) struct WebhookReceiver {
    url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl WebhookReceiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/hooks", listener.local_addr().expect("a bound socket"));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let received = Arc::clone(&received);
                // The server repeats a delivery whose connection fails.
                std::thread::spawn(move || drop(receive(connection, &received)));
            }
        });
        Self { url, bodies }
    }

    /// Returns the URL of an endpoint.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the received events of a type.
    pub(crate) fn received(&self, event_type: &str) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        bodies.iter().filter(|body| body["type"] == event_type).cloned().collect()
    }

    /// Waits until an event of a type is received, and returns the first one.
    #[track_caller]
    pub(crate) fn wait_for(&self, event_type: &str) -> Value {
        retry_until_ok(event_type, || self.received(event_type).into_iter().next().ok_or("no delivery".to_owned()))
    }
}

fn receive(connection: TcpStream, bodies: &Mutex<Vec<Value>>) -> io::Result<()> {
    let mut stream = BufReader::new(connection);
    let mut length = 0_usize;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body)?;
    bodies.lock().unwrap_or_else(PoisonError::into_inner).push(body);
    stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}
