//! Modular arithmetic on eight numbers at once: almost Montgomery multiplication (Gueron, 2012) in digits of 52 bits.
//!
//! With R = 2¹⁰⁴⁰ and a modulus P below 2¹⁰²⁴, the result for factors a and b is below P + a b / R. It is below 1.001 P if
//! both are below 4 P, and below 2 P if one is any number of 20 digits and the other one is below P. Results are therefore
//! not always reduced, and sums of three of them are valid factors.
//!
//! A digit of a sum gets at most 82 halves of products, so that it is below 2⁵⁹.

use std::arch::x86_64::{
    __m512i, __mmask8, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask, _mm512_madd52hi_epu64,
    _mm512_madd52lo_epu64, _mm512_mask_mov_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srai_epi64, _mm512_srlv_epi64, _mm512_sub_epi64,
};
use std::hint::black_box;

use crate::BATCH_MAX;
use crate::key::{DIGIT_BITS, DIGIT_MASK, DIGITS};

/// A digit of eight numbers.
pub(crate) type Vector = __m512i;
/// Eight numbers.
pub(crate) type Numbers = [Vector; DIGITS];
/// Eight numbers of twice the size.
pub(crate) type WideNumbers = [Vector; 2 * DIGITS];

/// Bits of an exponent that are processed at once. A digit has thirteen such windows.
const WINDOW_BITS: usize = 4;
const WINDOWS: usize = 1024 / WINDOW_BITS;
const TABLE_ENTRIES: usize = 1 << WINDOW_BITS;

/// Eight moduli.
pub(crate) struct Moduli {
    pub(crate) digits: Numbers,
    /// -P⁻¹ modulo 2⁵².
    pub(crate) negative_inverses: Vector,
}

/// Returns a vector of these elements.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn vector(element: impl Fn(usize) -> u64) -> Vector {
    let [a, b, c, d, e, f, g, h] = std::array::from_fn::<_, BATCH_MAX, _>(|index| element(index).cast_signed());
    _mm512_set_epi64(h, g, f, e, d, c, b, a)
}

/// Returns the number 1, eight times.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn one() -> Numbers {
    let mut one = [_mm512_setzero_si512(); DIGITS];
    one[0] = _mm512_set1_epi64(1);
    one
}

impl Moduli {
    /// Returns a b R⁻¹.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn multiply(&self, a: &Numbers, b: &Numbers) -> Numbers {
        let zero = _mm512_setzero_si512();
        let mut sum = [zero; DIGITS];
        for &b in b {
            // Hides that the numbers stay the same. Otherwise the compiler first copies their digits to the stack.
            let (a, m) = (black_box(a), black_box(&self.digits));
            let low = _mm512_madd52lo_epu64(sum[0], a[0], b);
            let multiple = _mm512_madd52lo_epu64(zero, low, self.negative_inverses);
            // The lowest digit becomes zero, and its carry remains.
            let carry = _mm512_srai_epi64::<52>(_mm512_madd52lo_epu64(low, m[0], multiple));
            sum[1] = _mm512_add_epi64(sum[1], carry);
            for digit in 0..DIGITS {
                let mut next = if digit + 1 < DIGITS { sum[digit + 1] } else { zero };
                next = _mm512_madd52hi_epu64(next, a[digit], b);
                next = _mm512_madd52hi_epu64(next, m[digit], multiple);
                if digit + 1 < DIGITS {
                    next = _mm512_madd52lo_epu64(next, a[digit + 1], b);
                    next = _mm512_madd52lo_epu64(next, m[digit + 1], multiple);
                }
                sum[digit] = next;
            }
        }
        carried(sum)
    }

    /// Returns a² R⁻¹.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn square(&self, a: &Numbers) -> Numbers {
        self.reduce(&square(a))
    }

    /// Returns the product times R⁻¹.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduce(&self, product: &WideNumbers) -> Numbers {
        let (zero, m) = (_mm512_setzero_si512(), &self.digits);
        let mut sum = [zero; DIGITS];
        sum.copy_from_slice(&product[..DIGITS]);
        for &top in &product[DIGITS..] {
            let multiple = _mm512_madd52lo_epu64(zero, sum[0], self.negative_inverses);
            let carry = _mm512_srai_epi64::<52>(_mm512_madd52lo_epu64(sum[0], m[0], multiple));
            sum[1] = _mm512_add_epi64(sum[1], carry);
            for digit in 0..DIGITS - 1 {
                let next = _mm512_madd52hi_epu64(sum[digit + 1], m[digit], multiple);
                sum[digit] = _mm512_madd52lo_epu64(next, m[digit + 1], multiple);
            }
            sum[DIGITS - 1] = _mm512_madd52hi_epu64(top, m[DIGITS - 1], multiple);
        }
        carried(sum)
    }

    /// Returns the numbers to the powers of secret exponents below 2¹⁰²⁴. Base and result are multiplied by R, as is
    /// `one`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn power(&self, base: &Numbers, exponents: &Numbers, one: &Numbers) -> Numbers {
        let mut table = [*one; TABLE_ENTRIES];
        for entry in 1..TABLE_ENTRIES {
            table[entry] = self.multiply(&table[entry - 1], base);
        }
        let mut power = *one;
        for window in (0..WINDOWS).rev() {
            for _ in 0..WINDOW_BITS {
                power = self.square(&power);
            }
            let bit = window * WINDOW_BITS;
            power = self.multiply(&power, &select(&table, exponents[bit / DIGIT_BITS], bit % DIGIT_BITS));
        }
        power
    }
}

