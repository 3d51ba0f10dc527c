//! Live streams of a team's events: `ringmail tail` and the dashboard.
//!
//! An [`EventStream`] subscribes to the event bus and delivers the events that are published after the
//! subscription. Nothing is stored or repeated. A stream whose reader is too slow reports the number of events
//! that it missed, and continues.
//!
//! Files: `filter.rs` (event types), `stream.rs` (one stream), `streams.rs` (the number of streams, and their
//! end), `line.rs` (an event as one line of text).
//!
//! Invariants:
//! - A stream delivers events of one team only.
//! - A stream never delays the publisher, and buffers a bounded number of events and bytes.
//! - Events that are buffered when an address is erased count as missed, because they may contain it. An event
//!   that the reader has already received is not recalled.

mod filter;
mod line;
mod stream;
mod streams;

pub use filter::{TypeFilter, TypeFilterError};
pub use line::{LineStyle, line};
pub use stream::{EventStream, StreamItem};
pub use streams::{EventStreams, StreamClient, StreamPermit, TooManyStreams};
