//! Rows read without being decoded: their fields by name, their texts borrowed.
//!
//! A scan that looks at a few fields of a million rows has no time to build a million rows. This
//! reads MessagePack as `value.rs` writes it and steps over what nobody asked for.

use super::StoreError;

/// The fields of a row, or of a map inside one, in the order they were written.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    left: usize,
}

/// A value that has not been decoded.
#[derive(Clone, Copy, Debug)]
pub struct RawValue<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Reads the fields of a row after its version byte.
    pub(super) fn of_map(bytes: &'a [u8]) -> Result<Self, StoreError> {
        match head(bytes) {
            Some((Head::Map(left), bytes)) => Ok(Self { bytes, left }),
            _ => Err(corrupt("a map is none")),
        }
    }

    fn read(&mut self) -> Option<(&'a [u8], RawValue<'a>)> {
        let (Head::Text(length), after) = head(self.bytes)? else { return None };
        let (name, value) = after.split_at_checked(length)?;
        self.bytes = after_value(value)?;
        let length = value.len() - self.bytes.len();
        Some((name, RawValue(&value[..length])))
    }
}

impl<'a> Iterator for Fields<'a> {
    /// The bytes of the field's name, and its value.
    type Item = Result<(&'a [u8], RawValue<'a>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let read = self.read().ok_or_else(|| corrupt("a field is cut off"));
        if read.is_err() {
            self.left = 0;
        }
        Some(read)
    }
}

impl<'a> RawValue<'a> {
    /// Returns whether the value is there without being anything.
    pub fn is_nil(self) -> bool {
        self.0 == [NIL]
    }

    /// Returns the text that the value is.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is none.
    pub fn text(self) -> Result<&'a str, StoreError> {
        match head(self.0) {
            Some((Head::Text(_), text)) => std::str::from_utf8(text).map_err(|_| corrupt("a text is no UTF-8")),
            _ => Err(corrupt("a text is none")),
        }
    }

    /// Returns the text that the value is, or `None` when it is nil.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is neither.
    pub fn optional_text(self) -> Result<Option<&'a str>, StoreError> {
        if self.is_nil() { Ok(None) } else { self.text().map(Some) }
    }

    /// Returns the fields of the map that the value is.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is none.
    pub fn fields(self) -> Result<Fields<'a>, StoreError> {
        Fields::of_map(self.0)
    }
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

const NIL: u8 = 0xc0;

/// What a value begins with.
enum Head {
    /// Of so many bytes.
    Text(usize),
    /// Something else of so many bytes.
    Scalar(usize),
    /// Of so many values.
    Array(usize),
    /// Of so many pairs of values.
    Map(usize),
}

/// Reads what a value begins with, and returns what follows. The format is the MessagePack
/// specification's, without its extension types, which no row holds.
fn head(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let low = |mask: u8| usize::from(marker & mask);
    let sized = |width: usize, kind: fn(usize) -> Head| {
        let (size, rest) = rest.split_at_checked(width)?;
        let size = size.iter().fold(0, |size: usize, byte| (size << 8) | usize::from(*byte));
        Some((kind(size), rest))
    };
    match marker {
        0x00..=0x7f | NIL | 0xc2 | 0xc3 | 0xe0..=0xff => Some((Head::Scalar(0), rest)),
        0x80..=0x8f => Some((Head::Map(low(0x0f)), rest)),
        0x90..=0x9f => Some((Head::Array(low(0x0f)), rest)),
        0xa0..=0xbf => Some((Head::Text(low(0x1f)), rest)),
        0xc4 => sized(1, Head::Scalar),
        0xc5 => sized(2, Head::Scalar),
        0xc6 => sized(4, Head::Scalar),
        0xcc | 0xd0 => Some((Head::Scalar(1), rest)),
        0xcd | 0xd1 => Some((Head::Scalar(2), rest)),
        0xca | 0xce | 0xd2 => Some((Head::Scalar(4), rest)),
        0xcb | 0xcf | 0xd3 => Some((Head::Scalar(8), rest)),
        0xd9 => sized(1, Head::Text),
        0xda => sized(2, Head::Text),
        0xdb => sized(4, Head::Text),
        0xdc => sized(2, Head::Array),
        0xdd => sized(4, Head::Array),
        0xde => sized(2, Head::Map),
        0xdf => sized(4, Head::Map),
        0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => None,
    }
}

/// Steps over a value with everything in it. Each round takes a byte at least, so the bytes bound it.
fn after_value(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut left = 1_usize;
    while left > 0 {
        let (head, rest) = head(bytes)?;
        left -= 1;
        match head {
            Head::Text(length) | Head::Scalar(length) => bytes = rest.get(length..)?,
            Head::Array(values) => {
                left = left.checked_add(values)?;
                bytes = rest;
            }
            Head::Map(pairs) => {
                left = left.checked_add(pairs.checked_mul(2)?)?;
                bytes = rest;
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::store::{Row, Value as _};

    /// One of everything a row can hold.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        flag: bool,
        small: i64,
        large: u64,
        real: f64,
        #[serde(with = "serde_bytes")]
        blob: Vec<u8>,
        list: Vec<Option<String>>,
        name: Option<String>,
        map: BTreeMap<String, String>,
        last: String,
    }
    impl Row for Sample {}

    fn sample() -> impl Strategy<Value = Sample> {
        let numbers = (any::<bool>(), any::<i64>(), any::<u64>(), any::<f64>());
        let map = proptest::collection::btree_map(".{0,40}", ".{0,300}", 0..20);
        let list = proptest::collection::vec(proptest::option::of(".{0,3}"), 0..20);
        let blob = proptest::collection::vec(any::<u8>(), 0..400);
        (numbers, blob, list, proptest::option::of(".{0,40}"), map, ".{0,40}").prop_map(
            |((flag, small, large, real), blob, list, name, map, last)| Sample {
                flag,
                small,
                large,
                real,
                blob,
                list,
                name,
                map,
                last,
            },
        )
    }

    fn fields(bytes: &[u8]) -> Result<Vec<(String, RawValue<'_>)>, StoreError> {
        Fields::of_map(&bytes[1..])?
            .map(|field| field.map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value)))
            .collect()
    }

    proptest! {
        #[test]
        fn what_a_row_holds_is_found_by_name(row in sample()) {
            let bytes = row.to_bytes();
            let fields = fields(&bytes).unwrap();
            let field = |name: &str| fields.iter().find(|(found, _)| found == name).unwrap().1;

            prop_assert_eq!(fields.len(), 9);
            prop_assert_eq!(field("name").optional_text().unwrap(), row.name.as_deref());
            prop_assert_eq!(field("last").text().unwrap(), &row.last);
            let map: BTreeMap<String, String> = field("map").fields().unwrap().map(|entry| {
                let (key, value) = entry.unwrap();
                (String::from_utf8(key.to_vec()).unwrap(), value.text().unwrap().to_owned())
            }).collect();
            prop_assert_eq!(map, row.map);
            prop_assert!(field("flag").text().is_err() && field("list").fields().is_err());
        }

        #[test]
        fn a_row_that_is_cut_off_is_corrupt(row in sample(), cut in any::<proptest::sample::Index>()) {
            let bytes = row.to_bytes();

            prop_assert!(fields(&bytes[..1 + cut.index(bytes.len() - 1)]).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 1..100)) {
            for (_, value) in fields(&bytes).unwrap_or_default() {
                let _ = (value.optional_text(), value.fields().map(Iterator::count));
            }
        }
    }
}
