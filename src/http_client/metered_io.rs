//! A stream that limits the bytes of a response.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Maximum bytes of one response of a session: interim responses, head, framing, and the part of the body that is read.
/// hyper limits the size of each interim response but not their number.
pub(super) const RESPONSE_BYTES_MAX: usize = 64 * 1024;
/// Maximum bytes of one read from the socket.
const READ_BYTES: usize = 4 * 1024;

/// TCP, with or without TLS.
pub(super) enum HttpStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

trait ReadWrite: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> ReadWrite for T {}

/// Remaining bytes of the response. Shared by the [`MeteredIo`], which hyper owns, and the connection.
#[derive(Debug)]
pub(super) struct ReadBudget {
    remaining: AtomicUsize,
    /// Bytes of one response.
    bytes_max: usize,
}

impl ReadBudget {
    /// Returns the full budget of one response.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { remaining: AtomicUsize::new(bytes_max), bytes_max }
    }

    /// Sets the budget to that of one response.
    pub(super) fn refill(&self) {
        self.remaining.store(self.bytes_max, Ordering::Relaxed);
    }

    /// Returns whether no byte has been read since the last refill.
    pub(super) fn is_unused(&self) -> bool {
        self.remaining.load(Ordering::Relaxed) == self.bytes_max
    }

    pub(super) fn is_spent(&self) -> bool {
        self.remaining.load(Ordering::Relaxed) == 0
    }
}

/// A stream with the traits of hyper. Reads fail after the budget is spent.
pub(super) struct MeteredIo {
    stream: HttpStream,
    budget: Arc<ReadBudget>,
}

impl MeteredIo {
    pub(super) fn new(stream: HttpStream, budget: Arc<ReadBudget>) -> Self {
        Self { stream, budget }
    }

    fn io(&mut self) -> Pin<&mut dyn ReadWrite> {
        match &mut self.stream {
            HttpStream::Plain(tcp) => Pin::new(tcp),
            HttpStream::Tls(tls) => Pin::new(&mut **tls),
        }
    }
}

impl hyper::rt::Read for MeteredIo {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let remaining = self.budget.remaining.load(Ordering::Relaxed);
        if remaining == 0 {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the response exceeds its byte budget",
            )));
        }
        // The buffer of hyper is uninitialized, and passing it to the stream would need `unsafe`. A copy
        // of at most 4 KiB is cheap compared with the read.
        let mut space = [MaybeUninit::<u8>::uninit(); READ_BYTES];
        let read_bytes_max = into.remaining().min(remaining).min(READ_BYTES);
        let mut read = ReadBuf::uninit(&mut space[..read_bytes_max]);
        ready!(self.io().poll_read(cx, &mut read))?;
        self.budget.remaining.store(remaining - read.filled().len(), Ordering::Relaxed);
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for MeteredIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.io().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            HttpStream::Plain(tcp) => tcp.is_write_vectored(),
            HttpStream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write_vectored(cx, parts)
    }
}
