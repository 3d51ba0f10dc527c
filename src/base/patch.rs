//! The update of a field that can be cleared. Absent, null and a value are three different requests.

use serde::{Deserialize, Deserializer};

/// The change to one optional field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Absent: leaves the field unchanged.
    #[default]
    Keep,
    /// `null`: clears the field.
    Clear,
    /// A value: sets the field.
    Set(T),
}

impl<T: Clone> Patch<T> {
    /// Applies the change to a stored value.
    pub fn apply(&self, value: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *value = None,
            Self::Set(new) => *value = Some(new.clone()),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    /// Reads a field that is present. For an absent field, serde uses the default (`#[serde(default)]`).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}
