//! The description of the API, and whether the API keeps to it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Ids, TestServer, email, every_route, violations};

fn document(server: &TestServer) -> Value {
    server.call("GET", "/docs/openapi.json", "", &[], None).ok(200)
}

/// Returns the operations with their route as a name.
fn operations(document: &Value) -> Vec<(String, Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.push((format!("{} {path}", method.to_uppercase()), operation.clone()));
        }
    }
    operations
}

#[test]
fn the_description_is_openapi_3_1_of_version_1_0_0() {
    let server = TestServer::start();

    let document = document(&server);

    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[test]
fn it_is_served_with_a_key_and_a_copy_of_it_without() {
    let server = TestServer::start();

    assert_eq!(server.get("/openapi.json").ok(200), document(&server));
    assert_eq!(server.call("GET", "/openapi.json", "", &[], None).status, 401);
}

#[test]
fn every_route_answers_in_another_way_than_unknown() {
    let server = TestServer::start();
    for route in every_route(&server) {
        let body = route.body().map(|body| body.to_string());
        let path = route.path_of(Ids::NOBODY);

        let answer = server.call(&route.method, &path, server.key(), &[], body.as_deref().map(str::as_bytes));

        assert_ne!(answer.status, 405, "{route}");
        assert_ne!(answer.json["message"], "The requested endpoint does not exist.", "{route}");
    }
}

#[test]
fn names_of_operations_and_schemas_are_short_unique_and_well_formed() {
    let server = TestServer::start();
    let document = document(&server);

    let mut seen = std::collections::HashSet::new();
    for (route, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{route} has no operationId")).to_owned();
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{route}: {id}");
        assert!(seen.insert(id), "{route}");
        assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{route} has no summary");
        assert!(operation["tags"].is_array(), "{route} has no tag");
        assert_eq!(operation["security"], json!([{ "bearer": [] }]), "{route}");
    }
    // OpenAPI 3.1 §4.8.7.1: the keys of components are letters, digits, dots, hyphens, underscores.
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}");
    }
}

