//! One connection to the mailbox: reads bytes, sends replies and stores messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::mailbox::CaptureMailbox;
use super::message::Refused;
use super::server_session::{CloseReason, ServerAction, ServerSession};

/// Maximum number of bytes in one read.
const READ_BYTES: usize = 64 << 10;
/// Unit of the memory budget for large messages. A message below one block needs no permit.
pub(super) const BLOCK_BYTES: usize = READ_BYTES;
/// Time limit for sending the pending replies.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// State that the connections of a listener share.
pub(super) struct ListenerContext {
    pub(super) mailbox: Arc<CaptureMailbox>,
    /// Memory budget of the messages in progress: one permit a block.
    pub(super) blocks: Arc<Semaphore>,
    /// Maximum time between two reads from a client.
    pub(super) idle_timeout: Duration,
    pub(super) stop: CancellationToken,
}

/// Serves one client until one side closes the connection.
///
/// # Errors
/// The error of the socket; [`io::ErrorKind::TimedOut`] if the client does not read the replies.
pub(super) async fn serve_client(mut stream: TcpStream, shared: &ListenerContext) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut session = ServerSession::new();
    let mut reservation = BlockReservation { blocks: &shared.blocks, taken: None };
    let mut buffer = vec![0; READ_BYTES];
    loop {
        send(&mut stream, &mut session, shared).await?;
        let read = tokio::select! {
            read = timeout(shared.idle_timeout, stream.read(&mut buffer)) => read,
            () = shared.stop.cancelled() => {
                session.end(CloseReason::Stopping);
                return close(stream, session, shared).await;
            }
        };
        let Ok(read) = read else {
            session.end(CloseReason::Idle);
            return close(stream, session, shared).await;
        };
        let mut input = match read? {
            0 => return Ok(()),
            length => buffer[..length].iter(),
        };
        loop {
            match session.advance(&mut input) {
                ServerAction::Read => break,
                ServerAction::Store(envelope, message) => {
                    // A shutdown does not cancel this: a committed message must get its 250.
                    let id = shared.mailbox.store(envelope, message).await;
                    session.message_stored(id);
                }
                ServerAction::Close => return close(stream, session, shared).await,
            }
        }
        reservation.update(&mut session);
    }
}

/// Sends the pending replies.
async fn send(stream: &mut TcpStream, session: &mut ServerSession, shared: &ListenerContext) -> io::Result<()> {
    let replies = session.replies();
    if replies.is_empty() {
        return Ok(());
    }
    let sent = tokio::select! {
        // `biased`, so that a shutdown does not prevent the reply to a stored message.
        biased;
        sent = timeout(WRITE_TIMEOUT, stream.write_all(replies)) => sent,
        () = shared.stop.cancelled() => return Err(io::ErrorKind::TimedOut.into()),
    };
    replies.clear();
    sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Sends the pending replies and closes the connection.
async fn close(mut stream: TcpStream, mut session: ServerSession, shared: &ListenerContext) -> io::Result<()> {
    send(&mut stream, &mut session, shared).await?;
    stream.shutdown().await
}

/// Memory permits of one connection for its current message.
struct BlockReservation<'a> {
    blocks: &'a Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl BlockReservation<'_> {
    /// Acquires the permits that the current message needs, and releases those of an ended message.
    /// Refuses the message if there are not enough permits.
    fn update(&mut self, session: &mut ServerSession) {
        let needed = session.buffered_bytes() / BLOCK_BYTES;
        let taken = self.taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if needed == 0 {
            self.taken = None;
        } else if needed > taken {
            let more = u32::try_from(needed - taken).unwrap_or(u32::MAX);
            match (Arc::clone(self.blocks).try_acquire_many_owned(more), &mut self.taken) {
                (Ok(more), Some(taken)) => taken.merge(more),
                (Ok(more), none) => *none = Some(more),
                (Err(_), _) => {
                    session.refuse_message(Refused::OutOfMemory);
                    self.taken = None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a session after DATA.
    fn session_in_data() -> ServerSession {
        let mut session = ServerSession::new();
        let commands = b"EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n";
        assert_eq!(session.advance(&mut commands.iter()), ServerAction::Read);
        session.replies().clear();
        session
    }

    fn feed(session: &mut ServerSession, bytes: &[u8]) -> ServerAction {
        session.advance(&mut bytes.iter())
    }

    #[test]
    fn a_message_without_memory_is_refused_and_releases_its_permits() {
        let blocks = Arc::new(Semaphore::new(3));
        let (mut first, mut second) = (session_in_data(), session_in_data());
        let mut first_reservation = BlockReservation { blocks: &blocks, taken: None };
        let mut second_reservation = BlockReservation { blocks: &blocks, taken: None };
        let two_blocks = vec![b'a'; 2 * BLOCK_BYTES];

        feed(&mut first, &two_blocks);
        first_reservation.update(&mut first);
        feed(&mut second, &two_blocks);
        second_reservation.update(&mut second);

        assert_eq!(blocks.available_permits(), 1);
        assert_eq!(feed(&mut second, b"\r\n.\r\n"), ServerAction::Read);
        assert!(second.replies().starts_with(b"452 4.3.1 "));
        assert!(matches!(feed(&mut first, b"\r\n.\r\n"), ServerAction::Store(..)));
        first_reservation.update(&mut first);
        assert_eq!(blocks.available_permits(), 3);
    }

    #[test]
    fn a_message_acquires_permits_as_it_grows_and_none_below_one_block() {
        let blocks = Arc::new(Semaphore::new(3));
        let mut session = session_in_data();
        let mut reservation = BlockReservation { blocks: &blocks, taken: None };

        let left: Vec<usize> = (0..4)
            .map(|_| {
                feed(&mut session, &vec![b'a'; BLOCK_BYTES - 1]);
                reservation.update(&mut session);
                blocks.available_permits()
            })
            .collect();

        assert_eq!(left, [3, 2, 1, 0]);
    }
}
