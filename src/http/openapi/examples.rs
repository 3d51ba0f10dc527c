//! The example of an operation: its parameters, its request and its response.

use serde_json::Value;

/// Adds an example to its operation. `example` has `path`, `query`, `headers`, `request` and `response`.
pub(super) fn add(operation: &mut Value, example: &Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let group = match parameter["in"].as_str() {
            Some("path") => "path",
            Some("query") => "query",
            _ => "headers",
        };
        if let Some(text) = parameter["name"].as_str().and_then(|name| example[group].get(name)) {
            parameter["example"] = value_of(&parameter["schema"], text);
        }
    }
    if let Some(request) = example.get("request") {
        add_to_content(&mut operation["requestBody"], request);
    }
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    let success = responses.into_iter().flatten().find(|(status, _)| status.starts_with('2'));
    if let (Some((_, success)), Some(response)) = (success, example.get("response")) {
        add_to_content(success, response);
    }
}

/// Returns the value of a parameter with this text. A list has commas between its items.
fn value_of(schema: &Value, text: &Value) -> Value {
    let parsed = match text.as_str() {
        Some(text) if schema["type"] == "array" => Some(text.split(',').collect()),
        Some(text) if schema["type"] != "string" && !schema["anyOf"].is_array() => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| text.clone())
}

fn add_to_content(body: &mut Value, example: &Value) {
    for media_type in body.get_mut("content").and_then(Value::as_object_mut).into_iter().flat_map(|it| it.values_mut())
    {
        media_type["example"] = example.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_example_is_added_to_parameters_request_and_response() {
        let mut operation = json!({
            "parameters": [
                { "name": "id", "in": "path", "schema": { "type": "string" } },
                { "name": "limit", "in": "query", "schema": { "type": "integer" } },
                { "name": "after", "in": "query", "schema": { "type": "string" } },
                { "name": "metrics", "in": "query", "schema": { "type": "array" } },
            ],
            "requestBody": { "content": { "application/json": {} } },
            "responses": { "201": { "content": { "application/json": {} } }, "404": {} },
        });
        let query = json!({ "limit": "2", "metrics": "sent,opened" });
        let example = json!({ "path": { "id": "7" }, "query": query, "request": [1], "response": { "a": 1 } });

        add(&mut operation, &example);

        let parameters = operation["parameters"].as_array().unwrap();
        let examples: Vec<&Value> = parameters.iter().map(|parameter| &parameter["example"]).collect();
        assert_eq!(examples, [&json!("7"), &json!(2), &Value::Null, &json!(["sent", "opened"])]);
        assert_eq!(operation["requestBody"]["content"]["application/json"]["example"], json!([1]));
        assert_eq!(operation["responses"]["201"]["content"]["application/json"]["example"], json!({ "a": 1 }));
    }
}
