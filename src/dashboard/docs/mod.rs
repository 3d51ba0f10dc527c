//! The documentation of this version, which the server serves: `/docs` as pages, `/docs/NAME.md` as it is written, and
//! `/llms.txt`, a list for programs that read text.
//!
//! Files in reading order: `render.rs` (Markdown to a page; pure), `serving.rs` (the documents and their handlers).
//!
//! Invariants:
//! - A document is rendered once, at the first request.
//! - HTML in a document is shown as text.

mod render;
mod serving;

pub(crate) use serving::{serve_doc, serve_docs_file, serve_llms};
