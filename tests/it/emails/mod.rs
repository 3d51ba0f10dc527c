//! `/emails`.

mod attachments;
mod attempts;
mod batch;
mod cancel;
mod captured;
mod delete;
mod get;
mod leases;
mod list;
mod recipients;
mod scheduled;
mod send;
mod simulated;
mod throttle;
mod tls;
mod update;
