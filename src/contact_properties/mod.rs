//! Contact properties: what a team keeps about its contacts beyond their names, and of which type.
//!
//! Life cycle: a property is defined with a key and a type, which never change, and a fallback for
//! contacts without a value, which does. Deleting it removes the definition alone: values stay with
//! their contacts, and read as strings. A contact may hold values whose key nobody defined.
//!
//! Reading order: `model.rs` (what a property is), `number.rs` (numbers as text), `definitions.rs`
//! (what a contact may hold under a key, and how it reads), `store.rs` (rows), `service.rs` (the use
//! cases), `api.rs` (endpoints). The values lie with the contacts.
//!
//! Invariants: keys differ in more than their letter case; a fallback is of its property's type; a
//! team has at most [`PROPERTIES_MAX`] properties, so that a write of a contact may read them all.

pub mod api;

mod definitions;
mod model;
mod number;
mod service;
mod store;

pub use definitions::{Definition, Definitions, PropertyError, PropertyValue, VALUE_KEY_CHARS_MAX, to_text};
pub use model::{
    ContactProperty, Fallback, FallbackError, GivenFallback, NewProperty, PROPERTIES_MAX, PropertyKey, PropertyKind,
};
pub(crate) use number::parse as parse_number;
pub use service::{ContactProperties, CreatePropertyError, UpdatePropertyError};
pub use store::{ContactPropertyRow, definitions};
