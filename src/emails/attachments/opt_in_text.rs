//! Decoding of a field that an instance refuses unless a compatibility feature accepts it.

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
        IgnoredJson::unless_text(deserializer, |text| Self::Text(text.to_owned()), |_| Self::Other)
    }
}
