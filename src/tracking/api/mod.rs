//! The routes of the pixel and of the tracked links, and the check of tracking hosts. They take no API key, return no
//! JSON, and are not in the OpenAPI document.
//!
//! - `service.rs`: opens tokens and records hits.
//! - `routes.rs`: `/t/o/{token}` and `/t/c/{token}`.
//! - `hosts.rs`: the paths that a tracking host answers.

mod hosts;
mod routes;
mod service;

pub(crate) use hosts::TrackingHostGuard;
pub(crate) use routes::{follow_link, load_pixel};
pub(crate) use service::HitRecorder;
