//! The events of a team as lines on standard output, while a development server runs.

use super::output::{put_line, put_message};
use super::terminal;
use crate::base::blocking;
use crate::live::{self, EventStream, StreamItem};

/// Prints each event of a stream as one line, until the stream ends or standard output is closed.
pub(super) async fn print(mut events: EventStream) {
    let style = terminal::line_style();
    while let Some(item) = events.next().await {
        let event = match item {
            StreamItem::Event(event) => event,
            StreamItem::Missed(count) => {
                put_message(&missed(count));
                continue;
            }
        };
        let line = live::line(&event.id.to_string(), &event.body, style);
        // Writes block while a pager is idle. On another thread, they do not delay the server.
        match events.buffer_while(blocking::run(move || put_line(&line))).await {
            Ok(true) => {}
            // The server continues without a reader.
            Ok(false) | Err(_) => return,
        }
    }
}

/// Returns a sentence about events that are not shown.
pub(super) fn missed(count: u64) -> String {
    format!("{count} events are not shown: they came too fast, or an erasure discarded them.")
}
