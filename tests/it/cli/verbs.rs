//! JSON output and exit codes of the verbs.

use ringmail::base::id::TeamId;
use serde_json::Value;

use super::program::Cli;
use crate::support::NameServer;
use crate::team_removal::tables_with;

/// Returns the field names of an object, sorted.
fn fields(value: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn keys_can_be_created_listed_renamed_and_revoked() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);

    let created = cli.run(&["key", "create", "ci", "--json"]).json();
    let expected = ["created_at", "domain_id", "id", "last_used_at", "name", "permission", "token"];
    assert_eq!(fields(&created), expected);
    assert_eq!((&created["name"], &created["permission"]), (&"ci".into(), &"full_access".into()));
    let scoped = ["key", "create", "scoped", "--permission", "sending_access", "--domain", "example.com", "--json"];
    let scoped = cli.run(&scoped).json();
    assert_eq!(scoped["permission"], "sending_access");
    assert!(scoped["domain_id"].is_string());

    let listed = cli.run(&["key", "list", "--json"]).json();
    assert_eq!(fields(&listed), ["data"]);
    assert_eq!(fields(&listed["data"][1]), expected[..6]);
    let id = created["id"].as_str().unwrap();
    assert_eq!(cli.run(&["key", "rename", id, "build", "--json"]).json()["name"], "build");
    assert_eq!(cli.run(&["key", "revoke", "build"]).success(), id);

    cli.run(&["key", "revoke", "build"]).failed(3, &["build"]);
    cli.run(&["key", "create", "x", "--domain", "other.example"]).failed(3, &["other.example"]);
    cli.run(&["key", "create", ""]).failed(2, &["80 characters"]);
    cli.run(&["key", "create", "scoped"]).success();
    cli.run(&["key", "revoke", "scoped"]).failed(4, &["several"]);
}

#[test]
fn webhook_endpoints_can_be_created_disabled_rotated_tested_and_deleted() {
    let cli = Cli::new();
    let url = "https://hooks.example/mail";
    let server = cli.serve(&["dev"]);

    let created = cli.run(&["webhook", "create", url, "--event", "email.sent,email.opened", "--json"]).json();
    let all = ["created_at", "endpoint", "events", "id", "previous_secret_expires_at", "signing_secret", "status"];
    assert_eq!(fields(&created), all);
    assert_eq!(created["events"], serde_json::json!(["email.sent", "email.opened"]));
    let id = created["id"].as_str().unwrap();
    let secret = created["signing_secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));

    assert_eq!(cli.run(&["webhook", "disable", url]).success(), id);
    cli.run(&["webhook", "test", id]).failed(2, &["disabled"]);
    assert_eq!(cli.run(&["webhook", "enable", id, "--json"]).json()["status"], "enabled");
    let rotated = cli.run(&["webhook", "rotate", url, "--overlap-hours", "1", "--json"]).json();
    assert!(rotated["previous_secret_expires_at"].is_string() && rotated["signing_secret"] != secret);
    assert_eq!(cli.run(&["webhook", "test", url, "--json"]).json()["type"], "email.sent");
    cli.run(&["webhook", "test", url, "--type", "email.bounced"]).failed(2, &["email.bounced"]);

    cli.run(&["webhook", "create", "ftp://hooks.example/"]).failed(2, &["http"]);
    cli.run(&["webhook", "create", url, "--event", "email.received"]).failed(2, &["email.received"]);
    cli.run(&["webhook", "delete", "https://hooks.example/other"]).failed(3, &["other"]);
    let secret_for_all_events = cli.run(&["webhook", "create", url]).success().to_owned();
    assert!(secret_for_all_events.starts_with("whsec_"));
    cli.run(&["webhook", "delete", url]).failed(4, &["several"]);
    let listed = cli.run(&["webhook", "list", "--json"]).json();
    assert_eq!(
        fields(&listed["data"][0]),
        ["created_at", "endpoint", "events", "id", "previous_secret_expires_at", "status"]
    );
    assert_eq!(listed["data"][0]["events"], Value::Null);
    assert_eq!(server.stop(), 0);

    // The verb also works without a server.
    assert_eq!(cli.run(&["webhook", "delete", id]).success(), id);
}

#[test]
fn a_list_with_several_pages_is_complete() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--rate-limit", "0"]);
    let key = cli.run(&["key", "create", "one"]).success().to_owned();
    for number in 0..105 {
        let body = format!(r#"{{"name":"key {number}"}}"#);
        let url = format!("{}/api-keys", server.api());
        let agent = ureq::Agent::new_with_defaults();
        let request = agent.post(url).header("authorization", format!("Bearer {key}"));
        assert_eq!(request.content_type("application/json").send(body).unwrap().status().as_u16(), 201);
    }

    let listed = cli.run(&["key", "list", "--json"]).json();

    assert_eq!(listed["data"].as_array().map(Vec::len), Some(106));
    assert_eq!(listed["data"][105]["name"], "one");
    assert_eq!(cli.run(&["key", "list"]).success().lines().count(), 107);
}

#[test]
fn a_team_name_is_unique_and_the_first_team_is_the_default() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let listed = cli.run(&["team", "list", "--json"]).json();
    assert_eq!(fields(&listed["data"][0]), ["created_at", "id", "name"]);
    assert_eq!(listed["data"][0]["name"], "Main");

    let created = cli.run(&["team", "create", "Second", "--json"]).json();
    assert_eq!(created["name"], "Second");
    cli.run(&["team", "create", "Second"]).failed(4, &["already"]);
    cli.run(&["team", "create", " "]).failed(2, &["80 characters"]);

    let keys = || cli.run(&["key", "list", "--json"]).json();
    assert_eq!(keys()["data"][0]["name"], "Development");
    assert_eq!(cli.run(&["team", "rename", "Main", "Zeta", "--json"]).json()["id"], listed["data"][0]["id"]);
    assert_eq!(keys()["data"][0]["name"], "Development");
    let second = created["id"].as_str().unwrap();
    cli.run(&["team", "rename", second, "Zeta"]).failed(4, &["already"]);
    cli.run(&["team", "rename", second, ""]).failed(2, &["80 characters"]);
    cli.run(&["team", "rename", "Third", "Fourth"]).failed(3, &["Third"]);
    assert_eq!(cli.run(&["team", "rename", second, "Second"]).success(), second);
    cli.run(&["team", "rename", "Zeta", "Main"]).success();
    cli.run(&["key", "list", "--team", "Third"]).failed(3, &["Main, Second"]);
    assert_eq!(cli.run(&["key", "list", "--team", "Second", "--json"]).json()["data"], Value::Array(Vec::new()));
    assert_eq!(cli.run(&["key", "list", "--team", "Second"]).stdout, "");
}

