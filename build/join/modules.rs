//! Imports of the modules and style sheets of the pages. Pure.
//!
//! The files are those of this program, so that the reader accepts their style only. An import begins a line, and names
//! its module in quotes.

/// A static import or re-export in a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModuleImport<'a> {
    /// Text between the keyword and `from`, without spaces around it; empty for an import of effects.
    pub(super) names: &'a str,
    /// Specifier as it is written.
    pub(super) specifier: &'a str,
    /// Whether the names are exported again.
    pub(super) is_export: bool,
    /// Position of the statement, and of the text after it.
    pub(super) at: (usize, usize),
}

/// Returns the static imports of a module, in order.
pub(super) fn imports(source: &str) -> Vec<ModuleImport<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(line) = next_statement(source, from) {
        let rest = &source[line..];
        let is_export = rest.starts_with("export");
        from = line + "import".len();
        let Some((names, specifier, length)) = statement(&rest["import".len()..], is_export) else { continue };
        let mut end = line + "import".len() + length;
        if source[end..].starts_with(';') {
            end += 1;
        }
        found.push(ModuleImport { names, specifier, is_export, at: (line, end) });
        from = end;
    }
    found
}

/// Returns the position of the next line that begins with `import` or `export`.
fn next_statement(source: &str, from: usize) -> Option<usize> {
    let begins = |at: usize| source[at..].starts_with("import") || source[at..].starts_with("export");
    if from == 0 && begins(0) {
        return Some(0);
    }
    let mut at = from;
    while let Some(newline) = source[at..].find('\n') {
        at += newline + 1;
        if begins(at) {
            return Some(at);
        }
    }
    None
}

/// Splits the text after the keyword into names and specifier; also returns its length. `None` if the statement names
/// no module.
fn statement(rest: &str, is_export: bool) -> Option<(&str, &str, usize)> {
    let open = rest.find(['\'', '"'])?;
    let (before, quoted) = rest.split_at(open);
    let quote = quoted.chars().next()?;
    let close = quoted[1..].find(quote)? + 1;
    let specifier = &quoted[1..close];
    let words = before.trim();
    let names = match words.strip_suffix("from") {
        Some(names) => names.trim(),
        None if words.is_empty() && !is_export => "",
        None => return None,
    };
    // Any other character belongs to an expression, such as `import(…)` or `export const x = 'y'`.
    let is_list = names.chars().all(|c| c.is_alphanumeric() || " \n\t,{}*_$".contains(c));
    is_list.then_some((names, specifier, open + close + 1))
}

/// Returns the path of a module that `from` imports; `None` if the specifier is not relative or leaves the folder.
pub(super) fn resolve(from: &str, specifier: &str) -> Option<String> {
    if !specifier.starts_with("./") && !specifier.starts_with("../") {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns a module with all modules that it imports, each after its imports. `read` returns the text of a file.
pub(super) fn in_order(entry: &str, read: &impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut order = Vec::new();
    let mut begun = Vec::new();
    visit(entry, read, &mut begun, &mut order);
    order
}

fn visit(
    path: &str,
    read: &impl Fn(&str) -> Option<String>,
    begun: &mut Vec<String>,
    order: &mut Vec<(String, String)>,
) {
    if begun.iter().any(|seen| seen == path) {
        return;
    }
    begun.push(path.to_owned());
    let Some(source) = read(path) else { return };
    let imported: Vec<String> =
        imports(&source).into_iter().filter_map(|import| resolve(path, import.specifier)).collect();
    for import in imported {
        visit(&import, read, begun, order);
    }
    order.push((path.to_owned(), source));
}

/// Replaces the imports of a style sheet by the imported style sheets.
pub(super) fn join_styles(entry: &str, read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let source = read(entry)?;
    let mut joined = String::with_capacity(source.len() * 8);
    for line in source.lines() {
        match imported_style(line).and_then(|specifier| resolve(entry, &format!("./{specifier}"))) {
            Some(path) => joined.push_str(&rebased(&read(&path)?, &path)),
            None => joined.push_str(line),
        }
        joined.push('\n');
    }
    Some(joined)
}

fn imported_style(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("@import url(\"")?;
    rest.strip_suffix("\");")
}

/// Returns a style sheet whose relative URLs are relative to the root of the files.
fn rebased(style: &str, path: &str) -> String {
    let depth = path.matches('/').count();
    if depth == 0 { style.to_owned() } else { style.replace("url(\"../", "url(\"").replace("url('../", "url('") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_imports_are_found_and_dynamic_ones_are_not() {
        let source = "import { h, t as tag } from './lib/h.js';\nimport './a.js';\nimport {\n  b,\n  c,\n} from \"../b.js\";\n\
                      const page = () => import('./page.js');\nexport { d } from './d.js';\nexport const x = 'import';\n\
                      export function from() { return './y.js'; }\nimport * as all from './all.js'\n";

        let found: Vec<(&str, bool)> =
            imports(source).into_iter().map(|import| (import.specifier, import.is_export)).collect();

        assert_eq!(
            found,
            [("./lib/h.js", false), ("./a.js", false), ("../b.js", false), ("./d.js", true), ("./all.js", false)]
        );
        let first = &imports(source)[0];
        assert_eq!(first.names, "{ h, t as tag }");
        assert_eq!(&source[first.at.0..first.at.1], "import { h, t as tag } from './lib/h.js';");
    }

    #[test]
    fn a_specifier_is_resolved_within_the_files() {
        for (from, specifier, expected) in [
            ("app.js", "./lib/h.js", Some("lib/h.js")),
            ("pages/email.js", "../lib/h.js", Some("lib/h.js")),
            ("pages/email.js", "./part.js", Some("pages/part.js")),
            ("app.js", "../x.js", None),
            ("app.js", "preact", None),
            ("app.js", "/x.js", None),
        ] {
            assert_eq!(resolve(from, specifier).as_deref(), expected, "{from} {specifier}");
        }
    }

    fn files(path: &str) -> Option<String> {
        let text = match path {
            "app.js" => "import { a } from './a.js';\nimport { b } from './lib/b.js';\n",
            "a.js" => "import { b } from './lib/b.js';\nexport const a = b;\n",
            "lib/b.js" => "import './b.js';\nexport const b = 1;\n",
            "app.css" => "/* all */\n@import url(\"css/one.css\");\n",
            "css/one.css" => "@font-face { src: url(\"../fonts/x.woff2\"); }",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn each_module_follows_its_imports_once() {
        let order: Vec<String> = in_order("app.js", &files).into_iter().map(|(path, _)| path).collect();

        assert_eq!(order, ["lib/b.js", "a.js", "app.js"]);
    }

    #[test]
    fn style_sheets_are_joined_with_urls_from_the_root() {
        let joined = join_styles("app.css", &files).unwrap();

        assert_eq!(joined, "/* all */\n@font-face { src: url(\"fonts/x.woff2\"); }\n");
    }
}
