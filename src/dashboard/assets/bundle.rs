//! The modules that every page needs as one module, so that the first page needs few requests. Pure.
//!
//! Each module becomes a function that returns its exports. The bundle exports the result of each, so that a module that
//! is loaded later uses the same one. Modules stay as they are written: syntax that this file does not know makes it
//! return `None`, and the modules are then served one by one.
//!
//! Known exports are functions, classes, constants with one name, and lists of names. Modules of `vendor/` stay outside
//! of the bundle, which imports them.

use std::fmt::Write as _;

use super::modules::{ModuleImport, imports, in_order, resolve};

/// Name of the module that is the bundle.
pub(super) const ENTRY: &str = "app.js";
/// Folder of the modules that stay outside.
pub(super) const VENDOR: &str = "vendor/";

/// The bundle, with the names of its modules.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub(super) text: String,
    /// Paths of the modules, in the order of their numbers, with the names that each exports.
    modules: Vec<(String, Vec<String>)>,
}

impl Bundle {
    /// Joins the modules that the entry and `others` import. `read` returns the text of a file.
    pub(super) fn of(others: &[&str], read: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        let mut ordered: Vec<(String, String)> = Vec::new();
        for root in others.iter().copied().chain([ENTRY]) {
            for (path, source) in in_order(root, read) {
                if !ordered.iter().any(|(known, _)| *known == path) {
                    ordered.push((path, source));
                }
            }
        }
        let mut bundle = Self { text: String::new(), modules: Vec::new() };
        for (path, source) in ordered {
            let number = bundle.modules.len();
            let names = if path.starts_with(VENDOR) {
                writeln!(bundle.text, "import * as $m{number} from './{path}';").ok()?;
                Vec::new()
            } else {
                let module = bundle.converted(&path, &source)?;
                let fields: Vec<String> = module.exports.iter().map(|(name, value)| field(name, value)).collect();
                let fields = fields.join(", ");
                writeln!(bundle.text, "const $m{number} = (() => {{\n{}\nreturn {{ {fields} }};\n}})();", module.body)
                    .ok()?;
                module.exports.into_iter().map(|(name, _)| name).collect()
            };
            bundle.modules.push((path, names));
        }
        let names: Vec<String> = (0..bundle.modules.len()).map(|number| format!("$m{number}")).collect();
        writeln!(bundle.text, "export {{ {} }};", names.join(", ")).ok()?;
        Some(bundle)
    }

    /// Returns the paths of the modules that the bundle imports.
    pub(super) fn outside(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|(path, _)| path.as_str()).filter(|path| path.starts_with(VENDOR))
    }

    /// Returns a module that exports the names of a module of the bundle again; `None` for any other module.
    pub(super) fn re_export(&self, path: &str) -> Option<String> {
        let number = self.number(path).filter(|_| path != ENTRY && !path.starts_with(VENDOR))?;
        let names = &self.modules[number].1;
        let entry = up(path);
        Some(format!(
            "import {{ $m{number} }} from '{entry}{ENTRY}';\nexport const {{ {} }} = $m{number};\n",
            names.join(", ")
        ))
    }

    /// Returns a module outside of the bundle that imports the modules of the bundle from it.
    pub(super) fn rewritten(&self, path: &str, source: &str) -> String {
        let mut text = String::with_capacity(source.len() + 256);
        let mut from = 0;
        for import in imports(source) {
            let target = resolve(path, import.specifier).and_then(|target| self.number(&target));
            let Some(number) = target.filter(|number| !self.modules[*number].0.starts_with(VENDOR)) else { continue };
            let Some(bound) = bindings(&import, &format!("$app.$m{number}")).filter(|_| !import.is_export) else {
                continue;
            };
            if from == 0 {
                let _ = write!(text, "import * as $app from '{}{ENTRY}'; ", up(path));
            }
            text.push_str(&source[from..import.at.0]);
            text.push_str(&bound);
            from = import.at.1;
        }
        text.push_str(&source[from..]);
        text
    }

    fn number(&self, path: &str) -> Option<usize> {
        self.modules.iter().position(|(known, _)| known == path)
    }

    /// Converts a module whose imports are in the bundle already.
    fn converted(&self, path: &str, source: &str) -> Option<Converted> {
        let mut module = Converted { body: String::with_capacity(source.len()), exports: Vec::new() };
        let mut from = 0;
        for import in imports(source) {
            let Some(target) = resolve(path, import.specifier) else { continue };
            // A module that imports one after it is part of a cycle.
            let value = format!("$m{}", self.number(&target)?);
            module.add_code(path, &source[from..import.at.0])?;
            if import.is_export {
                for (name, local) in names_of(import.names)? {
                    module.exports.push((local, format!("{value}.{name}")));
                }
            } else {
                module.body.push_str(&bindings(&import, &value)?);
            }
            from = import.at.1;
        }
        module.add_code(path, &source[from..])?;
        Some(module)
    }
}

