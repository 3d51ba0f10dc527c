//! `ringmail inbox`: captured mail for tests of other programs, and what the dashboard shows after a kill.

use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Cli, Server, get, poll};

/// Sends an email with the API, as the program under test does.
fn send(server: &Server, to: &str, subject: &str, html: &str) {
    let email = json!({ "from": "Acme <hello@example.com>", "to": to, "subject": subject, "html": html });
    let (status, body) = server.post("/emails", key(server), &email);
    assert_eq!(status, 200, "{body}");
}

fn key(server: &Server) -> &str {
    server.menu["key"].as_str().expect("the menu of a development server has a key")
}

/// Waits until the inbox has a number of messages, and returns them.
fn wait_for(cli: &Cli, count: usize) -> Vec<Value> {
    let list = || cli.run(&["inbox", "list", "--json"]).json()["data"].as_array().unwrap().clone();
    poll(Duration::from_secs(20), list, |rows| rows.len() == count)
}

#[test]
fn a_wait_prints_the_link_or_the_code_of_the_message_that_arrives() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let wait = ["inbox", "wait", "--to", "ada@example.net", "--timeout", "20s"];
    let waiting = cli.spawn(&[&wait[..], &["--subject", "welcome", "--link"]].concat());
    send(&server, "bob@example.net", "Welcome", "<p>Not this</p>");
    send(&server, "ada@example.net", "News", "<p>Not this either</p>");
    let html = "<p>Code <b>481920</b>. <a href=\"https://app.example/confirm?t=1&amp;u=2\">Confirm</a></p>";
    send(&server, "ada@example.net", "Welcome to Acme", html);

    assert_eq!(waiting.finish().success(), "https://app.example/confirm?t=1&u=2");

    let with_subject = [&wait[..], &["--subject", "welcome"]].concat();
    assert_eq!(cli.run(&[&with_subject[..], &["--code"]].concat()).success(), "481920");
    let shown = cli.run(&with_subject);
    for part in ["Subject   Welcome to Acme", "Code      481920", "Link      https://app.example/confirm?t=1&u=2"] {
        assert!(shown.success().contains(part), "no {part:?} in {shown:?}");
    }
    let json = cli.run(&[&with_subject[..], &["--link", "--json"]].concat()).json();
    assert_eq!(json["link"], "https://app.example/confirm?t=1&u=2");
    let short = ["inbox", "wait", "--to", "carol@example.net", "--timeout", "100ms"];
    cli.run(&short).failed(3, &["no message to carol@example.net arrived"]);
    let news = ["inbox", "wait", "--to", "ada@example.net", "--subject", "news", "--code"];
    cli.run(&news).failed(3, &["has no code", "ringmail inbox show"]);
    let only_new = ["inbox", "wait", "--to", "ada@example.net", "--subject", "welcome", "--new", "--timeout", "100ms"];
    cli.run(&only_new).failed(3, &["no message to ada@example.net arrived"]);
    assert_eq!(server.stop(), 0);
}

#[test]
fn messages_are_listed_shown_printed_and_cleared() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    send(&server, "ada@example.net", "One", "<p>Hi</p>");
    send(&server, "bob@example.net", "Two", "<p>Hi</p>");
    let rows = wait_for(&cli, 2);
    let id = rows.iter().find(|row| row["subject"] == "One").unwrap()["id"].as_str().unwrap();

    let by_recipient = cli.run(&["inbox", "list", "--to", "bob@", "--json"]).json();
    assert_eq!(by_recipient["data"].as_array().unwrap().len(), 1);
    assert_eq!(by_recipient["data"][0]["to"], json!(["bob@example.net"]));
    let by_subject = cli.run(&["inbox", "list", "--subject", "one"]);
    assert!(by_subject.success().contains(id) && by_subject.success().lines().count() == 2, "{by_subject:?}");
    let shown = cli.run(&["inbox", "show", id]);
    assert!(shown.success().contains("From      Acme <hello@example.com>"), "{shown:?}");
    let raw = cli.run(&["inbox", "raw", id]);
    assert!(raw.success().contains("Subject: One\r\n"), "{raw:?}");
    cli.run(&["inbox", "release", id]).failed(1, &["--release direct"]);
    for verb in ["show", "raw", "release"] {
        cli.run(&["inbox", verb, "x"]).failed(3, &["`x` is not the id"]);
    }

    assert_eq!(cli.run(&["inbox", "clear"]).success(), "Deleted 2 messages.");
    assert!(cli.run(&["inbox", "list"]).stderr.contains("There is no captured message."));
    assert_eq!(server.stop(), 0);

    // Without a server, the verbs read the store, and no message can arrive.
    assert_eq!(cli.run(&["inbox", "clear", "--json"]).json()["deleted"], 0);
    cli.run(&["inbox", "wait", "--to", "ada@example.net"]).failed(5, &["no server is running"]);
}

