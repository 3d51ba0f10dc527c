//! Tests of complete messages: composed here, parsed and verified by independent libraries.
//!
//! - `samples.rs`: the messages, one for each known incompatibility between mail programs;
//! - `compose.rs`: their structure, parsed by a MIME parser, and the invariants of any message;
//! - `signed.rs`: their signatures, checked by a verifier in this process and written to a directory for external
//!   verifiers.

mod compose;
mod samples;
mod signed;
