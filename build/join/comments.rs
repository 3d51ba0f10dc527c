//! Comments of modules and style sheets, which no browser needs. Pure.
//!
//! The files are those of this program, so that the reader accepts their style only. No line of a text in backticks
//! begins with a comment, and no text contains `/**`.

/// Returns a module or a style sheet without the lines that contain only a comment, and without the types beside code,
/// such as `/** @type {A} */`. Another comment beside code stays.
pub(super) fn without_comment_lines(source: &str) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut is_inside = false;
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        let begins = !is_inside && text.starts_with("/*");
        if is_inside || begins {
            match text.split_once("*/") {
                Some((_, "")) => is_inside = false,
                Some(_) if begins => push_code(&mut kept, line),
                Some((_, after)) => {
                    is_inside = false;
                    kept.push_str(after);
                    kept.push('\n');
                }
                None => is_inside = true,
            }
        } else if !text.starts_with("//") {
            push_code(&mut kept, line);
        }
    }
    kept
}

/// Appends a line of code without the types in it, each with the space after it.
fn push_code(kept: &mut String, line: &str) {
    let mut rest = line;
    while let Some((before, comment)) = rest.split_once("/**") {
        let Some((_, after)) = comment.split_once("*/") else { break };
        kept.push_str(before);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    kept.push_str(rest);
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
    fn types_beside_code_are_left_out() {
        for (source, expected) in [
            ("const a = /** @type {A} */ (b); // why\n", "const a = (b); // why\n"),
            ("/** @type {A} */ (b).c();\n", "(b).c();\n"),
            ("f((/** @type {A} */ a, /** @type {B} */ b) => a);", "f((a, b) => a);"),
            ("const a = '/**';\n", "const a = '/**';\n"),
        ] {
            assert_eq!(without_comment_lines(source), expected, "{source}");
        }
    }

    #[test]
    fn code_beside_a_comment_stays() {
        for (source, expected) in [
            ("const a = b; // why\n", "const a = b; // why\n"),
            ("a(/* both */ b);\n", "a(/* both */ b);\n"),
            ("/* One\n two */ a();\n// last", " a();\n"),
            ("const url = 'https://acme.com/*';\na();", "const url = 'https://acme.com/*';\na();"),
        ] {
            assert_eq!(without_comment_lines(source), expected, "{source}");
        }
    }
}
