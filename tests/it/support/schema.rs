//! Checks JSON against the schemas of the OpenAPI document: types, fixed values, required fields, no undeclared field.

use serde_json::{Map, Value};

/// Returns the differences between `value` and `schema`, each with its JSON path; empty if `value` matches.
///
/// `components` are the schemas that `$ref` names. If a schema has properties, any other field is a difference.
pub(crate) fn violations(value: &Value, schema: &Value, components: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(value, schema, components, "$", &mut found);
    found
}

fn check(value: &Value, schema: &Value, components: &Value, at: &str, found: &mut Vec<String>) {
    let mut parts = Vec::new();
    collect_parts(schema, components, &mut parts);
    let mut declared = Vec::new();
    for part in &parts {
        if let Some(forms) = part["oneOf"].as_array() {
            if !forms.iter().any(|form| violations(value, form, components).is_empty()) {
                found.push(format!("{at}: {value} matches none of {forms:?}"));
            }
            continue;
        }
        if !is_of_type(value, &part["type"]) {
            found.push(format!("{at}: {value} is not {}", part["type"]));
        }
        let is_fixed = part.get("const").is_none_or(|fixed| value == fixed);
        if !is_fixed || part["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            found.push(format!("{at}: {value} is not {} {}", part["const"], part["enum"]));
        }
        for name in part["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                found.push(format!("{at}: the required field `{name}` is absent"));
            }
        }
        for (name, schema) in part["properties"].as_object().unwrap_or(&Map::new()) {
            declared.push(name.clone());
            if let Some(field) = value.get(name) {
                check(field, schema, components, &format!("{at}.{name}"), found);
            }
        }
        if part["items"].is_object() {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                check(item, &part["items"], components, &format!("{at}[{index}]"), found);
            }
        }
    }
    // A schema without properties is an open object or not an object.
    if !declared.is_empty() {
        for name in value.as_object().into_iter().flat_map(Map::keys).filter(|name| !declared.contains(name)) {
            found.push(format!("{at}: `{name}` is not declared"));
        }
    }
}

/// Resolves references and collects the schemas of `allOf`. A value has to match all of them.
fn collect_parts(schema: &Value, components: &Value, parts: &mut Vec<Value>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
        let named = components.get(name).unwrap_or_else(|| panic!("the OpenAPI document has no schema {name}"));
        collect_parts(named, components, parts);
        let mut beside = schema.clone();
        beside.as_object_mut().expect("a reference is an object").remove("$ref");
        parts.push(beside);
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
