//! The text of `/metrics`, and the facts about this process in it.
//!
//! Files: `text.rs` (the text format of Prometheus), `process.rs` (memory and open files of this process).
//!
//! The parts of the program count their own work. `app/metrics.rs` reads their counts and names the metrics, and
//! `docs/METRICS.md` describes them.

mod process;
mod text;

pub use process::ProcessFacts;
pub use text::{MetricKind, MetricsText, Samples};
