//! A pause of the whole queue.

use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Cli, Server, poll};

fn send(server: &Server, to: &str) -> String {
    let key = server.menu["key"].as_str().expect("the menu has the key");
    let email = json!({ "from": "a@example.com", "to": to, "subject": "x", "text": "x" });
    let (status, sent) = server.post("/emails", key, &email);
    assert_eq!(status, 200, "{sent}");
    sent["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn wait_until(cli: &Cli, id: &str, is_met: impl Fn(&Value) -> bool) -> Value {
    poll(Duration::from_secs(20), || cli.run(&["email", "show", id, "--json"]).json(), is_met)
}

#[test]
fn the_whole_queue_is_paused_also_after_a_restart_and_is_delivered_after_the_end() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    assert_eq!(cli.run(&["queue", "pause", "--all"]).success(), "paused the queue; 0 queued");
    cli.run(&["queue", "resume", "--team", "Main"]).failed(3, &["is not paused"]);
    let first = send(&server, "ada@one.example");
    assert_eq!(server.stop(), 0);
    let server = cli.serve(&["dev"]);
    let second = send(&server, "ada@two.example");

    for id in [&first, &second] {
        let email = wait_until(&cli, id, |email| email["waiting"][0]["state"] == "held");
        assert_eq!(email["waiting"][0]["reason"], "The operator has paused the whole queue.");
    }
    let shown = cli.run(&["queue", "show", "--all", "--json"]).json();
    assert_eq!(shown["data"].as_array().unwrap().len(), 2, "{shown}");
    let listed = cli.run(&["queue", "list", "--json"]).json();
    assert_eq!((&listed["holds"][0]["selector"], &listed["holds"][0]["value"]), (&json!("queue"), &json!("")));
    assert_eq!(cli.run(&["queue", "pause", "--all", "--domain", "one.example"]).code, 2);

    assert_eq!(cli.run(&["queue", "resume", "--all"]).success(), "resumed the queue");
    for id in [&first, &second] {
        wait_until(&cli, id, |email| email["last_event"] == "delivered");
    }
    cli.run(&["queue", "resume", "--all"]).failed(3, &["the queue is not paused"]);
    assert_eq!(server.stop(), 0);
}
