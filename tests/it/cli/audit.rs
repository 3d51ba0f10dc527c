//! `ringmail audit`, with and without a running server.

use serde_json::{Value, json};

use super::import::create;
use super::program::Cli;

/// Returns the actions of the newest entries, newest first.
fn actions(list: &Value) -> Vec<&str> {
    let rows = list["data"].as_array().expect("a list");
    rows.iter().map(|entry| entry["action"].as_str().expect("an action")).collect()
}

#[test]
fn the_audit_log_is_listed_with_and_without_a_server() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    cli.run(&["key", "create", "ci"]).success();
    let list = cli.run(&["audit", "--limit", "1", "--json"]).json();
    assert_eq!(actions(&list), ["api_key.created"]);
    let entry = &list["data"][0];
    assert_eq!(entry["actor"], json!({ "type": "command_line", "id": null, "name": null }));
    assert_eq!((&entry["target"]["type"], &entry["target"]["name"]), (&json!("api_key"), &json!("ci")));
    assert!(entry["id"].is_string() && entry["team_id"].is_string(), "{entry}");
    server.stop();

    cli.run(&["key", "revoke", "ci"]).success();

    let list = cli.run(&["audit", "--limit", "2", "--json"]).json();
    assert_eq!(actions(&list), ["api_key.deleted", "api_key.created"]);
    let text = cli.run(&["audit"]);
    let shown = text.success();
    assert!(shown.contains("api_key.deleted") && shown.contains("command_line"), "{shown}");
}

#[test]
fn an_import_and_an_export_of_contacts_leave_one_entry_each() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let segment = create(&server, "/segments", &json!({ "name": "VIP" }));
    std::fs::write(cli.path("people.csv"), "email\nada@example.com\n").unwrap();

    for arguments in [
        &["import", "contacts", "people.csv", "--dry-run"][..],
        &["import", "contacts", "people.csv"],
        &["export", "contacts", "all.csv"],
        &["export", "contacts", "vip.csv", "--segment", &segment],
    ] {
        cli.run(arguments).success();
    }

    let list = cli.run(&["audit", "--json"]).json();
    let rows = list["data"].as_array().unwrap().iter();
    let of_contacts = rows.take_while(|entry| entry["action"].as_str().unwrap().starts_with("contact."));
    let found: Vec<(&Value, &Value)> = of_contacts.map(|entry| (&entry["action"], &entry["detail"])).collect();
    let expected = [
        (&json!("contact.export_started"), &json!({ "segment_id": segment })),
        (&json!("contact.export_started"), &json!({})),
        (&json!("contact.import_started"), &json!({})),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_log_of_one_team_is_listed_by_name_and_that_of_a_removed_team_by_id() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let team = cli.run(&["team", "create", "Shop", "--json"]).json();
    let id = team["id"].as_str().unwrap();
    cli.run(&["key", "create", "ci", "--team", "Shop"]).success();

    let list = cli.run(&["audit", "--team", "Shop", "--json"]).json();
    assert_eq!(actions(&list), ["api_key.created", "team.created"]);

    cli.run(&["team", "remove", "Shop"]).success();
    cli.run(&["audit", "--team", "Shop"]).failed(3, &["Shop"]);
    let list = cli.run(&["audit", "--team", id, "--json"]).json();
    assert_eq!(actions(&list), ["team.removed", "api_key.created", "team.created"]);
}
