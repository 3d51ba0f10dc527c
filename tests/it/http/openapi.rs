//! The OpenAPI document. `conformance.rs` checks the responses of the API against it.

use serde_json::{Value, json};

use crate::support::{Ids, TestServer, assert_lines, every_route, violations};

pub(super) fn document(server: &TestServer) -> Value {
    server.call("GET", "/docs/openapi.json", "", &[], None).ok(200)
}

/// Returns the operations of the document, each with its method and path.
pub(super) fn operations(document: &Value) -> Vec<(String, Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.push((format!("{} {path}", method.to_uppercase()), operation.clone()));
        }
    }
    operations
}

#[test]
fn the_document_has_openapi_version_3_1_and_api_version_1_0_0() {
    let server = TestServer::start();

    let document = document(&server);

    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[test]
fn the_document_has_one_path_with_a_key_and_one_without() {
    let server = TestServer::start();

    assert_eq!(server.get("/openapi.json").ok(200), document(&server));
    assert_eq!(server.call("GET", "/openapi.json", "", &[], None).status, 401);
}

#[test]
fn every_route_of_the_document_exists() {
    let server = TestServer::start();
    for route in every_route(&server) {
        let body = route.body().map(|body| body.to_string());
        let path = route.path_with(Ids::UNKNOWN);

        let response = server.call(&route.method, &path, server.key(), &[], body.as_deref().map(str::as_bytes));

        assert_ne!(response.status, 405, "{route}");
        assert_ne!(response.json["message"], "The requested endpoint does not exist.", "{route}");
    }
}

#[test]
fn every_operation_and_schema_has_a_unique_well_formed_name() {
    let server = TestServer::start();
    let document = document(&server);

    let mut seen = std::collections::HashSet::new();
    for (route, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{route} has no operationId")).to_owned();
        assert!(operation["tags"].is_array(), "{route} has no tag");
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{route}: {id}");
        assert!(seen.insert(id), "{route}");
        assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{route} has no summary");
        let security = if route.contains("/ingest/") { json!([{}]) } else { json!([{ "bearer": [] }]) };
        assert_eq!(operation["security"], security, "{route}");
    }
    // OpenAPI 3.1 §4.8.7.1: the keys of components are letters, digits, dots, hyphens, underscores.
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}");
    }
}

#[test]
fn every_response_has_a_schema_and_every_path_parameter_is_declared() {
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
        let by_key = ["403", "422", "429"].into_iter().filter(|_| !route.contains("/ingest/"));
        for status in ["401", "500", "503"].into_iter().chain(by_key) {
            assert!(responses.contains_key(status), "{route} {status}");
        }
        for (status, response) in responses.iter().filter(|(status, _)| status.as_str() >= "400") {
            let schema = &response["content"]["application/json"]["schema"];
            assert_eq!(schema["$ref"], "#/components/schemas/Error", "{route} {status}");
            assert_eq!(schema["properties"]["statusCode"]["const"].to_string(), *status, "{route}");
        }
        assert_eq!(responses.keys().filter(|status| status.starts_with('2')).count(), 1, "{route}");
        let declared = operation["parameters"].as_array().cloned().unwrap_or_default();
        for name in route.split(['{', '}']).skip(1).step_by(2) {
            let parameter = declared.iter().find(|parameter| parameter["name"] == name);
            let parameter = parameter.unwrap_or_else(|| panic!("{route} does not declare {name}"));
            assert_eq!((&parameter["in"], &parameter["required"]), (&json!("path"), &json!(true)), "{route}");
        }
        let takes_body = ["POST", "PATCH"].iter().any(|method| route.starts_with(method));
        let action =
            ["/cancel", "/verify", "/segments/{segment_id}", "/preferences-link", "/replay", "/publish", "/duplicate"]
                .iter()
                .any(|end| route.ends_with(end));
        assert_eq!(operation["requestBody"].is_object(), takes_body && !action, "{route}");
    }
    for reference in references(&document) {
        let name = reference.strip_prefix("#/components/schemas/").expect("a reference to a schema");
        assert!(schemas.get(name).is_some(), "{reference} refers to no schema");
    }
}

