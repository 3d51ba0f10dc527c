//! Modules that import each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{NOUNS, sources};

/// Groups of modules that may import each other, because each of a group stores rows that refer to those of the others.
const GROUPS: &[&[&str]] = &[&["delivery", "emails"], &["contacts", "segments"]];

/// Declares every table with the row types of all nouns, so each noun and this module name each other. It
/// contains declarations only.
const SCHEMA: &str = "tables";

/// Returns the module of a path such as `emails/api/send.rs`: `emails/api`. The handlers of a noun are a module
/// of their own: they use `http/`, which uses some nouns.
fn module_of_file(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    let mut parts = path.split('/');
    let top = parts.next().unwrap_or_default();
    module(top, parts.next())
}

/// Returns the module of a path such as `crate::emails::api::request`; `None` outside the crate.
fn module_of_name(path: &str) -> Option<String> {
    let mut parts = path.strip_prefix("crate::")?.split("::");
    let top = parts.next()?;
    Some(module(top, parts.next()))
}

fn module(top: &str, second: Option<&str>) -> String {
    if NOUNS.contains(&top) && second == Some("api") { format!("{top}/api") } else { top.to_owned() }
}

/// Returns every module that is reachable from `start`.
fn reachable<'g>(graph: &'g BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![start];
    while let Some(module) = next.pop() {
        for import in graph.get(module).into_iter().flatten() {
            if reached.insert(import.as_str()) {
                next.push(import);
            }
        }
    }
    reached
}

#[test]
fn only_the_named_groups_import_each_other() {
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources() {
        let module = module_of_file(&file.path);
        let is_schema = module == SCHEMA;
        let imports = graph.entry(module).or_default();
        if !is_schema {
            imports.extend(file.names.iter().filter_map(|(_, name)| module_of_name(name)));
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, imports) in &mut graph {
        imports.retain(|import| import != module && import != SCHEMA && modules.contains(import));
    }

    let mut cycles = BTreeSet::new();
    for module in graph.keys() {
        let group: Vec<&str> = reachable(&graph, module)
            .into_iter()
            .filter(|other| reachable(&graph, other).contains(module.as_str()))
            .collect();
        if group.len() > 1 {
            cycles.insert(group);
        }
    }

    let allowed: BTreeSet<Vec<&str>> = GROUPS.iter().map(|group| group.to_vec()).collect();
    let imports: Vec<String> = cycles
        .difference(&allowed)
        .flatten()
        .flat_map(|module| graph[*module].iter().map(move |import| format!("{module} imports {import}")))
        .collect();
    assert_eq!(cycles, allowed, "modules that import each other: {imports:#?}");
}
