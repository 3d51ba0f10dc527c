//! The server's end of `ringmail tail`: one conversation that answers its last request without end.
//!
//! The first line says that the watch has begun; each line after it is an event, or a number of events
//! that were missed. It ends with the server's stop, or when the other side hangs up.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::response::{LiveEventView, MissedView, Response};
use crate::live::{EventStream, StreamItem};

/// Shows what happens until `stop`.
pub(super) async fn show(stream: BufReader<UnixStream>, watch: EventStream, stop: &CancellationToken) {
    // A watch is the last request of its conversation: nothing that follows it is read.
    let (reading, writing) = stream.into_inner().into_split();
    tokio::select! {
        () = stop.cancelled() => {}
        () = hung_up(reading) => {}
        broken = write(writing, watch) => {
            if let Err(error) = broken {
                debug!(%error, "a watch of the command line broke off: {error}");
            }
        }
    }
}

async fn write(mut writing: OwnedWriteHalf, mut watch: EventStream) -> io::Result<()> {
    put(&mut writing, &Response::Watching).await?;
    while let Some(seen) = watch.next().await {
        let response = match seen {
            StreamItem::Event(event) => Response::Event(LiveEventView { id: event.id, body: event.body.to_string() }),
            StreamItem::Missed(count) => Response::Missed(MissedView { count }),
        };
        watch.buffer_while(put(&mut writing, &response)).await?;
    }
    Ok(())
}

/// Writes a line, however long the other side takes to read: a pager may stand still for hours. It ends
/// with its process, and there is a bound on how many there are.
async fn put(writing: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

/// Waits until the other side is gone, and drops what it says until then.
async fn hung_up(mut reading: OwnedReadHalf) {
    let mut said = [0; 64];
    while reading.read(&mut said).await.is_ok_and(|bytes| bytes > 0) {}
}
