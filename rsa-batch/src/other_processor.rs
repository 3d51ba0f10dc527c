//! Processors of another architecture.

use crate::{Key, SIGNATURE_BYTES};

/// Returns `false`.
pub fn is_available() -> bool {
    false
}

/// Returns `None` for each request.
pub fn sign(requests: &[(&Key, [u8; 32])]) -> Vec<Option<[u8; SIGNATURE_BYTES]>> {
    vec![None; requests.len()]
}
