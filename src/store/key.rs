//! Keys: tuples of parts of fixed width. The order of the stored bytes is the order of the tuples.

use crate::base::id::Id;

/// Maximum width of a key, in bytes.
const KEY_BYTES_MAX: usize = 64;

/// One part of a key. The order of the bytes is the order of the values.
pub trait KeyPart: Sized {
    /// Width of the part, in bytes.
    const WIDTH: usize;
    /// Writes the part to `out`, which is `WIDTH` bytes long.
    fn write(&self, out: &mut [u8]);
    /// Reads the part from `bytes`, which are `WIDTH` bytes long.
    fn read(bytes: &[u8]) -> Self;
}

/// A complete key: a tuple of parts.
pub trait Key: Sized {
    /// Returns the key's bytes.
    fn to_bytes(&self) -> KeyBytes;
    /// Decodes a key; `None` if the length is not that of this key.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// A key whose first part is of the type `P`.
pub trait KeyOf<P>: Key {
    /// Returns the lowest and the highest key with a first part.
    fn bounds(first: P) -> (Self, Self);
}

impl<P: KeyPart + Copy> KeyOf<P> for (P,) {
    fn bounds(first: P) -> (Self, Self) {
        ((first,), (first,))
    }
}

impl<P: KeyPart + Copy, B: KeyPart> KeyOf<P> for (P, B) {
    fn bounds(first: P) -> (Self, Self) {
        ((first, part_of(u8::MIN)), (first, part_of(u8::MAX)))
    }
}

impl<P: KeyPart + Copy, B: KeyPart, C: KeyPart> KeyOf<P> for (P, B, C) {
    fn bounds(first: P) -> (Self, Self) {
        ((first, part_of(u8::MIN), part_of(u8::MIN)), (first, part_of(u8::MAX), part_of(u8::MAX)))
    }
}

impl<P: KeyPart + Copy, B: KeyPart, C: KeyPart, D: KeyPart> KeyOf<P> for (P, B, C, D) {
    fn bounds(first: P) -> (Self, Self) {
        let lowest = (first, part_of(u8::MIN), part_of(u8::MIN), part_of(u8::MIN));
        (lowest, (first, part_of(u8::MAX), part_of(u8::MAX), part_of(u8::MAX)))
    }
}

/// Returns the part with this value in each of its bytes.
fn part_of<P: KeyPart>(byte: u8) -> P {
    P::read(&[byte; KEY_BYTES_MAX][..P::WIDTH])
}

/// The bytes of a key, stored inline.
#[derive(Clone, Debug)]
pub struct KeyBytes {
    bytes: [u8; KEY_BYTES_MAX],
    len: usize,
}

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl KeyBytes {
    fn empty() -> Self {
        Self { bytes: [0; KEY_BYTES_MAX], len: 0 }
    }

    fn push<P: KeyPart>(&mut self, part: &P) {
        part.write(&mut self.bytes[self.len..self.len + P::WIDTH]);
        self.len += P::WIDTH;
    }
}

macro_rules! integer_parts {
    ($($integer:ty),+) => { $(
        impl KeyPart for $integer {
            const WIDTH: usize = size_of::<$integer>();
            fn write(&self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_be_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                let mut wide = [0; size_of::<$integer>()];
                wide.copy_from_slice(bytes);
                Self::from_be_bytes(wide)
            }
        }
    )+ };
}
integer_parts!(u8, u16, u32, u64);

impl<const N: usize> KeyPart for [u8; N] {
    const WIDTH: usize = N;
    fn write(&self, out: &mut [u8]) {
        out.copy_from_slice(self);
    }
    fn read(bytes: &[u8]) -> Self {
        let mut part = [0; N];
        part.copy_from_slice(bytes);
        part
    }
}

impl<R> KeyPart for Id<R> {
    const WIDTH: usize = 16;
    fn write(&self, out: &mut [u8]) {
        out.copy_from_slice(self.as_bytes());
    }
    fn read(bytes: &[u8]) -> Self {
        Self::from_bytes(KeyPart::read(bytes))
    }
}

macro_rules! tuple_keys {
    ($(($($part:ident . $index:tt),+)),+ $(,)?) => { $(
        impl<$($part: KeyPart),+> Key for ($($part,)+) {
            fn to_bytes(&self) -> KeyBytes {
                let mut bytes = KeyBytes::empty();
                $( bytes.push(&self.$index); )+
                bytes
            }
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                if bytes.len() != 0 $( + $part::WIDTH )+ {
                    return None;
                }
                let mut rest = bytes;
                Some(($({
                    let (part, tail) = rest.split_at($part::WIDTH);
                    rest = tail;
                    let _ = rest; // The last part leaves an empty rest.
                    $part::read(part)
                },)+))
            }
        }
    )+ };
}
tuple_keys!((A.0), (A.0, B.1), (A.0, B.1, C.2), (A.0, B.1, C.2, D.3), (A.0, B.1, C.2, D.3, E.4, F.5),);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stored_order_is_the_order_of_the_parts(
            left in (any::<u64>(), any::<u8>(), any::<[u8; 16]>(), any::<u16>()),
            right in (any::<u64>(), any::<u8>(), any::<[u8; 16]>(), any::<u16>()),
        ) {
            let bytes = (left.to_bytes(), right.to_bytes());

            prop_assert_eq!(bytes.0.as_ref().cmp(bytes.1.as_ref()), left.cmp(&right));
            prop_assert_eq!(Key::from_bytes(bytes.0.as_ref()), Some(left));
        }

        #[test]
        fn the_bounds_of_a_first_part_include_each_key_with_it_and_no_other(
            key in (any::<u64>(), any::<u32>(), any::<[u8; 16]>()),
            other in any::<u64>(),
        ) {
            let (low, high) = <(u64, u32, [u8; 16])>::bounds(key.0);
            prop_assert!(low <= key && key <= high);

            let moved = (other, key.1, key.2);
            prop_assert_eq!(low <= moved && moved <= high, other == key.0);
        }

        #[test]
        fn a_key_of_another_length_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let read = <(u64, u8, [u8; 16], u16)>::from_bytes(&bytes);

            prop_assert_eq!(read.is_some(), bytes.len() == 27);
        }
    }
}
