//! A tour through every route of the API, each answer held against its description.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json};

use super::openapi::{document, operations};
use crate::support::{Ids, TestServer, email, violations};

/// Holds every answer of a tour through the API against its schema: right types, every required
/// field there, no field undeclared, and every field that is always there required.
#[test]
fn every_answer_is_what_the_description_promises() {
    let server = TestServer::start();
    let document = document(&server);
    let tour = Tour { server: &server, document: &document, visited: RefCell::default() };

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

    tour.contacts();
    tour.segments();
    tour.webhooks();

    tour.visit("GET /openapi.json", "/openapi.json", None);
    tour.visit("GET /usage", "/usage", None);
    let logged = tour.visit("GET /logs", "/logs", None);
    tour.visit("GET /logs/{id}", &format!("/logs/{}", logged["data"][0]["id"].as_str().unwrap()), None);
    let key = tour.visit("POST /api-keys", "/api-keys", Some(&json!({ "name": "Key" })));
    let path = format!("/api-keys/{}", key["id"].as_str().unwrap());
    server.advance(Duration::from_secs(60));
    tour.visit("GET /api-keys", "/api-keys", None);
    tour.visit("PATCH /api-keys/{id}", &path, Some(&json!({ "name": "New" })));
    tour.visit("DELETE /api-keys/{id}", &path, None);
    tour.ends();
}

struct Tour<'a> {
    server: &'a TestServer,
    document: &'a Value,
    visited: RefCell<Vec<String>>,
}

