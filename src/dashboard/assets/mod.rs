//! Files of the pages: the shell, modules, style sheets, fonts and images.
//!
//! A release has them in the binary. The path of each contains one hash over all files, so that a browser keeps them
//! forever, and a new version has new paths. `--ui-dir` reads them from a directory instead, under the hash `dev` and
//! without caching.
//!
//! Files in reading order: `files.rs` (the files and their forms), `serving.rs` (handlers). The build script joins and
//! compresses the files; its tests run here.
//!
//! Invariants:
//! - A path outside of the files of the dashboard is never read.
//! - The program compresses none of the files.

mod files;
mod serving;
#[cfg(test)]
#[path = "../../../build/join/mod.rs"]
mod testing;

pub use files::DashboardAssets;
pub(crate) use serving::{serve_asset, serve_page};