#[test]
fn every_answer_has_a_schema_and_every_parameter_of_a_path_is_declared() {
    let server = TestServer::start();
    let document = document(&server);
    let schemas = &document["components"]["schemas"];
    for (route, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        for (status, response) in responses {
            let schema = &response["content"]["application/json"]["schema"];
            assert!(schema.is_object(), "{route} {status} has no schema");
            assert!(response["description"].is_string(), "{route} {status} has no description");
        }
        for status in ["401", "403", "404", "422", "429", "500"] {
            let schema = &responses[status]["content"]["application/json"]["schema"];
            assert_eq!(schema["$ref"], "#/components/schemas/Error", "{route} {status}");
        }
        assert_eq!(responses.keys().filter(|status| status.starts_with('2')).count(), 1, "{route}");
        let declared = operation["parameters"].as_array().cloned().unwrap_or_default();
        for name in route.split(['{', '}']).skip(1).step_by(2) {
            let parameter = declared.iter().find(|parameter| parameter["name"] == name);
            let parameter = parameter.unwrap_or_else(|| panic!("{route} does not declare {name}"));
            assert_eq!((&parameter["in"], &parameter["required"]), (&json!("path"), &json!(true)), "{route}");
        }
        let takes_body = ["POST", "PATCH"].iter().any(|method| route.starts_with(method));
        let action = ["/cancel", "/verify", "/segments/{segment_id}"].iter().any(|action| route.ends_with(action));
        assert_eq!(operation["requestBody"].is_object(), takes_body && !action, "{route}");
    }
    for reference in references(&document) {
        let name = reference.strip_prefix("#/components/schemas/").expect("a reference to a schema");
        assert!(schemas.get(name).is_some(), "{reference} leads nowhere");
    }
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_fields_that_requests_must_have_are_required_and_no_others() {
    let server = TestServer::start();
    let document = document(&server);
    let required = |route: &str| {
        let operations = operations(&document);
        let (_, operation) = operations.iter().find(|(name, _)| name == route).unwrap();
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let schema = if schema["items"].is_object() { schema["items"].clone() } else { schema.clone() };
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let schema = &document["components"]["schemas"][&name];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for field in &required {
            let field = field.as_str().unwrap();
            let allows_null =
                violations(&Value::Null, &schema["properties"][field], &document["components"]["schemas"]);
            assert!(!allows_null.is_empty(), "{route}: `{field}` is required and may be null");
        }
        required
    };

    assert_eq!(required("POST /emails"), ["from", "to", "subject"]);
    assert_eq!(required("POST /emails/batch"), ["from", "to", "subject"]);
    assert_eq!(required("PATCH /emails/{id}"), ["scheduled_at"]);
    assert_eq!(required("POST /api-keys"), ["name"]);
    assert_eq!(required("PATCH /api-keys/{id}"), ["name"]);
    assert_eq!(required("POST /domains"), ["name"]);
    assert_eq!(required("PATCH /domains/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /suppressions"), ["email"]);
    assert_eq!(required("POST /suppressions/batch/add"), ["emails"]);
    assert_eq!(required("POST /suppressions/batch/remove"), Vec::<Value>::new());
    assert_eq!(required("POST /topics"), ["name", "default_subscription"]);
    assert_eq!(required("PATCH /topics/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /contact-properties"), ["key", "type"]);
    assert_eq!(required("PATCH /contact-properties/{id}"), Vec::<Value>::new());
}

/// Holds every answer of a tour through the API against its schema: right types, every required
/// field there, no field undeclared, and every field that is always there required.
#[test]
fn every_answer_is_what_the_description_promises() {
    let server = TestServer::start();
    let document = document(&server);
    let tour = Tour { server: &server, document: &document };

    let full = email(&json!({
        "html": "<p>Hello</p>", "cc": "delivered+cc@resend.dev", "bcc": "bounced@resend.dev",
        "reply_to": "answers@example.com", "tags": [{ "name": "a", "value": "b" }],
        "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    }));
    let sent = tour.visit("POST /emails", "/emails", Some(&full));
    let id = sent["id"].as_str().unwrap();
    server.wait_for(id, "bounced");
    let read = tour.visit("GET /emails/{id}", &format!("/emails/{id}"), None);
    let attachment = read["attachments"][0]["id"].as_str().unwrap();
    let delayed = server.send(&json!({ "to": "delayed@resend.dev" }));
    server.wait_for(&delayed, "delivery_delayed");
    tour.visit("GET /emails/{id}", &format!("/emails/{delayed}"), None);
    tour.visit("GET /emails", "/emails", None);
    tour.visit("GET /emails/{id}/attachments", &format!("/emails/{id}/attachments"), None);
    let one = format!("/emails/{id}/attachments/{attachment}");
    tour.visit("GET /emails/{id}/attachments/{attachment_id}", &one, None);
    tour.visit("POST /emails/batch", "/emails/batch", Some(&json!([email(&json!({ "scheduled_at": "in 1 hour" }))])));
    let waiting = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let later = json!({ "scheduled_at": "in 2 hours" });
    tour.visit("PATCH /emails/{id}", &format!("/emails/{waiting}"), Some(&later));
    tour.visit("POST /emails/{id}/cancel", &format!("/emails/{waiting}/cancel"), None);
    tour.visit("DELETE /emails/{id}", &format!("/emails/{waiting}"), None);

    let domain = tour.visit("POST /domains", "/domains", Some(&json!({ "name": "added.example" })));
    let path = format!("/domains/{}", domain["id"].as_str().unwrap());
    tour.visit("GET /domains", "/domains", None);
    tour.visit("GET /domains/{id}", &path, None);
    tour.visit("PATCH /domains/{id}", &path, Some(&json!({ "tracking_subdomain": "links" })));
    tour.visit("GET /domains/{id}", &path, None);
    tour.visit("POST /domains/{id}/verify", &format!("{path}/verify"), None);
    tour.visit("DELETE /domains/{id}", &path, None);

    let listed = tour.visit("POST /suppressions", "/suppressions", Some(&json!({ "email": "ada@example.net" })));
    let path = format!("/suppressions/{}", listed["id"].as_str().unwrap());
    tour.visit("GET /suppressions", "/suppressions?origin=manual", None);
    tour.visit("GET /suppressions/{id}", &path, None);
    tour.visit("DELETE /suppressions/{id}", "/suppressions/ada@example.net", None);
    let batch = json!({ "emails": ["ada@example.net", "bob@example.net"] });
    tour.visit("POST /suppressions/batch/add", "/suppressions/batch/add", Some(&batch));
    tour.visit("POST /suppressions/batch/remove", "/suppressions/batch/remove", Some(&batch));
    let topic = json!({ "name": "News", "default_subscription": "opt_in", "description": "Monthly." });
    let topic = tour.visit("POST /topics", "/topics", Some(&topic));
    let path = format!("/topics/{}", topic["id"].as_str().unwrap());
    tour.visit("GET /topics", "/topics", None);
    tour.visit("GET /topics/{id}", &path, None);
    tour.visit("PATCH /topics/{id}", &path, Some(&json!({ "description": null })));
    tour.visit("DELETE /topics/{id}", &path, None);

    let property = json!({ "key": "age", "type": "number", "fallback_value": 18 });
    let property = tour.visit("POST /contact-properties", "/contact-properties", Some(&property));
    let path = format!("/contact-properties/{}", property["id"].as_str().unwrap());
    tour.visit("GET /contact-properties", "/contact-properties", None);
    tour.visit("GET /contact-properties/{id}", &path, None);
    tour.visit("PATCH /contact-properties/{id}", &path, Some(&json!({ "fallback_value": null })));
    tour.visit("DELETE /contact-properties/{id}", &path, None);

    tour.visit("GET /openapi.json", "/openapi.json", None);
    let key = tour.visit("POST /api-keys", "/api-keys", Some(&json!({ "name": "Key" })));
    let path = format!("/api-keys/{}", key["id"].as_str().unwrap());
    server.advance(Duration::from_secs(60));
    tour.visit("GET /api-keys", "/api-keys", None);
    tour.visit("PATCH /api-keys/{id}", &path, Some(&json!({ "name": "New" })));
    tour.visit("DELETE /api-keys/{id}", &path, None);
}

/// Clients generated from the description read a field that may be absent in another way than one
/// that may be null.
#[test]
fn a_field_that_is_always_there_is_required() {
    let server = TestServer::start();
    let document = document(&server);
    let id = server.send(&json!({ "attachments": [{ "content": "YQ==" }] }));
    let sent = server.wait_for(&id, "delivered");
    let attachments = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    let property = server.post("/contact-properties", &json!({ "key": "plan", "type": "string" })).ok(201);
    for (schema, answer) in [
        ("EmailResponse", &sent),
        ("EmailSummary", &server.get("/emails").ok(200)["data"][0]),
        ("AttachmentResponse", &attachments["data"][0]),
        ("Topic", &topic),
        ("ContactProperty", &property),
        ("ApiKeyResponse", &server.get("/api-keys").ok(200)["data"][0]),
        ("Suppression", &server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201)),
    ] {
        let schemas = &document["components"]["schemas"];
        for name in answer.as_object().unwrap().keys() {
            let mut without = answer.clone();
            without.as_object_mut().unwrap().remove(name);

            assert!(!violations(&without, &schemas[schema], schemas).is_empty(), "{schema}: `{name}` is not required");
        }
    }
}

struct Tour<'a> {
    server: &'a TestServer,
    document: &'a Value,
}

impl Tour<'_> {
    #[track_caller]
    fn visit(&self, route: &str, path: &str, body: Option<&Value>) -> Value {
        let (method, template) = route.split_once(' ').unwrap();
        let text = body.map(Value::to_string);
        let answer = self.server.call(method, path, self.server.key(), &[], text.as_deref().map(str::as_bytes));
        let operation = &self.document["paths"][template][method.to_lowercase()];
        let response = &operation["responses"][answer.status.to_string()];
        assert!(answer.status < 300, "{route}: {}", answer.json);
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route} does not describe its {}", answer.status);
        let components = &self.document["components"]["schemas"];
        assert_eq!(violations(&answer.json, schema, components), Vec::<String>::new(), "{route}: {:#}", answer.json);
        answer.json
    }
}
