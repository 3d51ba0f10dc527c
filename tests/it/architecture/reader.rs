//! Reads which paths a source file names: `use` trees written out, `self` and `super` resolved.

/// Blanks comments, strings and the tests at the end of a file; line breaks stay.
pub(super) fn code(text: &str) -> String {
    let test_modules = ["mod tests {", "pub(super) mod tests {", "pub(crate) mod tests {"];
    let tests = test_modules.iter().filter_map(|module| text.find(&format!("\n#[cfg(test)]\n{module}"))).min();
    let text = &text[..tests.unwrap_or(text.len())];
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if next == '"' {
            string_len(rest)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            3
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        code.extend(rest[..skipped].chars().filter(|skipped| *skipped == '\n'));
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

/// Returns the length of the string literal that `text` begins with.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns every path that a file's code names, from the root of the crate or of another.
pub(super) fn names(file: &str, code: &str) -> Vec<(usize, String)> {
    let module = module(file);
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let starts = code[..at].chars().next_back().is_none_or(|before| !is_word(before) && before != ':');
        if !starts || !rest.starts_with(is_word) {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let word_len = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        if &rest[..word_len] == "use" {
            let end = rest.find(';').unwrap_or(rest.len());
            let mut tree = Vec::new();
            expand("", &rest[word_len..end], &mut tree);
            found.extend(tree.into_iter().map(|path| (line, absolute(&module, &path))));
            at += end;
        } else {
            let len = rest.find(|character| !is_word(character) && character != ':').unwrap_or(rest.len());
            let path = rest[..len].trim_end_matches(':');
            if path.contains("::") {
                found.push((line, absolute(&module, path)));
            }
            at += len;
        }
    }
    found
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Writes out the paths of a `use` tree.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        match path {
            "" => {}
            "self" => paths.push(prefix.trim_end_matches("::").to_owned()),
            path => paths.push(format!("{prefix}{path}")),
        }
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut begin) = (0, 0);
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &inner[begin..at], paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
    expand(&prefix, &inner[begin..], paths);
}

/// Returns the module of a file below `src/`, from the root of the crate.
fn module(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let parts = path.split('/').filter(|part| !matches!(*part, "lib" | "main"));
    std::iter::once("crate").chain(parts).map(str::to_owned).collect()
}

/// Resolves `self` and `super` at the beginning of a path.
fn absolute(module: &[String], path: &str) -> String {
    let mut at = module.to_vec();
    let mut rest = path;
    let mut is_relative = false;
    loop {
        let (first, after) = rest.split_once("::").unwrap_or((rest, ""));
        match first {
            "super" => {
                at.pop();
            }
            "self" => {}
            _ => break,
        }
        is_relative = true;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    if !is_relative {
        return rest.to_owned();
    }
    let mut resolved = at.join("::");
    if !rest.is_empty() {
        resolved.push_str("::");
        resolved.push_str(rest);
    }
    resolved
}

#[test]
fn the_reader_of_imports_sees_every_form_of_them() {
    let text = r##"
//! use redb::Comment;
use std::fs;
use crate::{blocking, teams::{self, TeamRow as Row}};
pub(crate) use super::store::{
    EmailRow,
    delete,
};
const TEXT: &str = "redb::Text \" redb::More";
const QUOTE: char = '"';
fn f() { let _ = salvo::Server::new(self::local()); tokio::time::sleep(r#"redb::Raw"#) }
#[cfg(test)]
mod tests {
    use redb::Test;
}
"##;

    let found: Vec<(usize, String)> = names("emails/read.rs", &code(text));
    let found: Vec<(usize, &str)> = found.iter().map(|(line, path)| (*line, path.as_str())).collect();

    assert_eq!(
        found,
        [
            (3, "std::fs"),
            (4, "crate::blocking"),
            (4, "crate::teams"),
            (4, "crate::teams::TeamRow"),
            (5, "crate::emails::store::EmailRow"),
            (5, "crate::emails::store::delete"),
            (11, "salvo::Server::new"),
            (11, "crate::emails::read::local"),
            (11, "tokio::time::sleep"),
        ]
    );
    assert_eq!(module("emails/api/mod.rs"), ["crate", "emails", "api"]);
    assert_eq!(module("lib.rs"), ["crate"]);
}
