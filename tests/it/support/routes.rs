//! Lists every route of the API from its OpenAPI document, so that tests cover a new route automatically.

use serde_json::{Value, json};

use super::TestServer;

/// A route of the API.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: String,
    /// Path with its parameters in braces.
    pub(crate) path: String,
}

/// Values of the path parameters.
#[derive(Clone, Copy)]
pub(crate) struct Ids<'a> {
    pub(crate) email: &'a str,
    pub(crate) captured: &'a str,
    pub(crate) attachment: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) api_key: &'a str,
    pub(crate) broadcast: &'a str,
    pub(crate) suppression: &'a str,
    pub(crate) template: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) contact: &'a str,
    pub(crate) contact_property: &'a str,
    pub(crate) segment: &'a str,
    pub(crate) log: &'a str,
    pub(crate) webhook: &'a str,
    pub(crate) webhook_event: &'a str,
}

impl Ids<'_> {
    /// Valid ids of resources that do not exist.
    pub(crate) const UNKNOWN: Ids<'static> = Ids {
        email: "0190a6c0-0000-7000-8000-000000000001",
        captured: "0190a6c0-0000-7000-8000-00000000000d",
        attachment: "0190a6c0-0000-7000-8000-000000000002",
        domain: "0190a6c0-0000-7000-8000-000000000003",
        api_key: "0190a6c0-0000-7000-8000-000000000004",
        broadcast: "0190a6c0-0000-7000-8000-00000000000e",
        suppression: "0190a6c0-0000-7000-8000-000000000005",
        template: "0190a6c0-0000-7000-8000-00000000000e",
        topic: "0190a6c0-0000-7000-8000-000000000006",
        contact: "0190a6c0-0000-7000-8000-000000000007",
        contact_property: "0190a6c0-0000-7000-8000-000000000008",
        segment: "0190a6c0-0000-7000-8000-000000000009",
        log: "0190a6c0-0000-7000-8000-00000000000a",
        webhook: "0190a6c0-0000-7000-8000-00000000000c",
        webhook_event: "0190a6c0-0000-7000-8000-00000000000b",
    };
}

/// Returns every route of the OpenAPI document that needs a key.
pub(crate) fn every_route(server: &TestServer) -> Vec<Route> {
    let document = server.call("GET", "/docs/openapi.json", "", &[], None).ok(200);
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths are an object") {
        for (method, operation) in item.as_object().expect("a path is an object of methods") {
            if operation["security"] != json!([{ "bearer": [] }]) {
                continue;
            }
            routes.push(Route { method: method.to_uppercase(), path: path.clone() });
        }
    }
    assert!(routes.len() > 15, "the OpenAPI document lacks routes: {routes:?}");
    routes
}

