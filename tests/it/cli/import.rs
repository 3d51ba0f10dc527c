//! `ringmail import contacts`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{Place, Server};

/// Returns the lines of an export of a team, without the first.
pub(super) fn exported(place: &Place, arguments: &[&str]) -> Vec<String> {
    let ran = place.run(&[&["export", "contacts"], arguments].concat());
    ran.line().lines().skip(1).map(str::to_owned).collect()
}

/// Asks the server to make something and returns its id.
pub(super) fn made(server: &Server, path: &str, body: &Value) -> String {
    let key = server.menu["key"].as_str().expect("the menu names the key");
    let agent = ureq::Agent::new_with_defaults();
    let request = agent.post(format!("{}{path}", server.api())).header("authorization", format!("Bearer {key}"));
    let mut response = request.content_type("application/json").send(body.to_string()).expect("the server makes it");
    let answer: Value = serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap();
    answer["id"].as_str().expect("what was made has an id").to_owned()
}

/// Asks the server to delete something.
pub(super) fn gone(server: &Server, path: &str) {
    let key = server.menu["key"].as_str().expect("the menu names the key");
    let agent = ureq::Agent::new_with_defaults();
    let request = agent.delete(format!("{}{path}", server.api())).header("authorization", format!("Bearer {key}"));
    request.call().expect("the server deletes it");
}

fn counts(report: &Value) -> [u64; 5] {
    ["rows", "created", "updated", "skipped", "failed"].map(|name| report[name].as_u64().expect("a count"))
}

/// Returns a file of `count` contacts.
fn contacts(count: usize) -> String {
    let rows = (0..count).map(|number| format!("person{number}@example.com,Person {number}\n"));
    format!("E-mail,First Name\n{}", rows.collect::<String>())
}

#[test]
fn a_file_is_imported_and_importing_it_again_changes_nothing() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    std::fs::write(place.path("people.csv"), contacts(2_500)).unwrap();

    let report = place.run(&["import", "contacts", "people.csv", "--json"]).json();

    assert_eq!(counts(&report), [2_500, 2_500, 0, 0, 0]);
    assert_eq!(report["bytes"], contacts(2_500).len());
    assert_eq!(report["columns"][1], json!({ "name": "First Name", "target": "first_name" }));
    assert_eq!((&report["dry_run"], &report["errors"]), (&json!(false), &json!([])));
    let stored = exported(&place, &[]);
    assert_eq!(stored.len(), 2_500);
    assert!(stored[0].contains(",person0@example.com,Person 0,,false,"), "{}", stored[0]);
    assert!(stored[2_499].contains(",person2499@example.com,"), "{}", stored[2_499]);

    let again = place.run(&["import", "contacts", "people.csv", "--json"]).json();
    assert_eq!(counts(&again), [2_500, 0, 2_500, 0, 0]);
    let skipped = place.run(&["import", "contacts", "people.csv", "--on-conflict", "skip", "--json"]).json();
    assert_eq!(counts(&skipped), [2_500, 0, 0, 2_500, 0]);
    assert_eq!(exported(&place, &[]), stored, "not even the time of the last change is another");

    // Without a server the store itself is written to.
    assert_eq!(server.stop(), 0);
    std::fs::write(place.path("more.csv"), "email\nlast@example.com\nperson0@example.com\n").unwrap();
    let ran = place.run(&["import", "contacts", "more.csv"]);
    assert_eq!(ran.line(), "ROWS  CREATED  UPDATED  SKIPPED  FAILED\n2     1        1        0        0", "{ran:?}");
    assert_eq!(exported(&place, &[]).len(), 2_501);
}

