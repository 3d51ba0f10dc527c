//! The product through its front door, one binary. Folders mirror the API.

#![expect(clippy::unwrap_used, reason = "a panic of a test is its failure, in its helpers too")]

mod api_keys;
mod architecture;
mod cli;
mod contact_properties;
mod contacts;
mod dashboard;
mod domains;
mod emails;
mod erasure;
mod http;
mod ingest;
mod isolation;
mod live;
mod logs;
mod notices;
mod preferences;
mod segments;
mod support;
mod suppressions;
mod topics;
mod usage;
mod webhooks;
