//! Tests of the checks, with the emails of `draft.rs`, and of the worker.

mod checks;
mod draft;
mod worker;