impl Tour<'_> {
    fn contacts(&self) {
        let id = |made: Value| made["id"].as_str().unwrap().to_owned();
        let news =
            id(self.server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201));
        let everyone = id(self.server.post("/segments", &json!({ "name": "Everyone" })).ok(201));
        self.server.post("/contact-properties", &json!({ "key": "seats", "type": "number" })).ok(201);
        let full = json!({
            "email": "ada@example.net", "first_name": "Ada", "properties": { "seats": 4, "plan": "pro" },
            "segments": [{ "id": everyone }], "topics": [{ "id": news, "subscription": "opt_out" }],
        });
        let path = format!("/contacts/{}", id(self.visit("POST /contacts", "/contacts", Some(&full))));
        self.visit("POST /contacts", "/contacts", Some(&json!({ "email": "bob@example.net" })));
        self.visit("GET /contacts", "/contacts", None);
        self.visit("GET /contacts", "/contacts?include=properties,topics", None);
        self.visit("GET /contacts/{id}", &path, None);
        self.visit("PATCH /contacts/{id}", "/contacts/ada@example.net", Some(&json!({ "first_name": null })));
        let choices = json!([{ "id": news, "subscription": "opt_in" }]);
        self.visit("PATCH /contacts/{id}/topics", &format!("{path}/topics"), Some(&choices));
        self.visit("GET /contacts/{id}/topics", &format!("{path}/topics"), None);
        let membership = format!("{path}/segments/{everyone}");
        self.visit("POST /contacts/{id}/segments/{segment_id}", &membership, None);
        self.visit("GET /contacts/{id}/segments", &format!("{path}/segments"), None);
        self.visit("DELETE /contacts/{id}/segments/{segment_id}", &membership, None);
        let batch = json!([full, { "email": "eve@example.net" }, { "email": "x", "segments": [] }]);
        let permissive = ("x-batch-validation", "permissive");
        let upsert = "/contacts/batch?on_conflict=upsert";
        self.visit_with("POST /contacts/batch", upsert, &[permissive], Some(&batch));
        let wanted = json!({
            "contacts": [{ "email": "ada@example.net" }, { "email": "nobody@example.net" }, { "id": Ids::UNKNOWN.contact }],
            "include": ["properties", "topics"],
        });
        self.visit("POST /contacts/batch/get", "/contacts/batch/get", Some(&wanted));
        let removal = json!({ "emails": ["eve@example.net"] });
        self.visit("POST /contacts/batch/remove", "/contacts/batch/remove", Some(&removal));
        self.visit("POST /contacts/{id}/preferences-link", &format!("{path}/preferences-link"), None);
        self.visit("DELETE /contacts/{id}", &path, None);
    }

    fn segments(&self) {
        let filter = json!({ "match": "any", "conditions": [
            { "field": "email", "op": "is_set", "value": null }, { "field": "email", "op": "equals", "value": "a" },
        ] });
        for (object, path) in [("segments", "/segments"), ("audiences", "/audiences")] {
            let route = |method: &str, rest: &str| format!("{method} /{object}{rest}");
            let body = json!({ "name": "Some", "filter": filter });
            let made = self.visit(&route("POST", ""), path, Some(&body));
            let one = format!("{path}/{}", made["id"].as_str().unwrap());
            self.visit(&route("GET", ""), path, None);
            self.visit(&route("GET", "/{id}"), &one, None);
            if object == "segments" {
                self.visit("PATCH /segments/{id}", &one, Some(&json!({ "filter": null })));
                self.visit("PATCH /segments/{id}", &one, Some(&body));
            } else {
                let contacts = format!("{one}/contacts");
                let contact = json!({ "email": "ada@example.com", "properties": { "plan": "pro" } });
                self.visit("POST /audiences/{id}/contacts", &contacts, Some(&contact));
                let contact = format!("{contacts}/ada@example.com");
                self.visit("GET /audiences/{id}/contacts/{contact_id}", &contact, None);
                let changes = json!({ "first_name": "Ada" });
                self.visit("PATCH /audiences/{id}/contacts/{contact_id}", &contact, Some(&changes));
            }
            self.visit(&route("GET", "/{id}/contacts"), &format!("{one}/contacts?include=properties,topics"), None);
            if object == "audiences" {
                let contact = format!("{one}/contacts/ada@example.com");
                self.visit("DELETE /audiences/{id}/contacts/{contact_id}", &contact, None);
            }
            self.visit(&route("DELETE", "/{id}"), &one, None);
        }
    }

    fn webhooks(&self) {
        let body = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent", "email.bounced"] });
        let made = self.visit("POST /webhooks", "/webhooks", Some(&body));
        let id = made["id"].as_str().unwrap();
        let one = format!("/webhooks/{id}");
        self.visit("GET /webhooks", "/webhooks", None);
        self.visit("GET /webhooks/{id}", &one, None);
        self.visit("PATCH /webhooks/{id}", &one, Some(&json!({ "events": ["email.sent"] })));
        self.visit("POST /webhooks/{id}/rotate", &format!("{one}/rotate"), Some(&json!({ "overlap_hours": 0 })));
        let alias = format!("{one}/signing-secret/rotate");
        self.visit("POST /webhooks/{id}/signing-secret/rotate", &alias, None);
        self.visit("GET /webhooks/{id}", &one, None);
        let delivery = format!("{one}/events/{}", self.server.add_webhook_delivery(id));
        self.visit("GET /webhooks/{id}/events", &format!("{one}/events"), None);
        self.visit("GET /webhooks/{id}/events/{event_id}", &delivery, None);
        let attempts = format!("{delivery}/attempts");
        self.visit("GET /webhooks/{id}/events/{event_id}/attempts", &attempts, None);
        self.visit("POST /webhooks/{id}/events/{event_id}/replay", &format!("{delivery}/replay"), None);
        self.visit("GET /webhooks/{id}/events/{event_id}", &delivery, None);
        self.visit("POST /webhooks/{id}/test", &format!("{one}/test"), Some(&json!({ "type": "email.sent" })));
        self.visit("DELETE /webhooks/{id}", &one, None);
    }

    #[track_caller]
    fn visit(&self, route: &str, path: &str, body: Option<&Value>) -> Value {
        self.visit_with(route, path, &[], body)
    }

    #[track_caller]
    fn visit_with(&self, route: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Value {
        self.visited.borrow_mut().push(route.to_owned());
        let (method, template) = route.split_once(' ').unwrap();
        let text = body.map(Value::to_string);
        let answer = self.server.call(method, path, self.server.key(), headers, text.as_deref().map(str::as_bytes));
        let operation = &self.document["paths"][template][method.to_lowercase()];
        let response = &operation["responses"][answer.status.to_string()];
        assert!(answer.status < 300, "{route}: {}", answer.json);
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route} does not describe its {}", answer.status);
        let components = &self.document["components"]["schemas"];
        assert_eq!(violations(&answer.json, schema, components), Vec::<String>::new(), "{route}: {:#}", answer.json);
        answer.json
    }

    /// Checks that no route was left out.
    #[track_caller]
    fn ends(&self) {
        let visited = self.visited.borrow();
        let all = operations(self.document).into_iter().map(|(route, _)| route);
        let missed: Vec<String> = all.filter(|route| !visited.contains(route)).collect();
        assert_eq!(missed, Vec::<String>::new(), "the tour goes through every route");
    }
}
