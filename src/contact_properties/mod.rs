//! Contact properties: custom fields of contacts, each with a key, a type and a fallback.
//!
//! Data flow: a write of a contact reads the definitions of the team, and stores each value as text in the
//! row of the contact. A read converts the text to the type of the definition. The key and the type of a
//! property never change; the fallback does. Deleting a property deletes only the definition: contacts
//! keep their values, which then read as the type of their last JSON value. A contact can have values without
//! a definition.
//!
//! Reading order:
//! - `model.rs`: properties and their fields;
//! - `number.rs`: numbers as text;
//! - `definitions.rs`: accepted values and their types;
//! - `store.rs`: rows;
//! - `service.rs`: the use cases;
//! - `api.rs`: the endpoints.
//!
//! Invariants:
//!
//! - The keys of a team differ in more than their letter case.
//! - A fallback has the type of its property.
//! - A team has at most [`PROPERTIES_MAX`] properties, so that a write of a contact can read all of them.

pub mod api;

mod definitions;
mod model;
mod number;
mod service;
mod store;

pub use definitions::{
    PropertyDefinition, PropertyDefinitions, PropertyError, PropertyValue, VALUE_CHARS_MAX, VALUE_KEY_CHARS_MAX,
    to_text,
};
pub use model::{
    ContactProperty, FallbackError, GivenFallback, NewProperty, PROPERTIES_MAX, PropertyFallback, PropertyKey,
    PropertyKind,
};
pub(crate) use number::parse as parse_number;
pub use service::{ContactProperties, CreatePropertyError, UpdatePropertyError};
pub use store::{ContactPropertyRow, definitions};
