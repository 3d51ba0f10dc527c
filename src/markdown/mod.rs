//! Markdown of emails: conversion to an HTML part with one responsive layout, and to a text part. Pure.
//!
//! CommonMark with tables and strikethrough, and three additions: merge fields anywhere, buttons, and columns. A
//! paragraph `[[button: Label](https://example.com)]` is a button. The paragraphs `[[columns]]`, `[[column]]` and
//! `[[end]]` are around two columns. An unsubscribe placeholder in the text becomes a link, and makes its paragraph a
//! footer.
//!
//! Data flow: `tokens.rs` replaces placeholders by characters that Markdown keeps. `parser.rs` reads the events and
//! finds buttons and columns. `html.rs` and `text.rs` write the parts and put the placeholders back. `layout.rs` has the page
//! around the HTML. `outline.rs` lists the links and images of a source, for checks.
//!
//! Invariants:
//! - HTML in the source is written as text.
//! - Marks that make no two columns are text, so that each element is closed.
//! - A link has the scheme http, https or mailto, or is a placeholder. An image has the scheme http or https.
//! - Each placeholder of the source is in both parts, unless it is in a link or an image that is left out.
//! - The source and the parts have a maximum size.

mod html;
mod layout;
mod outline;
mod parser;
#[cfg(test)]
mod tests;
mod text;
mod tokens;

pub use outline::{MarkdownTarget, outline};

use parser::Document;

/// Maximum size of a source, in bytes.
pub const MARKDOWN_BYTES_MAX: usize = 256 << 10;
/// Maximum size of a part, in bytes. Nested blocks write more HTML than the source has.
const PART_BYTES_MAX: usize = 2 << 20;

/// The parts of an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedMarkdown {
    pub html: String,
    pub text: String,
}

/// The source, or a part, is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkdownTooLarge;

/// Converts a source. An empty source has empty parts. The time is proportional to the size of the source.
///
/// # Errors
/// [`MarkdownTooLarge`] if the source is larger than [`MARKDOWN_BYTES_MAX`] or has too many elements, or a part is larger
/// than 2 MiB.
pub fn render(source: &str) -> Result<RenderedMarkdown, MarkdownTooLarge> {
    if source.len() > MARKDOWN_BYTES_MAX {
        return Err(MarkdownTooLarge);
    }
    if source.trim().is_empty() {
        return Ok(RenderedMarkdown { html: String::new(), text: String::new() });
    }
    let (tokens, source) = tokens::replace(source);
    let document = Document::parse(&source, &tokens).ok_or(MarkdownTooLarge)?;
    let body = html::body(&document, &tokens).ok_or(MarkdownTooLarge)?;
    let text = text::part(&document, &tokens).ok_or(MarkdownTooLarge)?;
    Ok(RenderedMarkdown { html: layout::page(&document.title(&tokens), &body), text })
}
