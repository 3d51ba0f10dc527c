//! Tests of the mailbox over SMTP: a real listener on loopback with a real store.

mod commands;
mod messages;
mod reads;
mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{CaptureListener, CaptureMailbox};
use crate::base::id::CapturedId;
use crate::context::Context;
use crate::delivery::rows::CapturedRow;
use crate::store::page::{Cursor, PageQuery};

/// Time limit for replies and shutdowns in tests.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The commands before a message.
const BEGIN: &str = "EHLO client.test\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n";

/// A running mailbox.
struct Server {
    context: Context,
    mailbox: Arc<CaptureMailbox>,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _directory: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut CaptureListener)) -> Self {
        let (directory, context) = Context::temporary();
        let mailbox = Arc::new(CaptureMailbox::new(context.clone()));
        let mut listener = CaptureMailbox::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        change(&mut listener);
        let address = listener.local_addr();
        let stop = CancellationToken::new();
        let serving = TaskTracker::new().spawn(CaptureMailbox::serve(listener, Arc::clone(&mailbox), stop.clone()));
        Self { context, mailbox, address, stop, serving, _directory: directory }
    }

    async fn connect(&self) -> Client {
        let mut client = Client { stream: TcpStream::connect(self.address).await.unwrap(), unread: Vec::new() };
        assert_eq!(client.reply().await, "220 localhost ESMTP Ringmail mailbox, nothing leaves from here");
        client
    }

    /// Connects, sends `wire` in one write and returns all replies until the server closes.
    async fn replies_to(&self, wire: &str) -> String {
        let mut client = self.connect().await;
        client.send(wire).await;
        client.rest().await
    }

    /// Returns all messages, newest first.
    async fn all(&self) -> Vec<(CapturedId, CapturedRow)> {
        let page = self.mailbox.list(PageQuery { limit: 10_000, cursor: Cursor::Newest }).await.unwrap();
        assert!(!page.has_more);
        page.rows
    }

    /// Returns the bytes of the messages, newest first.
    async fn messages(&self) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for (id, _) in self.all().await {
            messages.push(self.mailbox.message(id).await.unwrap().unwrap().1);
        }
        messages
    }

    async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(TEST_TIMEOUT, self.serving).await.expect("the mailbox stops").unwrap();
    }
}

/// An SMTP client.
struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    async fn send(&mut self, wire: impl AsRef<[u8]>) {
        self.stream.write_all(wire.as_ref()).await.unwrap();
    }

    /// Sends a command and returns the last line of its reply.
    async fn command(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n")).await;
        self.reply().await
    }

    /// Returns the last line of the next reply.
    async fn reply(&mut self) -> String {
        loop {
            let line = self.line().await;
            if line.as_bytes().get(3) != Some(&b'-') {
                return line;
            }
        }
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.unread.drain(..end + 2).collect::<Vec<u8>>();
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            assert!(self.read().await > 0, "the server closed");
        }
    }

    /// Returns the remaining replies until the server closes.
    async fn rest(&mut self) -> String {
        while self.read().await > 0 {}
        String::from_utf8(std::mem::take(&mut self.unread)).unwrap()
    }

    async fn read(&mut self) -> usize {
        tokio::time::timeout(TEST_TIMEOUT, self.stream.read_buf(&mut self.unread))
            .await
            .expect("the server answers")
            .unwrap()
    }
}

/// Returns the code of each reply.
fn codes(replies: &str) -> Vec<&str> {
    replies.lines().filter(|line| line.as_bytes().get(3) != Some(&b'-')).map(|line| &line[..3]).collect()
}
