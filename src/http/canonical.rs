//! Canonical hash of a JSON text. It ignores key order, white space, escapes and nulls, so that the
//! retry of an SDK, which encodes its body again, is the same request.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use sha2::{Digest as _, Sha256};

type Hash = [u8; 32];

/// Returns the hash of a JSON text; `None` if it is not JSON.
///
/// Hashes each value while it is parsed, so that a large attachment is not copied.
pub fn hash(json: &[u8]) -> Option<Hash> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let hash = Canonical.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(hash.unwrap_or_default())
}

/// Visitor that hashes one value; `None` for null.
struct Canonical;

fn tagged(tag: u8, bytes: &[u8]) -> Hash {
    Sha256::new().chain_update([tag]).chain_update(bytes).finalize().into()
}

impl<'de> DeserializeSeed<'de> for Canonical {
    type Value = Option<Hash>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Hash>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Canonical {
    type Value = Option<Hash>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(tagged(b'b', &[u8::from(value)])))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(tagged(b'n', value.to_string().as_bytes())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(tagged(b'n', value.to_string().as_bytes())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(tagged(b'n', value.to_string().as_bytes())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(tagged(b's', value.as_bytes())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut hasher = Sha256::new().chain_update(b"a");
        while let Some(item) = seq.next_element_seed(Self)? {
            hasher.update(item.unwrap_or_default());
        }
        Ok(Some(hasher.finalize().into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: Vec<(Hash, Hash)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(value) = map.next_value_seed(Self)? {
                fields.push((tagged(b'k', key.as_bytes()), value));
            }
        }
        fields.sort_unstable();
        let mut hasher = Sha256::new().chain_update(b"o");
        for (key, value) in fields {
            hasher.update(key);
            hasher.update(value);
        }
        Ok(Some(hasher.finalize().into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_space_escapes_and_nulls_are_ignored() {
        let one = hash(br#"{"a": "x", "b": [1, {"c": true}]}"#);

        assert_eq!(one, hash(br#"{"b":[1,{"c":true,"d":null}],"a":"\u0078"}"#));
        assert!(one.is_some());
    }

    #[test]
    fn values_positions_and_types_change_the_hash() {
        let texts: [&[u8]; 9] =
            [b"{}", b"[]", b"\"\"", b"[1,2]", b"[2,1]", b"[[1],2]", b"{\"a\":1}", b"{\"a\":\"1\"}", b"{\"b\":1}"];
        for (index, left) in texts.iter().enumerate() {
            for right in &texts[index + 1..] {
                assert_ne!(hash(left), hash(right));
            }
        }
    }

    #[test]
    fn a_text_that_is_not_json_has_no_hash() {
        assert_eq!(hash(b"{"), None);
        assert_eq!(hash(b"1 2"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic_the_hash(json in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = hash(&json);
        }
    }
}
