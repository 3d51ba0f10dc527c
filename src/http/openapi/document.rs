//! The document as it is served: the generated description, completed and ordered.

use salvo::oapi::OpenApi;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{error_responses, examples, fixed, shorten};

/// Sections of the API in reading order, each with its subject.
const SECTIONS: &[(&str, &str)] = &[
    ("Emails", "Sending, reading and scheduling of email."),
    ("Domains", "Domains to send from, and the DNS records that prove their ownership."),
    ("API keys", "Keys for this API."),
    ("Templates", "Stored content of emails, with fields that each send fills."),
    ("Contacts", "People and their choices."),
    ("Contact properties", "Custom fields of contacts."),
    ("Topics", "Categories of email that a contact can opt out of separately."),
    ("Segments", "Groups of contacts."),
    ("Broadcasts", "One message to all contacts, a segment or a topic."),
    ("Audiences", "Segments under their older name."),
    ("Suppressions", "Addresses that the team does not send to."),
    ("Webhooks", "Endpoints that receive events."),
    ("Events", "Requests of this server to webhook endpoints."),
    ("Reports", "Outcomes of deliveries that other systems report."),
    ("Captured", "Messages in the built-in mailbox."),
    ("Logs", "Requests of the team."),
    ("Usage", "Numbers of the team."),
    ("Deliverability", "Score of the team, and the rates that can pause its sending."),
    ("Description", "This document."),
];

/// A complete OpenAPI document.
#[derive(Serialize)]
pub(crate) struct OpenApiDocument {
    openapi: Value,
    info: Value,
    servers: Value,
    tags: Value,
    paths: InOrder,
    webhooks: Value,
    components: Value,
}

/// A JSON object that keeps the order of its fields.
struct InOrder(Vec<(String, Value)>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl OpenApiDocument {
    /// Completes the generated description of the routes. `events` are the requests to webhook endpoints, by event type.
    /// `examples` are the examples of the operations, by operation id.
    pub(crate) fn of(generated: &OpenApi, events: Value, examples: &Map<String, Value>) -> Self {
        let mut generated = serde_json::to_value(generated).expect("an OpenAPI document is plain data");
        shorten::shorten(&mut generated);
        fixed::fix(&mut generated["components"]);
        let components = generated["components"].take();
        let Value::Object(paths) = generated["paths"].take() else { unreachable!("paths are an object") };
        let mut paths: Vec<(String, Value)> = paths.into_iter().collect();
        let items = paths.iter_mut().filter_map(|(_, item)| item.as_object_mut());
        for operation in items.flat_map(|item| item.values_mut()) {
            error_responses::complete(operation, &components["schemas"]);
            if let Some(example) = operation["operationId"].as_str().and_then(|id| examples.get(id)) {
                examples::add(operation, example);
            }
        }
        // The sort is stable: the paths of a section stay in alphabetical order.
        paths.sort_by_key(|(_, item)| section(item));
        let tags = SECTIONS.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
        Self {
            openapi: generated["openapi"].take(),
            info: generated["info"].take(),
            servers: json!([{ "url": "/", "description": "The server that this document is read from." }]),
            tags,
            paths: InOrder(paths),
            webhooks: events,
            components,
        }
    }
}

/// Returns the position of the section of a path. An unknown section is last.
fn section(item: &Value) -> usize {
    let operation = item.as_object().and_then(|item| item.values().next());
    let tag = operation.and_then(|operation| operation["tags"][0].as_str());
    SECTIONS.iter().position(|(name, _)| tag == Some(*name)).unwrap_or(SECTIONS.len())
}
