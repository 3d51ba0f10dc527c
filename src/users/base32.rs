//! Base32 without padding (RFC 4648 §6), the form in which authenticator apps take a secret.

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes bytes in groups of five bits.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut buffer, mut bits) = (0_u32, 0);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(symbol(buffer >> bits));
        }
        buffer &= (1 << bits) - 1;
    }
    if bits > 0 {
        text.push(symbol(buffer << (5 - bits)));
    }
    text
}

/// Returns the symbol of the lowest five bits.
fn symbol(value: u32) -> char {
    char::from(ALPHABET[(value & 31) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 4648 §10, without the padding.
    #[test]
    fn the_vectors_of_the_standard_are_encoded() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(encode(&[0xff; 20]), "7".repeat(32));
    }
}
