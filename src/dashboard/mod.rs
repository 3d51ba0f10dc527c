//! Dashboard: its pages, their data, and a stream of events.
//!
//! The pages are files in the binary; the browser has their router. Their data are the endpoints of the API and some more,
//! all below `/dashboard/api`, with the session of a user instead of an API key.
//!
//! Reading order:
//! - `hosts.rs`: allowed `Host` headers;
//! - `policy.rs`: content security policies;
//! - `embedded.rs`: files with their compressed forms;
//! - `assets/`: the files;
//! - `docs/`: the served documentation;
//! - `access/`: sign-in, sessions and roles;
//! - `api/`: data of the pages;
//! - `events.rs`: server-sent events.

pub(crate) mod access;
pub(crate) mod api;
mod assets;
mod docs;
mod embedded;
mod events;
mod hosts;
mod policy;

pub use access::AccessSettings;
pub use api::{DashboardInstance, HealthReports};
pub use assets::DashboardAssets;
pub(crate) use assets::{serve_asset, serve_page};
pub(crate) use docs::{serve_doc, serve_docs_file, serve_llms};
pub(crate) use events::stream_events;
pub(crate) use hosts::known_host;
