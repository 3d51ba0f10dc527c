//! What a row is found by in place of a name: keys have a fixed width, and names do not.

use sha2::{Digest as _, Sha256};

/// SHA-256 of the name of a domain or a host.
pub type NameHash = [u8; 32];

/// Returns the hash of a name, which is an A-label in lower case.
pub fn name_hash(name: &str) -> NameHash {
    Sha256::digest(name.as_bytes()).into()
}
