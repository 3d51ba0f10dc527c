//! `ringmail send`.

use std::time::Duration;

use super::program::{Cli, poll};

#[test]
fn the_verb_shows_events_until_the_email_is_delivered() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);

    // The first recipient is delivered in an SMTP session with the capture mailbox. The second is simulated.
    let output = cli.run(&["send", "--to", "you@example.com", "--to", "delivered@ringmail.test"]);

    let lines: Vec<&str> = output.success().lines().collect();
    let count = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    assert!(lines[1].contains("email.sent"), "{output:?}");
    assert_eq!(count("email.delivered"), 2, "{output:?}");
    let key = server.menu["key"].as_str().unwrap();
    let (status, email) = server.get(&format!("/emails/{}", lines[0]), key);
    assert_eq!((status, &email["from"]), (200, &"hello@example.com".into()));
}

#[test]
fn the_verb_fails_and_prints_the_email_if_a_recipient_bounces() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let to = ["--to", "delivered@ringmail.test", "--to", "bounced@ringmail.test"];
    let arguments: Vec<&str> = ["send", "--json", "--subject", "Both"].into_iter().chain(to).collect();

    let output = cli.run(&arguments);

    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("bounced@ringmail.test (bounced)"), "{output:?}");
    let email: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&email["last_event"], &email["subject"]), (&"bounced".into(), &"Both".into()));
    assert_eq!(email["recipients"][0]["outcome"], "delivered");
    assert_eq!(email["recipients"][1]["outcome"], "undelivered");
}

#[test]
fn an_email_that_the_api_refuses_is_refused() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);

    cli.run(&["send", "--to", "nobody"]).failed(2, &["`to`"]);
    cli.run(&["send", "--to", "a@example.com", "--from", "a@other.example"]).failed(1, &["other.example"]);
    cli.run(&["send", "--to", "a@example.com", "--subject", "a\nb"]).failed(2, &["`subject`"]);
    assert_eq!(cli.run(&["send"]).code, 2);
}

#[test]
fn an_email_is_queued_without_a_server_and_sent_by_the_next_one() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["dev"]).stop(), 0);

    let sent = cli.run(&["send", "--to", "delivered@ringmail.test", "--json"]);
    assert_eq!(sent.json()["last_event"], "queued");
    assert!(sent.stderr.contains("No server"), "{sent:?}");

    let server = cli.serve(&["dev"]);
    let path = format!("/emails/{}", sent.json()["id"].as_str().unwrap());
    let key = server.menu["key"].as_str().unwrap().to_owned();
    poll(Duration::from_secs(20), || server.get(&path, &key).1, |email| email["last_event"] == "delivered");
}

#[test]
fn the_verb_stops_waiting_for_a_held_email_after_the_given_time() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev", "--hold"]);

    let output = cli.run(&["send", "--to", "delivered@ringmail.test", "--wait", "300ms", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("(queued)"), "{output:?}");

    assert_eq!(cli.run(&["send", "--to", "delivered@ringmail.test", "--wait", "0s"]).code, 0);
}