#[test]
fn a_dry_run_counts_the_same_and_writes_nothing() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    // An address stands twice within a chunk and twice with chunks between.
    let file = format!("{}person0@example.com,Again\nPerson2199@EXAMPLE.com,Again\nnobody,x\n", contacts(2_200));
    std::fs::write(place.path("people.csv"), file).unwrap();
    let run = |more: &[&str]| {
        let ran = place.run(&[&["import", "contacts", "people.csv", "--json"], more].concat());
        assert_eq!(ran.code, 1, "{ran:?}");
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        (counts(&report), report, ran.err)
    };

    for (mode, expected) in [("upsert", [2_203, 2_200, 2, 0, 1]), ("skip", [2_203, 2_200, 0, 2, 1])] {
        let (counted, report, err) = run(&["--dry-run", "--on-conflict", mode]);
        assert_eq!(counted, expected, "{mode}");
        assert_eq!((&report["dry_run"], &report["errors"][0]["line"]), (&json!(true), &json!(2_204)));
        assert!(err.contains("nothing was written"), "{err}");
        assert!(exported(&place, &[]).is_empty());
    }

    let (counted, ..) = run(&[]);
    assert_eq!(counted, [2_203, 2_200, 2, 0, 1]);
    let stored = exported(&place, &[]);
    assert_eq!(stored.len(), 2_200);
    assert!(stored[0].contains(",person0@example.com,Again,"), "{}", stored[0]);
}

#[test]
fn rows_that_fail_are_kept_in_the_error_file_and_the_others_are_imported() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    made(&server, "/contact-properties", &json!({ "key": "Seats", "type": "number" }));
    made(&server, "/contact-properties", &json!({ "key": "plan", "type": "string" }));
    let file = "Mail;Sitze;Plan;Opt-out;Notes\n\
                a@example.com;5;\"pro; yearly\";no;=1+1\n\
                =cmd|calc;1;;;\n\
                b@example.com;many;;;\n\
                c@example.com;;;perhaps;\n\
                d@example.com;;;\n\
                e@example.com;'-3;;yes;\n";
    std::fs::write(place.path("people.csv"), file).unwrap();

    let map = "email=Mail,property:seats=Sitze,property:plan=Plan,unsubscribed=opt-out";
    let ran = place.run(&["import", "contacts", "people.csv", "--map", map, "--errors", "errors.csv"]);

    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("Passed over: `Notes`."), "{ran:?}");
    assert!(ran.err.contains("ringmail: 4 of 6 rows failed; they are in errors.csv"), "{ran:?}");
    let errors = std::fs::read_to_string(place.path("errors.csv")).unwrap();
    let lines: Vec<&str> = errors.split_terminator("\r\n").collect();
    assert_eq!(lines[0], "line,email,error");
    assert!(lines[1].starts_with("3,'=cmd|calc,"), "{errors}");
    assert!(lines[2].starts_with("4,b@example.com,\"`Sitze`: `many` is not a number"), "{errors}");
    assert!(lines[3].starts_with("5,c@example.com,\"`Opt-out`: `perhaps` is none of"), "{errors}");
    assert_eq!(lines[4], "6,d@example.com,the row has 4 cells and the first row 5");
    assert_eq!(lines.len(), 5);
    let stored = exported(&place, &[]);
    assert!(stored[0].contains(",a@example.com,,,false,") && stored[0].ends_with(",5,\"pro; yearly\""), "{stored:?}");
    assert!(stored[1].contains(",e@example.com,,,true,") && stored[1].ends_with(",'-3,"), "{stored:?}");
    assert_eq!(stored.len(), 2);

    // The error file is never the file that is imported.
    place.run(&["import", "contacts", "people.csv", "--errors", "./people.csv"]).failed(2, &["error file"]);
    assert_eq!(std::fs::read_to_string(place.path("people.csv")).unwrap(), file);
}

#[test]
fn nobody_is_subscribed_again() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let import = |file: &str| {
        std::fs::write(place.path("people.csv"), file).unwrap();
        place.run(&["import", "contacts", "people.csv", "--json"]).json()
    };

    import("email,unsubscribed,first_name\na@example.com,true,Ann\n");
    import("email,unsubscribed,first_name\nA@example.com,false,Anna\n");

    let stored = exported(&place, &[]);
    assert!(stored[0].contains(",a@example.com,Anna,,true,"), "{stored:?}");
}

