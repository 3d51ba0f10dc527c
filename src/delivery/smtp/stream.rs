//! A buffered adapter over TCP or TLS.
//!
//! Reading: the adapter buffers received bytes and returns at most one line for each read. The reader of mail-send
//! discards bytes after a reply, so it must not receive them.
//!
//! Writing: the adapter buffers commands and writes them at the next flush, in one write. Nagle's algorithm is off, so
//! no write waits for an acknowledgement.
//!
//! The adapter records all lines of both sides in the transcript, except for the message and credentials.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::reply::{Line, REPLY_BYTES_MAX, REPLY_LINES_MAX, Reply, ReplyError, parse_reply};
use super::tls::{TlsFacts, Verification};
use super::transcript::{LineSource, Transcript};

/// Number of buffered bytes from which a message is written. Most messages fit in one write.
pub(super) const WRITE_BYTES: usize = 32 * 1024;
/// Maximum number of bytes in one read from the socket.
const READ_BYTES: usize = 4 * 1024;

enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// Closed by the client.
    Closed,
}

/// Content of the bytes written through [`AsyncWrite`], for the transcript.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Commands, which are recorded.
    Open,
    /// A SASL exchange. Each line is recorded only as "credentials".
    Credentials,
}

/// Error while a reply was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    Closed,
    Io(io::ErrorKind),
    InvalidReply(ReplyError),
}

/// Result of a write that watches for replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flushed {
    All,
    /// The server sent bytes or closed the connection before everything was written.
    Interrupted,
}

/// Adapter that the client of mail-send and this module share.
pub(super) struct SmtpStream {
    socket: Socket,
    inbound: Vec<u8>,
    inbound_start: usize,
    outbound: Vec<u8>,
    outbound_start: usize,
    is_eof: bool,
    secrecy: Secrecy,
    /// Lines read through [`AsyncRead`] since the last write. They contain the last reply that mail-send consumed.
    read_lines: Vec<u8>,
    pub(super) transcript: Transcript,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

impl SmtpStream {
    /// Connects, from the address `source` if it is given.
    pub(super) async fn connect(address: SocketAddr, source: Option<IpAddr>) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_nodelay(true)?;
        socket.set_keepalive(true)?;
        if let Some(source) = source {
            socket.bind(SocketAddr::new(source, 0))?;
        }
        let tcp = socket.connect(address).await?;
        Ok(Self {
            socket: Socket::Tcp(tcp),
            inbound: Vec::new(),
            inbound_start: 0,
            outbound: Vec::new(),
            outbound_start: 0,
            is_eof: false,
            secrecy: Secrecy::Open,
            read_lines: Vec::new(),
            transcript: Transcript::default(),
            bytes_read: 0,
            bytes_written: 0,
        })
    }