/// Returns the errors that an operation lists, each with its status and name.
fn errors(document: &Value, path: &str, method: &str) -> Vec<String> {
    let responses = document["paths"][path][method]["responses"].as_object().unwrap();
    let mut errors = Vec::new();
    for (status, response) in responses {
        let names = &response["content"]["application/json"]["schema"]["properties"]["name"]["enum"];
        for name in names.as_array().into_iter().flatten() {
            errors.push(format!("{status} {}", name.as_str().unwrap()));
        }
    }
    errors
}

/// The test server checks the errors that occur in any test. This test shows that no others are listed.
#[test]
fn an_operation_lists_its_own_errors() {
    let document = serde_json::from_str(&ringmail::app::openapi_json()).unwrap();
    let of_every_operation = [
        "401 missing_api_key",
        "403 invalid_api_key",
        "403 restricted_api_key",
        "422 validation_error",
        "429 rate_limit_exceeded",
        "500 internal_server_error",
        "503 service_unavailable",
    ];
    let with_body = ["400 validation_error", "413 payload_too_large"];
    for (method, path, own) in [
        ("get", "/usage", vec![]),
        ("get", "/deliverability", vec![]),
        ("get", "/emails", vec![]),
        ("get", "/topics/{id}", vec!["404 not_found"]),
        ("get", "/emails/{id}/attachments", vec!["404 not_found", "410 attachments_purged"]),
        ("get", "/emails/{id}/attempts", vec!["404 not_found"]),
        ("get", "/emails/{id}/insights", vec!["404 not_found"]),
        ("delete", "/topics/{id}", vec!["404 not_found", "409 validation_error"]),
        ("post", "/broadcasts/{id}/cancel", vec!["403 validation_error", "404 not_found", with_body[0], with_body[1]]),
        ("get", "/broadcasts/{id}/recipients", vec!["404 not_found"]),
        (
            "post",
            "/broadcasts/{id}/send",
            vec![
                "403 broadcasts_paused",
                "403 sending_paused",
                "403 validation_error",
                "404 not_found",
                "422 broadcast_too_large",
                with_body[0],
                with_body[1],
            ],
        ),
        ("patch", "/domains/{id}", vec!["404 not_found", with_body[0], with_body[1]]),
        ("post", "/topics", vec!["422 missing_required_field", with_body[0], with_body[1]]),
        (
            "post",
            "/emails",
            vec![
                "400 invalid_idempotency_key",
                "403 sending_paused",
                "403 validation_error",
                "404 not_found",
                "409 concurrent_idempotent_requests",
                "409 invalid_idempotent_request",
                "422 all_recipients_suppressed",
                "422 missing_required_field",
                with_body[0],
                with_body[1],
            ],
        ),
    ] {
        let mut expected = [of_every_operation.as_slice(), &own].concat();
        expected.sort_unstable();
        let mut found = errors(&document, path, method);
        found.sort_unstable();

        assert_eq!(found, expected, "{method} {path}");
    }
}

#[test]
fn the_sections_are_in_reading_order_and_emails_come_first() {
    let text = ringmail::app::openapi_json();
    let document: Value = serde_json::from_str(&text).unwrap();

    let sections: Vec<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    assert_eq!(sections[..3], ["Emails", "Domains", "API keys"]);
    for (route, operation) in operations(&document) {
        assert!(sections.contains(&operation["tags"][0].as_str().unwrap()), "{route}");
    }
    let position = |path: &str| text.find(&format!("\"{path}\": {{")).unwrap();
    assert!(position("/emails") < position("/domains") && position("/domains") < position("/api-keys"));
    assert_eq!(document["servers"][0]["url"], "/");
}

