//! Segments: the named parts of a team's audience.

pub mod api;
pub mod filter;
