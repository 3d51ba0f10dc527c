//! A deserializer with the rules of the API. A struct is read only from an object, not from the array
//! that derived types also accept. A map is read from an object or from an empty array, because PHP encodes
//! an empty map as `[]`. In the outermost objects, it skips the fields that SDKs add. All other
//! unknown fields are rejected.

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer as _, MapAccess, SeqAccess,
    Unexpected, Visitor,
};

/// Deserializer that delegates to `inner`, except for the rules of this module.
pub(super) struct StrictDeserializer<'t, D> {
    inner: D,
    /// Fields that are skipped in the outermost object, or in the objects of an outermost array.
    skipped: &'t [&'t str],
}

impl<'t, D> StrictDeserializer<'t, D> {
    pub(super) fn new(inner: D, skipped: &'t [&'t str]) -> Self {
        Self { inner, skipped }
    }
}

macro_rules! hand_on_whole {
    ($($method:ident();)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(Whole { visitor })
        }
    )+ };
}

macro_rules! hand_on {
    ($($method:ident($($name:ident: $type:ty),*);)+) => { $(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Nested { visitor, skipped: self.skipped })
        }
    )+ };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StrictDeserializer<'_, D> {
    type Error = D::Error;

    hand_on_whole! {
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
    }

    hand_on! {
        deserialize_any();
        deserialize_bool();
        deserialize_i128();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(name, fields, Object { visitor, skipped: self.skipped })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        // The JSON decoder reads an array only for a visitor of any value.
        self.inner.deserialize_any(MapOrEmptyArray { visitor, skipped: self.skipped })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! take {
    ($($method:ident($type:ty);)+) => { $(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        }
    )+ };
}

/// Visitor of an integer. JSON does not distinguish 5 from 5.0, and a JSON Schema accepts both as an integer.
struct Whole<V> {
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Whole<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    take! {
        visit_bool(bool);
        visit_i64(i64);
        visit_u64(u64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        /// Largest number below which every integer is an exact `f64`.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        if value.fract() != 0.0 || value.abs() > EXACT_MAX {
            return self.visitor.visit_f64(value);
        }
        // Exact, because the number is whole and small.
        let whole = value as i64;
        match u64::try_from(whole) {
            Ok(whole) => self.visitor.visit_u64(whole),
            Err(_) => self.visitor.visit_i64(whole),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(map)
    }
}

/// Visitor that accepts an object, and an empty array as an object without fields.
struct MapOrEmptyArray<'t, V> {
    visitor: V,
    skipped: &'t [&'t str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for MapOrEmptyArray<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields { map, skipped: self.skipped })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<V::Value, A::Error> {
        if seq.next_element::<IgnoredJson>()?.is_some() {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        self.visitor.visit_map(MapDeserializer::new(std::iter::empty::<(&str, &str)>()))
    }
}

/// Visitor that accepts only an object. The default methods reject other values.
struct Object<'t, V> {
    visitor: V,
    skipped: &'t [&'t str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Object<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields { map, skipped: self.skipped })
    }
}

/// Visitor that accepts the same values as `visitor` and reads nested values with the same rules.
struct Nested<'t, V> {
    visitor: V,
    skipped: &'t [&'t str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Nested<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    take! {
        visit_bool(bool);
        visit_i64(i64);
        visit_i128(i128);
        visit_u64(u64);
        visit_u128(u128);
        visit_f64(f64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(StrictDeserializer { inner, skipped: self.skipped })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(StrictDeserializer { inner, skipped: self.skipped })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Items { seq, skipped: self.skipped })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields { map, skipped: self.skipped })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(data)
    }
}

struct Fields<'t, A> {
    map: A,
    skipped: &'t [&'t str],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        if self.skipped.is_empty() {
            return self.map.next_key_seed(seed);
        }
        while let Some(key) = self.map.next_key::<String>()? {
            if !self.skipped.contains(&key.as_str()) {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            self.map.next_value::<IgnoredJson>()?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(Inside { seed, skipped: &[] })
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

struct Items<'t, A> {
    seq: A,
    skipped: &'t [&'t str],
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.seq.next_element_seed(Inside { seed, skipped: self.skipped })
    }

    fn size_hint(&self) -> Option<usize> {
        self.seq.size_hint()
    }
}

struct Inside<'t, S> {
    seed: S,
    skipped: &'t [&'t str],
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Inside<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(StrictDeserializer { inner, skipped: self.skipped })
    }
}

/// Any JSON value, parsed and discarded: a skipped field, or one that is rejected in any case.
///
/// The value must follow the same rules as other values (depth, escapes, numbers), unlike serde's
/// `IgnoredAny`. It needs no memory, unlike a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredJson {
    /// Whether the value is null, or an empty text, array or object.
    pub is_empty: bool,
}

impl IgnoredJson {
    /// Parses any value, of which only a text is kept. `text` converts a text, and `other` another value.
    ///
    /// # Errors
    /// The value breaks a rule of JSON or of the request.
    pub fn unless_text<'de, D: Deserializer<'de>, T>(
        deserializer: D,
        text: fn(&str) -> T,
        other: fn(Self) -> T,
    ) -> Result<T, D::Error> {
        deserializer.deserialize_any(AnyJsonVisitor { text, other })
    }
}

impl<'de> Deserialize<'de> for IgnoredJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::unless_text(deserializer, |text| Self { is_empty: text.is_empty() }, |other| other)
    }
}

struct AnyJsonVisitor<T> {
    text: fn(&str) -> T,
    other: fn(IgnoredJson) -> T,
}

impl<'de, T> Visitor<'de> for AnyJsonVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok((self.other)(IgnoredJson { is_empty: true }))
    }

    fn visit_bool<E>(self, _value: bool) -> Result<T, E> {
        Ok((self.other)(IgnoredJson { is_empty: false }))
    }

    fn visit_i64<E>(self, _value: i64) -> Result<T, E> {
        Ok((self.other)(IgnoredJson { is_empty: false }))
    }

    fn visit_u64<E>(self, _value: u64) -> Result<T, E> {
        Ok((self.other)(IgnoredJson { is_empty: false }))
    }

    fn visit_f64<E>(self, _value: f64) -> Result<T, E> {
        Ok((self.other)(IgnoredJson { is_empty: false }))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.text)(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut is_empty = true;
        while seq.next_element::<IgnoredJson>()?.is_some() {
            is_empty = false;
        }
        Ok((self.other)(IgnoredJson { is_empty }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut is_empty = true;
        while map.next_entry::<IgnoredJson, IgnoredJson>()?.is_some() {
            is_empty = false;
        }
        Ok((self.other)(IgnoredJson { is_empty }))
    }
}
