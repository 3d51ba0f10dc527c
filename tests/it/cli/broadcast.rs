//! `ringmail broadcast`.

use serde_json::{Value, json};

use super::program::Cli;
use crate::support::retry_until_ok;

#[test]
fn a_broadcast_is_checked_tested_sent_and_canceled() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let key = cli.run(&["key", "create", "one"]).success().to_owned();
    let post = |path: &str, body: &Value| {
        let (status, created) = server.post(path, &key, body);
        assert_eq!(status, 201, "{created}");
        created
    };
    post("/contacts", &json!({ "email": "ada@example.net", "first_name": "Ada" }));
    post("/contacts", &json!({ "email": "bob@example.net", "unsubscribed": true }));
    let create = |fields: Value| {
        let mut body = json!({ "from": "news@example.com", "subject": "News" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        post("/broadcasts", &body)["id"].as_str().unwrap().to_owned()
    };
    let id = create(json!({ "html": "<p>Hi {{{FIRST_NAME}}} {{{UNSUBSCRIBE_URL}}}", "name": "June" }));
    let empty = create(json!({}));

    let check = cli.run(&["broadcast", "check", &id, "--json"]).json();
    assert_eq!((&check["audience"]["total"], &check["audience"]["will_receive"]), (&2.into(), &1.into()));
    assert_eq!(check["findings"][0]["kind"], "fallback_missing");
    let text = cli.run(&["broadcast", "check", &id]).success().to_owned();
    assert!(text.contains("will receive  1") && text.contains("warning html:1: FIRST_NAME has no fallback."), "{text}");
    let failed = cli.run(&["broadcast", "check", &empty]);
    assert!(failed.code == 1 && failed.stdout.contains("error: The broadcast has no content."), "{failed:?}");
    assert!(failed.stderr.contains("ringmail: the broadcast cannot be sent"), "{failed:?}");

    let linked = create(json!({ "html": "{{{UNSUBSCRIBE_URL}}} <a href=\"http://127.0.0.1:9/\">a</a>" }));
    let text = cli.run(&["broadcast", "check", &linked, "--links"]).success().to_owned();
    assert!(text.contains("Links: 1 of 1 were requested, 1 do not work."), "{text}");

    let test = cli.run(&["broadcast", "send", &id, "--test-to", "carol@example.net", "--json"]).json();
    let email = test["email_id"].as_str().unwrap();
    let shown = cli.run(&["email", "show", email, "--json"]).json();
    assert_eq!(
        (&shown["subject"], &shown["recipients"][0]["email"]),
        (&"[Test] News".into(), &"carol@example.net".into())
    );
    assert_eq!(cli.run(&["broadcast", "show", &id, "--json"]).json()["status"], "draft");

    let sent = cli.run(&["broadcast", "send", &id, "--at", "in 2 hours", "--json"]).json();
    assert!(sent["scheduled_at"].is_string() && sent["finishes_at"].is_string(), "{sent}");
    assert_eq!(cli.run(&["broadcast", "show", &id, "--json"]).json()["status"], "scheduled");
    assert_eq!(cli.run(&["broadcast", "cancel", &id, "--json"]).json()["id"], id);
    cli.run(&["broadcast", "cancel", &id]).failed(1, &["Only queued or scheduled"]);
    let listed = cli.run(&["broadcast", "list", "--json"]).json();
    let statuses: Vec<&str> =
        listed["data"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["draft", "draft", "canceled"]);

    let now = create(json!({ "text": "Hi {{{FIRST_NAME|you}}} {{{UNSUBSCRIBE_URL}}}" }));
    assert!(cli.run(&["broadcast", "send", &now]).success().starts_with("Queued."));
    retry_until_ok("the end of the broadcast", || {
        let shown = cli.run(&["broadcast", "show", &now, "--json"]).json();
        if shown["status"] == "sent" { Ok(()) } else { Err(shown.to_string()) }
    });
    assert!(cli.run(&["broadcast", "show", &now]).success().contains("delivered     1"));

    cli.run(&["broadcast", "show", "0190a6c0-0000-7000-8000-000000000001"]).failed(3, &["broadcast list"]);
    cli.run(&["broadcast", "check", "June"]).failed(3, &["June"]);
    cli.run(&["broadcast", "send", &empty, "--at", "whenever"]).failed(2, &["--at"]);
    cli.run(&["broadcast", "send", &empty, "--test-to", "carol"]).failed(2, &["carol"]);
}