#[test]
fn a_team_with_queued_email_is_removed_only_by_force() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--hold"]);
    cli.run(&["team", "create", "Second"]).success();
    let key = cli.run(&["key", "create", "second", "--team", "Second"]).success().to_owned();
    cli.run(&["domain", "add", "second.example", "--verified", "--team", "Second"]).success();
    cli.run(&["send", "--to", "ada@example.net", "--wait", "0s", "--team", "Second"]).success();

    cli.run(&["team", "remove", "Second"]).failed(4, &["queued", "--force"]);
    assert_eq!(server.get("/domains", &key).0, 200);
    let removed = cli.run(&["team", "remove", "Second", "--force", "--json"]);
    assert_eq!(removed.json()["name"], "Second");
    assert!(removed.stderr.contains("The server deletes its data"), "{removed:?}");
    assert_eq!(server.get("/domains", &key).0, 403);

    cli.run(&["team", "remove", "Second"]).failed(3, &["Second"]);
    cli.run(&["team", "remove", "Main", "--force"]).failed(4, &["another one first"]);
}

#[test]
fn the_next_server_deletes_the_data_of_a_team_that_was_removed_without_a_server() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--hold"]);
    let team = cli.run(&["team", "create", "Second", "--json"]).json();
    let key = cli.run(&["key", "create", "second", "--team", "Second"]).success().to_owned();
    cli.run(&["domain", "add", "second.example", "--verified", "--team", "Second"]).success();
    cli.run(&["send", "--to", "ada@example.net", "--wait", "0s", "--team", "Second"]).success();
    assert_eq!(server.stop(), 0);

    let removed = cli.run(&["team", "remove", "Second", "--force"]);
    assert!(removed.stderr.contains("The next server deletes its data"), "{removed:?}");
    assert_eq!(removed.code, 0);

    let id = TeamId::parse(team["id"].as_str().unwrap()).unwrap();
    let wanted = [id.as_bytes().to_vec(), b"ada@example.net".to_vec()];
    let started = ringmail::base::clock::monotonic();
    // The audit log stays for its retention period. The row of the removal stays until no request from before the removal can be in progress.
    while tables_with(&cli.path("ringmail-dev"), &wanted) != ["audit_log-1", "removed_teams-1"] {
        assert!(started.elapsed().as_secs() < 180, "the data of the team is not deleted");
        // This server delivers queued emails. It must not deliver those of the team.
        let server = cli.serve(&["dev"]);
        assert_eq!(server.get("/domains", &key).0, 403);
        assert_eq!(server.stop(), 0);
    }
}