/// A change of the document is a change of the public contract. Review the difference of the snapshot.
#[test]
fn the_document_is_a_public_contract() {
    let document: Value = serde_json::from_str(&ringmail::app::openapi_json()).unwrap();
    let mut lines = Vec::new();

    write_lines("", &document, 5, &mut lines);

    assert_lines!(lines);
}

/// Adds a line for each value at the depth `depth`, and for each value above it that is not an object.
fn write_lines(at: &str, value: &Value, depth: usize, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) if depth > 0 => {
            fields.iter().for_each(|(name, field)| write_lines(&format!("{at} {name}"), field, depth - 1, lines));
        }
        _ => lines.push(format!("{}: {value}", at.trim_start())),
    }
}

/// Clients send null for an absent value.
#[test]
fn every_optional_request_field_has_a_description_and_may_be_null() {
    let document: Value = serde_json::from_str(&ringmail::app::openapi_json()).unwrap();
    let schemas = &document["components"]["schemas"];
    let mut checked = 0;
    for (name, schema) in schemas.as_object().unwrap() {
        if !name.ends_with("Request") {
            continue;
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name}: `{field}` has no description");
            if !required.contains(&json!(field)) {
                assert_eq!(violations(&Value::Null, property, schemas), Vec::<String>::new(), "{name}: `{field}`");
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
    assert_eq!(schemas["CreateApiKeyRequest"]["properties"]["permission"]["type"], json!(["string", "null"]));
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
fn only_the_mandatory_request_fields_are_required() {
    let server = TestServer::start();
    let document = document(&server);
    let operations = operations(&document);
    let mut unchecked: Vec<&str> = operations.iter().map(|(route, _)| route.as_str()).collect();
    unchecked.retain(|route| {
        operations.iter().any(|(name, operation)| name == route && operation["requestBody"].is_object())
    });
    // The body of an event is one of two forms, and that of a message is no JSON.
    unchecked.retain(|route| !route.contains("/ingest/"));
    let mut required = |route: &str| {
        unchecked.retain(|other| *other != route);
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

    assert_eq!(required("POST /emails"), ["from", "to"]);
    assert_eq!(required("POST /emails/batch"), ["from", "to"]);
    assert_eq!(required("PATCH /emails/{id}"), ["scheduled_at"]);
    assert_eq!(required("POST /api-keys"), ["name"]);
    assert_eq!(required("PATCH /api-keys/{id}"), ["name"]);
    assert_eq!(required("POST /domains"), ["name"]);
    assert_eq!(required("PATCH /domains/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /suppressions"), ["email"]);
    assert_eq!(required("POST /suppressions/batch/add"), ["emails"]);
    assert_eq!(required("POST /suppressions/batch/remove"), Vec::<Value>::new());
    assert_eq!(required("POST /templates"), ["name", "html"]);
    assert_eq!(required("PATCH /templates/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /topics"), ["name", "default_subscription"]);
    assert_eq!(required("PATCH /topics/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /broadcasts"), ["from", "subject"]);
    assert_eq!(required("PATCH /broadcasts/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /broadcasts/{id}/send"), Vec::<Value>::new());
    assert_eq!(required("POST /segments"), ["name"]);
    assert_eq!(required("PATCH /segments/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /audiences"), ["name"]);
    assert_eq!(required("POST /audiences/{id}/contacts"), ["email"]);
    assert_eq!(required("POST /contact-properties"), ["key", "type"]);
    assert_eq!(required("PATCH /contact-properties/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /contacts"), ["email"]);
    assert_eq!(required("PATCH /contacts/{id}"), Vec::<Value>::new());
    assert_eq!(required("PATCH /contacts/{id}/topics"), ["id", "subscription"]);
    assert_eq!(required("POST /contacts/batch"), ["email"]);
    assert_eq!(required("POST /contacts/batch/get"), ["contacts"]);
    assert_eq!(required("POST /contacts/batch/remove"), Vec::<Value>::new());
    assert_eq!(required("PATCH /audiences/{id}/contacts/{contact_id}"), Vec::<Value>::new());
    assert_eq!(required("POST /webhooks"), ["endpoint", "events"]);
    assert_eq!(required("PATCH /webhooks/{id}"), Vec::<Value>::new());
    assert_eq!(required("POST /webhooks/{id}/rotate"), Vec::<Value>::new());
    assert_eq!(required("POST /webhooks/{id}/signing-secret/rotate"), Vec::<Value>::new());
    assert_eq!(required("POST /webhooks/{id}/test"), Vec::<Value>::new());
    assert_eq!(unchecked, Vec::<&str>::new(), "add the required fields of these routes to this test");
}

/// Generated clients distinguish a field that can be absent from a field that can be null.
#[test]
fn a_response_field_that_is_always_present_is_required() {
    let server = TestServer::start();
    let document = document(&server);
    let id = server.send(&json!({ "attachments": [{ "content": "YQ==" }] }));
    let sent = server.wait_for(&id, "delivered");
    let attachments = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let captured = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&captured, "delivered");
    let attempts = server.get(&format!("/emails/{captured}/attempts")).ok(200);
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    let property = server.post("/contact-properties", &json!({ "key": "plan", "type": "string" })).ok(201);
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201);
    let webhook = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.opened"] });
    let webhook = server.post("/webhooks", &webhook).ok(201)["id"].as_str().unwrap().to_owned();
    let delivery = format!("/webhooks/{webhook}/events/{}", server.add_webhook_delivery(&webhook));
    let ada = json!({ "email": "ada@example.net" });
    let joining = json!({ "email": "ada@example.net", "segments": [{ "id": segment["id"] }] });
    server.post("/contacts", &joining).ok(201);
    let logged = server.get("/logs").ok(200)["data"][0].clone();
    let segment = server.get(&format!("/segments/{}", segment["id"].as_str().unwrap())).ok(200);
    for (schema, response) in [
        ("EmailResponse", &sent),
        ("EmailSummary", &server.get("/emails").ok(200)["data"][0]),
        ("AttachmentResponse", &attachments["data"][0]),
        ("EmailAttempt", &attempts["data"][0]),
        ("Topic", &topic),
        ("SegmentWithCount", &segment),
        ("Segment", &server.get("/segments").ok(200)["data"][0]),
        ("Webhook", &server.get("/webhooks").ok(200)["data"][0]),
        ("WebhookWithSecret", &server.get(&format!("/webhooks/{webhook}")).ok(200)),
        ("WebhookEvent", &server.get(&format!("/webhooks/{webhook}/events")).ok(200)["data"][0]),
        ("WebhookEventWithPayload", &server.get(&delivery).ok(200)),
        ("WebhookEventAttempt", &server.get(&format!("{delivery}/attempts")).ok(200)["data"][0]),
        ("ContactProperty", &property),
        ("LogSummary", &logged),
        ("Log", &server.get(&format!("/logs/{}", logged["id"].as_str().unwrap())).ok(200)),
        ("ApiKeyResponse", &server.get("/api-keys").ok(200)["data"][0]),
        ("Suppression", &server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201)),
        ("Contact", &server.get("/contacts").ok(200)["data"][0]),
        ("TopicSubscription", &server.get("/contacts/ada@example.net/topics").ok(200)["data"][0]),
        ("ContactSegmentRow", &server.get("/contacts/ada@example.net/segments").ok(200)["data"][0]),
        ("Usage", &server.get("/usage").ok(200)),
        ("Deliverability", &server.get("/deliverability").ok(200)),
        ("BatchResponse", &server.post("/contacts/batch?on_conflict=skip", &json!([ada])).ok(200)),
        ("BatchGetResponse", &server.post("/contacts/batch/get", &json!({ "contacts": [ada] })).ok(200)),
    ] {
        let schemas = &document["components"]["schemas"];
        for name in response.as_object().unwrap().keys() {
            let mut without = response.clone();
            without.as_object_mut().unwrap().remove(name);

            assert!(!violations(&without, &schemas[schema], schemas).is_empty(), "{schema}: `{name}` is not required");
        }
    }
}