    /// Starts TLS on the TCP connection.
    pub(super) async fn start_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        verification: Verification,
    ) -> io::Result<TlsFacts> {
        let Socket::Tcp(tcp) = std::mem::replace(&mut self.socket, Socket::Closed) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let tls = TlsConnector::from(config).connect(name, tcp).await?;
        let facts = TlsFacts::of(tls.get_ref().1, verification);
        self.socket = Socket::Tls(Box::new(tls));
        Ok(facts)
    }

    /// Returns whether the buffer contains received bytes that have not been read.
    pub(super) fn has_unread_bytes(&self) -> bool {
        self.inbound_start < self.inbound.len()
    }

    /// Returns whether the server has sent bytes or closed the connection. Does not wait.
    pub(super) async fn is_readable(&mut self) -> bool {
        if self.has_unread_bytes() || self.is_eof {
            return true;
        }
        poll_fn(|cx| Poll::Ready(self.poll_fill(cx).is_ready())).await
    }

    /// Closes the connection. Later reads fail with [`ReadError::Closed`].
    pub(super) fn close(&mut self) {
        self.socket = Socket::Closed;
        self.is_eof = true;
    }

    pub(super) fn set_secrecy(&mut self, secrecy: Secrecy) {
        self.secrecy = secrecy;
    }

    /// Returns the last reply read through [`AsyncRead`].
    pub(super) fn last_read_reply(&self) -> Option<Reply> {
        parse_reply(&self.read_lines).ok().map(|(reply, _)| reply)
    }

    /// Buffers command lines until the next flush.
    pub(super) fn queue(&mut self, lines: &[u8]) {
        self.transcript.record(LineSource::Client, lines);
        self.outbound.extend_from_slice(lines);
    }

    /// Returns the write buffer. Bytes appended to it are not recorded in the transcript.
    pub(super) fn outbound(&mut self) -> &mut Vec<u8> {
        &mut self.outbound
    }

    /// Returns whether the socket has not accepted all buffered bytes yet.
    pub(super) fn has_unsent_bytes(&self) -> bool {
        self.outbound_start < self.outbound.len()
    }

    /// Writes all buffered bytes.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_all(cx)).await
    }

    /// Writes all buffered bytes. Stops if the server sends bytes or closes first, because it will ignore the rest.
    pub(super) async fn flush_watching(&mut self) -> io::Result<Flushed> {
        poll_fn(|cx| {
            if self.poll_write_all(cx)?.is_ready() {
                return Poll::Ready(Ok(Flushed::All));
            }
            // Reads only while the write is blocked. The next read reports a read error again.
            if self.has_unread_bytes() || self.poll_fill(cx).is_ready() {
                return Poll::Ready(Ok(Flushed::Interrupted));
            }
            Poll::Pending
        })
        .await
    }

    /// Reads one reply and stores its raw lines in `raw`.
    pub(super) async fn read_reply(&mut self, raw: &mut Vec<u8>) -> Result<Reply, ReadError> {
        raw.clear();
        for _ in 0..REPLY_LINES_MAX {
            let line = poll_fn(|cx| self.poll_line(cx, REPLY_BYTES_MAX - raw.len())).await?;
            let bytes = &self.inbound[self.inbound_start..line];
            self.transcript.record(LineSource::Server, bytes);
            raw.extend_from_slice(bytes);
            let is_last = Line::parse(bytes).map_err(ReadError::InvalidReply)?.is_last;
            self.inbound_start = line;
            if is_last {
                let (reply, _) = parse_reply(raw).map_err(ReadError::InvalidReply)?;
                return Ok(reply);
            }
        }
        Err(ReadError::InvalidReply(ReplyError::TooManyLines))
    }

    /// Waits for a line of at most `bytes_max` bytes. Returns the position of its end in the buffer.
    fn poll_line(&mut self, cx: &mut Context<'_>, bytes_max: usize) -> Poll<Result<usize, ReadError>> {
        loop {
            let pending = &self.inbound[self.inbound_start..];
            let line_feed = pending.iter().position(|&byte| byte == b'\n');
            if line_feed.unwrap_or(pending.len()) >= bytes_max {
                return Poll::Ready(Err(ReadError::InvalidReply(ReplyError::TooLong)));
            }
            if let Some(line_feed) = line_feed {
                return Poll::Ready(Ok(self.inbound_start + line_feed + 1));
            }
            match ready!(self.poll_fill(cx)) {
                Ok(0) => return Poll::Ready(Err(ReadError::Closed)),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(ReadError::Io(error.kind()))),
            }
        }
    }

    /// Reads from the socket once. Returns zero at the end of the stream.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.is_eof {
            return Poll::Ready(Ok(0));
        }
        let mut space = [0; READ_BYTES];
        let mut buf = ReadBuf::new(&mut space);
        let result = match &mut self.socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_read(cx, &mut buf),
            Socket::Tls(tls) => Pin::new(tls).poll_read(cx, &mut buf),
            Socket::Closed => Poll::Ready(Ok(())),
        };
        match ready!(result) {
            Ok(()) => {}
            // rustls reports a close without `close_notify` as an error. Here it is the end of the stream.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
        let bytes = buf.filled();
        self.is_eof = bytes.is_empty();
        self.bytes_read += bytes.len() as u64;
        if self.inbound_start > 0 {
            self.inbound.drain(..self.inbound_start);
            self.inbound_start = 0;
        }
        self.inbound.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Writes all buffered bytes and flushes the socket.
    fn poll_write_all(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.has_unsent_bytes() {
            let bytes = &self.outbound[self.outbound_start..];
            let written = match &mut self.socket {
                Socket::Tcp(tcp) => ready!(Pin::new(tcp).poll_write(cx, bytes))?,
                Socket::Tls(tls) => ready!(Pin::new(tls).poll_write(cx, bytes))?,
                Socket::Closed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outbound_start += written;
            self.bytes_written += written as u64;
        }
        self.outbound.clear();
        self.outbound_start = 0;
        match &mut self.socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Socket::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// For the reader of mail-send. Each read returns at most the rest of one line.
impl AsyncRead for SmtpStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        if !stream.has_unread_bytes() && ready!(stream.poll_fill(cx))? == 0 {
            return Poll::Ready(Ok(()));
        }
        let pending = &stream.inbound[stream.inbound_start..];
        let line = pending
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(pending.len(), |line_feed| line_feed + 1)
            .min(buf.remaining());
        let bytes = &pending[..line];
        stream.transcript.record(LineSource::Server, bytes);
        if stream.read_lines.len() < REPLY_BYTES_MAX {
            stream.read_lines.extend_from_slice(bytes);
        }
        buf.put_slice(bytes);
        stream.inbound_start += line;
        Poll::Ready(Ok(()))
    }
}

/// For the writer of mail-send. Bytes are buffered until the flush.
impl AsyncWrite for SmtpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = &mut *self;
        if stream.outbound.len() >= WRITE_BYTES {
            ready!(stream.poll_write_all(cx))?;
        }
        match stream.secrecy {
            Secrecy::Open => stream.transcript.record(LineSource::Client, bytes),
            Secrecy::Credentials => stream.transcript.record(LineSource::Note, b"credentials"),
        }
        stream.read_lines.clear();
        stream.outbound.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_all(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Socket::Closed => Poll::Ready(Ok(())),
        }
    }
}
