//! Server side of `ringmail tail`: streams events as the response to the last request of a connection.
//!
//! The first line says that the subscription exists. Each further line is an event or a number of
//! missed events. The stream ends when the server stops or the client closes the connection.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::response::{LiveEventView, MissedView, Response, WatchingView};
use crate::live::{EventStream, StreamItem};

/// Writes events until `stop`, or until the client closes the connection.
pub(super) async fn write_events(stream: BufReader<UnixStream>, events: EventStream, stop: &CancellationToken) {
    // Bytes after the last request are ignored.
    let (reading, writing) = stream.into_inner().into_split();
    tokio::select! {
        () = stop.cancelled() => {}
        () = closed(reading) => {}
        result = write(writing, events) => {
            if let Err(error) = result {
                debug!(%error, "a live stream of the command line ended: {error}");
            }
        }
    }
}

async fn write(mut writing: OwnedWriteHalf, mut events: EventStream) -> io::Result<()> {
    write_response(&mut writing, &WatchingView {}.into()).await?;
    while let Some(item) = events.next().await {
        let response = match item {
            StreamItem::Event(event) => LiveEventView { id: event.id, body: event.body.to_string() }.into(),
            StreamItem::Missed(count) => MissedView { count }.into(),
        };
        events.buffer_while(write_response(&mut writing, &response)).await?;
    }
    Ok(())
}

/// Writes a line without a timeout, because a pager may stop reading for hours. The number of streams
/// is bounded.
async fn write_response(writing: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

/// Waits until the client closes its side. Discards everything that it sends.
async fn closed(mut reading: OwnedReadHalf) {
    let mut discarded = [0; 64];
    while reading.read(&mut discarded).await.is_ok_and(|bytes| bytes > 0) {}
}
