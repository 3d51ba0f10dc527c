//! The numbers of a private key.

use std::fmt;

use subtle::{Choice, ConditionallySelectable as _};

use crate::der::{PrivateIntegers, private_integers};

/// Bits of a digit: the width of a factor of the multiplication instructions.
pub(crate) const DIGIT_BITS: usize = 52;
pub(crate) const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
/// Digits of a number of 1024 bits. The 16 bits that remain make a reduction after each operation unnecessary.
pub(crate) const DIGITS: usize = 20;
/// Bytes of a prime.
const PRIME_BYTES: usize = 128;
const PUBLIC_EXPONENT: [u8; 3] = [1, 0, 1];

/// Number with the least significant digit first.
pub(crate) type Number = [u64; DIGITS];

/// The numbers of a private key of 2048 bits that [`sign`](crate::sign) needs. `Debug` does not print them.
pub struct Key {
    pub(crate) primes: [Prime; 2],
    /// Inverse q⁻¹ of the second prime modulo the first, times R².
    pub(crate) coefficient: Number,
}

/// A prime P with R = 2¹⁰⁴⁰, the base of Montgomery's multiplication.
pub(crate) struct Prime {
    pub(crate) modulus: Number,
    /// -P⁻¹ modulo 2⁵².
    pub(crate) negative_inverse: u64,
    /// R² modulo P.
    pub(crate) r_squared: Number,
    /// Private exponent modulo P - 1.
    pub(crate) exponent: Number,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([secret])")
    }
}

impl Key {
    /// Parses a PKCS #8 private key that another library has validated.
    ///
    /// `None` if the processor lacks the instructions, or if the key does not have two primes of 1024 bits and the
    /// public exponent 65537.
    pub fn from_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        if !crate::signing::is_available() {
            return None;
        }
        let PrivateIntegers { public_exponent, primes, exponents, coefficient } = private_integers(pkcs8)?;
        let [p, q] = primes;
        let is_large = |prime: &[u8]| prime.len() == PRIME_BYTES && prime[0] >= 0x80;
        let is_bounded = |number: &[u8]| number.len() <= PRIME_BYTES;
        if public_exponent != PUBLIC_EXPONENT
            || !(is_large(p) && is_large(q))
            || !(exponents.into_iter().all(is_bounded) && is_bounded(coefficient))
        {
            return None;
        }
        let modulus = digits(p);
        let coefficient = times_r_squared(digits(coefficient), &modulus);
        Some(Self { primes: [Prime::new(p, exponents[0]), Prime::new(q, exponents[1])], coefficient })
    }
}

impl Prime {
    fn new(prime: &[u8], exponent: &[u8]) -> Self {
        let modulus = digits(prime);
        let mut one = [0; DIGITS];
        one[0] = 1;
        Self {
            modulus,
            negative_inverse: inverse(modulus[0]).wrapping_neg() & DIGIT_MASK,
            r_squared: times_r_squared(one, &modulus),
            exponent: digits(exponent),
        }
    }
}

/// Returns the digits of a number with the most significant byte first. It must fit.
pub(crate) fn digits<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut digits = [0; N];
    for (index, &byte) in bytes.iter().rev().enumerate() {
        let (digit, shift) = (index * 8 / DIGIT_BITS, index * 8 % DIGIT_BITS);
        digits[digit] |= (u64::from(byte) << shift) & DIGIT_MASK;
        if shift > DIGIT_BITS - 8 {
            digits[digit + 1] |= u64::from(byte) >> (DIGIT_BITS - shift);
        }
    }
    digits
}

/// Returns the bytes of a number, the most significant first.
pub(crate) fn bytes<const N: usize>(digits: &[u64]) -> [u8; N] {
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().rev().enumerate() {
        let (digit, shift) = (index * 8 / DIGIT_BITS, index * 8 % DIGIT_BITS);
        let mut value = digits[digit] >> shift;
        if shift > DIGIT_BITS - 8 {
            value |= digits[digit + 1] << (DIGIT_BITS - shift);
        }
        *byte = value.to_le_bytes()[0];
    }
    bytes
}

/// Returns the inverse of an odd number modulo 2⁶⁴.
fn inverse(odd: u64) -> u64 {
    // Each step of Newton's iteration doubles the number of correct bits. A number is its own inverse modulo 8.
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Multiplies a number below a modulus by R², by doubling it.
fn times_r_squared(mut number: Number, modulus: &Number) -> Number {
    for _ in 0..2 * DIGITS * DIGIT_BITS {
        let (mut carry, mut borrow) = (0, 0);
        let mut reduced = [0; DIGITS];
        for ((digit, reduced), modulus) in number.iter_mut().zip(&mut reduced).zip(modulus) {
            let doubled = (*digit << 1) | carry;
            carry = doubled >> DIGIT_BITS;
            *digit = doubled & DIGIT_MASK;
            let difference = digit.wrapping_sub(*modulus).wrapping_sub(borrow);
            borrow = difference >> 63;
            *reduced = difference & DIGIT_MASK;
        }
        // The doubled number stays if it is smaller than the modulus. With a mask of this crate's own, the compiler branched
        // on the secret.
        let is_smaller = Choice::from(u8::from(borrow == 1));
        for (digit, reduced) in number.iter_mut().zip(&reduced) {
            digit.conditional_assign(reduced, !is_smaller);
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number 2⁶⁴ - 59 is the largest prime of 64 bits, so that results can be computed with 128 bits.
    const PRIME: u128 = (1 << 64) - 59;

    fn number(value: u128) -> Number {
        digits(&value.to_be_bytes())
    }

    #[test]
    fn the_digits_of_bytes_are_the_same_bytes_again() {
        let content: [u8; 256] = std::array::from_fn(|index| (index * 89 + 7) as u8);

        let digits: [u64; 40] = digits(&content);

        assert!(digits.iter().all(|digit| *digit <= DIGIT_MASK));
        assert_eq!(bytes::<256>(&digits), content);
        assert_eq!(self::digits::<20>(&[1, 0, 0, 0, 0, 0, 0, 5])[..3], [5, 1 << 4, 0]);
        assert_eq!(self::digits::<20>(&[0xff; 128])[19], (1 << 36) - 1);
    }

    #[test]
    fn a_number_times_its_inverse_is_one() {
        for odd in (1..10_000).step_by(2).chain([u64::MAX, u64::MAX - 58, 0x8000_0000_0000_0001]) {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1, "{odd}");
        }
    }

    #[test]
    fn a_number_is_multiplied_by_the_square_of_r() {
        let r_squared = (0..2080).fold(1, |power, _| power * 2 % PRIME);
        for value in [0, 1, 2, 12_345, PRIME / 2, PRIME - 1] {
            let product = times_r_squared(number(value), &number(PRIME));

            // The product of two numbers of 64 bits needs 128.
            assert_eq!(product, number(value * r_squared % PRIME), "{value}");
        }
    }
}
