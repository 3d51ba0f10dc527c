//! Files of the pages: the shell, modules, style sheets, fonts and images.
//!
//! A release has them in the binary. The path of each contains one hash over all files, so that a browser keeps them
//! forever, and a new version has new paths. `--ui-dir` reads them from a directory instead, under the hash `dev` and
//! without caching.
//!
//! `files.rs` (the files and their forms), `serving.rs` (handlers). The folder `build/` joins and compresses the files.
//!
//! Invariants:
//! - A path outside of the files of the dashboard is never read.
//! - The program compresses none of the files.

mod files;
#[cfg(test)]
#[path = "../../../build/join/mod.rs"]
mod join;
mod serving;

pub use files::DashboardAssets;
pub(crate) use serving::{serve_asset, serve_page};
