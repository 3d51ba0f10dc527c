//! `ringmail import contacts`.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Cli, Server, poll};

/// Exports contacts and returns the lines without the header line.
pub(super) fn export(cli: &Cli, arguments: &[&str]) -> Vec<String> {
    let output = cli.run(&[&["export", "contacts"], arguments].concat());
    output.success().lines().skip(1).map(str::to_owned).collect()
}

/// Creates a resource through the API and returns its id.
pub(super) fn create(server: &Server, path: &str, body: &Value) -> String {
    let key = server.menu["key"].as_str().expect("the menu has the key");
    let agent = ureq::Agent::new_with_defaults();
    let request = agent.post(format!("{}{path}", server.api())).header("authorization", format!("Bearer {key}"));
    let mut response =
        request.content_type("application/json").send(body.to_string()).expect("the server creates the resource");
    let created: Value = serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap();
    created["id"].as_str().expect("the resource has an id").to_owned()
}

/// Deletes a resource through the API.
pub(super) fn delete(server: &Server, path: &str) {
    let key = server.menu["key"].as_str().expect("the menu has the key");
    let agent = ureq::Agent::new_with_defaults();
    let request = agent.delete(format!("{}{path}", server.api())).header("authorization", format!("Bearer {key}"));
    request.call().expect("the server deletes the resource");
}

fn counts(report: &Value) -> [u64; 5] {
    ["rows", "created", "updated", "skipped", "failed"].map(|name| report[name].as_u64().expect("a count"))
}

/// Returns a CSV file with `count` contacts.
fn contacts_csv(count: usize) -> String {
    let rows = (0..count).map(|number| format!("person{number}@example.com,Person {number}\n"));
    format!("E-mail,First Name\n{}", rows.collect::<String>())
}

#[test]
fn a_repeated_import_of_a_file_changes_nothing() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    std::fs::write(cli.path("people.csv"), contacts_csv(2_500)).unwrap();

    let report = cli.run(&["import", "contacts", "people.csv", "--json"]).json();

    assert_eq!(counts(&report), [2_500, 2_500, 0, 0, 0]);
    assert_eq!(report["bytes"], contacts_csv(2_500).len());
    assert_eq!(report["columns"][1], json!({ "name": "First Name", "target": "first_name" }));
    assert_eq!((&report["dry_run"], &report["errors"]), (&json!(false), &json!([])));
    let stored = export(&cli, &[]);
    assert_eq!(stored.len(), 2_500);
    assert!(stored[0].contains(",person0@example.com,Person 0,,false,"), "{}", stored[0]);
    assert!(stored[2_499].contains(",person2499@example.com,"), "{}", stored[2_499]);

    let again = cli.run(&["import", "contacts", "people.csv", "--json"]).json();
    assert_eq!(counts(&again), [2_500, 0, 2_500, 0, 0]);
    let skipped = cli.run(&["import", "contacts", "people.csv", "--on-conflict", "skip", "--json"]).json();
    assert_eq!(counts(&skipped), [2_500, 0, 0, 2_500, 0]);
    assert_eq!(export(&cli, &[]), stored, "the repeated import changed a contact or its update time");

    // Without a server, the verb writes directly to the store.
    assert_eq!(server.stop(), 0);
    std::fs::write(cli.path("more.csv"), "email\nlast@example.com\nperson0@example.com\n").unwrap();
    let output = cli.run(&["import", "contacts", "more.csv"]);
    assert_eq!(
        output.success(),
        "ROWS  CREATED  UPDATED  SKIPPED  FAILED\n2     1        1        0        0",
        "{output:?}"
    );
    assert_eq!(export(&cli, &[]).len(), 2_501);
}

