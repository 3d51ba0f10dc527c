//! .
pub mod smtp;
