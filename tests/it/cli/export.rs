//! `ringmail export contacts`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;

use super::import::{exported, gone, made};
use super::program::Place;

/// Returns lines without the id and the two times, which are another contact's.
fn told(lines: &[String]) -> Vec<String> {
    let told = |line: &String| {
        let (_, rest) = line.split_once(',').expect("the id is the first cell");
        let cells: Vec<&str> = rest.split(',').filter(|cell| !cell.ends_with('Z')).collect();
        cells.join(",")
    };
    lines.iter().map(told).collect()
}

#[test]
fn an_export_is_imported_by_another_team_as_it_is() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    made(&server, "/contact-properties", &json!({ "key": "plan", "type": "string" }));
    let file = "email,first_name,last_name,unsubscribed,property:plan\n\
                '+a@example.com,'=1+1,'-,yes,'@x\n\
                b@example.com,\"one,two\",\" spaced \",no,\"two\nlines\"\n\
                c@example.com,,O'Hara,0,＝1\n";
    std::fs::write(place.path("people.csv"), file).unwrap();
    place.run(&["import", "contacts", "people.csv"]).line();
    place.run(&["team", "create", "Second"]).line();
    assert!(exported(&place, &["--team", "Second"]).is_empty());

    let report = place.run(&["export", "contacts", "main.csv", "--team", "Main", "--json"]).json();
    assert_eq!(report, json!({ "file": "main.csv", "contacts": 3 }));
    assert!(!place.path("main.csv.partial").exists());
    place.run(&["import", "contacts", "main.csv", "--team", "Second"]).failed(2, &["no contact property `plan`"]);
    let map = ["--map", "ignore=property:plan"];
    place.run(&[&["import", "contacts", "main.csv", "--team", "Second"], &map[..]].concat()).line();

    let whole = place.run(&["export", "contacts", "--team", "Main"]).out;
    assert!(whole.starts_with("id,email,first_name,last_name,unsubscribed,segment_ids,topic_opt_in_ids,topic_opt_out_ids,created_at,updated_at,property:plan\r\n"));
    for cell in ["'+a@example.com", ",'=1+1,", ",'-,", ",'@x\r\n", "\"two\nlines\"", "\" spaced \"", ",'＝1\r\n"] {
        assert!(whole.contains(cell), "no {cell:?} in {whole}");
    }
    let second = place.run(&["export", "contacts", "--team", "Second"]).out;
    let rows = |text: &str| told(&text.split_terminator("\r\n").skip(1).map(str::to_owned).collect::<Vec<_>>());
    let without_plan: Vec<String> =
        rows(&whole).iter().map(|row| row.rsplit_once(',').expect("there is a property").0.to_owned()).collect();
    assert_eq!(rows(&second), without_plan);

    // Back into the team it came from it changes nothing.
    let before = place.run(&["export", "contacts", "--team", "Main"]).out;
    let again = place.run(&["import", "contacts", "main.csv", "--team", "Main", "--json"]).json();
    assert_eq!((&again["updated"], &again["failed"]), (&json!(3), &json!(0)));
    assert_eq!(place.run(&["export", "contacts", "--team", "Main"]).out, before);
}

#[test]
fn choices_and_segments_survive_an_export_and_an_import() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    let topic = |name: &str| made(&server, "/topics", &json!({ "name": name, "default_subscription": "opt_in" }));
    let (news, offers) = (topic("News"), topic("Offers"));
    let readers = made(&server, "/segments", &json!({ "name": "Readers" }));
    let ada = json!({
        "email": "ada@example.com", "segments": [{ "id": readers }],
        "topics": [{ "id": news, "subscription": "opt_out" }, { "id": offers, "subscription": "opt_in" }],
    });
    let id = made(&server, "/contacts", &ada);
    made(&server, "/contacts", &json!({ "email": "bob@example.com" }));
    place.run(&["export", "contacts", "backup.csv"]);
    let before = exported(&place, &[]);
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(&before[0])[5..8], [readers.clone(), offers.clone(), news.clone()]);
    assert_eq!(cells(&before[1])[5..8], ["", "", ""]);

    gone(&server, &format!("/contacts/{id}"));
    assert_eq!(exported(&place, &[]).len(), 1);
    let report = place.run(&["import", "contacts", "backup.csv", "--json"]).json();
    assert_eq!((&report["created"], &report["updated"], &report["failed"]), (&json!(1), &json!(1), &json!(0)));
    let after = exported(&place, &[]);
    assert_eq!(told(&after[1..]), told(&before[..1]), "Ada is the younger contact");

    // What was chosen since is kept: a file never turns an opt-out into an opt-in.
    let out = json!({ "email": "ada@example.com", "topics": [{ "id": offers, "subscription": "opt_out" }] });
    made(&server, "/contacts", &out);
    place.run(&["import", "contacts", "backup.csv"]).line();
    assert_eq!(cells(&exported(&place, &[])[1])[5..8], [readers, String::new(), format!("{news} {offers}")]);
}

