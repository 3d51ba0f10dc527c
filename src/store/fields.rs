//! Fields of rows without decoding the rows: by name, with borrowed texts.
//!
//! A scan over a million rows that needs a few fields of each is too slow if it decodes every row.
//! This module reads the MessagePack that `value.rs` writes and skips the other fields.

use super::StoreError;

/// Iterator over the fields of a row, or of a map in a row, in stored order.
#[derive(Clone, Copy, Debug)]
pub struct RowFields<'a> {
    bytes: &'a [u8],
    left: usize,
}

/// A value that has not been decoded.
#[derive(Clone, Copy, Debug)]
pub struct RawValue<'a>(&'a [u8]);

impl<'a> RowFields<'a> {
    /// Reads the fields of a row. `bytes` starts after the version byte.
    pub(super) fn of_map(bytes: &'a [u8]) -> Result<Self, StoreError> {
        match head(bytes) {
            Some((Head::Map(left), bytes)) => Ok(Self { bytes, left }),
            _ => Err(corrupt("expected a map")),
        }
    }

    /// Reads the name of the next field; `None` after the last one. A call of [`next_value`](Self::next_value) or
    /// [`inner`](Self::inner) must follow.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is truncated.
    #[inline]
    pub fn next_name(&mut self) -> Result<Option<&'a [u8]>, StoreError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let (name, value) = split_text(self.bytes).ok_or_else(|| corrupt("a field is truncated"))?;
        (self.left, self.bytes) = (left, value);
        Ok(Some(name))
    }

    /// Reads the value of the field whose name was read.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is truncated.
    #[inline]
    pub fn next_value(&mut self) -> Result<RawValue<'a>, StoreError> {
        let (value, rest) = split_value(self.bytes)?;
        self.bytes = rest;
        Ok(value)
    }

    /// Returns the value of a field. Skips those before it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is truncated or has no such field.
    #[inline]
    pub fn field(mut self, name: &[u8]) -> Result<RawValue<'a>, StoreError> {
        while let Some(found) = self.next_name()? {
            let value = self.next_value()?;
            if found == name {
                return Ok(value);
            }
        }
        Err(corrupt("a field is missing"))
    }

    /// Returns the fields of the map whose name was read, without finding its end. Nothing after it can be read.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the value is not a map.
    #[inline]
    pub fn inner(self) -> Result<Self, StoreError> {
        Self::of_map(self.bytes)
    }
}

impl<'a> Iterator for RowFields<'a> {
    /// Name of the field, as bytes, and its value.
    type Item = Result<(&'a [u8], RawValue<'a>), StoreError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let name = self.next_name().transpose()?;
        let field = name.and_then(|name| Ok((name, self.next_value()?)));
        if field.is_err() {
            self.left = 0;
        }
        Some(field)
    }
}

impl<'a> RawValue<'a> {
    /// Returns whether the value is nil.
    pub fn is_nil(self) -> bool {
        self.0 == [NIL]
    }

    /// Returns the fields of a map.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the value is not a map.
    #[inline]
    pub fn fields(self) -> Result<RowFields<'a>, StoreError> {
        RowFields::of_map(self.0)
    }

    /// Returns the values of an array.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the value is not an array.
    #[inline]
    pub fn items(self) -> Result<impl Iterator<Item = Result<RawValue<'a>, StoreError>>, StoreError> {
        let Some((Head::Array(count), mut bytes)) = head(self.0) else { return Err(corrupt("expected an array")) };
        Ok((0..count).map(move |_| {
            let (value, rest) = split_value(bytes)?;
            bytes = rest;
            Ok(value)
        }))
    }

    /// Returns the value as text.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the value is not a text.
    #[inline]
    pub fn text(self) -> Result<&'a str, StoreError> {
        let (text, _) = split_text(self.0).ok_or_else(|| corrupt("expected a text"))?;
        std::str::from_utf8(text).map_err(|_| corrupt("a text is not UTF-8"))
    }
}

#[cold]
fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

const NIL: u8 = 0xc0;

/// Header of a value whose first byte does not give its size.
enum Head {
    /// Text, with its length in bytes.
    Text(usize),
    /// Binary, with its length in bytes.
    Blob(usize),
    /// Array, with its number of values.
    Array(usize),
    /// Map, with its number of pairs.
    Map(usize),
}

/// Size in bytes of a value, by its first byte: numbers, nil, booleans and texts of up to 31 bytes.
/// Zero if the first byte does not give the size.
const SHORT: [u8; 256] = {
    let mut short = [0; 256];
    let mut marker = 0;
    while marker < 256 {
        short[marker] = match marker {
            0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => 1,
            0xa0..=0xbf => 1 + (marker as u8 & 0x1f),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 => 3,
            0xca | 0xce | 0xd2 => 5,
            0xcb | 0xcf | 0xd3 => 9,
            _ => 0,
        };
        marker += 1;
    }
    short
};

