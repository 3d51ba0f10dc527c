//! The HTTP edge: what every endpoint shares. salvo lives here and in the nouns' `api.rs` alone.
//!
//! A connection keeps to `connections.rs`. A request passes `edge.rs` (id, span, headers, CORS), then the matched route's checks in order:
//! `recording.rs` (handing it to the request log afterwards), `auth.rs` (key, permission, rate), `query.rs` (unknown parameters), the extractors of the
//! handler (`path.rs`, `list.rs`, `body.rs` after `body_limits.rs`), the handler. Errors of every origin leave in one
//! shape (`error.rs`). `router.rs` is the list of the whole surface; `openapi.rs` its description.

pub mod body;
pub mod canonical;
pub mod error;

pub(crate) mod auth;
mod body_limits;
mod bounded;
mod connections;
mod discard;
pub(crate) mod edge;
mod list;
pub(crate) mod openapi;
mod path;
pub(crate) mod query;
mod rate_limit;
mod recording;
mod respond;
mod state;
mod strict_json;
pub(crate) mod tolerance;
mod validation;

pub(crate) use body::read_signed_body;
pub use body::{Body, BodyPresence, BodySize, FromBody, JsonBody};
pub use body_limits::{BodyLimits, BodyPace};
pub use bounded::{AtMost, read_at_most};
pub use connections::ConnectionLimits;
pub use edge::Cors;
pub(crate) use edge::Edge;
pub use error::{ApiError, ApiResult, ErrorCode};
pub use list::{List, ListQuery};
pub(crate) use openapi::OpenApiJson;
pub use path::{PathId, PathIdOrEmail};
pub(crate) use query::QueryParameters;
pub use query::{declare_query, query_value};
pub use rate_limit::RateLimiter;
pub(crate) use recording::RequestRecorder;
pub use respond::Created;
pub use state::{Service, State};
pub use strict_json::IgnoredJson;
pub use validation::BatchValidation;