/// The body of a module as a function, with its exports: name and value.
struct Converted {
    body: String,
    exports: Vec<(String, String)>,
}

impl Converted {
    /// Adds code without imports. Takes the keyword from its exports, and resolves its dynamic imports from the root.
    fn add_code(&mut self, path: &str, code: &str) -> Option<()> {
        for line in code.split_inclusive('\n') {
            let Some(declaration) = line.strip_prefix("export ") else {
                self.body.push_str(&with_paths_from_root(path, line)?);
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
            self.body.push_str(&with_paths_from_root(path, declaration)?);
        }
        Some(())
    }
}

/// Returns the name that a function, a class or a constant declares.
fn declared_name(declaration: &str) -> Option<&str> {
    let rest = declaration.strip_prefix("async ").unwrap_or(declaration);
    let rest = ["function* ", "function ", "class ", "const "].iter().find_map(|word| rest.strip_prefix(word))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    (end > 0).then(|| &rest[..end])
}

/// Replaces the specifiers of dynamic imports by those from the root.
fn with_paths_from_root(path: &str, line: &str) -> Option<String> {
    const BEGIN: &str = "import('";
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(BEGIN) {
        // A type in a comment is an import too, and has no effect.
        let (before, after) = rest.split_at(at + BEGIN.len());
        let end = after.find('\'')?;
        text.push_str(before);
        match resolve(path, &after[..end]) {
            Some(target) => {
                text.push_str("./");
                text.push_str(&target);
            }
            None => text.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    text.push_str(rest);
    Some(text)
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

/// Returns the way from the folder of a module to the root.
fn up(path: &str) -> String {
    match path.matches('/').count() {
        0 => "./".to_owned(),
        depth => "../".repeat(depth),
    }
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
            "components/table.js" => "import * as all from '../lib/start.js';\nexport class Table {}\nall.start();\n",
            "vendor/preact.js" => "const h=1;export{h};",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn the_bundle_has_each_module_once_and_exports_it() {
        let bundle = Bundle::of(&["components/table.js"], &files).unwrap();

        assert_eq!(
            bundle.text,
            "import * as $m0 from './vendor/preact.js';\n\
             const $m1 = (() => {\nconst { h: make, signal } = $m0;\nfunction start(routes) {\n  make(routes);\n}\n\
             const state = signal(1);\nconst hidden = 2;\n\n\nreturn { start, state, shown: hidden };\n\
             })();\n\
             const $m2 = (() => {\nconst all = $m1;\nclass Table {}\nall.start();\n\nreturn { Table };\n})();\n\
             const $m3 = (() => {\nconst routes = [\n  { path: '/', load: () => import('./pages/list.js') },\n];\n\n\
             return { routes };\n})();\n\
             const $m4 = (() => {\nconst { start } = $m1;\nconst { routes } = $m3;\nstart(routes);\n\nreturn {  };\n})();\n\
             export { $m0, $m1, $m2, $m3, $m4 };\n"
        );
        assert_eq!(bundle.outside().collect::<Vec<_>>(), ["vendor/preact.js"]);
    }

    #[test]
    fn another_module_uses_the_modules_of_the_bundle() {
        let bundle = Bundle::of(&["components/table.js"], &files).unwrap();
        let page = "import { h } from '../vendor/preact.js';\nimport {\n  Table as T,\n} from '../components/table.js';\n\
                    import { start } from '../lib/start.js';\nimport { part } from './part.js';\n\
                    export function List() { return h(T, part); }\n";

        assert_eq!(
            bundle.rewritten("pages/list.js", page),
            "import * as $app from '../app.js'; import { h } from '../vendor/preact.js';\nconst { Table: T } = $app.$m2;\n\
             const { start } = $app.$m1;\nimport { part } from './part.js';\nexport function List() { return h(T, part); }\n"
        );
        let alone = "import { part } from './part.js';\n";
        assert_eq!(bundle.rewritten("pages/list.js", alone), alone);
        assert_eq!(
            bundle.re_export("lib/start.js").unwrap(),
            "import { $m1 } from '../app.js';\nexport const { start, state, shown } = $m1;\n"
        );
        assert_eq!(bundle.re_export("pages/list.js"), None);
    }

    #[test]
    fn syntax_that_is_not_known_gives_no_bundle() {
        for module in [
            "export let count = 0;\n",
            "export default 1;\n",
            "export const { a, b } = c;\n",
            "export * from './lib/start.js';\n",
            "import Default from './lib/start.js';\n",
            "import { routes } from './app.js';\n",
        ] {
            let read = |path: &str| if path == "app.js" { Some(module.to_owned()) } else { files(path) };

            assert!(Bundle::of(&[], &read).is_none(), "{module}");
        }
    }
}
