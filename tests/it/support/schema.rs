//! Whether JSON is what the API's description promises: types, required fields, nothing undeclared.

use serde_json::{Map, Value};

/// Returns what `value` breaks of `schema`, each with its place; nothing when it keeps to it.
///
/// `components` are the schemas that references name. Every object has to declare all its fields.
pub(crate) fn violations(value: &Value, schema: &Value, components: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    check(value, schema, components, "$", &mut broken);
    broken
}

fn check(value: &Value, schema: &Value, components: &Value, at: &str, broken: &mut Vec<String>) {
    let mut parts = Vec::new();
    collect_parts(schema, components, &mut parts);
    let mut declared = Vec::new();
    for part in &parts {
        if let Some(forms) = part["oneOf"].as_array() {
            if !forms.iter().any(|form| violations(value, form, components).is_empty()) {
                broken.push(format!("{at}: {value} has none of the forms {forms:?}"));
            }
            continue;
        }
        if !is_of_type(value, &part["type"]) {
            broken.push(format!("{at}: {value} is not {}", part["type"]));
        }
        for name in part["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                broken.push(format!("{at}: `{name}` is required and absent"));
            }
        }
        for (name, schema) in part["properties"].as_object().unwrap_or(&Map::new()) {
            declared.push(name.clone());
            if let Some(field) = value.get(name) {
                check(field, schema, components, &format!("{at}.{name}"), broken);
            }
        }
        if part["items"].is_object() {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                check(item, &part["items"], components, &format!("{at}[{index}]"), broken);
            }
        }
    }
    // A schema without properties is an open object, or none at all.
    if !declared.is_empty() {
        for name in value.as_object().into_iter().flat_map(Map::keys).filter(|name| !declared.contains(name)) {
            broken.push(format!("{at}: `{name}` is not declared"));
        }
    }
}

/// Collects the schemas that hold together: what references name and `allOf` joins.
fn collect_parts(schema: &Value, components: &Value, parts: &mut Vec<Value>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
        let named = components.get(name).unwrap_or_else(|| panic!("the description has no schema {name}"));
        collect_parts(named, components, parts);
    } else if let Some(all) = schema["allOf"].as_array() {
        all.iter().for_each(|part| collect_parts(part, components, parts));
    } else {
        parts.push(schema.clone());
    }
}

fn is_of_type(value: &Value, expected: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match expected {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
