//! Fields that official SDKs echo into bodies where they mean nothing: left out, route by route,
//! while every other unknown field is refused. And an object is an object: the positional arrays
//! that derived types also read are no form of this API.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Method, matched path, and the fields that are left out.
const TOLERATED: &[(&str, &str, &[&str])] = &[
    ("POST", "emails", &["created_at"]),
    ("POST", "emails/batch", &["created_at"]),
    ("PATCH", "emails/{id}", &["id", "email_id"]),
    ("PATCH", "domains/{id}", &["id"]),
    ("PATCH", "api-keys/{id}", &["id"]),
];

/// Returns the fields that are left out of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    TOLERATED
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

/// A deserializer that leaves out fields of the top-level object, or of the objects of a
/// top-level array.
pub(crate) struct Tolerant<'t, D> {
    inner: D,
    fields: &'t [&'t str],
}

impl<'t, D> Tolerant<'t, D> {
    pub(crate) fn new(inner: D, fields: &'t [&'t str]) -> Self {
        Self { inner, fields }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tolerant<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Filter { visitor, fields: self.fields, shape: Shape::Any })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(name, names, Filter { visitor, fields: self.fields, shape: Shape::Object })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Any,
    Object,
}

struct Filter<'t, V> {
    visitor: V,
    fields: &'t [&'t str],
    shape: Shape,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Filter<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Any => self.visitor.expecting(f),
            Shape::Object => f.write_str("an object"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        if self.fields.is_empty() {
            return self.visitor.visit_map(map);
        }
        self.visitor.visit_map(FilteredMap { map, fields: self.fields })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        if self.shape == Shape::Object {
            return Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self));
        }
        self.visitor.visit_seq(FilteredSeq { seq, fields: self.fields })
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<V::Value, E> {
        self.visitor.visit_str(value)
    }
}

struct FilteredMap<'t, A> {
    map: A,
    fields: &'t [&'t str],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FilteredMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if self.fields.contains(&key.as_str()) {
                self.map.next_value::<IgnoredAny>()?;
                continue;
            }
            return seed.deserialize(key.into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

struct FilteredSeq<'t, A> {
    seq: A,
    fields: &'t [&'t str],
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for FilteredSeq<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.seq.next_element_seed(TolerantSeed { seed, fields: self.fields })
    }
}

struct TolerantSeed<'t, S> {
    seed: S,
    fields: &'t [&'t str],
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for TolerantSeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Tolerant::new(deserializer, self.fields))
    }
}
