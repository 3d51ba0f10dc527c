//! The HTTP edge: what every endpoint shares. salvo lives here and in the nouns' `api.rs` alone.
//!
//! A connection keeps to `connections.rs`. A request passes `edge.rs` (id, span, headers, CORS), then the matched route's checks in order:
//! `recording.rs` (handing it to the request log afterwards), `auth.rs` (key, permission, rate), `query.rs` (unknown parameters), the extractors of the
//! handler (`path.rs`, `list.rs`, `body.rs` after `intake.rs`), the handler. Errors of every origin leave in one
//! shape (`error.rs`). `router.rs` is the list of the whole surface; `openapi.rs` its description.

pub mod body;
pub mod canonical;
pub mod error;
pub mod router;

mod auth;
mod bounded;
mod connections;
mod discard;
mod edge;
mod intake;
mod list;
mod openapi;
mod path;
mod query;
mod rate_limit;
mod reader;
mod recording;
mod respond;
mod state;
pub(crate) mod tolerance;
mod validation;

pub(crate) use body::read_signed_body;
pub use body::{Body, BodyPresence, BodySize, FromBody, JsonBody};
pub use bounded::{AtMost, read_at_most};
pub use connections::ConnectionLimits;
pub use edge::Cors;
pub use error::{ApiError, ApiResult, ErrorCode};
pub use intake::{BodyLimits, BodyPace};
pub use list::{List, ListQuery};
pub use openapi::document;
pub use path::{PathId, PathIdOrEmail};
pub use query::{declare_query, query_value};
pub use rate_limit::RateLimiter;
pub use reader::Anything;
pub use respond::Created;
pub use state::{Services, State};
pub use validation::BatchValidation;
