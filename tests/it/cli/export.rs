//! `ringmail export contacts`.

use std::process::Stdio;

use serde_json::json;

use super::import::{exported, made};
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
    assert!(whole.starts_with("id,email,first_name,last_name,unsubscribed,created_at,updated_at,property:plan\r\n"));
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
    assert_eq!(written, "id,email,first_name,last_name,unsubscribed,created_at,updated_at\r\n");
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
