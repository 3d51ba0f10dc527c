//! Templates: stored content of emails with [merge fields](crate::merge_fields).
//!
//! Data flow: a change writes a new version of the content. Publishing makes the newest version the one that sends use.
//! A send reads the published version, fills its fields with the variables of the request, and stores the result as the
//! content of the email. No email refers to a template.
//!
//! Reading order: `model.rs` (templates and their fields), `render.rs` (the content with variables), `store.rs` (rows),
//! `error.rs` and `service.rs` (the use cases), `api/` (the endpoints).
//!
//! Invariants:
//!
//! - A version of the content never changes. A template has its newest version and its published version, which can be
//!   the same.
//! - An alias names at most one template of its team. A row whose key is the alias reserves it.
//! - The transaction that replaces a version deletes its content.

pub mod api;

mod error;
mod model;
mod render;
mod service;
mod store;

pub use error::{CreateTemplateError, UpdateTemplateError, UseTemplateError};
pub use model::{
    NewTemplate, TEMPLATES_MAX, Template, TemplateAlias, TemplateChanges, TemplateContent, TemplateName, TemplateRef,
    TemplateStatus,
};
pub use render::{
    RenderTemplateError, RenderedTemplate, TemplateVariables, VARIABLE_CHARS_MAX, VARIABLE_NAME_CHARS_MAX,
    VARIABLES_MAX,
};
pub use service::Templates;
pub use store::{PublishedVersionRow, TemplateRow};

#[cfg(test)]
mod tests;
