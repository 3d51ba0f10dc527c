//! The files of the dashboard as they are served: modules joined to one, style sheets joined, comments left out. Pure.
//!
//! Files in reading order: `comments.rs` (files without their comments), `modules.rs` (imports of modules and style
//! sheets), `bundle.rs` (the modules as one).

mod bundle;
mod comments;
mod modules;

use std::collections::BTreeMap;

use bundle::{Bundle, ENTRY, VENDOR};
use comments::without_comment_lines;
use modules::join_styles;

/// Page that every page path serves.
const SHELL: &str = "index.html";
/// Style sheet whose imports are joined.
const STYLES: &str = "app.css";
/// Path of the files in the shell as it is written.
const DEV_PATH: &str = "/dashboard/a/dev/";

/// Returns the files to embed by path, from the files of `assets/dashboard` by path.
///
/// # Errors
/// The file that cannot be joined, and why.
pub(super) fn joined(sources: &BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let text = |path: &str| {
        let source = sources.get(path).and_then(|bytes| std::str::from_utf8(bytes).ok())?;
        let is_own = !path.starts_with(VENDOR) && path != SHELL;
        Some(if is_own { without_comment_lines(source) } else { source.to_owned() })
    };
    let modules: Vec<&str> = sources.keys().map(String::as_str).filter(|path| is_module(path)).collect();
    let bundle = Bundle::of(&modules, &text)?;
    let mut files = BTreeMap::new();
    for (path, bytes) in sources {
        let file = match path.as_str() {
            STYLES => {
                join_styles(STYLES, &text).ok_or_else(|| format!("{STYLES} imports a file that does not exist"))?
            }
            SHELL => with_preloads(&text(SHELL).unwrap_or_default(), &bundle.outside),
            ENTRY => bundle.text.clone(),
            path if is_module(path) => continue,
            _ => {
                files.insert(path.clone(), bytes.clone());
                continue;
            }
        };
        files.insert(path.clone(), file.into_bytes());
    }
    Ok(files)
}

/// Returns whether the bundle has a file: the modules in folders, without those of `vendor/`.
fn is_module(path: &str) -> bool {
    path.ends_with(".js") && path.contains('/') && !path.starts_with(VENDOR)
}

/// Returns the shell with the modules that the first one imports.
fn with_preloads(shell: &str, preloaded: &[String]) -> String {
    let link = |path: &String| format!("<link rel=\"modulepreload\" href=\"{DEV_PATH}{path}\">\n");
    let links: String = preloaded.iter().map(link).collect();
    match shell.find("<script type=\"module\"") {
        Some(at) => format!("{}{links}{}", &shell[..at], &shell[at..]),
        None => shell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_style_sheets_are_joined_and_the_shell_preloads_what_they_import() {
        let sources = [
            ("index.html", "<script type=\"module\" src=\"/dashboard/a/dev/app.js\">"),
            ("theme.js", "// Before the first frame.\nset();\n"),
            ("app.js", "import { h } from './vendor/preact.js';\nimport { a } from './lib/a.js';\na(h);\n"),
            ("lib/a.js", "export const a = 1;\n"),
            ("vendor/preact.js", "export const h = 1;\n"),
            ("app.css", "@import url(\"css/a.css\");"),
            ("css/a.css", "p {}"),
        ];
        let sources = sources.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into();

        let files = joined(&sources).unwrap();

        let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
        assert_eq!(
            files.keys().collect::<Vec<_>>(),
            ["app.css", "app.js", "css/a.css", "index.html", "theme.js", "vendor/preact.js"]
        );
        assert_eq!(text("app.css"), "p {}\n");
        assert!(text("app.js").contains("const { a } = $m0;"), "{}", text("app.js"));
        assert_eq!(
            text("index.html"),
            "<link rel=\"modulepreload\" href=\"/dashboard/a/dev/vendor/preact.js\">\n\
             <script type=\"module\" src=\"/dashboard/a/dev/app.js\">"
        );
    }
}
