//! What every endpoint shares.

mod auth;
mod body;
mod cors;
mod echoes;
mod errors;
mod idempotency;
mod lists;
mod openapi;
mod paths;
mod query;
mod rate_limit;
mod tour;
