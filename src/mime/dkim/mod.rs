//! DKIM signatures (RFC 6376, RFC 8301, RFC 8463).
//!
//! The `domains` module generates and unseals each [`SigningKey`]. [`sign()`] returns the header fields to prepend to
//! composed messages. It hashes each body once and canonicalizes the signed header fields once, for all keys. The RSA
//! signatures of several messages are made together.
//!
//! Files in reading order:
//! - `key.rs`: RSA-2048 and Ed25519 keys, and their DNS records;
//! - `canon.rs`: relaxed canonicalization of header fields and bodies;
//! - `sign.rs`: the signed fields and the `DKIM-Signature` field.
//!
//! Invariants:
//! - Canonicalization is always relaxed/relaxed.
//! - No signature has an `l=` tag, which would allow text to be appended to the message.
//! - A field that must not be added later is listed once more in `h=` than it occurs.
//!
//! Not in this module: verification. Only the tests need it, and they use independent verifiers.

mod canon;
mod key;
mod sign;

pub use key::{Algorithm, KeyError, SigningKey};
/// Maximum number of messages whose RSA signatures are made at once.
pub use rsa_batch::BATCH_MAX;
pub use sign::{DkimParameters, SignError, SignRequest, sign};
