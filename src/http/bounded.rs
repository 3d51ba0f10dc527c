//! Bounded arrays in request bodies. No more items are decoded than the rule accepts, so that a body of
//! a few megabytes cannot become gigabytes of items.

use std::fmt;
use std::marker::PhantomData;

use salvo::oapi::{Array, Components, RefOr, Schema, ToSchema};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// At most `MAX` items of a JSON array. A longer array is rejected at its first excess item.
#[derive(Debug)]
pub struct AtMost<const MAX: usize, T>(pub Vec<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Deserialize<'de> for AtMost<MAX, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<MAX, T>(PhantomData)).map(Self)
    }
}

struct Items<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for Items<MAX, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
        read_at_most(seq, MAX)
    }
}

/// Reads the items of an array.
///
/// # Errors
/// The error of the deserializer, or one that names the limit if there are more than `items_max` items.
pub fn read_at_most<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
    mut seq: A,
    items_max: usize,
) -> Result<Vec<T>, A::Error> {
    let mut items = Vec::new();
    while let Some(item) = seq.next_element()? {
        if items.len() == items_max {
            return Err(A::Error::custom(format_args!("more than {items_max} items, and no more are accepted")));
        }
        items.push(item);
    }
    Ok(items)
}

impl<const MAX: usize, T: ToSchema + 'static> ToSchema for AtMost<MAX, T> {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        Array::new().items(T::to_schema(components)).max_items(MAX).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_beyond_its_bound_is_rejected() {
        let fits: AtMost<2, u8> = serde_json::from_str("[1, 2]").unwrap();
        let error = serde_json::from_str::<AtMost<2, u8>>("[1, 2, 3]").unwrap_err();

        assert_eq!(fits.0, [1, 2]);
        assert!(error.to_string().starts_with("more than 2 items"), "{error}");
    }
}
