//! The documentation of this version, which the server serves:
//! - `/docs` as pages;
//! - `/docs/NAME.md` as it is written;
//! - `/llms.txt`, a list for programs that read text.
//!
//! `serving.rs` has the handlers. The build script renders the documents and compresses them; its tests run here.
//!
//! Invariants:
//! - The program renders no document.
//! - HTML in a document is shown as text.

mod serving;
#[cfg(test)]
#[path = "../../../build/docs.rs"]
mod testing;

pub(crate) use serving::{serve_doc, serve_docs_file, serve_llms};
