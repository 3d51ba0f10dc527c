//! DKIM signatures (RFC 6376, RFC 8301, RFC 8463).
//!
//! A [`SigningKey`] is generated or unsealed by the domain that owns it; [`sign()`] returns the
//! header lines to put in front of a composed message. The body is hashed once for all keys,
//! and the signed header fields are brought into canonical form once.
//!
//! - `key.rs`: RSA-2048 and Ed25519 keys, and the record that publishes one;
//! - `canon.rs`: the relaxed forms of header fields and bodies;
//! - `sign.rs`: what is signed, and the field that says so.
//!
//! Invariants: relaxed/relaxed only; no `l=`, which would let anyone append to a message; a
//! field that must not be added later is listed once more than it occurs.
//!
//! Not here: verification, which only the tests need and independent verifiers do.

mod canon;
mod key;
mod sign;

pub use key::{Algorithm, KeyError, SigningKey};
pub use sign::{SignError, Signature, sign};
