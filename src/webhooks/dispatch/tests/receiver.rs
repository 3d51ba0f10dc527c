//! A customer's server on loopback with configurable replies.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Reply to a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A status and header lines.
    Status(u16, &'static str),
    /// A reply that waits for [`Receiver::release`].
    Held,
    /// Close the connection.
    Close,
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

pub(super) struct Receiver {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Received>,
    state: Arc<State>,
    /// The server task, which ends when the receiver is dropped.
    _task: JoinSet<()>,
}

struct State {
    reply: Mutex<Reply>,
    in_flight: AtomicUsize,
    in_flight_max: AtomicUsize,
    released: tokio::sync::Semaphore,
}

impl Receiver {
    pub(super) async fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            reply: Mutex::new(reply),
            in_flight: AtomicUsize::new(0),
            in_flight_max: AtomicUsize::new(0),
            released: tokio::sync::Semaphore::new(0),
        });
        let serving = Arc::clone(&state);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&serving), sender.clone()));
            }
        });
        Self { address, requests, state, _task: task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(super) fn set_reply(&self, reply: Reply) {
        *self.state.reply.lock().unwrap() = reply;
    }

    /// Answers `requests` held requests, with the current reply, or 200 if that is [`Reply::Held`].
    pub(super) fn release(&self, requests: usize) {
        self.state.released.add_permits(requests);
    }

    /// Returns the largest number of requests in flight at once.
    pub(super) fn in_flight_max(&self) -> usize {
        self.state.in_flight_max.load(Ordering::SeqCst)
    }

    pub(super) async fn next(&mut self) -> Received {
        tokio::time::timeout(super::DEADLINE, self.requests.recv()).await.unwrap().unwrap()
    }

    /// Returns a received request that `next` has not returned, without waiting.
    pub(super) fn pending(&mut self) -> Option<Received> {
        self.requests.try_recv().ok()
    }
}

async fn serve(stream: TcpStream, state: Arc<State>, sender: mpsc::UnboundedSender<Received>) {
    let mut stream = BufStream::new(stream);
    while let Some(received) = read(&mut stream).await {
        let in_flight = state.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        state.in_flight_max.fetch_max(in_flight, Ordering::SeqCst);
        let _ = sender.send(received);
        let reply = state.reply.lock().unwrap().clone();
        let (status, headers) = match reply {
            Reply::Status(status, headers) => (status, headers),
            Reply::Held => {
                state.released.acquire().await.unwrap().forget();
                match state.reply.lock().unwrap().clone() {
                    Reply::Status(status, headers) => (status, headers),
                    Reply::Held | Reply::Close => (200, ""),
                }
            }
            Reply::Close => {
                state.in_flight.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        };
        state.in_flight.fetch_sub(1, Ordering::SeqCst);
        let response = format!("HTTP/1.1 {status} Answer\r\n{headers}content-length: 2\r\n\r\nok");
        if stream.write_all(response.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufStream<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut headers = HashMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Received { headers, body })
}
