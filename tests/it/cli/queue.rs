//! `ringmail queue`, and the reason why an email waits.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Cli, Server, poll};
use crate::support::{ClosedPort, MailServer, NameServer, StartTls};

/// Maximum time that a test waits for a condition.
const DEADLINE: Duration = Duration::from_secs(20);

/// Sends an email with an API key and returns its id.
#[track_caller]
pub(super) fn send(server: &Server, key: &str, to: &str) -> String {
    let from = if key == main_key(server) { "a@example.com" } else { "a@second.example" };
    let (status, sent) = server.post("/emails", key, &json!({ "from": from, "to": to, "subject": "x", "text": "x" }));
    assert_eq!(status, 200, "{sent}");
    sent["id"].as_str().unwrap().to_owned()
}

pub(super) fn main_key(server: &Server) -> &str {
    server.menu["key"].as_str().expect("the menu has the key")
}

/// Returns an email of the first team.
fn shown(cli: &Cli, id: &str) -> Value {
    cli.run(&["email", "show", id, "--json"]).json()
}

#[track_caller]
pub(super) fn wait_for_event(cli: &Cli, team: &str, id: &str, event: &str) -> Value {
    let read = || cli.run(&["email", "show", id, "--team", team, "--json"]).json();
    poll(DEADLINE, read, |email| email["last_event"] == event)
}

/// Waits until an email of the first team waits in a state, and returns why.
#[track_caller]
pub(super) fn wait_for_state(cli: &Cli, id: &str, state: &str) -> Value {
    let email = poll(DEADLINE, || shown(cli, id), |email| email["waiting"][0]["state"] == state);
    email["waiting"][0].clone()
}

/// Runs a verb of the queue with a selector, and returns its JSON.
#[track_caller]
pub(super) fn queue(cli: &Cli, verb: &str, [flag, value]: [&str; 2], more: &[&str]) -> Value {
    cli.run(&[&["queue", verb, flag, value, "--json"][..], more].concat()).json()
}

