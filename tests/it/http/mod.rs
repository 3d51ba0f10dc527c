//! Behaviour that all endpoints have in common.

mod auth;
mod body;
mod compression;
mod conformance;
mod connections;
mod cors;
mod errors;
mod event_schemas;
mod examples;
mod health;
mod idempotency;
pub(crate) mod large_responses;
mod lists;
mod methods;
mod openapi;
mod openapi_examples;
mod paths;
mod query;
mod rate_limit;
mod sdk_fields;
mod space;
mod suggestions;
