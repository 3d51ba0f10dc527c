//! The events of webhooks in the OpenAPI document.

use ringmail::events::EventType;
use serde_json::{Value, json};

use super::openapi::document;
use crate::support::{TestServer, violations};

#[test]
fn the_body_of_every_event_matches_its_schema_and_its_example() {
    let server = TestServer::start();
    let document = document(&server);
    let types: Vec<&str> = EventType::all().map(EventType::as_str).collect();
    let webhook = json!({ "endpoint": "https://hooks.example/mail", "events": types });
    let webhook = server.post("/webhooks", &webhook).ok(201)["id"].as_str().unwrap().to_owned();

    for event_type in &types {
        let test = server.post(&format!("/webhooks/{webhook}/test"), &json!({ "type": event_type })).ok(200);
        let delivery = format!("/webhooks/{webhook}/events/{}", test["id"].as_str().unwrap());
        let payload = server.get(&delivery).ok(200)["payload"].clone();

        let content = &document["webhooks"][event_type]["post"]["requestBody"]["content"]["application/json"];
        let schemas = &document["components"]["schemas"];
        for body in [&payload, &content["example"]] {
            assert_eq!(violations(body, &content["schema"], schemas), Vec::<String>::new(), "{event_type}: {body}");
            assert_eq!(body["type"], *event_type);
        }
        let other = json!({ "type": "email.x", "created_at": "", "data": payload["data"] });
        assert_ne!(violations(&other, &content["schema"], schemas), Vec::<String>::new(), "{event_type}");
    }
    let described: Vec<&String> = document["webhooks"].as_object().unwrap().keys().collect();
    assert_eq!(described.len(), types.len(), "{described:?}");
}

/// A field that is not described, or is absent although it is required, would be a violation.
#[test]
fn every_field_of_an_event_is_described() {
    let document: Value = serde_json::from_str(&ringmail::app::openapi_json()).unwrap();
    let schemas = &document["components"]["schemas"];
    for (event_type, item) in document["webhooks"].as_object().unwrap() {
        let content = &item["post"]["requestBody"]["content"]["application/json"];
        let mut with_more = content["example"].clone();
        with_more["data"]["unknown"] = json!(1);

        assert_ne!(violations(&with_more, &content["schema"], schemas), Vec::<String>::new(), "{event_type}");
        assert_eq!(item["post"]["parameters"].as_array().map(Vec::len), Some(3), "{event_type}");
    }
}
