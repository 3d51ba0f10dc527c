//! The architecture of the sources, checked by reading them.
//!
//! `reader.rs` finds the paths that a file names. `imports.rs`: which module may import which. `cycles.rs`:
//! modules that import each other. `tables.rs`: the owner of each table. `type_names.rs`: unique names of
//! public types. `maps.rs`: the map of files at the top of each `mod.rs`. `sizes.rs`: the size of files.
//!
//! Test code is exempt: it may import everything.

mod cycles;
mod imports;
mod maps;
mod reader;
mod sizes;
mod tables;
mod type_names;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the API's nouns: each keeps its rows, its rules and its handlers to itself.
const NOUNS: &[&str] = &[
    "api_keys",
    "audit",
    "broadcast_rows",
    "broadcasts",
    "captured",
    "contact_properties",
    "contacts",
    "deliverability",
    "domains",
    "email_metrics",
    "emails",
    "erasure",
    "events",
    "ingest",
    "insights",
    "logs",
    "preferences",
    "segments",
    "suppressions",
    "teams",
    "templates",
    "topics",
    "tracking",
    "usage",
    "users",
    "webhooks",
];

/// A source file of the library.
struct Source {
    /// Below `src/`, with forward slashes.
    path: String,
    /// Every path that its code names, with the line.
    names: Vec<(usize, String)>,
}

impl Source {
    fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is a noun's api, in one file or a folder.
    fn is_api(&self) -> bool {
        let mut parts = self.path.split('/');
        let noun = parts.next().unwrap_or_default();
        NOUNS.contains(&noun) && matches!(parts.next(), Some("api" | "api.rs"))
    }
}

/// Whether `path` is `root` or something in it.
fn starts_with(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file below `folder`, as paths below it, in order.
fn rust_files(folder: &Path) -> Vec<String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    files.into_iter().collect()
}

/// Whether a file holds nothing but test code.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "testing.rs" | "testing"))
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    rust_files(&src)
        .into_iter()
        .filter(|path| !is_test(path))
        .map(|path| {
            let names = reader::names(&path, &reader::code(&fs::read_to_string(src.join(&path)).unwrap()));
            Source { path, names }
        })
        .collect()
}