/// Reads the header of a value and returns the bytes after it; `None` if it has none. Rows contain no
/// extension types of MessagePack, so that they are not read.
fn head(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let low = usize::from(marker & 0x0f);
    let sized = |width: usize| {
        let (size, rest) = rest.split_at_checked(width)?;
        Some((size.iter().fold(0, |size: usize, byte| (size << 8) | usize::from(*byte)), rest))
    };
    let (head, rest) = match marker {
        0x80..=0x8f => (Head::Map(low), rest),
        0x90..=0x9f => (Head::Array(low), rest),
        0xc4..=0xc6 => sized(1 << (marker - 0xc4)).map(|(size, rest)| (Head::Blob(size), rest))?,
        0xd9..=0xdb => sized(1 << (marker - 0xd9)).map(|(size, rest)| (Head::Text(size), rest))?,
        0xdc | 0xdd => sized(2 << (marker - 0xdc)).map(|(size, rest)| (Head::Array(size), rest))?,
        0xde | 0xdf => sized(2 << (marker - 0xde)).map(|(size, rest)| (Head::Map(size), rest))?,
        _ => return None,
    };
    Some((head, rest))
}

/// Splits a text, without its header, from the bytes after it; `None` if the value is not a text.
#[inline]
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    if matches!(marker, 0xa0..=0xbf) {
        return rest.split_at_checked(usize::from(marker & 0x1f));
    }
    match head(bytes)? {
        (Head::Text(length), rest) => rest.split_at_checked(length),
        _ => None,
    }
}

/// Splits a value, which can be nested, from the bytes after it.
#[inline]
fn split_value(bytes: &[u8]) -> Result<(RawValue<'_>, &[u8]), StoreError> {
    let rest = after_value(bytes).ok_or_else(|| corrupt("a field is truncated"))?;
    Ok((RawValue(&bytes[..bytes.len() - rest.len()]), rest))
}

/// Returns the bytes after a value, which can be nested. Each iteration consumes at least one byte, so
/// that the length of `bytes` bounds their number.
#[inline]
fn after_value(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut left = 1_usize;
    while left > 0 {
        left -= 1;
        let short = usize::from(SHORT[usize::from(*bytes.first()?)]);
        if short > 0 {
            bytes = bytes.get(short..)?;
            continue;
        }
        let (head, rest) = head(bytes)?;
        bytes = match head {
            Head::Text(length) | Head::Blob(length) => rest.get(length..)?,
            Head::Array(values) => {
                left = left.checked_add(values)?;
                rest
            }
            Head::Map(pairs) => {
                left = left.checked_add(pairs.checked_mul(2)?)?;
                rest
            }
        };
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

    /// A row with a field of each type.
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
        RowFields::of_map(&bytes[1..])?
            .map(|field| field.map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value)))
            .collect()
    }

    proptest! {
        #[test]
        fn each_field_of_a_row_is_found_by_name(row in sample()) {
            let bytes = row.to_bytes();
            let fields = fields(&bytes).unwrap();
            let field = |name: &str| fields.iter().find(|(found, _)| found == name).unwrap().1;

            prop_assert_eq!(fields.len(), 9);
            prop_assert_eq!(field("name").text().ok(), row.name.as_deref());
            prop_assert_eq!(field("name").is_nil(), row.name.is_none());
            prop_assert_eq!(field("last").text().unwrap(), &row.last);
            let map: BTreeMap<String, String> = field("map").fields().unwrap().map(|entry| {
                let (key, value) = entry.unwrap();
                (String::from_utf8(key.to_vec()).unwrap(), value.text().unwrap().to_owned())
            }).collect();
            prop_assert_eq!(map, row.map);
            let list: Vec<Option<&str>> = field("list").items().unwrap().map(|item| item.unwrap().text().ok()).collect();
            prop_assert_eq!(list, row.list.iter().map(Option::as_deref).collect::<Vec<_>>());
            let by_name = RowFields::of_map(&bytes[1..]).unwrap();
            prop_assert_eq!(by_name.field(b"last").unwrap().text().unwrap(), &row.last);
            prop_assert!(by_name.field(b"absent").is_err() && field("flag").text().is_err());
            prop_assert!(field("list").fields().is_err() && field("map").items().is_err());
        }

        #[test]
        fn a_truncated_row_is_corrupt(row in sample(), cut in any::<proptest::sample::Index>()) {
            let bytes = row.to_bytes();

            prop_assert!(fields(&bytes[..1 + cut.index(bytes.len() - 1)]).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 1..100)) {
            for (_, value) in fields(&bytes).unwrap_or_default() {
                let _ = (value.text(), value.fields().map(Iterator::count), value.items().map(Iterator::count));
            }
        }
    }
}
