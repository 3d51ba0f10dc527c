//! .
pub mod attachments;
mod excerpt;
pub mod headers;
pub mod schedule;
pub mod tags;
