//! Contact properties: what a team keeps about its contacts beside their names.

use std::collections::BTreeMap;

use crate::id::TeamId;
use crate::store::{Reads, StoreError};

/// What the type of a property makes of a stored text.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// Text.
    String(String),
    /// A number.
    Number(f64),
}

/// The properties of a team.
#[derive(Clone, Debug, Default)]
pub struct Definitions(BTreeMap<String, ()>);

/// Reads the definitions.
///
/// # Errors
/// [`StoreError`].
pub fn definitions(_tx: &impl Reads, _team: TeamId) -> Result<Definitions, StoreError> {
    Ok(Definitions::default())
}

impl Definitions {
    /// Returns what a stored text reads as.
    pub fn read_value(&self, _key: &str, text: &str) -> PropertyValue {
        PropertyValue::String(text.to_owned())
    }

    /// Returns whether the text may be stored.
    pub fn allows(&self, key: &str, _text: &str) -> bool {
        !self.0.contains_key(key)
    }
}
