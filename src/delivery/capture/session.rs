//! One connection: bytes in, replies out, messages into the mailbox.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::conversation::{End, ServerAction, ServerSession};
use super::mailbox::CaptureMailbox;
use super::message::Refused;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// What large messages are counted in: a message below one block is held without asking.
pub(super) const BLOCK_BYTES: usize = READ_BYTES;
/// How long a client may take to read the replies of one batch.
const WRITE_WITHIN: Duration = Duration::from_secs(60);

/// What the sessions of a listener share.
pub(super) struct ListenerContext {
    pub(super) mailbox: Arc<CaptureMailbox>,
    /// Blocks that the messages under way may take.
    pub(super) blocks: Arc<Semaphore>,
    /// How long a client may be silent.
    pub(super) idle: Duration,
    pub(super) stop: CancellationToken,
}

/// Talks with one client until either side ends it.
///
/// # Errors
/// What the socket answers; [`io::ErrorKind::TimedOut`] when the client reads no replies.
pub(super) async fn converse(mut stream: TcpStream, shared: &ListenerContext) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut conversation = ServerSession::new();
    let mut room = Room { blocks: &shared.blocks, taken: None };
    let mut buffer = vec![0; READ_BYTES];
    loop {
        send(&mut stream, &mut conversation, shared).await?;
        let read = tokio::select! {
            read = timeout(shared.idle, stream.read(&mut buffer)) => read,
            () = shared.stop.cancelled() => {
                conversation.end(End::Stopping);
                return close(stream, conversation, shared).await;
            }
        };
        let Ok(read) = read else {
            conversation.end(End::Idle);
            return close(stream, conversation, shared).await;
        };
        let mut input = match read? {
            0 => return Ok(()),
            length => buffer[..length].iter(),
        };
        loop {
            match conversation.advance(&mut input) {
                ServerAction::Read => break,
                ServerAction::Keep(envelope, message) => {
                    // Awaited whatever else happens: a message that is committed must be answered so.
                    let kept = shared.mailbox.keep(envelope, message).await;
                    conversation.kept(kept);
                }
                ServerAction::Close => return close(stream, conversation, shared).await,
            }
        }
        room.make(&mut conversation);
    }
}

async fn send(stream: &mut TcpStream, conversation: &mut ServerSession, shared: &ListenerContext) -> io::Result<()> {
    let replies = conversation.replies();
    if replies.is_empty() {
        return Ok(());
    }
    let sent = tokio::select! {
        // In this order, so that a stop does not swallow the reply to a message that is kept.
        biased;
        sent = timeout(WRITE_WITHIN, stream.write_all(replies)) => sent,
        () = shared.stop.cancelled() => return Err(io::ErrorKind::TimedOut.into()),
    };
    replies.clear();
    sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn close(mut stream: TcpStream, mut conversation: ServerSession, shared: &ListenerContext) -> io::Result<()> {
    send(&mut stream, &mut conversation, shared).await?;
    stream.shutdown().await
}

/// The blocks that a session has taken for its message.
struct Room<'a> {
    blocks: &'a Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Room<'_> {
    /// Takes the blocks that the message under way needs, or gives the message up; gives back those
    /// of a message that has ended.
    fn make(&mut self, conversation: &mut ServerSession) {
        let needed = conversation.held_bytes() / BLOCK_BYTES;
        let taken = self.taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if needed == 0 {
            self.taken = None;
        } else if needed > taken {
            let more = u32::try_from(needed - taken).unwrap_or(u32::MAX);
            match (Arc::clone(self.blocks).try_acquire_many_owned(more), &mut self.taken) {
                (Ok(more), Some(taken)) => taken.merge(more),
                (Ok(more), none) => *none = Some(more),
                (Err(_), _) => {
                    conversation.refuse_message(Refused::NoRoom);
                    self.taken = None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins a message and returns the conversation in the middle of it.
    fn in_a_message() -> ServerSession {
        let mut conversation = ServerSession::new();
        let commands = b"EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n";
        assert_eq!(conversation.advance(&mut commands.iter()), ServerAction::Read);
        conversation.replies().clear();
        conversation
    }

    fn feed(conversation: &mut ServerSession, bytes: &[u8]) -> ServerAction {
        conversation.advance(&mut bytes.iter())
    }

    #[test]
    fn a_message_that_finds_no_room_is_told_so_and_gives_its_room_back() {
        let blocks = Arc::new(Semaphore::new(3));
        let (mut first, mut second) = (in_a_message(), in_a_message());
        let mut first_room = Room { blocks: &blocks, taken: None };
        let mut second_room = Room { blocks: &blocks, taken: None };
        let two_blocks = vec![b'a'; 2 * BLOCK_BYTES];

        feed(&mut first, &two_blocks);
        first_room.make(&mut first);
        feed(&mut second, &two_blocks);
        second_room.make(&mut second);

        assert_eq!(blocks.available_permits(), 1);
        assert_eq!(feed(&mut second, b"\r\n.\r\n"), ServerAction::Read);
        assert!(second.replies().starts_with(b"452 4.3.1 "));
        assert!(matches!(feed(&mut first, b"\r\n.\r\n"), ServerAction::Keep(..)));
        first_room.make(&mut first);
        assert_eq!(blocks.available_permits(), 3);
    }

    #[test]
    fn a_message_takes_room_as_it_grows_and_a_small_one_takes_none() {
        let blocks = Arc::new(Semaphore::new(3));
        let mut conversation = in_a_message();
        let mut room = Room { blocks: &blocks, taken: None };

        let left: Vec<usize> = (0..4)
            .map(|_| {
                feed(&mut conversation, &vec![b'a'; BLOCK_BYTES - 1]);
                room.make(&mut conversation);
                blocks.available_permits()
            })
            .collect();

        assert_eq!(left, [3, 2, 1, 0]);
    }
}
