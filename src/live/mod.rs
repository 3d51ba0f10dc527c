//! Watching a team's events as they happen: `ringmail tail` and the dashboard.
//!
//! Nothing is stored and nothing shown again: who watches sees what happens from then on. A watcher
//! that takes events more slowly than they happen is told how many it has missed, and goes on. What
//! waits for its reader when an address is erased is missed too, because it may hold that address; what
//! is on its way to the reader is not called back.
//!
//! `filter.rs` the types that are asked for; `watch.rs` one watcher; `streams.rs` how many there may be,
//! and when they end; `line.rs` an event as a line for people.
//!
//! Invariants: a watcher sees events of one team alone; it never holds anybody up, and keeps no more
//! than a bounded number of events, and of their bytes, for itself.

mod filter;
mod line;
mod streams;
mod watch;

pub use filter::{TypeFilter, TypeFilterError};
pub use line::line;
pub use streams::{EventStreams, StreamPermit, TooManyStreams};
pub use watch::{EventStream, StreamItem};
