//! Decoding of a field that an instance refuses unless a compatibility feature accepts it.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::EntryFault;
use crate::http::IgnoredJson;

/// Value of a field that is refused by default. A value of another type is not an error of decoding. Without the
/// feature, the refusal of the field is more useful than the refusal of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OptInText {
    Text(String),
    /// A value of another type, which is not kept.
    Other,
}

impl OptInText {
    /// Returns the text.
    ///
    /// # Errors
    /// [`EntryFault::NotText`] with the name of the field.
    pub(super) fn into_text(self, field: &'static str) -> Result<String, EntryFault> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Other => Err(EntryFault::NotText(field)),
        }
    }
}

impl<'de> Deserialize<'de> for OptInText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OptInTextVisitor)
    }
}

struct OptInTextVisitor;

impl<'de> Visitor<'de> for OptInTextVisitor {
    type Value = OptInText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<OptInText, E> {
        Ok(OptInText::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<OptInText, E> {
        Ok(OptInText::Text(text))
    }

    fn visit_bool<E>(self, _value: bool) -> Result<OptInText, E> {
        Ok(OptInText::Other)
    }

    fn visit_i64<E>(self, _value: i64) -> Result<OptInText, E> {
        Ok(OptInText::Other)
    }

    fn visit_u64<E>(self, _value: u64) -> Result<OptInText, E> {
        Ok(OptInText::Other)
    }

    fn visit_f64<E>(self, _value: f64) -> Result<OptInText, E> {
        Ok(OptInText::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OptInText, A::Error> {
        while seq.next_element::<IgnoredJson>()?.is_some() {}
        Ok(OptInText::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OptInText, A::Error> {
        while map.next_entry::<IgnoredJson, IgnoredJson>()?.is_some() {}
        Ok(OptInText::Other)
    }
}
