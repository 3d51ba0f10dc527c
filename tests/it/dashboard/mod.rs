//! The dashboard: its files, its sign-in pages and its sessions.
//!
//! `browser.rs` is a client with cookies, as a browser is.

mod account;
mod audience;
mod broadcasts;
pub(crate) mod browser;
mod captured;
mod cross_site;
mod data;
mod deliverability;
mod email;
mod files;
mod isolation;
mod links;
mod live;
mod login;
mod open;
mod proxy;
mod refusals;
mod roles;
mod search;
mod sessions;
mod setup;
mod templates;
