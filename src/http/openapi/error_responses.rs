//! The error responses of the operations: one response for each status, with the names of its errors.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::http::error::ErrorCode;

/// Adds the error of an absent field if the request body has a required field, and joins the entries of
/// [`declared_errors`](crate::http::declared_errors) with the same status.
pub(super) fn complete(operation: &mut Value, schemas: &Value) {
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let has_required_field = requires_a_field(body, schemas);
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    if has_required_field {
        let code = ErrorCode::MissingRequiredField;
        responses.insert(format!("{} {}", code.status(), code.name()), json!({ "description": code.when().trim() }));
    }
    join(responses);
}

/// Returns whether a schema, or a schema inside it, has a required field.
fn requires_a_field(schema: &Value, schemas: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let refers = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            fields.contains_key("required")
                || refers.is_some_and(|name| requires_a_field(&schemas[name], schemas))
                || fields.values().any(|part| requires_a_field(part, schemas))
        }
        Value::Array(parts) => parts.iter().any(|part| requires_a_field(part, schemas)),
        _ => false,
    }
}

fn join(responses: &mut Map<String, Value>) {
    let mut errors: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    responses.retain(|key, response| match key.split_once(' ') {
        Some((status, name)) => {
            errors.entry(status.to_owned()).or_default().insert(name.to_owned(), response["description"].take());
            false
        }
        None => true,
    });
    for (status, names) in errors {
        let lines: Vec<String> =
            names.iter().map(|(name, when)| format!("`{name}`: {}", when.as_str().unwrap_or_default())).collect();
        let schema = json!({
            "$ref": "#/components/schemas/Error",
            "properties": {
                "statusCode": { "const": status.parse::<u16>().unwrap_or_default() },
                "name": { "enum": names.keys().collect::<Vec<_>>() },
            },
        });
        let response = json!({
            "description": lines.join("\n\n"),
            "content": { "application/json": { "schema": schema } },
        });
        responses.insert(status, response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_one_status_become_one_response_with_their_names() {
        let mut operation = json!({
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Named" } } } },
            "responses": {
                "200": { "description": "Done" },
                "404 not_found": { "description": "There is none." },
                "422 validation_error": { "description": "A rule is broken." },
            },
        });

        complete(&mut operation, &json!({ "Named": { "required": ["name"] } }));

        let responses = operation["responses"].as_object().unwrap();
        assert_eq!(responses.keys().collect::<Vec<_>>(), ["200", "404", "422"]);
        let schema = &responses["422"]["content"]["application/json"]["schema"];
        assert_eq!(schema["properties"]["name"]["enum"], json!(["missing_required_field", "validation_error"]));
        assert_eq!(schema["properties"]["statusCode"]["const"], 422);
        assert_eq!(responses["404"]["description"], "`not_found`: There is none.");
    }

    #[test]
    fn a_body_without_a_required_field_has_no_missing_field() {
        let mut operation = json!({ "responses": { "422 validation_error": { "description": "A rule is broken." } } });

        complete(&mut operation, &json!({}));

        let schema = &operation["responses"]["422"]["content"]["application/json"]["schema"];
        assert_eq!(schema["properties"]["name"]["enum"], json!(["validation_error"]));
    }
}