#[test]
fn an_api_key_waits_for_a_message() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let (api, key) = (server.api().to_owned(), key(&server).to_owned());
    let waiting = std::thread::spawn(move || get(&api, "/captured?to=ada%40example.net&subject=reset&wait=15s", &key));
    send(&server, "ada@example.net", "Welcome", "<p>Not this</p>");
    send(&server, "ada@example.net", "Reset your password", "<a href='https://app.example/reset'>Reset</a>");

    let (status, list) = waiting.join().unwrap();

    assert_eq!((status, list["data"].as_array().unwrap().len()), (200, 1), "{list}");
    let id = list["data"][0]["id"].as_str().unwrap();
    let (status, message) = server.get(&format!("/captured/{id}"), self::key(&server));
    assert_eq!((status, &message["links"]), (200, &json!(["https://app.example/reset"])));
    assert_eq!((&message["code"], &message["object"]), (&Value::Null, &"captured".into()));
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_stop_ends_a_wait() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let (api, key) = (server.api().to_owned(), key(&server).to_owned());
    let started = ringmail::base::clock::monotonic();
    let waiting = std::thread::spawn(move || get(&api, "/captured?to=nobody%40example.net&wait=60s", &key));
    // The request has begun when another one after it has a response.
    assert_eq!(server.get("/captured", self::key(&server)).0, 200);

    assert_eq!(server.stop(), 0);

    assert!(started.elapsed() < Duration::from_secs(30), "the wait delayed the stop");
    drop(waiting);
}

#[test]
fn search_finds_every_email_after_a_kill() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--rate-limit", "0"]);
    let batch: Vec<Value> = (0..100)
        .map(|number| {
            json!({
                "from": "Acme <hello@example.com>", "to": format!("r{number}@example.net"),
                "subject": format!("Batch {number}"), "text": "Hi",
            })
        })
        .collect();
    for _ in 0..3 {
        let (status, body) = server.post("/emails/batch", key(&server), &json!(batch));
        assert_eq!(status, 200, "{body}");
    }

    server.crash();
    let server = cli.serve(&["dev", "--rate-limit", "0"]);

    let results = dashboard(&server, "/search?to=r50%40example.net");
    let subjects: Vec<&Value> = results["data"].as_array().unwrap().iter().map(|row| &row["subject"]).collect();
    assert_eq!(subjects, ["Batch 50", "Batch 50", "Batch 50"], "{results}");
    assert_eq!(server.stop(), 0);
}

/// Opens the link of the dashboard, and requests a path below `/dashboard/api` with its session.
fn dashboard(server: &Server, path: &str) -> Value {
    let (_, link) = server.menu["dashboard"].as_str().unwrap().split_once("/dashboard/").unwrap();
    let config = ureq::Agent::config_builder().max_redirects(0).max_redirects_will_error(false);
    let agent = ureq::Agent::new_with_config(config.build());
    let opened = agent.get(format!("{}/dashboard/{link}", server.api())).call().unwrap();
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let response = agent.get(format!("{}/dashboard/api{path}", server.api())).header("cookie", cookie).call().unwrap();
    serde_json::from_str(&response.into_body().read_to_string().unwrap()).unwrap()
}