/// Returns the ids of the emails that `show` prints, sorted.
pub(super) fn queued_emails(cli: &Cli, selector: [&str; 2]) -> Vec<String> {
    let shown = queue(cli, "show", selector, &[]);
    let rows = shown["data"].as_array().unwrap().iter();
    let mut ids: Vec<String> = rows.map(|row| row["email"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids
}

/// Two teams. The first has two API keys.
struct Senders {
    first: String,
    other: String,
    other_id: String,
    second: String,
}

impl Senders {
    fn create(cli: &Cli, server: &Server) -> Self {
        let other = cli.run(&["key", "create", "other", "--json"]).json();
        cli.run(&["team", "create", "Second"]).success();
        cli.run(&["domain", "add", "second.example", "--verified", "--team", "Second"]).success();
        let second = cli.run(&["key", "create", "second", "--team", "Second", "--json"]).json();
        let token = |key: &Value| key["token"].as_str().unwrap().to_owned();
        Self {
            first: main_key(server).to_owned(),
            other: token(&other),
            other_id: other["id"].as_str().unwrap().to_owned(),
            second: token(&second),
        }
    }

    /// Sends an email of the first team with its second API key.
    fn send_as_other(&self, server: &Server, to: &str) -> String {
        let body = json!({ "from": "a@example.com", "to": to, "subject": "x", "text": "x" });
        let (status, sent) = server.post("/emails", &self.other, &body);
        assert_eq!(status, 200, "{sent}");
        sent["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn each_selector_shows_counts_and_drops_its_emails() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--hold"]);
    let senders = Senders::create(&cli, &server);
    let one = send(&server, &senders.first, "ada@one.example");
    let two = send(&server, &senders.first, "ada@two.example");
    let by_key = senders.send_as_other(&server, "ada@one.example");
    let by_team = send(&server, &senders.second, "ada@one.example");
    let kept = send(&server, &senders.first, "ada@kept.example");

    for (selector, expected) in [
        (["--domain", "ONE.example"], vec![&one, &by_key, &by_team]),
        (["--email", two.as_str()], vec![&two]),
        (["--key", senders.other_id.as_str()], vec![&by_key]),
        (["--team", "Second"], vec![&by_team]),
    ] {
        let mut expected: Vec<String> = expected.into_iter().cloned().collect();
        expected.sort_unstable();

        assert_eq!(queued_emails(&cli, selector), expected, "{selector:?}");
        let listed = queue(&cli, "list", selector, &[]);
        let groups: u64 = listed["data"].as_array().unwrap().iter().map(|row| row["groups"].as_u64().unwrap()).sum();
        assert_eq!(groups, expected.len() as u64, "{selector:?}: {listed:#}");
        assert_eq!(queue(&cli, "flush", selector, &[])["groups"], expected.len(), "{selector:?}");
    }
    let listed = cli.run(&["queue", "list", "--json"]).json();
    assert_eq!((&listed["data"][0]["domain"], &listed["data"][0]["groups"]), (&json!("one.example"), &json!(3)));
    assert_eq!((&listed["data"][0]["state"], &listed["has_more"]), (&json!("queue_held"), &json!(false)));
    let text = cli.run(&["queue", "list", "--limit", "1"]);
    assert!(text.success().contains("one.example") && text.stderr.contains("There are more"), "{text:?}");

    // Without a terminal, the verb needs a confirmation.
    cli.run(&["queue", "drop", "--team", "Second"]).failed(2, &["--yes"]);
    for (selector, team, dropped) in [
        (["--email", two.as_str()], "Main", &two),
        (["--key", senders.other_id.as_str()], "Main", &by_key),
        (["--team", "Second"], "Second", &by_team),
        (["--domain", "one.example"], "Main", &one),
    ] {
        let result = queue(&cli, "drop", selector, &["--yes"]);

        assert_eq!(result, json!({ "groups": 1 }), "{selector:?}");
        let email = wait_for_event(&cli, team, dropped, "failed");
        let last = email["events"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["type"], &last["detail"]), (&json!("email.failed"), &json!("dropped")), "{selector:?}");
        assert_eq!(email["waiting"], json!([]));
        assert_eq!(queue(&cli, "drop", selector, &["--yes"])["groups"], 0);
    }

    let waiting = wait_for_state(&cli, &kept, "queue_held");
    assert!(waiting["reason"].as_str().unwrap().contains("--hold"), "{waiting}");
    // Without a server, the verbs use the store.
    assert_eq!(server.stop(), 0);
    assert_eq!(queued_emails(&cli, ["--domain", "kept.example"]), std::slice::from_ref(&kept));
    assert_eq!(wait_for_state(&cli, &kept, "stopped")["until"], Value::Null);
    let by_site = cli.run(&["queue", "show", "--site", "x"]);
    assert!(by_site.success().is_empty(), "{by_site:?}");
    assert!(["No queued email matches", "--domain"].iter().all(|part| by_site.stderr.contains(part)), "{by_site:?}");
    assert_eq!(queue(&cli, "drop", ["--domain", "kept.example"], &["--yes"])["groups"], 1);
    assert_eq!(shown(&cli, &kept)["last_event"], "failed");
}

#[test]
fn wrong_selectors_are_refused_with_the_next_step() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    for (arguments, code, words) in [
        (&["show"][..], 2, "`--site`"),
        (&["pause"], 2, "`--team`"),
        (&["show", "--domain", "a b"], 2, "`a b` is not the name of a domain"),
        (&["show", "--email", "x"], 3, "no email `x`"),
        (&["show", "--email", "0190a6c0-0000-7000-8000-000000000001"], 3, "no email"),
        (&["show", "--key", "x"], 2, "ringmail key list"),
        (&["flush", "--team", "Third"], 3, "ringmail team list"),
        (&["pause", "--site", " "], 2, "ringmail queue list"),
        (&["resume", "--domain", "a.example"], 3, "the domain a.example is not paused"),
    ] {
        let arguments: Vec<&str> = ["queue"].iter().chain(arguments).copied().collect();
        cli.run(&arguments).failed(code, &[words]);
    }
    let both = cli.run(&["queue", "show", "--team", "Main", "--domain", "a.example"]);
    assert_eq!(both.code, 2, "{both:?}");
    assert_eq!(cli.run(&["queue", "list"]).stdout, "");
}

