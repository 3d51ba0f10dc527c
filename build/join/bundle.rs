//! The modules of all pages as one module, so that the first page needs few requests and each other one none. Pure.
//!
//! Each module becomes a function that returns its exports. A module that is loaded later becomes a promise of them.
//! Modules stay as they are written. Syntax that this file does not know is an error of the build.
//!
//! Known exports are functions, classes, constants with one name, and lists of names. Modules of `vendor/` stay outside
//! of the bundle, which imports them.

use std::fmt::Write as _;

use super::modules::{ModuleImport, imports, in_order, resolve};

/// Name of the module that is the bundle.
pub(super) const ENTRY: &str = "app.js";
/// Folder of the modules that stay outside.
pub(super) const VENDOR: &str = "vendor/";

/// The bundle, with the modules that it needs first.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub(super) text: String,
    /// Paths of the modules outside of the bundle that it imports.
    pub(super) outside: Vec<String>,
}

impl Bundle {
    /// Joins `others`, the entry and the modules that they import. `read` returns the text of a file.
    ///
    /// # Errors
    /// The path of a module with unknown syntax, with an import of a file outside, or in a cycle.
    pub(super) fn of(others: &[&str], read: &impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut modules: Vec<(String, String)> = Vec::new();
        for root in others.iter().copied().chain([ENTRY]) {
            for (path, source) in in_order(root, read) {
                if !modules.iter().any(|(known, _)| *known == path) {
                    modules.push((path, source));
                }
            }
        }
        let paths: Vec<&str> = modules.iter().map(|(path, _)| path.as_str()).collect();
        let mut text = String::new();
        for (number, (path, source)) in modules.iter().enumerate() {
            if path.starts_with(VENDOR) {
                let _ = writeln!(text, "import * as $m{number} from './{path}';");
                continue;
            }
            let module = Converted::of(source, Place { path, number, paths: &paths }).ok_or_else(|| {
                format!("{path} cannot be joined: its syntax is not known, or an import is in a cycle")
            })?;
            let fields: Vec<String> = module.exports.iter().map(|(name, value)| field(name, value)).collect();
            let fields = fields.join(", ");
            let _ = writeln!(text, "const $m{number} = (() => {{\n{}\nreturn {{ {fields} }};\n}})();", module.body);
        }
        let outside = paths.iter().filter(|path| path.starts_with(VENDOR)).map(|path| (*path).to_owned()).collect();
        Ok(Self { text, outside })
    }
}

/// A module and its place among those of the bundle.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a str,
    number: usize,
    /// Paths of all modules, by number.
    paths: &'a [&'a str],
}

impl Place<'_> {
    /// Returns the number of the module that this one imports by a specifier; `None` if the bundle does not have it.
    fn number_of(&self, specifier: &str) -> Option<usize> {
        let target = resolve(self.path, specifier)?;
        self.paths.iter().position(|path| *path == target)
    }
}

/// The body of a module as a function, with its exports: name and value.
struct Converted {
    body: String,
    exports: Vec<(String, String)>,
}

impl Converted {
    /// Converts a module whose imports come before it; `None` if it has syntax that is not known.
    fn of(source: &str, place: Place<'_>) -> Option<Self> {
        let mut module = Self { body: String::with_capacity(source.len()), exports: Vec::new() };
        let mut from = 0;
        for import in imports(source) {
            // A module that imports one after it is part of a cycle.
            let number = place.number_of(import.specifier).filter(|number| *number < place.number)?;
            let value = format!("$m{number}");
            module.add_code(place, &source[from..import.at.0])?;
            if import.is_export {
                for (name, local) in names_of(import.names)? {
                    module.exports.push((local, format!("{value}.{name}")));
                }
            } else {
                module.body.push_str(&bindings(&import, &value)?);
            }
            from = import.at.1;
        }
        module.add_code(place, &source[from..])?;
        Some(module)
    }

    /// Adds code without imports. Takes the keyword from its exports, and replaces its dynamic imports.
    fn add_code(&mut self, place: Place<'_>, code: &str) -> Option<()> {
        for line in code.split_inclusive('\n') {
            if line.contains("import.meta") {
                return None;
            }
            let Some(declaration) = line.strip_prefix("export ") else {
                self.body.push_str(&without_dynamic_imports(place, line)?);
                continue;
            };
            if let Some(list) = declaration.trim().strip_prefix('{') {
                let list = list.trim_end_matches(';').strip_suffix('}')?;
                for (local, name) in names_of(&format!("{{{list}}}"))? {
                    self.exports.push((name, local));
                }
                self.body.push('\n');
                continue;
            }
            let name = declared_name(declaration)?;
            self.exports.push((name.to_owned(), name.to_owned()));
            self.body.push_str(&without_dynamic_imports(place, declaration)?);
        }
        Some(())
    }
}

/// Returns the name that a function, a class or a constant declares.
fn declared_name(declaration: &str) -> Option<&str> {
    let rest = declaration.strip_prefix("async ").unwrap_or(declaration);
    let rest = ["function* ", "function ", "class ", "const "].iter().find_map(|word| rest.strip_prefix(word))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    // A second name in the declaration, such as in `a = 1, b = 2`.
    let has_second = declaration.starts_with("const ") && has_second_name(&rest[end..]);
    (end > 0 && !has_second).then(|| &rest[..end])
}

