//! The size of source files.

use std::fmt::Write as _;
use std::fs;

use super::{root, rust_files};

/// Lines of a file: longer ones usually hold two subjects.
const LINES_MAX: usize = 400;

/// Longer files, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[
    ("src/store/tests/fixture.rs", "a list of every row of schema 1, with its writer and its reader"),
    ("src/preferences/strings.rs", "a list of every sentence of the preference page in every language"),
];

#[test]
fn no_file_holds_two_subjects() {
    let mut report = String::new();
    for folder in ["src", "tests/it"] {
        for path in rust_files(&root().join(folder)) {
            let path = format!("{folder}/{path}");
            let lines = fs::read_to_string(root().join(&path)).unwrap().lines().count();
            let is_exception = LONG_FILES.iter().any(|(long, _)| *long == path);
            if lines > LINES_MAX && !is_exception {
                let _ = writeln!(
                    report,
                    "  {path} has {lines} lines: split it by subject, or add an exception with a reason"
                );
            }
            if lines <= LINES_MAX && is_exception {
                let _ = writeln!(report, "  {path} has only {lines} lines and needs no exception");
            }
        }
    }
    for (path, reason) in LONG_FILES {
        if !root().join(path).is_file() || reason.is_empty() {
            let _ = writeln!(report, "  {path} is an exception without a reason, or does not exist");
        }
    }
    assert!(report.is_empty(), "files of more than {LINES_MAX} lines\n{report}");
}
