//! Comments of modules and style sheets, which no browser needs. Pure.
//!
//! The files are those of this program, so that the reader accepts their style only: no line of a text in backticks
//! begins with a comment.

/// Returns a module or a style sheet without the lines that contain only a comment. A comment beside code stays.
pub(super) fn without_comment_lines(source: &str) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut is_inside = false;
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        let begins = !is_inside && text.starts_with("/*");
        if is_inside || begins {
            match text.split_once("*/") {
                Some((_, "")) => is_inside = false,
                Some(_) if begins => kept.push_str(line),
                Some((_, after)) => {
                    is_inside = false;
                    kept.push_str(after);
                    kept.push('\n');
                }
                None => is_inside = true,
            }
        } else if !text.starts_with("//") {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_only_a_comment_are_left_out() {
        for (source, expected) in [
            ("// One.\nimport { a } from './a.js';\n  // Two.\na();\n", "import { a } from './a.js';\na();\n"),
            ("/** One line. */\nconst a = 1;\n", "const a = 1;\n"),
            ("/**\n * Some lines.\n * @param {string} a\n */\nfunction f(a) {}\n", "function f(a) {}\n"),
            ("/* All. */\n@import url(\"css/a.css\");\n", "@import url(\"css/a.css\");\n"),
        ] {
            assert_eq!(without_comment_lines(source), expected, "{source}");
        }
    }

    #[test]
    fn code_beside_a_comment_stays() {
        for (source, expected) in [
            ("const a = /** @type {A} */ (b); // why\n", "const a = /** @type {A} */ (b); // why\n"),
            ("/** @type {A} */ (b).c();\n", "/** @type {A} */ (b).c();\n"),
            ("/* One\n two */ a();\n// last", " a();\n"),
            ("const url = 'https://acme.com/*';\na();", "const url = 'https://acme.com/*';\na();"),
        ] {
            assert_eq!(without_comment_lines(source), expected, "{source}");
        }
    }
}
