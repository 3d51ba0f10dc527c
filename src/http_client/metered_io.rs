//! The bytes of a connection, counted.

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

/// Bytes that one answer may take in all: interim answers, head, framing, and the part of the body that is read. Each
/// interim answer is small enough by itself, and hyper reads any number of them.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Bytes asked of the socket at a time.
const READ_BYTES: usize = 4 * 1024;

/// TCP, with or without TLS.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

trait ReadWrite: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> ReadWrite for T {}

/// How many more bytes the answer may take. Shared by the wire, which hyper owns, and whoever sent the request.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    /// Grants a whole answer.
    pub(super) fn refill(&self) {
        self.0.store(ANSWER_BYTES_MAX, Ordering::Relaxed);
    }

    /// Whether not one byte has come since the last refill.
    pub(super) fn is_untouched(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ANSWER_BYTES_MAX
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A stream as hyper wants it.
pub(super) struct Wire {
    stream: Stream,
    budget: Arc<Budget>,
}

impl Wire {
    pub(super) fn new(stream: Stream, budget: Arc<Budget>) -> Self {
        Self { stream, budget }
    }

    fn io(&mut self) -> Pin<&mut dyn ReadWrite> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp),
            Stream::Tls(tls) => Pin::new(&mut **tls),
        }
    }
}

impl hyper::rt::Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let left = self.budget.0.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long")));
        }
        // hyper lends memory that was never written to. Lending it on takes `unsafe`; answers are short, so a copy of
        // them is cheap.
        let mut space = [MaybeUninit::<u8>::uninit(); READ_BYTES];
        let wanted = into.remaining().min(left).min(READ_BYTES);
        let mut read = ReadBuf::uninit(&mut space[..wanted]);
        ready!(self.io().poll_read(cx, &mut read))?;
        self.budget.0.store(left - read.filled().len(), Ordering::Relaxed);
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Wire {
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
            Stream::Plain(tcp) => tcp.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
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
