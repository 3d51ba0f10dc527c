//! Random bytes, from the one cryptography provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns `N` bytes from the cryptographic random generator.
///
/// # Panics
/// If the random source of the operating system fails.
#[expect(clippy::disallowed_methods, reason = "the only caller of the random source")]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut drawn = [0; N];
    aws_lc_rs::rand::fill(&mut drawn).expect("the random source of the operating system works");
    drawn
}

/// Returns a uniformly distributed 64-bit number, for jitter and shuffles.
pub fn number() -> u64 {
    u64::from_be_bytes(bytes())
}

/// Returns `N` random bytes as URL-safe base64 without padding.
pub fn token<const N: usize>() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<N>())
}