#[test]
fn users_have_roles_and_a_team_keeps_an_owner() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);

    let owner = cli.run(&["user", "create", "One@Example.com", "--json"]).json();
    assert_eq!(fields(&owner), ["email", "id", "role", "since"]);
    assert_eq!(owner["role"], "owner");
    assert_eq!(cli.run(&["user", "create", "two@example.com", "--json"]).json()["role"], "member");
    cli.run(&["user", "create", "one@example.com"]).failed(4, &["owner"]);
    cli.run(&["user", "create", "nobody"]).failed(2, &["nobody"]);

    cli.run(&["user", "remove", "one@example.com"]).failed(4, &["last owner"]);
    cli.run(&["user", "role", "three@example.com", "admin"]).failed(3, &["three@example.com"]);
    assert_eq!(cli.run(&["user", "role", "two@example.com", "owner", "--json"]).json()["role"], "owner");
    cli.run(&["user", "remove", "one@example.com"]).success();
    assert_eq!(cli.run(&["user", "list", "--json"]).json()["data"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_theme_can_be_set_shown_and_reset() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let shown = cli.run(&["theme", "show", "--json"]).json();
    let names = ["accent", "background", "brand", "dark", "light", "message", "redirect", "success", "text"];
    assert_eq!(fields(&shown), names);
    assert!(shown["brand"].is_null());

    let set = ["theme", "set", "--brand", "Acme", "--accent", "#FFB300", "--redirect", "https://example.com", "--json"];
    let set = cli.run(&set).json();
    assert_eq!((&set["brand"], &set["accent"]), (&"Acme".into(), &"#ffb300".into()));
    assert_ne!(set["light"]["accent"], "#ffb300", "the color has too little contrast with the light background");
    assert_eq!(set["dark"]["accent"], "#ffb300");
    let updated = cli.run(&["theme", "set", "--redirect", "", "--json"]).json();
    assert_eq!((&updated["brand"], &updated["redirect"]), (&"Acme".into(), &Value::Null));

    cli.run(&["theme", "set"]).failed(2, &["--brand"]);
    cli.run(&["theme", "set", "--accent", "red"]).failed(2, &["--accent", "#rrggbb"]);
    cli.run(&["theme", "set", "--redirect", "javascript:alert(1)"]).failed(2, &["--redirect"]);
    cli.run(&["theme", "set", "--message", &"x".repeat(501)]).failed(2, &["500"]);
    assert!(cli.run(&["theme", "show"]).success().contains("#ffb300"));
    assert_eq!(cli.run(&["theme", "reset", "--json"]).json(), shown);
}

#[test]
fn domains_show_their_records_and_can_be_set_verified_only_in_development() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--hostname", "mx.example.net"]);

    let added = cli.run(&["domain", "add", "Mail.example.org", "--json"]).json();
    assert_eq!((&added["name"], &added["status"]), (&"mail.example.org".into(), &"not_started".into()));
    let expected = ["detail", "live", "name", "priority", "record", "status", "ttl", "type", "value"];
    assert_eq!(fields(&added["records"][0]), expected);
    assert_eq!(added["records"][0]["value"], "mx.example.net");
    let shown = cli.run(&["domain", "show", "mail.example.org"]);
    let lines: Vec<&str> = shown.success().lines().collect();
    for line in [
        "Name      send.mail.example.org",
        "Type      MX",
        "Priority  10",
        "Value     mx.example.net",
        "Value     v=spf1 a:mx.example.net ~all",
        "Record    DMARC, recommended: not_started",
        "Name      _dmarc.mail.example.org",
    ] {
        assert!(lines.contains(&line), "no {line:?} in {shown:?}");
    }
    let key = format!("Value     {}", added["records"][2]["value"].as_str().unwrap());
    assert!(lines.contains(&key.as_str()), "{shown:?}");
    assert!(!shown.stdout.contains("not looked up"), "no problem before the first check: {shown:?}");
    cli.run(&["domain", "add", "mail.example.org"]).failed(4, &["already"]);
    cli.run(&["domain", "add", "nonsense"]).failed(2, &["nonsense"]);
    cli.run(&["domain", "show", "other.example"]).failed(3, &["other.example"]);

    let trusted = cli.run(&["domain", "add", "trusted.example", "--verified", "--json"]).json();
    assert_eq!(trusted["status"], "verified");
    let removed = cli.run(&["domain", "remove", "mail.example.org", "--json"]).json();
    assert_eq!((&removed["id"], &removed["deleted"]), (&added["id"], &true.into()));
    let listed = cli.run(&["domain", "list", "--json"]).json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.stop(), 0);

    let _served = cli.serve(&["serve", "--data-dir", "served"]);
    let arguments = ["domain", "add", "trusted.example", "--verified", "--data-dir", "served"];
    cli.run(&arguments).failed(2, &["ringmail dev"]);
}

