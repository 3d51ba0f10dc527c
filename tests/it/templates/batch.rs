//! `template` in `POST /emails/batch`.

use serde_json::{Value, json};

use super::{publish, with_receipt};
use crate::support::{TestServer, email};

fn permissive(server: &TestServer, batch: &Value) -> Value {
    let body = batch.to_string();
    let headers = [("x-batch-validation", "permissive")];
    server.call("POST", "/emails/batch", server.key(), &headers, Some(body.as_bytes())).ok(200)
}

#[test]
fn the_items_of_a_batch_have_their_own_variables() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi {{{N}}}", "html": "<p>{{{N}}}</p>" }));
    let mut batch: Vec<Value> = (0..99).map(|n| with_receipt(&json!({ "N": n }))).collect();
    batch.insert(50, email(&json!({ "subject": "Own" })));

    let sent = server.post("/emails/batch", &Value::from(batch)).ok(200);

    let ids = sent["data"].as_array().unwrap();
    assert_eq!(ids.len(), 100);
    for (at, subject, html) in
        [(0, "Hi 0", json!("<p>0</p>")), (50, "Own", json!(null)), (51, "Hi 50", json!("<p>50</p>"))]
    {
        let read = server.get(&format!("/emails/{}", ids[at]["id"].as_str().unwrap())).ok(200);
        assert_eq!((&read["subject"], &read["html"]), (&json!(subject), &html));
    }
}

#[test]
fn a_strict_batch_is_refused_with_its_first_invalid_item() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi", "html": "{{{A}}}" }));
    let mut unpublished = with_receipt(&json!({}));
    let draft = json!({ "name": "Draft", "alias": "a-draft", "html": "<p>Hi</p>" });
    server.post("/templates", &draft).ok(201);
    unpublished["template"] = json!({ "id": "a-draft" });
    let valid = with_receipt(&json!({ "A": 1 }));

    let refused = server.post("/emails/batch", &json!([valid, with_receipt(&json!({})), unpublished, valid])).refusal();
    let message = "422 validation_error: emails.1: Invalid `template` field: the variable `A` has no value";
    assert!(refused.starts_with(message), "{refused}");
    let refused = server.post("/emails/batch", &json!([valid, unpublished, with_receipt(&json!({}))])).refusal();
    let message = "422 validation_error: emails.1: Invalid `template` field: the template is not published";
    assert!(refused.starts_with(message), "{refused}");
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_permissive_batch_lists_the_items_whose_template_cannot_be_rendered() {
    let server = TestServer::start();
    publish(&server, &json!({ "html": "{{{A}}}" }));
    let subject = |variables: &Value| {
        let mut body = with_receipt(variables);
        body["subject"] = json!("Hi");
        body
    };
    let batch = json!([
        subject(&json!({})),
        subject(&json!({ "A": 1 })),
        with_receipt(&json!({ "A": 1 })),
        email(&json!({})),
        subject(&json!({ "A": true })),
    ]);

    let answer = permissive(&server, &batch);

    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2));
    let errors = answer["errors"].as_array().unwrap();
    let indexes: Vec<&Value> = errors.iter().map(|error| &error["index"]).collect();
    assert_eq!(indexes, [0, 2, 4]);
    assert!(errors[0]["message"].as_str().unwrap().contains("the variable `A`"), "{errors:?}");
    assert_eq!(errors[1]["message"], "Missing `subject` field. The template has no subject either.");
}

#[test]
fn an_unknown_template_refuses_every_batch() {
    let server = TestServer::start();
    let batch = json!([email(&json!({})), with_receipt(&json!({}))]);

    server.post("/emails/batch", &batch).refused(404, "not_found", "emails.1: Template not found");
    let headers = [("x-batch-validation", "permissive")];
    let body = batch.to_string();
    server.call("POST", "/emails/batch", server.key(), &headers, Some(body.as_bytes())).refused(
        404,
        "not_found",
        "emails.1: Template not found",
    );
    assert_eq!(server.stored_emails(), 0);
}
