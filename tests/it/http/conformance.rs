//! Calls every route of the API and checks each response against its schema in the OpenAPI document.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json};

use super::openapi::{document, operations};
use crate::support::{Ids, TestServer, email, violations};

/// Checks the types of all fields, that every required field is present, and that no field is undeclared.
#[test]
fn every_response_matches_its_schema() {
    let server = TestServer::start();
    let document = document(&server);
    let checker = SchemaChecker { server: &server, document: &document, checked: RefCell::default() };

    let full_body = email(&json!({
        "html": "<p>Hello</p>", "cc": "delivered+cc@resend.dev", "bcc": "bounced@resend.dev",
        "reply_to": "answers@example.com", "tags": [{ "name": "a", "value": "b" }],
        "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    }));
    let sent = checker.check("POST /emails", "/emails", Some(&full_body));
    let id = sent["id"].as_str().unwrap();
    server.wait_for(id, "bounced");
    let read = checker.check("GET /emails/{id}", &format!("/emails/{id}"), None);
    let attachment = read["attachments"][0]["id"].as_str().unwrap();
    let delayed = server.send(&json!({ "to": "delayed@resend.dev" }));
    server.wait_for(&delayed, "delivery_delayed");
    checker.check("GET /emails/{id}", &format!("/emails/{delayed}"), None);
    checker.check("GET /emails", "/emails", None);
    checker.check("GET /emails/{id}/attachments", &format!("/emails/{id}/attachments"), None);
    let captured = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&captured, "delivered");
    checker.check("GET /emails/{id}/attempts", &format!("/emails/{captured}/attempts"), None);
    server.advance(Duration::from_secs(6));
    let insights = format!("/emails/{captured}/insights");
    server.poll(&insights, "the insights", |response| response.status == 200);
    checker.check("GET /emails/{id}/insights", &insights, None);
    let one = format!("/emails/{id}/attachments/{attachment}");
    checker.check("GET /emails/{id}/attachments/{attachment_id}", &one, None);
    checker.check(
        "POST /emails/batch",
        "/emails/batch",
        Some(&json!([email(&json!({ "scheduled_at": "in 1 hour" }))])),
    );
    let scheduled = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let later = json!({ "scheduled_at": "in 2 hours" });
    checker.check("PATCH /emails/{id}", &format!("/emails/{scheduled}"), Some(&later));
    checker.check("POST /emails/{id}/cancel", &format!("/emails/{scheduled}/cancel"), None);
    checker.check("DELETE /emails/{id}", &format!("/emails/{scheduled}"), None);

    let domain = checker.check("POST /domains", "/domains", Some(&json!({ "name": "added.example" })));
    let path = format!("/domains/{}", domain["id"].as_str().unwrap());
    checker.check("GET /domains", "/domains", None);
    checker.check("GET /domains/{id}", &path, None);
    checker.check("PATCH /domains/{id}", &path, Some(&json!({ "tracking_subdomain": "links" })));
    checker.check("GET /domains/{id}", &path, None);
    checker.check("POST /domains/{id}/verify", &format!("{path}/verify"), None);
    checker.check("DELETE /domains/{id}", &path, None);

    let listed = checker.check("POST /suppressions", "/suppressions", Some(&json!({ "email": "ada@example.net" })));
    let path = format!("/suppressions/{}", listed["id"].as_str().unwrap());
    checker.check("GET /suppressions", "/suppressions?origin=manual", None);
    checker.check("GET /suppressions/{id}", &path, None);
    checker.check("DELETE /suppressions/{id}", "/suppressions/ada@example.net", None);
    let batch = json!({ "emails": ["ada@example.net", "bob@example.net"] });
    checker.check("POST /suppressions/batch/add", "/suppressions/batch/add", Some(&batch));
    checker.check("POST /suppressions/batch/remove", "/suppressions/batch/remove", Some(&batch));
    let topic = json!({ "name": "News", "default_subscription": "opt_in", "description": "Monthly." });
    let topic = checker.check("POST /topics", "/topics", Some(&topic));
    let path = format!("/topics/{}", topic["id"].as_str().unwrap());
    checker.check("GET /topics", "/topics", None);
    checker.check("GET /topics/{id}", &path, None);
    checker.check("PATCH /topics/{id}", &path, Some(&json!({ "description": null })));
    checker.check("DELETE /topics/{id}", &path, None);

    let property = json!({ "key": "age", "type": "number", "fallback_value": 18 });
    let property = checker.check("POST /contact-properties", "/contact-properties", Some(&property));
    let path = format!("/contact-properties/{}", property["id"].as_str().unwrap());
    checker.check("GET /contact-properties", "/contact-properties", None);
    checker.check("GET /contact-properties/{id}", &path, None);
    checker.check("PATCH /contact-properties/{id}", &path, Some(&json!({ "fallback_value": null })));
    checker.check("DELETE /contact-properties/{id}", &path, None);

    checker.templates();
    checker.contacts();
    checker.segments();
    checker.webhooks();
    checker.broadcasts();

    let captured = checker.check("GET /captured", "/captured?to=ada@example.net&wait=10s", None);
    let path = format!("/captured/{}", captured["data"][0]["id"].as_str().unwrap());
    checker.check("GET /captured/{id}", &path, None);

    checker.check("GET /openapi.json", "/openapi.json", None);
    checker.check("GET /usage", "/usage", None);
    checker.check("GET /emails/metrics", "/emails/metrics?dimensions=period,domain", None);
    checker.check("GET /deliverability", "/deliverability", None);
    let logged = checker.check("GET /logs", "/logs", None);
    checker.check("GET /logs/{id}", &format!("/logs/{}", logged["data"][0]["id"].as_str().unwrap()), None);
    let key = checker.check("POST /api-keys", "/api-keys", Some(&json!({ "name": "Key" })));
    let path = format!("/api-keys/{}", key["id"].as_str().unwrap());
    server.advance(Duration::from_secs(60));
    checker.check("GET /api-keys", "/api-keys", None);
    checker.check("PATCH /api-keys/{id}", &path, Some(&json!({ "name": "New" })));
    checker.check("DELETE /api-keys/{id}", &path, None);
    checker.assert_complete();
}

struct SchemaChecker<'a> {
    server: &'a TestServer,
    document: &'a Value,
    /// Method and path of the routes that were called.
    checked: RefCell<Vec<String>>,
}

impl SchemaChecker<'_> {
    fn templates(&self) {
        let body = json!({ "name": "Receipt", "alias": "receipt", "subject": "Hi", "html": "<p>Hi</p>", "text": "Hi" });
        let id = self.check("POST /templates", "/templates", Some(&body))["id"].as_str().unwrap().to_owned();
        self.check("GET /templates", "/templates", None);
        self.check("GET /templates/{id}", &format!("/templates/{id}"), None);
        self.check("POST /templates/{id}/publish", "/templates/receipt/publish", None);
        self.check("PATCH /templates/{id}", "/templates/receipt", Some(&json!({ "subject": null, "text": null })));
        self.check("GET /templates/{id}", "/templates/receipt", None);
        self.check("GET /templates", "/templates", None);
        let sent = json!({
            "from": "a@example.com", "to": "delivered@resend.dev", "subject": "Hi",
            "template": { "id": id, "variables": {} },
        });
        self.check("POST /emails", "/emails", Some(&sent));
        self.check("POST /templates/{id}/duplicate", &format!("/templates/{id}/duplicate"), None);
        self.check("DELETE /templates/{id}", "/templates/receipt", None);
    }

    fn contacts(&self) {
        let id = |created: Value| created["id"].as_str().unwrap().to_owned();
        let news =
            id(self.server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201));
        let everyone = id(self.server.post("/segments", &json!({ "name": "Everyone" })).ok(201));
        self.server.post("/contact-properties", &json!({ "key": "seats", "type": "number" })).ok(201);
        let full_body = json!({
            "email": "ada@example.net", "first_name": "Ada", "properties": { "seats": 4, "plan": "pro" },
            "segments": [{ "id": everyone }], "topics": [{ "id": news, "subscription": "opt_out" }],
        });
        let path = format!("/contacts/{}", id(self.check("POST /contacts", "/contacts", Some(&full_body))));
        self.check("POST /contacts", "/contacts", Some(&json!({ "email": "bob@example.net" })));
        self.check("GET /contacts", "/contacts", None);
        self.check("GET /contacts", "/contacts?include=properties,topics", None);
        self.check("GET /contacts/{id}", &path, None);
        self.check("PATCH /contacts/{id}", "/contacts/ada@example.net", Some(&json!({ "first_name": null })));
        let choices = json!([{ "id": news, "subscription": "opt_in" }]);
        self.check("PATCH /contacts/{id}/topics", &format!("{path}/topics"), Some(&choices));
        self.check("GET /contacts/{id}/topics", &format!("{path}/topics"), None);
        let membership = format!("{path}/segments/{everyone}");
        self.check("POST /contacts/{id}/segments/{segment_id}", &membership, None);
        self.check("GET /contacts/{id}/segments", &format!("{path}/segments"), None);
        self.check("DELETE /contacts/{id}/segments/{segment_id}", &membership, None);
        let batch = json!([full_body, { "email": "eve@example.net" }, { "email": "x", "segments": [] }]);
        let permissive = ("x-batch-validation", "permissive");
        let upsert = "/contacts/batch?on_conflict=upsert";
        self.check_with("POST /contacts/batch", upsert, &[permissive], Some(&batch));
        let request = json!({
            "contacts": [{ "email": "ada@example.net" }, { "email": "nobody@example.net" }, { "id": Ids::UNKNOWN.contact }],
            "include": ["properties", "topics"],
        });
        self.check("POST /contacts/batch/get", "/contacts/batch/get", Some(&request));
        let removal = json!({ "emails": ["eve@example.net"] });
        self.check("POST /contacts/batch/remove", "/contacts/batch/remove", Some(&removal));
        self.check("POST /contacts/{id}/preferences-link", &format!("{path}/preferences-link"), None);
        self.check("DELETE /contacts/{id}", &path, None);
    }

    fn segments(&self) {
        let filter = json!({ "match": "any", "conditions": [
            { "field": "email", "op": "is_set", "value": null }, { "field": "email", "op": "equals", "value": "a" },
        ] });
        for (object, path) in [("segments", "/segments"), ("audiences", "/audiences")] {
            let route = |method: &str, rest: &str| format!("{method} /{object}{rest}");
            let body = json!({ "name": "Some", "filter": filter });
            let created = self.check(&route("POST", ""), path, Some(&body));
            let one = format!("{path}/{}", created["id"].as_str().unwrap());
            self.check(&route("GET", ""), path, None);
            self.check(&route("GET", "/{id}"), &one, None);
            if object == "segments" {
                self.check("PATCH /segments/{id}", &one, Some(&json!({ "filter": null })));
                self.check("PATCH /segments/{id}", &one, Some(&body));
            } else {
                let contacts = format!("{one}/contacts");
                let contact = json!({ "email": "ada@example.com", "properties": { "plan": "pro" } });
                self.check("POST /audiences/{id}/contacts", &contacts, Some(&contact));
                let contact = format!("{contacts}/ada@example.com");
                self.check("GET /audiences/{id}/contacts/{contact_id}", &contact, None);
                let changes = json!({ "first_name": "Ada" });
                self.check("PATCH /audiences/{id}/contacts/{contact_id}", &contact, Some(&changes));
            }
            self.check(&route("GET", "/{id}/contacts"), &format!("{one}/contacts?include=properties,topics"), None);
            if object == "audiences" {
                let contact = format!("{one}/contacts/ada@example.com");
                self.check("DELETE /audiences/{id}/contacts/{contact_id}", &contact, None);
            }
            self.check(&route("DELETE", "/{id}"), &one, None);
        }
    }

    fn broadcasts(&self) {
        let segment = self.server.post("/segments", &json!({ "name": "Everyone" })).ok(201);
        let full_body = json!({
            "from": "Ada <hello@example.com>", "subject": "Hi {{{FIRST_NAME|there}}}", "name": "June",
            "segment_id": segment["id"], "reply_to": ["answers@example.com"], "preview_text": "News of June",
            "html": "<p>Hi</p>", "text": "Hi", "send": true, "scheduled_at": "in 1 hour",
        });
        let sent = self.check("POST /broadcasts", "/broadcasts", Some(&full_body));
        let one = format!("/broadcasts/{}", sent["id"].as_str().unwrap());
        self.check("GET /broadcasts", "/broadcasts", None);
        self.check("GET /broadcasts/{id}", &one, None);
        self.check("GET /broadcasts/{id}/recipients", &format!("{one}/recipients?type=bounced"), None);
        self.check("GET /broadcasts/{id}/clicked-links", &format!("{one}/clicked-links"), None);
        self.check("POST /broadcasts/{id}/cancel", &format!("{one}/cancel"), None);
        let copy = self.check("POST /broadcasts/{id}/duplicate", &format!("{one}/duplicate"), None);
        let copy = format!("/broadcasts/{}", copy["id"].as_str().unwrap());
        self.check("PATCH /broadcasts/{id}", &copy, Some(&json!({ "name": null })));
        self.check("POST /broadcasts/{id}/send", &format!("{copy}/send"), None);
        let draft = json!({ "from": "hello@example.com", "subject": "June" });
        let draft = self.check("POST /broadcasts", "/broadcasts", Some(&draft));
        self.check("DELETE /broadcasts/{id}", &format!("/broadcasts/{}", draft["id"].as_str().unwrap()), None);
    }

    fn webhooks(&self) {
        let body = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent", "email.bounced"] });
        let created = self.check("POST /webhooks", "/webhooks", Some(&body));
        let id = created["id"].as_str().unwrap();
        let one = format!("/webhooks/{id}");
        self.check("GET /webhooks", "/webhooks", None);
        self.check("GET /webhooks/{id}", &one, None);
        self.check("PATCH /webhooks/{id}", &one, Some(&json!({ "events": ["email.sent"] })));
        self.check("POST /webhooks/{id}/rotate", &format!("{one}/rotate"), Some(&json!({ "overlap_hours": 0 })));
        let alias = format!("{one}/signing-secret/rotate");
        self.check("POST /webhooks/{id}/signing-secret/rotate", &alias, None);
        self.check("GET /webhooks/{id}", &one, None);
        let delivery = format!("{one}/events/{}", self.server.add_webhook_delivery(id));
        self.check("GET /webhooks/{id}/events", &format!("{one}/events"), None);
        self.check("GET /webhooks/{id}/events/{event_id}", &delivery, None);
        let attempts = format!("{delivery}/attempts");
        self.check("GET /webhooks/{id}/events/{event_id}/attempts", &attempts, None);
        self.check("POST /webhooks/{id}/events/{event_id}/replay", &format!("{delivery}/replay"), None);
        self.check("GET /webhooks/{id}/events/{event_id}", &delivery, None);
        self.check("POST /webhooks/{id}/test", &format!("{one}/test"), Some(&json!({ "type": "email.sent" })));
        self.check("DELETE /webhooks/{id}", &one, None);
    }

    #[track_caller]
    fn check(&self, route: &str, path: &str, body: Option<&Value>) -> Value {
        self.check_with(route, path, &[], body)
    }

    /// Calls a route and checks that the response is a success and matches its schema. Returns the body.
    #[track_caller]
    fn check_with(&self, route: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Value {
        self.checked.borrow_mut().push(route.to_owned());
        let (method, template) = route.split_once(' ').unwrap();
        let text = body.map(Value::to_string);
        let response = self.server.call(method, path, self.server.key(), headers, text.as_deref().map(str::as_bytes));
        let operation = &self.document["paths"][template][method.to_lowercase()];
        let declared = &operation["responses"][response.status.to_string()];
        assert!(response.status < 300, "{route}: {}", response.json);
        let schema = &declared["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route} has no schema for status {}", response.status);
        let components = &self.document["components"]["schemas"];
        assert_eq!(
            violations(&response.json, schema, components),
            Vec::<String>::new(),
            "{route}: {:#}",
            response.json
        );
        response.json
    }

    /// Checks that every route of the document was called.
    #[track_caller]
    fn assert_complete(&self) {
        let checked = self.checked.borrow();
        let all = operations(self.document).into_iter().map(|(route, _)| route);
        // `openapi_examples.rs` sends signed reports.
        let is_missed = |route: &String| !checked.contains(route) && !route.contains("/ingest/");
        let missed: Vec<String> = all.filter(is_missed).collect();
        assert_eq!(missed, Vec::<String>::new(), "add these routes to this test");
    }
}
