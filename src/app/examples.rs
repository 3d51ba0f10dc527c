//! A request and a response of each operation, for the OpenAPI document. The tests send each request to the server, and
//! compare the response.

use serde_json::{Map, Value};

/// The examples of the sections, by operation id.
const SECTIONS: [&str; 18] = [
    include_str!("examples/api_keys.json"),
    include_str!("examples/audiences.json"),
    include_str!("examples/broadcasts.json"),
    include_str!("examples/captured.json"),
    include_str!("examples/contact_properties.json"),
    include_str!("examples/contacts.json"),
    include_str!("examples/deliverability.json"),
    include_str!("examples/description.json"),
    include_str!("examples/domains.json"),
    include_str!("examples/emails.json"),
    include_str!("examples/logs.json"),
    include_str!("examples/reports.json"),
    include_str!("examples/segments.json"),
    include_str!("examples/suppressions.json"),
    include_str!("examples/templates.json"),
    include_str!("examples/topics.json"),
    include_str!("examples/usage.json"),
    include_str!("examples/webhooks.json"),
];

/// Returns the example of each operation, by operation id.
pub(super) fn of_operations() -> Map<String, Value> {
    let mut examples = Map::new();
    for section in SECTIONS {
        examples.extend(serde_json::from_str::<Map<String, Value>>(section).expect("the examples are JSON objects"));
    }
    examples
}
