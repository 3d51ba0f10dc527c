//! The rules of `template.variables`.

use serde_json::{Map, Value, json};

use super::{publish, with_receipt};
use crate::support::TestServer;

#[test]
fn the_first_variable_without_a_value_or_a_fallback_is_named() {
    let server = TestServer::start();
    publish(
        &server,
        &json!({ "subject": "{{{A|x}}} {{{B}}}", "html": "{{{C}}}{{{UNSUBSCRIBE_URL}}}{{{D|}}}", "text": "{{{E}}}" }),
    );
    for (variables, first) in [
        (json!({}), "B"),
        (json!({ "b": 1, "C": 1 }), "B"),
        (json!({ "B": null, "C": 1 }), "B"),
        (json!({ "B": 1, "E": 1 }), "C"),
        (json!({ "B": 1, "C": "" }), "E"),
    ] {
        let message = format!(
            "Invalid `template` field: the variable `{first}` has no value, and no fallback in the template. Give it in \
             `template.variables`."
        );
        server.post("/emails", &with_receipt(&variables)).refused(422, "validation_error", &message);
    }
    assert_eq!(server.stored_emails(), 0);
    server.post("/emails", &with_receipt(&json!({ "B": 1, "C": "", "E": 0 }))).ok(200);
}

#[test]
fn a_value_is_a_string_or_a_number() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi", "html": "{{{A}}}" }));
    for (value, text) in [
        (json!("a"), "a"),
        (json!(0), "0"),
        (json!(-3), "-3"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(12.0), "12"),
        (json!(0.1), "0.1"),
        (json!("ü".repeat(10_000)), "ü".repeat(10_000).as_str()),
    ] {
        let sent = server.post("/emails", &with_receipt(&json!({ "A": value }))).ok(200);
        let email = server.get(&format!("/emails/{}", sent["id"].as_str().unwrap())).ok(200);
        assert_eq!(email["html"], text);
    }
    for value in [json!(true), json!(["a"]), json!({ "a": 1 }), json!("a".repeat(10_001))] {
        let refused = server.post("/emails", &with_receipt(&json!({ "A": value }))).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid `template.variables.A` field: "), "{refused}");
    }
}

#[test]
fn the_names_and_the_number_of_variables_are_bounded() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi" }));
    let many = |count: usize| Value::from((0..count).map(|n| (format!("V{n}"), json!(n))).collect::<Map<_, _>>());
    server.post("/emails", &with_receipt(&many(100))).ok(200);
    server.post("/emails", &with_receipt(&json!({ ("a".repeat(50)): 1 }))).ok(200);

    for variables in [many(101), json!({ "a-b": 1 }), json!({ "": 1 }), json!({ ("a".repeat(51)): 1 }), json!("A")] {
        let refused = server.post("/emails", &with_receipt(&variables)).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid `template.variables"), "{refused}");
        assert!(refused.len() < 500, "{refused}");
    }
    let twice = with_receipt(&json!({ "A": 1 })).to_string().replace("{\"A\":1}", "{\"A\":1,\"A\":2}");
    let refused = server.call("POST", "/emails", server.key(), &[], Some(twice.as_bytes())).refusal();
    assert!(refused.contains("duplicate variable `A`"), "{refused}");
}

#[test]
fn the_size_of_the_rendered_content_is_bounded() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi", "html": "{{{A}}}".repeat(500) }));
    let with_value = |chars: usize| with_receipt(&json!({ "A": "a".repeat(chars) }));

    server.post("/emails", &with_value(8_000)).ok(200);
    let refused = server.post("/emails", &with_value(10_000)).refusal();

    assert!(refused.contains("the template renders to more than 4194304 bytes."), "{refused}");
    let batch = Value::from(vec![with_value(8_000); 30]);
    let refused = server.post("/emails/batch", &batch).refusal();
    let start = "422 validation_error: emails.14: Invalid `template` field: the rendered emails of the request";
    assert!(refused.starts_with(start), "{refused}");
    assert_eq!(server.stored_emails(), 1);
}