#[test]
fn what_every_contact_is_given_has_to_be_the_team_s() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    let topic = json!({ "name": "News", "default_subscription": "opt_out" });
    let topic = made(&server, "/topics", &topic);
    place.run(&["team", "create", "Second"]).line();
    std::fs::write(place.path("people.csv"), contacts(3)).unwrap();
    let arguments = |more: &[&'static str]| [&["import", "contacts", "people.csv"], more].concat();

    let segment = made(&server, "/segments", &json!({ "name": "Readers" }));
    let unknown = "019b8d6d-f9b0-7000-8000-000000000001";
    place.run(&arguments(&["--team", "Main", "--segment", unknown])).failed(3, &["segment", unknown]);
    place.run(&arguments(&["--team", "Main", "--topic", unknown])).failed(3, &["topic", unknown]);
    place.run(&[&arguments(&["--team", "Second", "--topic"])[..], &[&topic]].concat()).failed(3, &[&topic]);
    place.run(&arguments(&[])).failed(2, &["--team", "Main, Second"]);
    place.run(&arguments(&["--team", "Third"])).failed(3, &["Main, Second"]);
    assert_eq!(place.run(&arguments(&["--segment", "News"])).code, 2);
    assert!(exported(&place, &["--team", "Main"]).is_empty());

    let given = ["--topic", topic.as_str(), "--segment", segment.as_str()];
    let ran = place.run(&[&arguments(&["--team", "Main", "--json"])[..], &given].concat());
    assert_eq!(counts(&ran.json()), [3, 3, 0, 0, 0]);
    assert!(exported(&place, &["--team", "Second"]).is_empty());

    std::fs::write(place.path("other.csv"), "email\nother@example.com\n").unwrap();
    place.run(&["import", "contacts", "other.csv", "--team", "Main"]).line();
    let readers = exported(&place, &["--team", "Main", "--segment", &segment]);
    assert_eq!(readers.len(), 3);
    assert!(!readers.iter().any(|line| line.contains("other@example.com")), "{readers:?}");
    place.run(&["export", "contacts", "--team", "Second", "--segment", &segment]).failed(3, &[&segment]);
}

#[test]
fn a_file_that_cannot_be_imported_says_why() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let failed = |file: &[u8], more: &[&str], words: &[&str]| {
        std::fs::write(place.path("people.csv"), file).unwrap();
        place.run(&[&["import", "contacts", "people.csv"], more].concat()).failed(2, words);
    };

    failed(b"Mail,Name\na@example.com,A\n", &[], &["people.csv", "`email`", "`Mail`, `Name`"]);
    failed(b"a@example.com,A\n", &[], &["names of the columns"]);
    failed(b"\xFF\xFEe\0m\0", &[], &["CSV UTF-8"]);
    failed(b"", &[], &["empty"]);
    failed(b"email,Plan\n", &["--map", "property:plan=Plan"], &["no contact property `plan`"]);
    failed(b"email\n", &["--map", "first_name=Vorname"], &["`Vorname`"]);
    place.run(&["import", "contacts", "nothing.csv"]).failed(2, &["nothing.csv"]);
    place.run(&["import", "contacts", "."]).failed(2, &["directory"]);
    assert_eq!(place.run(&["import", "contacts", "people.csv", "--map", "mail=x"]).code, 2);
    assert_eq!(place.run(&["import", "contacts"]).code, 2);
    assert!(exported(&place, &[]).is_empty());
}

#[test]
fn an_import_that_was_killed_is_finished_by_running_it_again() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let file = contacts(5_000);
    std::fs::write(place.path("people.csv"), &file).unwrap();
    let mut command = place.command(&["import", "contacts", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut importing = command.spawn().unwrap();
    let mut input = importing.stdin.take().unwrap();
    input.write_all(file.as_bytes()).unwrap();

    // It goes on waiting for the end of its input, with the last rows in hand.
    let started = ringmail::clock::monotonic();
    while exported(&place, &[]).is_empty() {
        assert!(started.elapsed().as_secs() < 40, "nothing is imported");
    }
    importing.kill().unwrap();
    importing.wait().unwrap();
    drop(input);

    let stored = exported(&place, &[]).len() as u64;
    assert!((1_000..5_000).contains(&stored), "{stored}");
    let report = place.run(&["import", "contacts", "people.csv", "--json"]).json();
    assert_eq!(counts(&report), [5_000, 5_000 - stored, stored, 0, 0]);
    assert_eq!(exported(&place, &[]).len(), 5_000);
}
