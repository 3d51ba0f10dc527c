//! The integers of an RSA private key in PKCS #8 (RFC 5958) and DER.

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// Integers of an `RSAPrivateKey` (RFC 8017 appendix A.1.2) without leading zeros, the most significant byte first.
pub(crate) struct PrivateIntegers<'a> {
    pub(crate) public_exponent: &'a [u8],
    pub(crate) primes: [&'a [u8]; 2],
    /// Private exponent modulo each prime less one.
    pub(crate) exponents: [&'a [u8]; 2],
    /// Inverse of the second prime modulo the first.
    pub(crate) coefficient: &'a [u8],
}

/// Parses a key with two primes; `None` if the document has another form.
pub(crate) fn private_integers(mut pkcs8: &[u8]) -> Option<PrivateIntegers<'_>> {
    let mut document = element(&mut pkcs8, SEQUENCE)?;
    element(&mut document, INTEGER)?;
    element(&mut document, SEQUENCE)?;
    let mut octets = element(&mut document, OCTET_STRING)?;
    let mut key = element(&mut octets, SEQUENCE)?;
    let mut next = || {
        let integer = element(&mut key, INTEGER)?;
        let zeros = integer.iter().take_while(|&&byte| byte == 0).count();
        Some(&integer[zeros..])
    };
    let (_version, _modulus, public_exponent, _private_exponent) = (next()?, next()?, next()?, next()?);
    let (primes, exponents) = ([next()?, next()?], [next()?, next()?]);
    Some(PrivateIntegers { public_exponent, primes, exponents, coefficient: next()? })
}

/// Takes the content of the first element, which must have this tag.
fn element<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&[first, length], mut rest) = input.split_first_chunk()?;
    if first != tag {
        return None;
    }
    let mut length = usize::from(length);
    // The long form: the low bits are the number of bytes of the length.
    if length >= 0x80 {
        let bytes = rest.split_off(..length - 0x80).filter(|bytes| matches!(bytes.len(), 1..=2))?;
        length = bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
    }
    let content = rest.split_off(..length)?;
    *input = rest;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(tag: u8, content: &[u8]) -> Vec<u8> {
        let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82, high, low], content].concat()
    }

    fn integer(content: &[u8]) -> Vec<u8> {
        encoded(INTEGER, content)
    }

    fn document(integers: &[&[u8]]) -> Vec<u8> {
        let integers: Vec<u8> = integers.iter().flat_map(|content| integer(content)).collect();
        let octets = encoded(OCTET_STRING, &encoded(SEQUENCE, &integers));
        encoded(SEQUENCE, &[integer(&[0]), encoded(SEQUENCE, b"\x05\x00"), octets].concat())
    }

    #[test]
    fn the_integers_of_a_key_are_found_by_their_order() {
        let key = document(&[b"\0", b"n", b"e", b"d", b"\0p", b"q", b"\0\0x", &[b'y'; 300], b"c"]);

        let found = private_integers(&key).unwrap();

        assert_eq!((found.public_exponent, found.coefficient), (&b"e"[..], &b"c"[..]));
        assert_eq!((found.primes, found.exponents), ([&b"p"[..], b"q"], [&b"x"[..], &[b'y'; 300]]));
    }

    #[test]
    fn another_document_is_refused() {
        let key = document(&[b"0", b"n", b"e", b"d", b"p", b"q", b"x", b"y", b"c"]);
        for length in 0..key.len() {
            assert!(private_integers(&key[..length]).is_none(), "the first {length} bytes");
        }
        for index in 0..key.len() {
            for byte in 0..=u8::MAX {
                // No length of an element and no tag leads to a panic.
                let mut changed = key.clone();
                changed[index] = byte;
                private_integers(&changed);
            }
        }
        let without_coefficient = document(&[b"0", b"n", b"e", b"d", b"p", b"q", b"x", b"y"]);
        for other in [without_coefficient.as_slice(), b"\x30\x80", b"\x30\x84\0\0\0\0", b"\x02\x00"] {
            assert!(private_integers(other).is_none(), "{other:02x?}");
        }
    }
}