#[test]
fn a_paused_part_waits_before_and_after_a_restart_and_is_delivered_after_the_end() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--hold"]);
    let senders = Senders::create(&cli, &server);
    let email = send(&server, &senders.first, "ada@one.example");
    let domain = send(&server, &senders.first, "ada@two.example");
    let key = senders.send_as_other(&server, "ada@one.example");
    let team = send(&server, &senders.second, "ada@one.example");
    // It is behind emails that wait in its lane.
    let free = send(&server, &senders.first, "ada@one.example");
    let cases = [
        (["--email", email.as_str()], "Main", &email, "this email"),
        (["--domain", "two.example"], "Main", &domain, "the domain two.example"),
        (["--key", senders.other_id.as_str()], "Main", &key, "the API key"),
        (["--team", "Second"], "Second", &team, "the email of the team"),
    ];
    for (selector, ..) in cases {
        let paused = queue(&cli, "pause", selector, &[]);
        assert_eq!((&paused["selector"], &paused["groups"]), (&json!(&selector[0][2..]), &json!(1)), "{paused}");
    }

    assert_eq!(server.stop(), 0);
    let server = cli.serve(&["dev"]);
    wait_for_event(&cli, "Main", &free, "delivered");
    assert_eq!(server.stop(), 0);
    let server = cli.serve(&["dev"]);
    let later = send(&server, &senders.first, "ada@one.example");
    let accepted = send(&server, &senders.first, "bob@two.example");
    wait_for_event(&cli, "Main", &later, "delivered");

    let listed = cli.run(&["queue", "list", "--json"]).json();
    let holds = listed["holds"].as_array().unwrap().iter().map(|hold| hold["selector"].as_str().unwrap());
    assert_eq!(holds.collect::<Vec<_>>(), ["domain", "email", "key", "team"], "{listed:#}");
    for (selector, team, id, words) in cases {
        let waiting = cli.run(&["email", "show", id, "--team", team, "--json"]).json()["waiting"][0].clone();
        assert_eq!((&waiting["state"], &waiting["until"]), (&json!("held"), &Value::Null), "{selector:?}: {waiting}");
        assert!(waiting["reason"].as_str().unwrap().contains(words), "{selector:?}: {waiting}");
    }
    assert!(cli.run(&["queue", "list"]).success().contains("domain two.example"));

    for (selector, team, id, _) in cases {
        queue(&cli, "resume", selector, &[]);
        wait_for_event(&cli, team, id, "delivered");
        cli.run(&["queue", "resume", selector[0], selector[1]]).failed(3, &["not paused"]);
    }
    wait_for_event(&cli, "Main", &accepted, "delivered");
    assert_eq!(cli.run(&["queue", "list", "--json"]).json(), json!({ "data": [], "has_more": false, "holds": [] }));
}

/// A server in direct mode whose only attempts follow after an hour, with the MX host `mx.shop.example` on `port`.
pub(super) struct Direct {
    pub(super) cli: Cli,
    pub(super) server: Server,
    pub(super) names: NameServer,
}

impl Direct {
    pub(super) fn start(port: &str) -> Self {
        let (cli, names) = (Cli::new(), NameServer::start());
        names.add("a IN MX 10 mx.shop.example.\nb IN MX 10 mx.shop.example.\nmx.shop IN A 127.0.0.1\n");
        let server = Self::serve(&cli, &names, port);
        Self { cli, server, names }
    }

    pub(super) fn serve(cli: &Cli, names: &NameServer, port: &str) -> Server {
        let resolver = names.address();
        cli.serve(&[
            "dev",
            "--delivery",
            "direct",
            "--hostname",
            "mx.ringmail.test",
            "--resolver",
            &resolver,
            "--smtp-port",
            port,
            "--allow-address",
            "127.0.0.0/8",
            "--retry-delays",
            "1h",
        ])
    }

    fn send(&self, to: &str) -> String {
        send(&self.server, main_key(&self.server), to)
    }