/// Returns whether a declaration of constants declares another one after the value of the first, on the same line.
fn has_second_name(value: &str) -> bool {
    let (mut depth, mut quote) = (0_i32, None);
    for c in value.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => return true,
            (None, _) => {}
        }
    }
    false
}

/// Replaces a dynamic import of a module of the bundle by a promise of its exports. Resolves the path of another one from the
/// root. Returns `None` for an import in another form.
fn without_dynamic_imports(place: Place<'_>, line: &str) -> Option<String> {
    const BEGIN: &str = "import('";
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (specifier, after) = after.split_once("')")?;
        text.push_str(before);
        match place.number_of(specifier) {
            Some(number) => write!(text, "Promise.resolve($m{number})").ok()?,
            None => write!(text, "import('./{}')", resolve(place.path, specifier)?).ok()?,
        }
        rest = after;
    }
    text.push_str(rest);
    (!rest.contains("import(")).then_some(text)
}

/// Returns the declarations of the names of an import from an object.
fn bindings(import: &ModuleImport<'_>, object: &str) -> Option<String> {
    let names = import.names;
    if names.is_empty() {
        return Some(String::new());
    }
    if let Some(all) = names.strip_prefix('*') {
        return Some(format!("const {} = {object};", all.trim().strip_prefix("as ")?.trim()));
    }
    let fields: Vec<String> = names_of(names)?.iter().map(|(name, local)| field(name, local)).collect();
    Some(format!("const {{ {} }} = {object};", fields.join(", ")))
}

/// Returns a field of an object, in the short form if its value has the same name.
fn field(name: &str, value: &str) -> String {
    if name == value { name.to_owned() } else { format!("{name}: {value}") }
}

/// Returns the pairs of a list such as `{ a, b as c }`.
fn names_of(list: &str) -> Option<Vec<(String, String)>> {
    let list = list.trim().strip_prefix('{')?.strip_suffix('}')?;
    let pairs = list.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| match pair.split_once(" as ") {
        Some((name, local)) => (name.trim().to_owned(), local.trim().to_owned()),
        None => (pair.to_owned(), pair.to_owned()),
    };
    Some(pairs.map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str) -> Option<String> {
        let text = match path {
            "app.js" => {
                "import { start } from './lib/start.js';\nimport { routes } from './pages/index.js';\nstart(routes);\n"
            }
            "lib/start.js" => {
                "import { h as make, signal } from '../vendor/preact.js';\nexport function start(routes) {\n  \
                 make(routes);\n}\nexport const state = signal(1);\nconst hidden = 2;\nexport { hidden as shown };\n"
            }
            "pages/index.js" => "export const routes = [\n  { path: '/', load: () => import('./list.js') },\n];\n",
            "pages/list.js" => {
                "import * as all from '../lib/start.js';\nexport class List {}\nconst load = () => \
                 import('../vendor/editor.js');\n"
            }
            "vendor/preact.js" => "const h=1;export{h};",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn the_bundle_has_each_module_after_its_imports_and_the_pages_as_promises() {
        let bundle = Bundle::of(&["pages/index.js", "pages/list.js"], &files).unwrap();

        assert_eq!(
            bundle.text,
            "const $m0 = (() => {\nconst routes = [\n  { path: '/', load: () => Promise.resolve($m3) },\n];\n\n\
             return { routes };\n})();\n\
             import * as $m1 from './vendor/preact.js';\n\
             const $m2 = (() => {\nconst { h: make, signal } = $m1;\nfunction start(routes) {\n  make(routes);\n}\n\
             const state = signal(1);\nconst hidden = 2;\n\n\nreturn { start, state, shown: hidden };\n\
             })();\n\
             const $m3 = (() => {\nconst all = $m2;\nclass List {}\nconst load = () => import('./vendor/editor.js');\n\n\
             return { List };\n})();\n\
             const $m4 = (() => {\nconst { start } = $m2;\nconst { routes } = $m0;\nstart(routes);\n\nreturn {  };\n})();\n"
        );
        assert_eq!(bundle.outside, ["vendor/preact.js"]);
    }

    #[test]
    fn syntax_that_is_not_known_is_an_error() {
        for module in [
            "const at = import.meta.url;\n",
            "const load = () => import(path);\n",
            "const load = () => import(\"./pages/list.js\");\n",
            "export const a = 1, b = 2;\n",
            "export let count = 0;\n",
            "export default 1;\n",
            "export const { a, b } = c;\n",
            "export * from './lib/start.js';\n",
            "import Default from './lib/start.js';\n",
            "import { routes } from './app.js';\n",
        ] {
            let read = |path: &str| if path == "app.js" { Some(module.to_owned()) } else { files(path) };

            assert!(Bundle::of(&[], &read).is_err_and(|error| error.starts_with("app.js")), "{module}");
        }
    }
}
