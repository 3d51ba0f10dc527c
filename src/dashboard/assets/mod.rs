//! Files of the pages: the shell, modules, style sheets, fonts and images.
//!
//! A release has them in the binary. The path of each contains one hash over all files, so that a browser keeps them
//! forever, and a new version has new paths. `--ui-dir` reads them from a directory instead, under the hash `dev` and
//! without caching.
//!
//! Files in reading order: `comments.rs` (files without their comments; pure), `modules.rs` (imports of modules and style
//! sheets; pure), `bundle.rs` (the modules as one; pure), `files.rs` (the files and their forms), `serving.rs` (handlers).
//!
//! Invariants:
//! - A path outside of the files of the dashboard is never read.
//! - A file is compressed once.

mod bundle;
mod comments;
mod files;
mod modules;
mod serving;

pub use files::DashboardAssets;
pub(crate) use serving::{serve_asset, serve_page};
