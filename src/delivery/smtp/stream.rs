//! TCP or TLS under one adapter.
//!
//! Reading: what the server sends is buffered here, and at most one line is handed out at a time, so that mail-send's
//! reader, which throws away whatever follows a reply, never sees what follows.
//! Writing: commands are gathered and leave with the next flush, in one write; Nagle's algorithm is off, so nothing
//! waits for an acknowledgement.
//! Every line of both sides goes to the transcript, the message itself and credentials excepted.

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
use super::transcript::{Speaker, Transcript};

/// Bytes gathered before they are written: most messages leave in one write.
pub(super) const WRITE_BYTES: usize = 32 * 1024;
/// Bytes asked of the socket at a time.
const READ_BYTES: usize = 4 * 1024;

/// The connection itself.
enum Wire {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// Closed by this side.
    Gone,
}

/// What goes to the transcript of the bytes written through [`AsyncWrite`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    /// A SASL exchange: every line holds credentials.
    Credentials,
}

/// Why no reply came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    Closed,
    Io(io::ErrorKind),
    Garbled(ReplyError),
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flushed {
    All,
    /// The server spoke, or hung up, while bytes were waiting to leave.
    PeerSpoke,
}

/// The adapter that mail-send's client and our own reader share.
pub(super) struct SmtpStream {
    wire: Wire,
    inbound: Vec<u8>,
    inbound_start: usize,
    outbound: Vec<u8>,
    outbound_start: usize,
    is_at_end: bool,
    secrecy: Secrecy,
    /// The lines handed out through [`AsyncRead`] since the last write, for a reply that mail-send has swallowed.
    handed_out: Vec<u8>,
    pub(super) transcript: Transcript,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

impl SmtpStream {
    /// Connects, from `source` when it is given.
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
            wire: Wire::Tcp(tcp),
            inbound: Vec::new(),
            inbound_start: 0,
            outbound: Vec::new(),
            outbound_start: 0,
            is_at_end: false,
            secrecy: Secrecy::Open,
            handed_out: Vec::new(),
            transcript: Transcript::default(),
            bytes_read: 0,
            bytes_written: 0,
        })
    }

    /// Replaces TCP by TLS on the same connection.
    pub(super) async fn start_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        verification: Verification,
    ) -> io::Result<TlsFacts> {
        let Wire::Tcp(tcp) = std::mem::replace(&mut self.wire, Wire::Gone) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let tls = TlsConnector::from(config).connect(name, tcp).await?;
        let facts = TlsFacts::of(tls.get_ref().1, verification);
        self.wire = Wire::Tls(Box::new(tls));
        Ok(facts)
    }

    /// Returns whether the server has sent bytes that nobody has asked for yet.
    pub(super) fn has_inbound(&self) -> bool {
        self.inbound_start < self.inbound.len()
    }

    /// Looks, without waiting, whether the server has spoken or hung up.
    pub(super) async fn has_peer_spoken(&mut self) -> bool {
        if self.has_inbound() || self.is_at_end {
            return true;
        }
        poll_fn(|cx| Poll::Ready(self.poll_fill(cx).is_ready())).await
    }

    /// Drops the connection. Everything after it fails with [`ReadError::Closed`].
    pub(super) fn close(&mut self) {
        self.wire = Wire::Gone;
        self.is_at_end = true;
    }

    pub(super) fn set_secrecy(&mut self, secrecy: Secrecy) {
        self.secrecy = secrecy;
    }

    /// Returns the last reply read through [`AsyncRead`].
    pub(super) fn last_handed_out(&self) -> Option<Reply> {
        parse_reply(&self.handed_out).ok().map(|(reply, _)| reply)
    }

    /// Gathers command lines for the next flush.
    pub(super) fn queue(&mut self, lines: &[u8]) {
        self.transcript.record(Speaker::Client, lines);
        self.outbound.extend_from_slice(lines);
    }

    /// Gives access to the gathered bytes, for a message that does not belong in the transcript.
    pub(super) fn outbound(&mut self) -> &mut Vec<u8> {
        &mut self.outbound
    }

    /// Returns whether gathered bytes have not been taken by the connection.
    pub(super) fn has_outbound(&self) -> bool {
        self.outbound_start < self.outbound.len()
    }

    /// Writes everything gathered.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_drain(cx)).await
    }

    /// Writes everything gathered, but stops when the server speaks first: it has lost interest in the rest.
    pub(super) async fn flush_watching(&mut self) -> io::Result<Flushed> {
        poll_fn(|cx| {
            if self.poll_drain(cx)?.is_ready() {
                return Poll::Ready(Ok(Flushed::All));
            }
            // Reading matters only while writing is stuck; a failed read shows in the read that follows.
            if self.has_inbound() || self.poll_fill(cx).is_ready() {
                return Poll::Ready(Ok(Flushed::PeerSpoke));
            }
            Poll::Pending
        })
        .await
    }

    /// Reads one reply; its raw lines are left in `raw`.
    pub(super) async fn read_reply(&mut self, raw: &mut Vec<u8>) -> Result<Reply, ReadError> {
        raw.clear();
        for _ in 0..REPLY_LINES_MAX {
            let line = poll_fn(|cx| self.poll_line(cx, REPLY_BYTES_MAX - raw.len())).await?;
            let bytes = &self.inbound[self.inbound_start..line];
            self.transcript.record(Speaker::Server, bytes);
            raw.extend_from_slice(bytes);
            let is_last = Line::parse(bytes).map_err(ReadError::Garbled)?.is_last;
            self.inbound_start = line;
            if is_last {
                let (reply, _) = parse_reply(raw).map_err(ReadError::Garbled)?;
                return Ok(reply);
            }
        }
        Err(ReadError::Garbled(ReplyError::TooManyLines))
    }

    /// Waits for a whole line of at most `room` bytes; returns where it ends in the buffer.
    fn poll_line(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<Result<usize, ReadError>> {
        loop {
            let pending = &self.inbound[self.inbound_start..];
            let line_feed = pending.iter().position(|&byte| byte == b'\n');
            if line_feed.unwrap_or(pending.len()) >= room {
                return Poll::Ready(Err(ReadError::Garbled(ReplyError::TooLong)));
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

    /// Reads what the socket has, once. Zero means the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.is_at_end {
            return Poll::Ready(Ok(0));
        }
        let mut space = [0; READ_BYTES];
        let mut buf = ReadBuf::new(&mut space);
        let result = match &mut self.wire {
            Wire::Tcp(tcp) => Pin::new(tcp).poll_read(cx, &mut buf),
            Wire::Tls(tls) => Pin::new(tls).poll_read(cx, &mut buf),
            Wire::Gone => Poll::Ready(Ok(())),
        };
        match ready!(result) {
            Ok(()) => {}
            // A server that hangs up without TLS's own goodbye has hung up all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
        let bytes = buf.filled();
        self.is_at_end = bytes.is_empty();
        self.bytes_read += bytes.len() as u64;
        if self.inbound_start > 0 {
            self.inbound.drain(..self.inbound_start);
            self.inbound_start = 0;
        }
        self.inbound.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Writes what has been gathered and flushes the connection below.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.has_outbound() {
            let bytes = &self.outbound[self.outbound_start..];
            let written = match &mut self.wire {
                Wire::Tcp(tcp) => ready!(Pin::new(tcp).poll_write(cx, bytes))?,
                Wire::Tls(tls) => ready!(Pin::new(tls).poll_write(cx, bytes))?,
                Wire::Gone => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outbound_start += written;
            self.bytes_written += written as u64;
        }
        self.outbound.clear();
        self.outbound_start = 0;
        match &mut self.wire {
            Wire::Tcp(tcp) => Pin::new(tcp).poll_flush(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Wire::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// For mail-send's reader: never more than the rest of one line.
impl AsyncRead for SmtpStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        if !stream.has_inbound() && ready!(stream.poll_fill(cx))? == 0 {
            return Poll::Ready(Ok(()));
        }
        let pending = &stream.inbound[stream.inbound_start..];
        let line = pending
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(pending.len(), |line_feed| line_feed + 1)
            .min(buf.remaining());
        let bytes = &pending[..line];
        stream.transcript.record(Speaker::Server, bytes);
        if stream.handed_out.len() < REPLY_BYTES_MAX {
            stream.handed_out.extend_from_slice(bytes);
        }
        buf.put_slice(bytes);
        stream.inbound_start += line;
        Poll::Ready(Ok(()))
    }
}

/// For mail-send's writer: bytes are gathered until the flush.
impl AsyncWrite for SmtpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = &mut *self;
        if stream.outbound.len() >= WRITE_BYTES {
            ready!(stream.poll_drain(cx))?;
        }
        match stream.secrecy {
            Secrecy::Open => stream.transcript.record(Speaker::Client, bytes),
            Secrecy::Credentials => stream.transcript.record(Speaker::Note, b"credentials"),
        }
        stream.handed_out.clear();
        stream.outbound.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Wire::Gone => Poll::Ready(Ok(())),
        }
    }
}
