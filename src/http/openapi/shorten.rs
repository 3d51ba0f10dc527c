//! Shorter forms of the generated schemas, with the same meaning.
//!
//! The generator adds a description in an `allOf`, and null in a `oneOf`. OpenAPI 3.1 has shorter forms of both, which
//! more tools support: a description beside any keyword, and `"type": ["string", "null"]`.

use serde_json::{Map, Value, json};

/// Shortens a value and everything inside it. Joins the lines of each paragraph of a description.
pub(super) fn shorten(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(shorten);
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = join_lines(text);
            }
            lift_description(fields);
            lift_null(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// `{"allOf": [S, {"description": …}]}` becomes S with the description.
fn lift_description(fields: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = fields.get("allOf") else { return };
    let [Value::Object(schema), Value::Object(about)] = parts.as_slice() else { return };
    if fields.len() > 1 || about.len() != 1 || !about.contains_key("description") {
        return;
    }
    let mut schema = schema.clone();
    schema.extend(about.clone());
    *fields = schema;
}

/// `{"oneOf": [{"type": "null"}, S]}` becomes S with the type `null` beside its own.
fn lift_null(fields: &mut Map<String, Value>) {
    let null = json!({ "type": "null" });
    let Some(Value::Array(forms)) = fields.get("oneOf") else { return };
    let [first, Value::Object(other)] = forms.as_slice() else { return };
    if *first != null {
        return;
    }
    let mut other = other.clone();
    if let Some(Value::Array(inner)) = other.get_mut("oneOf") {
        inner.push(null);
    } else if let Some(Value::String(name)) = other.get("type") {
        let types = json!([name, "null"]);
        other.insert("type".to_owned(), types);
        if let Some(Value::Array(values)) = other.get_mut("enum") {
            values.push(Value::Null);
        }
    } else {
        let last = Value::Object(other);
        fields.insert("oneOf".to_owned(), Value::Array(vec![last, null]));
        return;
    }
    fields.remove("oneOf");
    // The description of the field takes precedence over that of its type.
    other.append(fields);
    *fields = other;
}

fn join_lines(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_shortened_without_a_change_of_its_meaning() {
        let about = |schema: Value| json!({ "allOf": [schema, { "description": "A name." }] });
        for (generated, short) in [
            (
                about(
                    json!({ "oneOf": [{ "type": "null" }, { "type": "string", "enum": ["a"], "description": "x" }] }),
                ),
                json!({ "type": ["string", "null"], "enum": ["a", null], "description": "A name." }),
            ),
            (
                about(
                    json!({ "oneOf": [{ "type": "null" }, { "oneOf": [{ "type": "string" }, { "type": "number" }] }] }),
                ),
                json!({
                    "oneOf": [{ "type": "string" }, { "type": "number" }, { "type": "null" }],
                    "description": "A name.",
                }),
            ),
            (
                about(json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/A" }] })),
                json!({ "oneOf": [{ "$ref": "#/components/schemas/A" }, { "type": "null" }], "description": "A name." }),
            ),
            (
                about(json!({ "$ref": "#/components/schemas/A" })),
                json!({ "$ref": "#/components/schemas/A", "description": "A name." }),
            ),
            (
                json!({ "allOf": [{ "$ref": "#/components/schemas/A" }, { "type": "object" }] }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/A" }, { "type": "object" }] }),
            ),
            (json!({ "description": "a\nb\n\nc" }), json!({ "description": "a b\n\nc" })),
        ] {
            let mut value = generated.clone();

            shorten(&mut value);

            assert_eq!(value, short, "{generated}");
        }
    }
}