    /// Returns the row of a site in the list.
    fn site(&self, name: &str) -> Value {
        let listed = self.cli.run(&["queue", "list", "--json"]).json();
        let row = listed["data"].as_array().unwrap().iter().find(|row| row["site"] == name);
        row.unwrap_or_else(|| panic!("no site {name} in {listed:#}")).clone()
    }
}

#[test]
fn a_flush_ends_the_pause_of_a_host_that_could_not_be_connected_to() {
    let closed = ClosedPort::bind();
    let port = closed.number().to_string();
    let direct = Direct::start(&port);
    let (cli, tried) = (&direct.cli, direct.send("ada@a.example"));
    let retry = wait_for_state(cli, &tried, "retry");
    assert!(retry["until"].is_string() && retry["attempts"] == 1, "{retry}");
    assert!(retry["reason"].as_str().unwrap().contains("The last result was: "), "{retry}");

    let paused = direct.send("ada@b.example");
    let waiting = wait_for_state(cli, &paused, "hosts_paused");
    assert!(waiting["until"].is_string(), "{waiting}");
    assert!(waiting["reason"].as_str().unwrap().contains("b.example cannot be connected to"), "{waiting}");
    let row = poll(DEADLINE, || direct.site("shop.example"), |row| row["sessions"] == 0);
    assert_eq!((&row["domains"], &row["groups"]), (&json!(2), &json!(2)), "{row}");
    let text = cli.run(&["trace", &paused]);
    assert!(text.success().contains("hosts_paused"), "{text:?}");

    let mail = MailServer::start_on("127.0.0.1", &port, StartTls::NotOffered);
    assert_eq!(queue(cli, "flush", ["--site", "shop.example"], &[])["groups"], 2);

    for id in [tried, paused] {
        wait_for_event(cli, "Main", &id, "delivered");
    }
    assert_eq!(mail.received().len(), 2);
}

#[test]
fn a_site_that_refuses_our_mail_is_explained_paused_and_resumed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            // The client may have closed the connection.
            let _ = connection.unwrap().write_all(b"421 4.7.0 Too many connections\r\n");
        }
    });
    let direct = Direct::start(&port);
    let (cli, tried) = (&direct.cli, direct.send("ada@a.example"));
    let retry = wait_for_state(cli, &tried, "retry");
    assert!(retry["reason"].as_str().unwrap().contains("421 4.7.0 Too many connections"), "{retry}");

    let waits = direct.send("ada@b.example");
    let waiting = wait_for_state(cli, &waits, "site_paused");
    assert!(waiting["until"].is_string(), "{waiting}");
    // The reply belongs to another email.
    assert!(!waiting["reason"].as_str().unwrap().contains("421"), "{waiting}");
    assert_eq!(direct.site("shop.example")["domains"], 2);

    queue(cli, "pause", ["--site", "shop.example"], &[]);
    let held = wait_for_state(cli, &waits, "held");
    assert!(held["reason"].as_str().unwrap().contains("the mail servers of b.example"), "{held}");
    assert_eq!(queued_emails(cli, ["--site", "shop.example"]).len(), 2);
    let listed = queue(cli, "list", ["--site", "shop.example"], &[]);
    assert_eq!((&listed["data"][0]["site"], &listed["data"][0]["groups"]), (&json!("shop.example"), &json!(2)));
    // A flush does not end the hold.
    queue(cli, "flush", ["--site", "shop.example"], &[]);
    assert_eq!(shown(cli, &tried)["waiting"][0]["state"], "held");
    queue(cli, "resume", ["--site", "shop.example"], &[]);
    let attempts = |shown: &Value| -> u64 {
        shown["data"].as_array().unwrap().iter().map(|row| row["attempts"].as_u64().unwrap()).sum()
    };
    let show = || queue(cli, "show", ["--site", "shop.example"], &[]);
    poll(DEADLINE, show, |shown| attempts(shown) == 2);
    assert_eq!(queue(cli, "drop", ["--site", "shop.example"], &["--yes"])["groups"], 2);
    wait_for_event(cli, "Main", &tried, "failed");
}
