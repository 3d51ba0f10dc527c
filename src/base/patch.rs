//! What an update says of a field that can be cleared: absent, null and a value are three things.

use serde::{Deserialize, Deserializer};

/// What becomes of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is emptied.
    Clear,
    /// It is set.
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
    /// Reads a field that is there; one that is absent stays at its default.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}
