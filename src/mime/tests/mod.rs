//! Tests of whole messages: composed here, read and verified by independent parties.
//!
//! - `set.rs`: the messages, one for each thing that has gone wrong between mail programs;
//! - `compose.rs`: their shape, read back by a MIME parser, and the invariants of any message;
//! - `signed.rs`: their signatures, checked by a verifier in this process and written to a
//!   directory for those outside.

mod compose;
mod set;
mod signed;
