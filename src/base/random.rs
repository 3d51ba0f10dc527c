//! Random bytes, from the one cryptography provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns `N` bytes nobody can guess.
#[expect(clippy::disallowed_methods, reason = "this is the place that draws random bytes")]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut drawn = [0; N];
    aws_lc_rs::rand::fill(&mut drawn).expect("the operating system's random source answers");
    drawn
}

/// Returns a number spread evenly over all 64 bits, for jitter and shuffles.
pub fn number() -> u64 {
    u64::from_be_bytes(bytes())
}

/// Returns `N` random bytes as URL-safe base64 without padding.
pub fn token<const N: usize>() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<N>())
}