/// Selects an entry of the table for each number, by the bits of its exponent from `shift`. Reads all entries, so that the
/// addresses do not depend on the exponents.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn select(table: &[Numbers; TABLE_ENTRIES], exponents: Vector, shift: usize) -> Numbers {
    let shifted = _mm512_srlv_epi64(exponents, _mm512_set1_epi64(shift as i64));
    let wanted = _mm512_and_si512(shifted, _mm512_set1_epi64(TABLE_ENTRIES as i64 - 1));
    let mut selected = table[0];
    for (number, entry) in (0..).zip(table) {
        let mask = _mm512_cmpeq_epi64_mask(wanted, _mm512_set1_epi64(number));
        for (selected, entry) in selected.iter_mut().zip(entry) {
            *selected = _mm512_mask_mov_epi64(*selected, mask, *entry);
        }
    }
    selected
}

/// Returns the sums of two numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn add(a: &Numbers, b: &Numbers) -> Numbers {
    let mut sum = *a;
    for (sum, b) in sum.iter_mut().zip(b) {
        *sum = _mm512_add_epi64(*sum, *b);
    }
    carried(sum)
}

/// Returns the differences of two numbers. They must not be negative.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn subtract(a: &Numbers, b: &Numbers) -> Numbers {
    let mut difference = *a;
    for (difference, b) in difference.iter_mut().zip(b) {
        *difference = _mm512_sub_epi64(*difference, *b);
    }
    carried(difference)
}

/// Returns a b + c.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn multiply_add(a: &Numbers, b: &Numbers, c: &Numbers) -> WideNumbers {
    let mut sum = [_mm512_setzero_si512(); 2 * DIGITS];
    sum[..DIGITS].copy_from_slice(c);
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            sum[i + j] = _mm512_madd52lo_epu64(sum[i + j], *a, *b);
            sum[i + j + 1] = _mm512_madd52hi_epu64(sum[i + j + 1], *a, *b);
        }
    }
    carried(sum)
}

/// Returns which numbers are equal, a bit for each.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn equal(a: &Numbers, b: &Numbers) -> __mmask8 {
    let mut equal = __mmask8::MAX;
    for (a, b) in a.iter().zip(b) {
        equal &= _mm512_cmpeq_epi64_mask(*a, *b);
    }
    equal
}

/// Returns the squares, with digits above 52 bits. A product of two different digits occurs twice.
#[target_feature(enable = "avx512f,avx512ifma")]
fn square(a: &Numbers) -> WideNumbers {
    let mut sums = [_mm512_setzero_si512(); 2 * DIGITS];
    let mut high = _mm512_setzero_si512();
    // With constant numbers, the compiler keeps the sums of a column in registers.
    macro_rules! columns {
        ($($column:literal)*) => { $((sums[$column], high) = column::<$column>(a, high);)* };
    }
    columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38);
    sums[2 * DIGITS - 1] = _mm512_add_epi64(high, high);
    for (digit, a) in a.iter().enumerate() {
        sums[2 * digit] = _mm512_madd52lo_epu64(sums[2 * digit], *a, *a);
        sums[2 * digit + 1] = _mm512_madd52hi_epu64(sums[2 * digit + 1], *a, *a);
    }
    sums
}

/// Returns a digit of the products of different digits, with the high halves of the column below it, and the high halves
/// of this column.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn column<const COLUMN: usize>(a: &Numbers, below: Vector) -> (Vector, Vector) {
    let (mut low, mut high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for digit in COLUMN.saturating_sub(DIGITS - 1)..COLUMN.div_ceil(2) {
        low = _mm512_madd52lo_epu64(low, a[digit], a[COLUMN - digit]);
        high = _mm512_madd52hi_epu64(high, a[digit], a[COLUMN - digit]);
    }
    let sum = _mm512_add_epi64(low, below);
    (_mm512_add_epi64(sum, sum), high)
}

/// Returns the numbers with digits of 52 bits. A digit can be negative before.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carried<const N: usize>(mut numbers: [Vector; N]) -> [Vector; N] {
    let mask = _mm512_set1_epi64(DIGIT_MASK.cast_signed());
    let mut carry = _mm512_setzero_si512();
    for digit in &mut numbers {
        let sum = _mm512_add_epi64(*digit, carry);
        carry = _mm512_srai_epi64::<52>(sum);
        *digit = _mm512_and_si512(sum, mask);
    }
    numbers
}
