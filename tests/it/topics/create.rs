//! `POST /topics`.

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_create_returns_all_fields_and_the_topic_is_private_by_default() {
    let server = TestServer::start();

    let created = server.post("/topics", &json!({ "name": " News ", "default_subscription": "opt_in" })).ok(201);

    let path = format!("/topics/{}", created["id"].as_str().unwrap());
    assert_eq!(server.get(&path).ok(200), created);
    assert_body!(created);
}

#[test]
fn a_create_accepts_every_field_of_the_compatible_api() {
    let server = TestServer::start();

    let created = server.post(
        "/topics",
        &json!({
            "name": "Weekly digest", "default_subscription": "opt_out", "description": "Every Monday.\nMostly.",
            "visibility": "public",
        }),
    );

    assert_body!(created.ok(201));
}

#[test]
fn an_optional_field_can_be_null() {
    let server = TestServer::start();
    for rest in [json!(null), json!(""), json!("  ")] {
        let topic = json!({
            "name": "News", "default_subscription": "opt_in", "description": rest, "visibility": null,
        });

        let created = server.post("/topics", &topic).ok(201);

        assert_eq!((&created["description"], &created["visibility"]), (&json!(null), &json!("private")), "{topic}");
    }
}

#[test]
fn each_invalid_field_of_a_topic_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    let missing = |field: &str| format!("422 missing_required_field: Missing `{field}` field.");
    let name = "422 validation_error: Invalid `name` field: it must have 1 to 50 characters and no control \
                characters.";
    let default = "422 validation_error: Invalid `default_subscription` field: use `opt_in` or `opt_out`.";
    let description = "422 validation_error: Invalid `description` field: it may have 200 characters, and no control \
                       characters but line breaks.";
    let visibility = "422 validation_error: Invalid `visibility` field: use `public` or `private`.";
    let typed = |field: &str, found: &str| {
        format!("422 validation_error: Invalid `{field}` field: invalid type: {found}, expected a string.")
    };
    for (field, value, refusal) in [
        ("name", json!(null), missing("name")),
        ("name", json!(""), name.to_owned()),
        ("name", json!("   "), name.to_owned()),
        ("name", json!("n".repeat(51)), name.to_owned()),
        ("name", json!("a\nb"), name.to_owned()),
        ("name", json!("a\u{0}b"), name.to_owned()),
        ("name", json!(5), typed("name", "integer `5`")),
        ("name", json!(["News"]), typed("name", "sequence")),
        ("default_subscription", json!(null), missing("default_subscription")),
        ("default_subscription", json!(""), default.to_owned()),
        ("default_subscription", json!("OPT_IN"), default.to_owned()),
        ("default_subscription", json!("subscribed"), default.to_owned()),
        ("default_subscription", json!(true), typed("default_subscription", "boolean `true`")),
        ("description", json!("d".repeat(201)), description.to_owned()),
        ("description", json!("a\u{1b}[31m"), description.to_owned()),
        ("description", json!({}), typed("description", "map")),
        ("visibility", json!("hidden"), visibility.to_owned()),
        ("visibility", json!(""), visibility.to_owned()),
        ("visibility", json!(1), typed("visibility", "integer `1`")),
        (
            "defaultSubscription",
            json!("opt_in"),
            "422 validation_error: Invalid `defaultSubscription` field: unknown field `defaultSubscription`, expected \
             one of `name`, `default_subscription`, `description`, `visibility`. Did you mean `default_subscription`?"
                .to_owned(),
        ),
    ] {
        let mut topic = json!({ "name": "News", "default_subscription": "opt_in" });
        topic[field] = value;

        assert_eq!(server.post("/topics", &topic).refusal(), refusal, "{topic}");
    }
    assert_eq!(server.post("/topics", &json!({})).refusal(), missing("name"));
    assert_eq!(server.get("/topics").ok(200)["data"], json!([]));
    server.post("/topics", &json!({ "name": "ü".repeat(50), "default_subscription": "opt_in" })).ok(201);
}

#[test]
fn a_body_that_is_not_json_is_a_400_and_an_array_is_a_422() {
    let server = TestServer::start();
    let status = |body: &[u8]| server.call("POST", "/topics", server.key(), &[], Some(body)).status;

    assert_eq!(status(b"{\"name\": "), 400);
    assert_eq!(status(b""), 400);
    assert_eq!(status(b"[]"), 422);
    assert_eq!(status(b"{\"name\": \"a\", \"name\": \"b\", \"default_subscription\": \"opt_in\"}"), 422);
}

#[test]
fn topics_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let one = super::create(&server, &json!({}));
    for (method, path) in [("POST", "/topics"), ("GET", "/topics"), ("GET", &*one), ("PATCH", &*one), ("DELETE", &*one)]
    {
        assert_eq!(server.call(method, path, "", &[], None).status, 401, "{method} {path}");
        let refused = server.call(method, path, &key, &[], None);
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}
