//! `ringmail email`, `ringmail suppression` and `ringmail log`.

use serde_json::Value;

use super::program::{Cli, Server};

/// Returns the field `name` of each row of a list, in its order.
fn column(list: &Value, name: &str) -> Vec<String> {
    let rows = list["data"].as_array().expect("a list has rows");
    rows.iter().map(|row| row[name].as_str().expect("the field is a text").to_owned()).collect()
}

/// Sends an email over the API and returns its id.
fn send(server: &Server, subject: &str) -> String {
    let body = serde_json::json!({
        "from": "hello@example.com", "to": "delivered@ringmail.test", "subject": subject, "text": "Hi",
    });
    let (key, url) = (server.menu["key"].as_str().unwrap(), format!("{}/emails", server.api()));
    let request = ureq::post(url).header("authorization", format!("Bearer {key}"));
    let response = request.content_type("application/json").send(body.to_string()).unwrap();
    let sent: Value = serde_json::from_str(&response.into_body().read_to_string().unwrap()).unwrap();
    sent["id"].as_str().unwrap().to_owned()
}

#[test]
fn emails_can_be_listed_and_shown_with_and_without_a_server() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    assert_eq!(cli.run(&["email", "list"]).stdout, "");
    let ids: Vec<String> = ["One", "T\u{202e}wo", "Three"].iter().map(|subject| send(&server, subject)).collect();

    let listed = cli.run(&["email", "list", "--json"]).json();
    assert_eq!(column(&listed, "id"), [ids[2].as_str(), &ids[1], &ids[0]]);
    assert_eq!(column(&listed, "from"), ["hello@example.com"; 3]);
    assert_eq!(listed["data"][0]["recipients"], serde_json::json!(["delivered@ringmail.test"]));
    let newest = cli.run(&["email", "list", "--limit", "2"]);
    assert_eq!(newest.success().lines().count(), 3);
    assert!(newest.stdout.contains("T wo") && newest.stderr.contains("--limit"), "{newest:?}");
    assert!(!cli.run(&["email", "list", "--limit", "3"]).stderr.contains("--limit"));
    for noun in ["email", "log", "suppression"] {
        assert_eq!(cli.run(&[noun, "list", "--limit", "0"]).code, 2, "{noun}");
    }

    // The simulated recipient has its outcome after the email was sent and delivered.
    assert_eq!(cli.run(&["send", "--to", "delivered@ringmail.test"]).code, 0);
    let sent = column(&cli.run(&["email", "list", "--json"]).json(), "id").remove(0);
    let shown = cli.run(&["email", "show", &sent]);
    for words in
        ["Subject  A test from Ringmail", "delivered@ringmail.test  delivered", "email.sent", "email.delivered"]
    {
        assert!(shown.success().contains(words), "no {words:?} in {shown:?}");
    }
    assert_eq!(server.stop(), 0);

    let shown = cli.run(&["email", "show", &sent, "--json"]).json();
    assert_eq!((&shown["last_event"], &shown["subject"]), (&"delivered".into(), &"A test from Ringmail".into()));
    cli.run(&["email", "show", "0190a6c0-0000-7000-8000-000000000001"]).failed(3, &["no email"]);
    cli.run(&["email", "show", "nonsense"]).failed(3, &["nonsense"]);
}

#[test]
fn suppressions_can_be_added_listed_and_removed() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    assert_eq!(cli.run(&["suppression", "list"]).stdout, "");

    let add = ["suppression", "add", "Ada <Ada@Example.com>", "bob@example.com", "ADA@example.com", "--json"];
    let added = cli.run(&add).json();
    assert_eq!(column(&added, "email"), ["ada@example.com", "bob@example.com"]);
    assert_eq!(column(&added, "origin"), ["manual", "manual"]);
    cli.run(&["suppression", "add", "eve@example.com", "--origin", "complaint"]).success();
    cli.run(&["suppression", "add", "nobody"]).failed(2, &["nobody", "@"]);
    assert_eq!(cli.run(&["suppression", "add", "x@example.com", "--origin", "spam"]).code, 2);

    let listed = cli.run(&["suppression", "list", "--json"]).json();
    assert_eq!(column(&listed, "email"), ["eve@example.com", "bob@example.com", "ada@example.com"]);
    let complaints = cli.run(&["suppression", "list", "--origin", "complaint", "--json"]).json();
    assert_eq!(column(&complaints, "email"), ["eve@example.com"]);
    // The API has the same entries.
    let key = server.menu["key"].as_str().unwrap();
    assert_eq!(server.get("/suppressions/ada@example.com", key).1["id"], added["data"][0]["id"]);
    assert_eq!(server.stop(), 0);

    let id = added["data"][0]["id"].as_str().unwrap();
    assert_eq!(cli.run(&["suppression", "remove", "ADA@example.com"]).success(), id);
    cli.run(&["suppression", "remove", id]).failed(3, &[id]);
    let eve = cli.run(&["suppression", "remove", "eve@example.com", "--json"]).json();
    assert_eq!((&eve["email"], &eve["deleted"]), (&"eve@example.com".into(), &true.into()));
    assert_eq!(cli.run(&["suppression", "list", "--limit", "1"]).success().lines().count(), 2);
}

#[test]
fn requests_to_the_api_can_be_listed_and_shown_with_their_redacted_bodies() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    assert_eq!(cli.run(&["log", "list"]).stdout, "");
    let email = send(&server, "Logged");
    let key = server.menu["key"].as_str().unwrap();
    assert_eq!(server.get("/emails/nothing", key).0, 422);

    let listed = cli.run(&["log", "list", "--json"]).json();
    assert_eq!(column(&listed, "endpoint"), ["/emails/nothing", "/emails"]);
    assert_eq!((&listed["data"][1]["method"], &listed["data"][1]["response_status"]), (&"POST".into(), &200.into()));
    let id = listed["data"][1]["id"].as_str().unwrap();
    assert!(cli.run(&["log", "list", "--limit", "1"]).success().ends_with("/emails/nothing"));
    assert_eq!(server.stop(), 0);

    let shown = cli.run(&["log", "show", id, "--json"]).json();
    assert_eq!(shown["request_body"]["subject"], "Logged");
    assert_eq!(shown["response_body"]["id"], email.as_str());
    let text = cli.run(&["log", "show", id]);
    assert!(text.success().contains("POST /emails") && text.success().contains(r#""subject": "Logged""#), "{text:?}");
    cli.run(&["log", "show", "nonsense"]).failed(3, &["nonsense"]);
    cli.run(&["log", "show", &email]).failed(3, &[email.as_str()]);
}