#[test]
fn a_dry_run_has_the_same_counts_and_writes_nothing() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    // One address is repeated in the same chunk, and another address in a later chunk.
    let file = format!("{}person0@example.com,Again\nPerson2199@EXAMPLE.com,Again\nnobody,x\n", contacts_csv(2_200));
    std::fs::write(cli.path("people.csv"), file).unwrap();
    let run = |more: &[&str]| {
        let output = cli.run(&[&["import", "contacts", "people.csv", "--json"], more].concat());
        assert_eq!(output.code, 1, "{output:?}");
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        (counts(&report), report, output.stderr)
    };

    for (mode, expected) in [("upsert", [2_203, 2_200, 2, 0, 1]), ("skip", [2_203, 2_200, 0, 2, 1])] {
        let (counted, report, err) = run(&["--dry-run", "--on-conflict", mode]);
        assert_eq!(counted, expected, "{mode}");
        assert_eq!((&report["dry_run"], &report["errors"][0]["line"]), (&json!(true), &json!(2_204)));
        assert!(err.contains("nothing was written"), "{err}");
        assert!(export(&cli, &[]).is_empty());
    }

    let (counted, ..) = run(&[]);
    assert_eq!(counted, [2_203, 2_200, 2, 0, 1]);
    let stored = export(&cli, &[]);
    assert_eq!(stored.len(), 2_200);
    assert!(stored[0].contains(",person0@example.com,Again,"), "{}", stored[0]);
}

#[test]
fn failed_rows_are_written_to_the_error_file_and_the_others_are_imported() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    create(&server, "/contact-properties", &json!({ "key": "Seats", "type": "number" }));
    create(&server, "/contact-properties", &json!({ "key": "plan", "type": "string" }));
    let file = "Mail;Sitze;Plan;Opt-out;Notes\n\
                a@example.com;5;\"pro; yearly\";no;=1+1\n\
                =cmd|calc;1;;;\n\
                b@example.com;many;;;\n\
                c@example.com;;;perhaps;\n\
                d@example.com;;;\n\
                e@example.com;'-3;;yes;\n";
    std::fs::write(cli.path("people.csv"), file).unwrap();

    let map = "email=Mail,property:seats=Sitze,property:plan=Plan,unsubscribed=opt-out";
    let output = cli.run(&["import", "contacts", "people.csv", "--map", map, "--errors", "errors.csv"]);

    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("Ignored columns: `Notes`."), "{output:?}");
    assert!(output.stderr.contains("ringmail: 4 of 6 rows failed; they are in errors.csv"), "{output:?}");
    let errors = std::fs::read_to_string(cli.path("errors.csv")).unwrap();
    let lines: Vec<&str> = errors.split_terminator("\r\n").collect();
    assert_eq!(lines[0], "line,email,error");
    assert!(lines[1].starts_with("3,'=cmd|calc,"), "{errors}");
    assert!(lines[2].starts_with("4,b@example.com,\"`Sitze`: `many` is not a number"), "{errors}");
    assert!(lines[3].starts_with("5,c@example.com,\"`Opt-out`: `perhaps` is not yes, true"), "{errors}");
    assert_eq!(lines[4], "6,d@example.com,the row has 4 cells and the first row 5");
    assert_eq!(lines.len(), 5);
    let stored = export(&cli, &[]);
    assert!(stored[0].contains(",a@example.com,,,false,") && stored[0].ends_with(",5,\"pro; yearly\""), "{stored:?}");
    assert!(stored[1].contains(",e@example.com,,,true,") && stored[1].ends_with(",'-3,"), "{stored:?}");
    assert_eq!(stored.len(), 2);

    // The imported file is refused as the error file.
    cli.run(&["import", "contacts", "people.csv", "--errors", "./people.csv"]).failed(2, &["error file"]);
    assert_eq!(std::fs::read_to_string(cli.path("people.csv")).unwrap(), file);
}

#[test]
fn an_import_does_not_resubscribe_a_contact() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let import = |file: &str| {
        std::fs::write(cli.path("people.csv"), file).unwrap();
        cli.run(&["import", "contacts", "people.csv", "--json"]).json()
    };

    import("email,unsubscribed,first_name\na@example.com,true,Ann\n");
    import("email,unsubscribed,first_name\nA@example.com,false,Anna\n");

    let stored = export(&cli, &[]);
    assert!(stored[0].contains(",a@example.com,Anna,,true,"), "{stored:?}");
}

