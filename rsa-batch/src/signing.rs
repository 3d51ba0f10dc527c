//! The signatures of a batch: a power modulo each prime, combined by the Chinese remainder theorem (RFC 8017 §5.2.1).

use std::arch::x86_64::__mmask8;

use archmage::intrinsics::x86_64::_mm512_storeu_si512;
use archmage::{SimdToken as _, X64V4xToken, arcane};

use crate::key::{DIGITS, Key, Number, Prime, bytes, digits};
use crate::montgomery::{Moduli, Numbers, WideNumbers, add, equal, multiply_add, one, subtract, vector};
use crate::{BATCH_MAX, SIGNATURE_BYTES};

/// `DigestInfo` of SHA-256 up to the digest (RFC 8017 §9.2).
const DIGEST_INFO: [u8; 19] =
    [0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20];
/// Number of squarings for the public exponent 65537.
const PUBLIC_SQUARINGS: usize = 16;

/// Returns whether the processor has the instructions.
pub fn is_available() -> bool {
    X64V4xToken::summon().is_some()
}

/// Signs SHA-256 digests. One takes as long as eight, two and a half times as long as one of AWS-LC.
///
/// Each signature is checked with the public exponent. `None` for one that is wrong because the processor made an error,
/// and for all if there are more than [`BATCH_MAX`] or the processor lacks the instructions.
pub fn sign(requests: &[(&Key, [u8; 32])]) -> Vec<Option<[u8; SIGNATURE_BYTES]>> {
    let (Some(token), Some(first), true) = (X64V4xToken::summon(), requests.first(), requests.len() <= BATCH_MAX)
    else {
        return vec![None; requests.len()];
    };
    // Numbers without a request repeat the first one.
    let requests_or_first: [_; BATCH_MAX] = std::array::from_fn(|index| requests.get(index).unwrap_or(first));
    let keys = requests_or_first.map(|(key, _)| *key);
    let encoded = requests_or_first.map(|(_, digest)| digits(&encode(digest)));
    let (signatures, right) = signatures_of(token, keys, &encoded);
    let signature = |index: usize| {
        let signature: [u64; 2 * DIGITS] = signatures.map(|digit| digit[index]);
        (right >> index & 1 == 1).then(|| bytes(&signature))
    };
    (0..requests.len()).map(signature).collect()
}

/// Encodes a digest (EMSA-PKCS1-v1_5, RFC 8017 §9.2).
fn encode(digest: &[u8; 32]) -> [u8; SIGNATURE_BYTES] {
    let mut encoded = [0xff; SIGNATURE_BYTES];
    (encoded[0], encoded[1]) = (0, 1);
    let (padding, rest) = encoded.split_at_mut(SIGNATURE_BYTES - DIGEST_INFO.len() - digest.len());
    *padding.last_mut().expect("the padding has bytes") = 0;
    rest[..DIGEST_INFO.len()].copy_from_slice(&DIGEST_INFO);
    rest[DIGEST_INFO.len()..].copy_from_slice(digest);
    encoded
}

/// Returns the digits of the signatures, and a bit for each that is right.
#[arcane]
fn signatures_of(
    _token: X64V4xToken,
    keys: [&Key; BATCH_MAX],
    encoded: &[[u64; 2 * DIGITS]; BATCH_MAX],
) -> ([[u64; BATCH_MAX]; 2 * DIGITS], __mmask8) {
    let encoded: WideNumbers = std::array::from_fn(|digit| vector(|index| encoded[index][digit]));
    let [p, q] = [0, 1].map(|prime| PrimePower::of(keys.map(|key| &key.primes[prime]), &encoded));

    // Garner's formula: q ((p_power - q_power) q⁻¹ mod p) + q_power. Twice the first prime exceeds the second power. The
    // result is too large if the powers are equal modulo p, of which the probability is about 2⁻¹⁰²⁴.
    let twice_p = add(&p.moduli.digits, &p.moduli.digits);
    let difference = subtract(&add(&p.power, &twice_p), &q.power);
    let multiple = p.moduli.multiply(&difference, &numbers(keys.map(|key| &key.coefficient)));
    let multiple = p.moduli.multiply(&multiple, &one());
    let signatures = multiply_add(&q.moduli.digits, &multiple, &q.power);

    let right = p.is_root(&signatures, &encoded) & q.is_root(&signatures, &encoded);
    let mut stored = [[0; BATCH_MAX]; 2 * DIGITS];
    for (stored, digit) in stored.iter_mut().zip(signatures) {
        _mm512_storeu_si512(stored, digit);
    }
    (stored, right)
}

/// The powers of encoded digests modulo a prime of their keys.
struct PrimePower {
    moduli: Moduli,
    r_squared: Numbers,
    /// The encoded digests to the power of the private exponents.
    power: Numbers,
}

impl PrimePower {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(primes: [&Prime; BATCH_MAX], encoded: &WideNumbers) -> Self {
        let moduli = Moduli {
            digits: numbers(primes.map(|prime| &prime.modulus)),
            negative_inverses: vector(|index| primes[index].negative_inverse),
        };
        let r_squared = numbers(primes.map(|prime| &prime.r_squared));
        let exponents = numbers(primes.map(|prime| &prime.exponent));
        let encoded = times_r(&moduli, &r_squared, encoded);
        let power = moduli.power(&encoded, &exponents, &moduli.multiply(&r_squared, &one()));
        Self { power: moduli.multiply(&power, &one()), moduli, r_squared }
    }

    /// Returns a bit for each number whose power with the public exponent is the encoded digest.
    ///
    /// Computes the remainder of the digest again. After an error in the first one, the signature would be right modulo
    /// the other prime only, which reveals both.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn is_root(&self, signatures: &WideNumbers, encoded: &WideNumbers) -> __mmask8 {
        let signatures = times_r(&self.moduli, &self.r_squared, signatures);
        let mut power = signatures;
        for _ in 0..PUBLIC_SQUARINGS {
            power = self.moduli.square(&power);
        }
        power = self.moduli.multiply(&power, &signatures);
        let encoded = times_r(&self.moduli, &self.r_squared, encoded);
        // Without the factor R, a positive number is between 1 and P.
        equal(&self.moduli.multiply(&power, &one()), &self.moduli.multiply(&encoded, &one()))
    }
}

/// Returns numbers of 2048 bits times R, modulo primes.
#[target_feature(enable = "avx512f,avx512ifma")]
fn times_r(moduli: &Moduli, r_squared: &Numbers, numbers: &WideNumbers) -> Numbers {
    let (low, high) = halves(numbers);
    let r_cubed = moduli.multiply(r_squared, r_squared);
    add(&moduli.multiply(&low, r_squared), &moduli.multiply(&high, &r_cubed))
}

/// Returns the lower and the upper digits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn halves(numbers: &WideNumbers) -> (Numbers, Numbers) {
    let (low, high) = numbers.split_at(DIGITS);
    let half = |digits: &[_]| <Numbers>::try_from(digits).expect("a half has as many digits as a number");
    (half(low), half(high))
}

/// Returns the digits of eight stored numbers.
#[target_feature(enable = "avx512f,avx512ifma")]
fn numbers(stored: [&Number; BATCH_MAX]) -> Numbers {
    std::array::from_fn(|digit| vector(|index| stored[index][digit]))
}
