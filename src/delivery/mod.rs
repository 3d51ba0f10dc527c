//! Delivery: queue, route, conversation, outcome.

pub mod smtp;

mod rows;

pub use rows::{AttemptRow, CapturedRow, Class, DueRow, LeaseRow, SiteRow};
