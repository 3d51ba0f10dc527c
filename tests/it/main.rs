//! The product through its front door, one binary. Folders mirror the API.

mod api_keys;
#[expect(clippy::unwrap_used, reason = "a panic of this test is its failure, wherever it comes from")]
mod architecture;
mod cli;
mod dashboard;
mod domains;
mod emails;
mod http;
mod isolation;
mod preferences;
mod support;