impl Route {
    /// Returns the query parameters that are required; empty without one.
    pub(crate) fn required_query(&self) -> &'static str {
        if self.path == "/broadcasts/{id}/recipients" { "?type=sent" } else { "" }
    }

    /// Returns the path with `ids` in place of its parameters.
    pub(crate) fn path_with(&self, ids: Ids<'_>) -> String {
        let path = self.path.replace("{id}", &self.id_from(&ids));
        path.replace("{attachment_id}", ids.attachment)
            .replace("{segment_id}", ids.segment)
            .replace("{contact_id}", ids.contact)
            .replace("{event_id}", ids.webhook_event)
    }

    /// Returns the member of `ids` for the parameter `id` of the path.
    pub(crate) fn id_from(&self, ids: &Ids<'_>) -> String {
        let id = match self.path.split('/').nth(1).unwrap_or_default() {
            "emails" => ids.email,
            "captured" => ids.captured,
            "domains" => ids.domain,
            "api-keys" => ids.api_key,
            "broadcasts" => ids.broadcast,
            "suppressions" => ids.suppression,
            "templates" => ids.template,
            "topics" => ids.topic,
            "contacts" => ids.contact,
            "contact-properties" => ids.contact_property,
            "segments" | "audiences" => ids.segment,
            "logs" => ids.log,
            "webhooks" => ids.webhook,
            _ => {
                assert!(!self.has_parameters(), "add the `id` of {} to this function", self.path);
                ""
            }
        };
        id.to_owned()
    }

    /// Returns the path with ids in place of its parameters. The id of `parameter` is from `other`; the
    /// others are from `own`.
    pub(crate) fn path_with_other_id(&self, own: Ids<'_>, other: Ids<'_>, parameter: &str) -> String {
        let ids_for = |name: &str| if name == parameter { other } else { own };
        let path = self.path.replace("{id}", &self.id_from(&ids_for("id")));
        path.replace("{attachment_id}", ids_for("attachment_id").attachment)
            .replace("{segment_id}", ids_for("segment_id").segment)
            .replace("{contact_id}", ids_for("contact_id").contact)
            .replace("{event_id}", ids_for("event_id").webhook_event)
    }

    /// Returns the names of the path's parameters.
    pub(crate) fn parameters(&self) -> Vec<&str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
    }

    /// Returns whether the path has a parameter.
    pub(crate) fn has_parameters(&self) -> bool {
        self.path.contains('{')
    }

    /// Returns a valid body for the route; `None` if the route reads no body.
    pub(crate) fn body(&self) -> Option<Value> {
        match (self.method.as_str(), self.path.as_str()) {
            ("GET" | "DELETE", _) | ("POST", "/emails/{id}/cancel" | "/domains/{id}/verify") => None,
            ("POST", "/broadcasts/{id}/cancel" | "/broadcasts/{id}/duplicate") => None,
            ("POST", "/broadcasts") => Some(json!({ "from": "Ada <hello@example.com>", "subject": "June" })),
            ("PATCH", "/broadcasts/{id}") => Some(json!({ "name": "Changed" })),
            ("POST", "/broadcasts/{id}/send") => Some(json!({ "scheduled_at": "in 1 hour" })),
            ("POST", "/contacts/{id}/segments/{segment_id}" | "/contacts/{id}/preferences-link") => None,
            ("POST", "/templates/{id}/publish" | "/templates/{id}/duplicate") => None,
            ("POST", "/emails") => Some(super::email(&json!({}))),
            ("POST", "/emails/batch") => Some(json!([super::email(&json!({}))])),
            ("PATCH", "/emails/{id}") => Some(json!({ "scheduled_at": "in 1 hour" })),
            ("POST", "/domains") => Some(json!({ "name": "added.example" })),
            ("PATCH", "/domains/{id}") => Some(json!({ "open_tracking": false })),
            ("POST" | "PATCH", "/api-keys" | "/api-keys/{id}") => Some(json!({ "name": "Another" })),
            ("POST", "/suppressions") => Some(json!({ "email": "added@example.net" })),
            ("POST", "/suppressions/batch/add" | "/suppressions/batch/remove") => {
                Some(json!({ "emails": ["added@example.net"] }))
            }
            ("POST", "/contacts") => Some(json!({ "email": "added@example.net" })),
            ("POST", "/contacts/batch") => Some(json!([{ "email": "added@example.net" }])),
            ("POST", "/contacts/batch/get") => Some(json!({ "contacts": [{ "email": "added@example.net" }] })),
            ("POST", "/contacts/batch/remove") => Some(json!({ "emails": ["added@example.net"] })),
            ("PATCH", "/contacts/{id}") => Some(json!({ "first_name": "Changed" })),
            ("PATCH", "/contacts/{id}/topics") => Some(json!([])),
            ("POST", "/segments" | "/audiences") => Some(json!({ "name": "Everyone" })),
            ("POST", "/audiences/{id}/contacts") => Some(json!({ "email": "added@example.net" })),
            ("PATCH", "/audiences/{id}/contacts/{contact_id}") => Some(json!({ "first_name": "Changed" })),
            ("PATCH", "/segments/{id}") => Some(json!({ "name": "Changed" })),
            ("POST", "/templates") => Some(json!({ "name": "Receipt", "html": "<p>Hello</p>" })),
            ("PATCH", "/templates/{id}") => Some(json!({ "name": "Changed" })),
            ("POST", "/topics") => Some(json!({ "name": "News", "default_subscription": "opt_in" })),
            ("PATCH", "/topics/{id}") => Some(json!({ "name": "Changed" })),
            ("POST", "/contact-properties") => Some(json!({ "key": "plan", "type": "string" })),
            ("PATCH", "/contact-properties/{id}") => Some(json!({ "fallback_value": "changed" })),
            ("POST", "/webhooks") => {
                Some(json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"] }))
            }
            ("PATCH", "/webhooks/{id}") => Some(json!({ "events": ["email.opened"] })),
            ("POST", "/webhooks/{id}/rotate" | "/webhooks/{id}/signing-secret/rotate") => {
                Some(json!({ "overlap_hours": 1 }))
            }
            ("POST", "/webhooks/{id}/test") => Some(json!({ "type": "email.sent" })),
            ("POST", "/webhooks/{id}/events/{event_id}/replay") => None,
            _ => panic!("add a body of {} {} to this function", self.method, self.path),
        }
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