#[test]
fn a_file_that_cannot_be_written_is_left_as_it_was() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    std::fs::write(place.path("kept.csv"), "kept").unwrap();

    place.run(&["export", "contacts", "no/such/place.csv"]).failed(2, &["no/such/place.csv"]);
    place.run(&["export", "contacts", "--json"]).failed(2, &["--json"]);
    place.run(&["export", "contacts", "kept.csv", "--team", "Third"]).failed(3, &["Third"]);
    assert_eq!(std::fs::read_to_string(place.path("kept.csv")).unwrap(), "kept");
    assert!(!place.path("kept.csv.partial").exists());

    let ran = place.run(&["export", "contacts", "kept.csv"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    let written = std::fs::read_to_string(place.path("kept.csv")).unwrap();
    assert!(written.starts_with("id,email,") && written.ends_with(",created_at,updated_at\r\n"), "{written}");
}

#[test]
fn files_of_contacts_are_their_owner_s_alone_and_no_link_is_followed() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let mode = |name: &str| std::fs::symlink_metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    let open_to_all = |name: &str| {
        std::fs::write(place.path(name), "old").unwrap();
        std::fs::set_permissions(place.path(name), Permissions::from_mode(0o666)).unwrap();
    };
    for name in ["errors.csv", "out.csv", "out.csv.partial"] {
        open_to_all(name);
    }
    std::fs::write(place.path("people.csv"), "email\nada@example.com\nnobody\n").unwrap();

    assert_eq!(place.run(&["import", "contacts", "people.csv", "--errors", "errors.csv"]).code, 1);
    place.run(&["export", "contacts", "out.csv"]);

    assert!(std::fs::read_to_string(place.path("errors.csv")).unwrap().contains("3,nobody,"));
    assert!(std::fs::read_to_string(place.path("out.csv")).unwrap().contains(",ada@example.com,"));
    assert_eq!((mode("errors.csv"), mode("out.csv")), (0o600, 0o600));
    assert!(!place.path("out.csv.partial").exists());

    open_to_all("elsewhere");
    for name in ["errors.csv", "out.csv.partial", "linked.csv"] {
        let _ = std::fs::remove_file(place.path(name));
        std::os::unix::fs::symlink("elsewhere", place.path(name)).unwrap();
    }
    place.run(&["import", "contacts", "people.csv", "--errors", "errors.csv"]).failed(2, &["errors.csv", "link"]);
    place.run(&["export", "contacts", "out.csv"]).failed(2, &["out.csv.partial", "link"]);
    place.run(&["export", "contacts", "linked.csv"]).failed(2, &["linked.csv", "link"]);
    place.run(&["export", "contacts", "."]).failed(2, &["directory"]);
    assert_eq!(std::fs::read_to_string(place.path("elsewhere")).unwrap(), "old");
    assert!(place.path("linked.csv").is_symlink());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let rows: String = (0..2_000).map(|number| format!("person{number}@example.com\n")).collect();
    std::fs::write(place.path("people.csv"), format!("email\n{rows}")).unwrap();
    place.run(&["import", "contacts", "people.csv"]).line();

    let mut exporting = place.command(&["export", "contacts"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(exporting.stdout.take());

    assert_eq!(exporting.wait().unwrap().code(), Some(0));
}
