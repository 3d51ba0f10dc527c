//! Hashes that replace names in keys, because keys have a fixed width.

use sha2::{Digest as _, Sha256};

/// SHA-256 of the name of a domain or a host.
pub type NameHash = [u8; 32];

/// Returns the hash of a name. The name is in lower-case A-labels.
pub fn name_hash(name: &str) -> NameHash {
    Sha256::digest(name.as_bytes()).into()
}
