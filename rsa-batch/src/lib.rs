//! RSA signatures of up to eight SHA-256 digests at once (RSASSA-PKCS1-v1_5, RFC 8017 §8.2), for keys of 2048 bits.
//!
//! One vector of AVX-512 holds a digit of eight numbers, so that each instruction computes for eight signatures. These take
//! two and a half times as long as one of AWS-LC, which computes the two halves of one signature at once. Without AVX-512
//! IFMA and the other extensions of Intel Ice Lake and AMD Zen 4, [`Key::from_pkcs8`] returns `None`.
//!
//! - `key`: the numbers of a private key, in digits of 52 bits.
//! - `der`: the integers of a PKCS #8 document.
//! - `montgomery`: modular arithmetic on eight numbers.
//! - `signing`: the signatures. `other_processor` replaces it on other architectures.
//!
//! No branch and no address of a signature depends on a secret, nor does the preparation of a key, except on the lengths
//! of its integers.

#![cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other processors have no keys"))]

mod der;
mod key;
#[cfg(target_arch = "x86_64")]
mod montgomery;
#[cfg_attr(not(target_arch = "x86_64"), path = "other_processor.rs")]
mod signing;

pub use key::Key;
pub use signing::{is_available, sign};

/// Maximum number of signatures of a batch.
pub const BATCH_MAX: usize = 8;
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 256;