#[test]
fn a_default_topic_or_segment_of_another_team_is_refused() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let topic = json!({ "name": "News", "default_subscription": "opt_out" });
    let topic = create(&server, "/topics", &topic);
    cli.run(&["team", "create", "Second"]).success();
    std::fs::write(cli.path("people.csv"), contacts_csv(3)).unwrap();
    let arguments = |more: &[&'static str]| [&["import", "contacts", "people.csv"], more].concat();

    let segment = create(&server, "/segments", &json!({ "name": "Readers" }));
    let unknown = "019b8d6d-f9b0-7000-8000-000000000001";
    cli.run(&arguments(&["--team", "Main", "--segment", unknown])).failed(3, &["segment", unknown]);
    cli.run(&arguments(&["--team", "Main", "--topic", unknown])).failed(3, &["topic", unknown]);
    cli.run(&[&arguments(&["--team", "Second", "--topic"])[..], &[&topic]].concat()).failed(3, &[&topic]);
    cli.run(&arguments(&["--team", "Third"])).failed(3, &["Main, Second"]);
    assert_eq!(cli.run(&arguments(&["--segment", "News"])).code, 2);
    assert!(export(&cli, &["--team", "Main"]).is_empty());

    let defaults = ["--topic", topic.as_str(), "--segment", segment.as_str()];
    let output = cli.run(&[&arguments(&["--team", "Main", "--json"])[..], &defaults].concat());
    assert_eq!(counts(&output.json()), [3, 3, 0, 0, 0]);
    assert!(export(&cli, &["--team", "Second"]).is_empty());
    assert_eq!(export(&cli, &[]).len(), 3, "the first team is the default");

    std::fs::write(cli.path("other.csv"), "email\nother@example.com\n").unwrap();
    cli.run(&["import", "contacts", "other.csv", "--team", "Main"]).success();
    let readers = export(&cli, &["--team", "Main", "--segment", &segment]);
    assert_eq!(readers.len(), 3);
    assert!(!readers.iter().any(|line| line.contains("other@example.com")), "{readers:?}");
    cli.run(&["export", "contacts", "--team", "Second", "--segment", &segment]).failed(3, &[&segment]);
}

#[test]
fn a_file_that_cannot_be_imported_is_refused_with_the_reason() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let assert_refused = |file: &[u8], more: &[&str], words: &[&str]| {
        std::fs::write(cli.path("people.csv"), file).unwrap();
        cli.run(&[&["import", "contacts", "people.csv"], more].concat()).failed(2, words);
    };

    assert_refused(b"Mail,Name\na@example.com,A\n", &[], &["people.csv", "`email`", "`Mail`, `Name`"]);
    assert_refused(b"a@example.com,A\n", &[], &["names of the columns"]);
    assert_refused(b"\xFF\xFEe\0m\0", &[], &["CSV UTF-8"]);
    assert_refused(b"", &[], &["empty"]);
    assert_refused(b"email,Plan\n", &["--map", "property:plan=Plan"], &["no contact property `plan`"]);
    assert_refused(b"email\n", &["--map", "first_name=Vorname"], &["`Vorname`"]);
    cli.run(&["import", "contacts", "nothing.csv"]).failed(2, &["nothing.csv"]);
    cli.run(&["import", "contacts", "."]).failed(2, &["directory"]);
    assert_eq!(cli.run(&["import", "contacts", "people.csv", "--map", "mail=x"]).code, 2);
    assert_eq!(cli.run(&["import", "contacts"]).code, 2);
    assert!(export(&cli, &[]).is_empty());
}

#[test]
fn a_repeated_import_completes_a_killed_import() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let file = contacts_csv(5_000);
    std::fs::write(cli.path("people.csv"), &file).unwrap();
    let mut command = cli.command(&["import", "contacts", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut importing = command.spawn().unwrap();
    let mut input = importing.stdin.take().unwrap();
    input.write_all(file.as_bytes()).unwrap();

    // Standard input stays open, so the import waits for more input and has not written the last rows.
    poll(Duration::from_secs(40), || export(&cli, &[]), |rows| !rows.is_empty());
    importing.kill().unwrap();
    importing.wait().unwrap();
    drop(input);

    let stored = export(&cli, &[]).len() as u64;
    assert!((1_000..5_000).contains(&stored), "{stored}");
    let report = cli.run(&["import", "contacts", "people.csv", "--json"]).json();
    assert_eq!(counts(&report), [5_000, 5_000 - stored, stored, 0, 0]);
    assert_eq!(export(&cli, &[]).len(), 5_000);
}
