//! The HTTP layer: the parts that all endpoints share.
//!
//! Data flow: `connections.rs` bounds the connection. Every request passes `edge.rs` (id, span, headers, CORS), then
//! the checks of its route. Their order is: `recording.rs` (request log), `auth.rs` (key, permission, rate limit),
//! `query.rs` (unknown parameters), `space.rs` (free disk space). The extractors of the handler and the handler follow.
//!
//! Files in reading order:
//! - `connections.rs`, `acceptor.rs`, `address_limit.rs`: connections and their limits;
//! - `edge.rs`: every request, with `discard.rs` (unread request bodies);
//! - `recording.rs`, `auth.rs`, `rate_limit.rs`, `query.rs`, `space.rs`: the checks of a route;
//! - `path.rs`, `list.rs`, `parameters.rs` (query and headers), `state.rs` (services), `validation.rs` (batch mode),
//!   `body/`: the extractors;
//! - `body_limits.rs`, `strict_json.rs`, `tolerance.rs`, `bounded.rs` (bounded arrays), `canonical.rs` (hash of a body):
//!   used by `body/`;
//! - `form.rs`: posted forms;
//! - `respond.rs`, `parted_body.rs`, `error.rs`: the responses;
//! - `response_limits/`, `response_memory.rs`, `whole_body.rs`: the memory of responses;
//! - `compression.rs`: compression of responses;
//! - `declared_errors.rs`, `schema.rs` (fields), `openapi/`: the OpenAPI document;
//! - `health.rs`, `counters.rs`, `metrics.rs`: monitoring;
//! - `peer.rs`: the client of a request;
//! - `starting.rs`: responses before the store is open.
//!
//! The routes are in `src/app/router.rs`.
//!
//! Invariants:
//! - Only this folder, `src/app`, `src/dashboard` and the `api` modules of other folders use salvo.
//! - Every error response has the same shape, including the responses that salvo creates.

pub mod body;
pub mod canonical;
pub mod error;

mod acceptor;
mod address_limit;
pub(crate) mod auth;
mod body_limits;
mod bounded;
pub(crate) mod compression;
mod connections;
mod counters;
mod declared_errors;
mod discard;
pub(crate) mod edge;
mod form;
pub(crate) mod health;
mod list;
pub(crate) mod metrics;
pub(crate) mod openapi;
mod parameters;
mod parted_body;
mod path;
pub(crate) mod peer;
pub(crate) mod query;
mod rate_limit;
mod recording;
mod respond;
pub(crate) mod response_limits;
mod response_memory;
pub(crate) mod schema;
mod space;
mod starting;
mod state;
mod strict_json;
pub(crate) mod tolerance;
mod validation;
mod whole_body;

pub(crate) use body::read_signed_body;
pub use body::{Body, BodyPresence, BodySize, FromBody, JsonBody, NoBody};
pub(crate) use body_limits::BudgetShare;
pub use body_limits::{BodyLimits, BodyPace};
pub use bounded::{AtMost, read_at_most};
pub(crate) use compression::StaticText;
pub use connections::ConnectionLimits;
pub use counters::{HttpCounters, RequestCount};
pub(crate) use declared_errors::{
    ResourceNotFound, api_error, declare as declare_errors, declares_errors, responses_of,
};
pub use edge::Cors;
pub(crate) use edge::Edge;
pub use error::{ApiError, ApiResult, ErrorCode};
pub(crate) use form::read_form;
pub use health::Health;
pub use list::{List, ListQuery};
pub use metrics::Metrics;
pub(crate) use openapi::OpenApiJson;
pub(crate) use parameters::{FromParameters, Parameters};
pub use parted_body::{PartFuture, PartedJson, ReadPart, RenderedJson};
pub use path::{PathId, PathIdOrEmail};
pub(crate) use query::QueryParameters;
pub use query::{declare_query, declare_query_list, query_value};
pub use rate_limit::RateLimiter;
pub(crate) use recording::RequestRecorder;
pub use respond::Created;
pub(crate) use respond::id_responses;
pub use response_limits::ResponseLimits;
pub use response_memory::{MemoryHolder, ResponsePermit};
pub(crate) use space::SpaceGuard;
pub(crate) use starting::starting;
pub(crate) use state::service;
pub use state::{Service, State};
pub use strict_json::IgnoredJson;
pub use validation::BatchValidation;
