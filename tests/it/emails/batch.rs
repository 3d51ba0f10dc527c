//! `POST /emails/batch`.

use serde_json::{Value, json};

use crate::support::{ApiResponse, TestServer, assert_body, email};

fn post_batch(server: &TestServer, validation: &str, emails: &[Value]) -> ApiResponse {
    let headers: &[(&str, &str)] = if validation.is_empty() { &[] } else { &[("x-batch-validation", validation)] };
    let body = Value::from(emails).to_string();
    server.call("POST", "/emails/batch", server.key(), headers, Some(body.as_bytes()))
}

fn ids(response: &Value) -> Vec<String> {
    response["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_batch_is_accepted_in_the_order_of_the_request() {
    let server = TestServer::start();
    let emails: Vec<Value> = (0..3).map(|n| email(&json!({ "subject": format!("Number {n}") }))).collect();

    let response = post_batch(&server, "strict", &emails).ok(200);

    for (n, id) in ids(&response).iter().enumerate() {
        assert_eq!(server.wait_for(id, "delivered")["subject"], format!("Number {n}"));
    }
    assert_body!(response);
}

#[test]
fn a_batch_accepts_every_field_of_a_single_email() {
    let server = TestServer::start();
    let with_all_fields = email(&json!({
        "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
        "tags": [{ "name": "a", "value": "1" }],
        "scheduled_at": "in 1 hour",
    }));

    let response = post_batch(&server, "", &[with_all_fields]).ok(200);

    let email = server.get(&format!("/emails/{}", ids(&response)[0])).ok(200);
    assert_eq!(email["last_event"], "scheduled");
    assert_eq!(email["attachments"][0]["filename"], "a.txt");
}

#[test]
fn a_batch_has_1_to_100_emails() {
    let server = TestServer::start();
    let emails = |count| vec![email(&json!({})); count];

    let none = post_batch(&server, "", &[]).refusal();
    let many = post_batch(&server, "permissive", &emails(101)).refusal();

    assert_eq!(none, "422 validation_error: Invalid request body: it holds 0 emails; 1 to 100 are accepted.");
    assert_eq!(many, "422 validation_error: Invalid request body: it holds 101 emails; 1 to 100 are accepted.");
    assert_eq!(server.stored_emails(), 0);
    assert_eq!(ids(&post_batch(&server, "", &emails(100)).ok(200)).len(), 100);
}

#[test]
fn a_batch_that_is_not_an_array_is_refused() {
    let server = TestServer::start();
    for body in [json!({}), json!({ "emails": [] }), json!("x"), json!(1), json!(null)] {
        let refused = server.post("/emails/batch", &body).refusal();

        let sentence = "Invalid request body: expected an array of 1 to 100 emails.";
        assert_eq!(refused, format!("422 validation_error: {sentence}"), "{body}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_strict_batch_is_refused_with_the_status_of_its_first_invalid_item() {
    let server = TestServer::start();
    let good = email(&json!({}));
    for validation in ["", "strict"] {
        for (invalid, refusal) in [
            (json!({ "to": null }), "422 missing_required_field: emails.1: Missing `to` field."),
            (
                json!({ "from": "hello@example.org" }),
                "403 validation_error: emails.1: The example.org domain is not verified. Please, add and verify your \
                 domain.",
            ),
            (
                json!({ "to": "suppressed@resend.dev" }),
                "422 all_recipients_suppressed: emails.1: All recipients are suppressed",
            ),
            (json!({ "topic_id": "0190a6c0-0000-7000-8000-000000000001" }), "404 not_found: emails.1: Topic not found"),
        ] {
            let refused = post_batch(&server, validation, &[good.clone(), email(&invalid), good.clone()]).refusal();

            assert_eq!(refused, refusal);
        }
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_permissive_batch_accepts_the_valid_items_and_lists_the_others() {
    let server = TestServer::start();
    let emails = [
        email(&json!({ "to": "nobody" })),
        email(&json!({ "subject": "First" })),
        email(&json!({ "subject": null })),
        email(&json!({ "subject": "Second" })),
    ];

    let response = post_batch(&server, "permissive", &emails).ok(200);

    let accepted = ids(&response);
    assert_eq!(server.wait_for(&accepted[0], "delivered")["subject"], "First");
    assert_eq!(server.wait_for(&accepted[1], "delivered")["subject"], "Second");
    assert_eq!(server.stored_emails(), 2);
    assert_body!(response);
}

#[test]
fn a_permissive_batch_without_a_valid_item_accepts_no_email() {
    let server = TestServer::start();

    let response = post_batch(&server, "permissive", &[email(&json!({ "to": "nobody" }))]).ok(200);

    assert_eq!(response["data"], json!([]));
    assert_eq!(response["errors"][0]["index"], 0);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_permissive_batch_lists_the_items_whose_recipients_are_all_suppressed() {
    let server = TestServer::start();
    server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    let choices = json!([{ "id": topic["id"], "subscription": "opt_out" }]);
    server.post("/contacts", &json!({ "email": "bob@example.net", "topics": choices })).ok(201);
    let emails = [
        email(&json!({ "to": "ada@example.net" })),
        email(&json!({ "to": "nobody" })),
        email(&json!({ "to": ["ada@example.net", "eve@example.net"], "subject": "Kept" })),
        email(&json!({ "to": "bob@example.net", "topic_id": topic["id"] })),
    ];
    let post = |validation: &str| {
        let headers = [("x-batch-validation", validation), ("idempotency-key", validation)];
        let body = json!(emails).to_string();
        server.call("POST", "/emails/batch", server.key(), &headers, Some(body.as_bytes()))
    };

    let response = post("permissive").ok(200);

    assert_eq!(ids(&response).len(), 1);
    assert_eq!(server.wait_for(&ids(&response)[0], "delivered")["to"], json!(["eve@example.net"]));
    let errors = response["errors"].as_array().unwrap();
    let indexes: Vec<u64> = errors.iter().map(|error| error["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 1, 3]);
    for error in [&errors[0], &errors[2]] {
        assert_eq!(error["message"], "All recipients are suppressed");
    }
    assert_eq!(post("permissive").ok(200), response, "a repetition has the first response");
    assert_eq!(server.stored_emails(), 1);
    let strict = [emails[2].clone(), emails[0].clone()];
    let refused = post_batch(&server, "strict", &strict);
    refused.refused(422, "all_recipients_suppressed", "emails.1: All recipients are suppressed");
    let suppressed = post_batch(&server, "permissive", &emails[..1]).ok(200);
    assert_eq!((&suppressed["data"], suppressed["errors"].as_array().unwrap().len()), (&json!([]), 1));
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_permissive_batch_is_refused_if_an_item_conflicts_with_stored_data() {
    let server = TestServer::start();
    let emails = [email(&json!({ "to": "nobody" })), email(&json!({})), email(&json!({ "from": "hello@example.org" }))];

    let refused = post_batch(&server, "permissive", &emails).refusal();

    // The index refers to the request, also after an earlier item was left out.
    let sentence = "The example.org domain is not verified. Please, add and verify your domain.";
    assert_eq!(refused, format!("403 validation_error: emails.2: {sentence}"));
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn an_item_of_the_wrong_type_is_an_invalid_item() {
    let server = TestServer::start();
    for (invalid, message) in [
        (email(&json!({ "subjekt": "x" })), "Invalid `subjekt` field: unknown field `subjekt`"),
        (email(&json!({ "subject": 7 })), "Invalid `subject` field: invalid type: integer `7`, expected a string."),
        (email(&json!({ "attachments": [{ "content": "!" }] })), "Invalid `attachments[0].content` field: "),
        (json!("text"), "Invalid request body: invalid type: string \"text\", expected an object."),
        (json!([]), "Invalid request body: invalid type: sequence, expected an object."),
        (json!(null), "Invalid request body: invalid type: null, expected an object."),
    ] {
        let emails = [email(&json!({})), invalid, email(&json!({ "created_at": "echoed" }))];

        let strict = post_batch(&server, "strict", &emails).refusal();
        let permissive = post_batch(&server, "permissive", &emails).ok(200);

        assert!(strict.starts_with(&format!("422 validation_error: emails.1: {message}")), "{strict}");
        assert_eq!(ids(&permissive).len(), 2);
        assert_eq!(permissive["errors"].as_array().unwrap().len(), 1);
        assert_eq!(permissive["errors"][0]["index"], 1);
        assert!(permissive["errors"][0]["message"].as_str().unwrap().starts_with(message), "{permissive}");
    }
    assert_eq!(server.stored_emails(), 12);
}

#[test]
fn a_permissive_batch_that_is_not_json_is_refused() {
    let server = TestServer::start();
    let valid = email(&json!({})).to_string();
    let headers = [("x-batch-validation", "permissive")];
    let malformed = [format!("[{valid},{{\"subjekt\":1}},"), format!("[{valid},5"), format!("[5,{valid}]]")];
    for body in malformed.into_iter().chain(["{bad", "{\"a\":1", "{}{}"].map(String::from)) {
        let refused = server.call("POST", "/emails/batch", server.key(), &headers, Some(body.as_bytes())).refusal();

        assert!(refused.starts_with("400 validation_error: The request body is not valid JSON: "), "{refused}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn an_unknown_validation_mode_is_refused() {
    let server = TestServer::start();

    let refused = post_batch(&server, "lenient", &[email(&json!({}))]).refusal();

    let sentence = "The `x-batch-validation` header must be `strict` or `permissive`.";
    assert_eq!(refused, format!("422 validation_error: {sentence}"));
}

#[test]
fn an_email_of_a_batch_with_too_many_recipients_is_refused() {
    let server = TestServer::start();
    let addresses: Vec<String> = (0..51).map(|n| format!("delivered+{n}@resend.dev")).collect();

    let refused = post_batch(&server, "", &[email(&json!({})), email(&json!({ "to": addresses }))]).refusal();

    assert!(refused.starts_with("422 validation_error: emails.1: Invalid `to` field:"), "{refused}");
}
