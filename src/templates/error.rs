//! Errors of the use cases.

use crate::store::{StoreError, from_store_error};

/// Error of creating a template.
#[derive(Debug)]
pub enum CreateTemplateError {
    /// The template to copy does not exist.
    NotFound,
    /// Another template of the team has this alias.
    AliasTaken(String),
    /// The team has [`super::TEMPLATES_MAX`] templates.
    TooMany,
    /// The parts are too large together.
    TooLarge,
    /// The store failed.
    Store(StoreError),
}

/// Error of changing a template.
#[derive(Debug)]
pub enum UpdateTemplateError {
    /// The team has no such template.
    NotFound,
    /// The template has another revision than the one that the change is based on.
    StaleRevision,
    /// Another template of the team has this alias.
    AliasTaken(String),
    /// The parts are too large together.
    TooLarge,
    /// The store failed.
    Store(StoreError),
}

/// Error of reading the published version of a template.
#[derive(Debug)]
pub enum UseTemplateError {
    /// The team has no such template.
    NotFound,
    /// The template has no published version.
    NotPublished,
    /// The store failed.
    Store(StoreError),
}

from_store_error!(CreateTemplateError, UpdateTemplateError, UseTemplateError);
