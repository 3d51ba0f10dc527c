//! Names of public types.

use std::collections::BTreeMap;
use std::fs;

use super::{is_test, reader, root, rust_files};

/// Returns the names of the types that a file declares with a visibility.
fn declared(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let declaration = line.trim_start().strip_prefix("pub")?;
        let declaration = match declaration.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => declaration.strip_prefix(' ')?,
        };
        let (keyword, rest) = declaration.split_once(' ')?;
        let name = rest.split(|character: char| !character.is_alphanumeric()).next().filter(|name| !name.is_empty())?;
        matches!(keyword, "struct" | "enum" | "trait" | "type" | "union").then_some(name)
    })
}

#[test]
fn no_two_public_types_share_a_name() {
    let src = root().join("src");
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in rust_files(&src).into_iter().filter(|path| !is_test(path)) {
        let code = reader::code(&fs::read_to_string(src.join(&path)).unwrap());
        for name in declared(&code) {
            files.entry(name.to_owned()).or_default().push(path.clone());
        }
    }

    assert!(files.len() > 500, "the types were not found");
    files.retain(|_, files| files.len() > 1);
    assert!(files.is_empty(), "types that share a name: {files:#?}");
}

#[test]
fn a_declaration_is_found_with_any_visibility() {
    let code = "pub struct A<T>(T);\n    pub(super) enum B {}\npub(crate) type C = ();\nstruct D;\npub fn e() {}\n";

    assert_eq!(declared(code).collect::<Vec<_>>(), ["A", "B", "C"]);
}
