//! The document as it is served: the generated description, completed and ordered.

use salvo::oapi::OpenApi;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{answers, shorten};

/// Sections of the API in reading order, each with its subject.
const SECTIONS: &[(&str, &str)] = &[
    ("Emails", "Sending, reading and scheduling of email."),
    ("Domains", "Domains to send from, and the DNS records that prove their ownership."),
    ("API keys", "Keys for this API."),
    ("Contacts", "People and their choices."),
    ("Contact properties", "Custom fields of contacts."),
    ("Topics", "Categories of email that a contact can opt out of separately."),
    ("Segments", "Groups of contacts."),
    ("Audiences", "Segments under their older name."),
    ("Suppressions", "Addresses that the team does not send to."),
    ("Webhooks", "Endpoints that receive events."),
    ("Logs", "Requests of the team."),
    ("Usage", "Numbers of the team."),
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
    /// Completes the generated description of the routes.
    pub(crate) fn of(generated: &OpenApi) -> Self {
        let mut generated = serde_json::to_value(generated).expect("an OpenAPI document is plain data");
        shorten::shorten(&mut generated);
        let components = generated["components"].take();
        let Value::Object(paths) = generated["paths"].take() else { unreachable!("paths are an object") };
        let mut paths: Vec<(String, Value)> = paths.into_iter().collect();
        for operation in
            paths.iter_mut().filter_map(|(_, item)| item.as_object_mut()).flat_map(|item| item.values_mut())
        {
            answers::complete(operation, &components["schemas"]);
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
