//! The size of source files.

use std::fmt::Write as _;
use std::fs;

use super::{root, rust_files};

/// Lines of a file: longer ones usually hold two subjects.
const LINES_MAX: usize = 400;

#[test]
fn no_file_holds_two_subjects() {
    let mut report = String::new();
    for folder in ["src", "tests/it"] {
        for path in rust_files(&root().join(folder)) {
            let path = format!("{folder}/{path}");
            let lines = fs::read_to_string(root().join(&path)).unwrap().lines().count();
            if lines > LINES_MAX {
                let _ = writeln!(report, "  {path} has {lines} lines: split it by subject");
            }
        }
    }
    assert!(report.is_empty(), "files of more than {LINES_MAX} lines\n{report}");
}
