//! A customer's server: a real one on loopback, which answers as it is told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How a request is answered.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// With this status line and these header lines.
    Status(u16, &'static str),
    /// Not before the receiver is told to go on.
    Held,
    /// By closing the connection.
    Close,
}

/// A request as it came.
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
    /// The server ends with it.
    _task: JoinSet<()>,
}

struct State {
    reply: Mutex<Reply>,
    under_way: AtomicUsize,
    under_way_max: AtomicUsize,
    go_on: tokio::sync::Semaphore,
}

impl Receiver {
    pub(super) async fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (told, requests) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            reply: Mutex::new(reply),
            under_way: AtomicUsize::new(0),
            under_way_max: AtomicUsize::new(0),
            go_on: tokio::sync::Semaphore::new(0),
        });
        let serving = Arc::clone(&state);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&serving), told.clone()));
            }
        });
        Self { address, requests, state, _task: task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(super) fn answer(&self, reply: Reply) {
        *self.state.reply.lock().unwrap() = reply;
    }

    /// Lets `requests` that are held be answered: as others are by then, or 200.
    pub(super) fn go_on(&self, requests: usize) {
        self.state.go_on.add_permits(requests);
    }

    /// The most requests that were under way at once.
    pub(super) fn under_way_max(&self) -> usize {
        self.state.under_way_max.load(Ordering::SeqCst)
    }

    pub(super) async fn next(&mut self) -> Received {
        tokio::time::timeout(super::DEADLINE, self.requests.recv()).await.unwrap().unwrap()
    }

    /// Returns a request that has come and was not asked for.
    pub(super) fn unasked(&mut self) -> Option<Received> {
        self.requests.try_recv().ok()
    }
}

async fn serve(stream: TcpStream, state: Arc<State>, told: mpsc::UnboundedSender<Received>) {
    let mut stream = BufStream::new(stream);
    while let Some(received) = read(&mut stream).await {
        let under_way = state.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        state.under_way_max.fetch_max(under_way, Ordering::SeqCst);
        let _ = told.send(received);
        let reply = state.reply.lock().unwrap().clone();
        let (status, headers) = match reply {
            Reply::Status(status, headers) => (status, headers),
            Reply::Held => {
                state.go_on.acquire().await.unwrap().forget();
                match state.reply.lock().unwrap().clone() {
                    Reply::Status(status, headers) => (status, headers),
                    Reply::Held | Reply::Close => (200, ""),
                }
            }
            Reply::Close => {
                state.under_way.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        };
        state.under_way.fetch_sub(1, Ordering::SeqCst);
        let answer = format!("HTTP/1.1 {status} Answer\r\n{headers}content-length: 2\r\n\r\nok");
        if stream.write_all(answer.as_bytes()).await.is_err() || stream.flush().await.is_err() {
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