#[test]
fn a_check_succeeds_only_for_a_verified_domain_and_always_shows_it() {
    let dns = NameServer::start();
    let cli = Cli::new();
    let dev = cli.serve(&["dev"]);
    assert_eq!(cli.run(&["domain", "check", "example.com", "--json"]).json()["status"], "verified");
    drop(dev);

    let address = dns.address();
    let stderr_of_check = || {
        let output = cli.run(&["domain", "check", "shop.example", "--json", "--data-dir", "data"]);
        assert_eq!(output.code, 1, "{output:?}");
        let shown: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(shown["status"], "pending");
        output.stderr
    };
    let server = cli.serve(&["serve", "--resolver", &address, "--data-dir", "data"]);
    cli.run(&["domain", "add", "shop.example", "--data-dir", "data"]).success();
    assert!(stderr_of_check().contains("shop.example is not verified"));
    assert_eq!(server.stop(), 0);
    assert!(stderr_of_check().contains("no server is running"));
}

#[test]
fn a_domain_is_verified_by_its_zone_file() {
    let dns = NameServer::start();
    let cli = Cli::new();
    let _server = cli.serve(&["serve", "--resolver", &dns.address(), "--data-dir", "data"]);
    cli.run(&["domain", "add", "shop.example", "--data-dir", "data"]).success();
    let zone = || {
        let output = cli.run(&["domain", "show", "shop.example", "--zone", "--data-dir", "data"]);
        output.success().to_owned()
    };
    let dmarc = "_dmarc.shop.example. IN TXT \"v=DMARC1; p=none;\"";
    assert!(zone().contains(&format!("\n; {dmarc}")), "the domain can have a stricter policy: {}", zone());
    cli.run(&["domain", "check", "shop.example", "--data-dir", "data"]);
    assert!(zone().contains(&format!("\n{dmarc}")), "{}", zone());

    dns.add(&format!("{}\n", zone()));

    let checked = cli.run(&["domain", "check", "shop.example", "--json", "--data-dir", "data"]).json();
    let of = |name: &str| checked[name].as_array().unwrap().clone();
    for record in of("records").iter().chain(&of("recommended_records")) {
        assert_eq!(record["status"], "verified", "{record:#}");
    }
    assert!(!zone().contains("_dmarc"), "a policy that exists must not be replaced: {}", zone());
    let both = ["domain", "show", "shop.example", "--zone", "--json", "--data-dir", "data"];
    cli.run(&both).failed(2, &["--zone", "--json"]);
}

#[test]
fn a_check_of_a_verified_domain_also_succeeds_without_a_server() {
    let dns = NameServer::start();
    let cli = Cli::new();
    let address = dns.address();
    let server = cli.serve(&["serve", "--resolver", &address, "--data-dir", "data"]);
    let added = cli.run(&["domain", "add", "shop.example", "--json", "--data-dir", "data"]).json();
    dns.publish(&added["records"]);
    let check = || cli.run(&["domain", "check", "shop.example", "--json", "--data-dir", "data"]);
    assert_eq!(check().json()["status"], "verified");
    assert_eq!(server.stop(), 0);

    let without_server = check();

    assert!(without_server.stderr.contains("No server is running"), "{without_server:?}");
    assert_eq!(without_server.json()["status"], "verified");
}
