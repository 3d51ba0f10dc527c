//! The map of files at the top of each `mod.rs`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use super::{is_test, reader, root, rust_files};

/// Returns the module documentation of a file.
fn module_docs(text: &str) -> String {
    text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n")
}

/// Returns the files, folders and modules that documentation names: `send.rs`, `api/`, [`send`].
fn named(docs: &str) -> BTreeSet<String> {
    let spans = docs.split('`').skip(1).step_by(2);
    let is_file = |span: &&str| {
        let name = span.strip_suffix(".rs").or_else(|| span.strip_suffix('/'));
        name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|at| at.is_ascii_lowercase() || at == '_' || at.is_ascii_digit())
        })
    };
    spans.filter(is_file).map(str::to_owned).collect()
}

/// Returns the child modules that a file declares, without those that hold tests alone.
fn children(code: &str) -> impl Iterator<Item = &str> {
    let modules = code.lines().filter_map(|line| {
        let line = line.strip_suffix(';')?;
        line.strip_prefix("mod ").or_else(|| line.split_once(" mod ").map(|(_, name)| name))
    });
    modules.filter(|name| !matches!(*name, "tests" | "testing"))
}

#[test]
fn each_map_names_exactly_the_files_of_its_folder() {
    let src = root().join("src");
    let mut report = String::new();
    for path in rust_files(&src).into_iter().filter(|path| path.ends_with("mod.rs") && !is_test(path)) {
        let text = fs::read_to_string(src.join(&path)).unwrap();
        let folder = path.trim_end_matches("mod.rs");
        let docs = module_docs(&text);
        let named = named(&docs);
        for name in &named {
            let exists = src.join(folder).join(name).exists() || src.join(name).exists();
            if !exists {
                let _ = writeln!(report, "  src/{path} names `{name}`, which does not exist");
            }
        }
        for child in children(&reader::code(&text)) {
            let is_named = [format!("{child}.rs"), format!("{child}/")].iter().any(|name| named.contains(name))
                || docs.contains(&format!("[`{child}`]"));
            if !is_named {
                let _ = writeln!(report, "  src/{path} does not name the module {child}");
            }
        }
    }
    assert!(report.is_empty(), "maps that differ from their folders\n{report}");
}

#[test]
fn files_and_children_are_found() {
    let docs = " Reads `model.rs`, then `api/`; not `Vec<u8>`, `x.json` or `src/a.rs`.";
    let code = "mod model;\npub(crate) mod api;\nmod tests;\nuse a;\n";

    assert_eq!(named(docs), BTreeSet::from(["model.rs".to_owned(), "api/".to_owned()]));
    assert_eq!(children(code).collect::<Vec<_>>(), ["model", "api"]);
}
