//! The product through its front door, one binary. Folders mirror the API.

#![expect(clippy::unwrap_used, reason = "a test that meets the unexpected ends there")]

mod api_keys;
mod architecture;
mod cli;
mod dashboard;
mod domains;
mod emails;
mod http;
mod isolation;
mod preferences;
mod support;
