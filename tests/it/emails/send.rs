//! `POST /emails`.

use serde_json::json;

use crate::support::TestServer;

#[test]
fn an_email_is_accepted_delivered_and_tells_its_story() {
    let server = TestServer::start();

    let id = server.send(&json!({ "subject": "Welcome", "tags": [{ "name": "kind", "value": "welcome" }] }));

    let email = server.wait_for(&id, "delivered");
    assert_eq!(email["subject"], "Welcome");
    assert_eq!(email["to"], json!(["delivered@resend.dev"]));
    assert_eq!(email["recipients"], json!([{ "email": "delivered@resend.dev", "last_event": "delivered" }]));
    let story: Vec<&str> =
        email["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(story, ["email.sent", "email.delivered"]);
}
