//! `POST /contacts/batch/get`.

use serde_json::{Value, json};

use super::super::{UNKNOWN_ID, create, create_topic, id};
use crate::support::{TestServer, assert_body};

const PATH: &str = "/contacts/batch/get";

#[test]
fn contacts_are_returned_in_request_order_and_missing_ones_are_listed() {
    let server = TestServer::start();
    let theirs = server.other_team("Other", "other.example");
    let foreign = theirs.post("/contacts", &json!({ "email": "theirs@example.net" })).ok(201);
    let [ada, bob, eve] = ["Ada", "bob", "eve"].map(|name| create(&server, &format!("{name}@example.net"), &json!({})));

    let request = json!({ "contacts": [
        { "email": "nobody@Example.NET" }, { "id": id(&eve).to_uppercase() }, { "email": "aDA@example.net" },
        { "id": UNKNOWN_ID }, { "id": bob["id"], "email": null }, { "id": foreign["id"] }, { "email": "theirs@example.net" },
        { "email": "ada@example.net" },
    ] });
    let response = server.post(PATH, &request).ok(200);

    let ids: Vec<&Value> = response["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&eve["id"], &ada["id"], &bob["id"], &ada["id"]]);
    assert_eq!(
        response["missing"],
        json!([
            { "index": 0, "email": "nobody@Example.NET" },
            { "index": 3, "id": UNKNOWN_ID },
            { "index": 5, "id": foreign["id"] },
            { "index": 6, "email": "theirs@example.net" },
        ])
    );
    assert_eq!(
        response["data"][0],
        server.get("/contacts?limit=1").ok(200)["data"][0],
        "a row has the fields of a list row"
    );
}

#[test]
fn the_included_fields_are_returned() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    let fields = json!({ "properties": { "plan": "pro" }, "topics": [{ "id": news, "subscription": "opt_out" }] });
    create(&server, "ada@example.net", &fields);
    let request = |include: Value| json!({ "contacts": [{ "email": "ada@example.net" }], "include": include });

    let included = server.post(PATH, &request(json!(["topics", "properties"]))).ok(200);

    assert_eq!(included["data"], server.get("/contacts?include=properties,topics").ok(200)["data"]);
    assert_eq!(server.post(PATH, &request(json!([]))).ok(200)["data"], server.get("/contacts").ok(200)["data"]);
    assert_eq!(server.post(PATH, &request(json!(null))).ok(200)["data"], server.get("/contacts").ok(200)["data"]);
    assert_body!(included);
}

#[test]
fn a_batch_reads_at_most_1000_contacts_as_one_request() {
    let server = TestServer::start_with(&["--rate-limit", "50"]);
    let request = |count: usize| -> Value {
        let name = |number: usize| json!({ "email": format!("c{number}@example.net") });
        json!({ "contacts": (0..count).map(name).collect::<Vec<_>>() })
    };
    let remaining = |response: &crate::support::ApiResponse| -> u32 {
        response.header("ratelimit-remaining").unwrap().parse().unwrap()
    };
    let before = remaining(&server.get("/contacts"));

    let response = server.post(PATH, &request(1_000));

    assert_eq!(remaining(&response), before - 1);
    assert_eq!(response.ok(200)["missing"].as_array().unwrap().len(), 1_000);
    let refused = server.post(PATH, &request(1_001)).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `contacts` field: more than 1000 items"), "{refused}");
}

#[test]
fn a_response_has_at_most_32_mib() {
    let server = TestServer::start();
    let large: Value = (0..15)
        .map(|key| (format!("key{key}"), json!("x\u{1}".repeat(1_000))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    create(&server, "ada@example.net", &json!({ "properties": large }));
    let request = |count: usize, include: &[&str]| {
        let names = vec![json!({ "email": "ada@example.net" }); count];
        json!({ "contacts": names, "include": include })
    };

    // Every second character takes six bytes in JSON: 105,000 bytes for a contact.
    let response = server.post(PATH, &request(80, &["properties"])).ok(200);
    assert_eq!(response["data"].as_array().unwrap().len(), 80);
    let refused = server.post(PATH, &request(330, &["properties"])).refusal();
    let message = "422 validation_error: The answer would have more than 32 MiB. Ask for fewer contacts at once, or \
                   include less of them.";
    assert_eq!(refused, message);
    assert_eq!(server.post(PATH, &request(1_000, &["topics"])).ok(200)["data"].as_array().unwrap().len(), 1_000);
}

#[test]
fn an_invalid_item_is_reported_with_its_index() {
    let server = TestServer::start();
    let created = create(&server, "ada@example.net", &json!({}));
    let good = json!({ "email": "ada@example.net" });
    let either = "422 validation_error: Invalid `contacts.1` field: give either `id` or `email`.";
    for (body, refusal) in [
        (json!({}), "422 missing_required_field: Missing `contacts` field."),
        (json!({ "contacts": null }), "422 missing_required_field: Missing `contacts` field."),
        (json!({ "contacts": [] }), "422 validation_error: Invalid `contacts` field: the array is empty; 1 to 1000"),
        (json!({ "contacts": good }), "422 validation_error: Invalid `contacts` field: invalid type: map"),
        (json!({ "contacts": [good, {}] }), either),
        (json!({ "contacts": [good, { "id": created["id"], "email": "ada@example.net" }] }), either),
        (json!({ "contacts": [good, { "id": null, "email": null }] }), either),
        (
            json!({ "contacts": [good, { "id": "1" }] }),
            "422 validation_error: The `contacts.1.id` must be a valid UUID.",
        ),
        (
            json!({ "contacts": [good, { "id": "ada@example.net" }] }),
            "422 validation_error: The `contacts.1.id` must be",
        ),
        (json!({ "contacts": [good, { "email": "x" }] }), "422 validation_error: Invalid `contacts.1.email` field: "),
        (json!({ "contacts": [good, { "email": 1 }] }), "422 validation_error: Invalid `contacts[1].email` field: "),
        (
            json!({ "contacts": [good, { "name": "x" }] }),
            "422 validation_error: Invalid `contacts[1].name` field: unknown",
        ),
        (
            json!({ "contacts": [good, "ada@example.net"] }),
            "422 validation_error: Invalid `contacts[1]` field: invalid",
        ),
        (json!({ "contacts": [good], "include": ["segments"] }), "422 validation_error: Invalid `include`: use"),
        (json!({ "contacts": [good], "include": "topics" }), "422 validation_error: Invalid `include` field: invalid"),
        (json!({ "contacts": [good], "limit": 1 }), "422 validation_error: Invalid `limit` field: unknown field"),
        (json!([good]), "422 validation_error: Invalid request body: invalid type: sequence, expected an object."),
    ] {
        let refused = server.post(PATH, &body).refusal();

        assert!(refused.starts_with(refusal), "{body}: {refused}");
    }
}
