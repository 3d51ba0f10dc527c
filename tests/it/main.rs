//! Integration tests: a real server, called through its API and its command line. Folders mirror the API.

#![expect(clippy::unwrap_used, reason = "a panic in a test or in its helpers fails the test")]

mod api_keys;
mod architecture;
mod audit;
mod broadcasts;
mod cli;
mod compat;
mod contact_properties;
mod contacts;
mod dashboard;
mod deliverability;
mod doctor;
mod domains;
mod emails;
mod erasure;
mod http;
mod ingest;
mod isolation;
mod live;
mod logs;
mod metrics;
mod notices;
mod preferences;
mod retention;
mod segments;
mod support;
mod suppressions;
mod team_removal;
mod templates;
mod topics;
mod tracking;
mod usage;
mod webhooks;
