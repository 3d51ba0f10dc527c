//! `ringmail export contacts`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;

use super::import::{create, delete, export};
use super::program::Cli;

/// Returns the lines without the id and the two times, which differ between contacts with the same data.
fn without_id_and_times(lines: &[String]) -> Vec<String> {
    let strip = |line: &String| {
        let (_, rest) = line.split_once(',').expect("the id is the first cell");
        let cells: Vec<&str> = rest.split(',').filter(|cell| !cell.ends_with('Z')).collect();
        cells.join(",")
    };
    lines.iter().map(strip).collect()
}

#[test]
fn an_export_can_be_imported_into_another_team() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    create(&server, "/contact-properties", &json!({ "key": "plan", "type": "string" }));
    let file = "email,first_name,last_name,unsubscribed,property:plan\n\
                '+a@example.com,'=1+1,'-,yes,'@x\n\
                b@example.com,\"one,two\",\" spaced \",no,\"two\nlines\"\n\
                c@example.com,,O'Hara,0,＝1\n";
    std::fs::write(cli.path("people.csv"), file).unwrap();
    cli.run(&["import", "contacts", "people.csv"]).success();
    cli.run(&["team", "create", "Second"]).success();
    assert!(export(&cli, &["--team", "Second"]).is_empty());

    let report = cli.run(&["export", "contacts", "main.csv", "--team", "Main", "--json"]).json();
    assert_eq!(report, json!({ "file": "main.csv", "contacts": 3 }));
    assert!(!cli.path("main.csv.partial").exists());
    cli.run(&["import", "contacts", "main.csv", "--team", "Second"]).failed(2, &["no contact property `plan`"]);
    let map = ["--map", "ignore=property:plan"];
    cli.run(&[&["import", "contacts", "main.csv", "--team", "Second"], &map[..]].concat()).success();

    let main = cli.run(&["export", "contacts", "--team", "Main"]).stdout;
    assert!(main.starts_with("id,email,first_name,last_name,unsubscribed,segment_ids,topic_opt_in_ids,topic_opt_out_ids,created_at,updated_at,property:plan\r\n"));
    for cell in ["'+a@example.com", ",'=1+1,", ",'-,", ",'@x\r\n", "\"two\nlines\"", "\" spaced \"", ",'＝1\r\n"] {
        assert!(main.contains(cell), "no {cell:?} in {main}");
    }
    let second = cli.run(&["export", "contacts", "--team", "Second"]).stdout;
    let rows = |text: &str| {
        without_id_and_times(&text.split_terminator("\r\n").skip(1).map(str::to_owned).collect::<Vec<_>>())
    };
    let without_plan: Vec<String> =
        rows(&main).iter().map(|row| row.rsplit_once(',').expect("there is a property").0.to_owned()).collect();
    assert_eq!(rows(&second), without_plan);

    // An import into the original team changes nothing.
    let before = cli.run(&["export", "contacts", "--team", "Main"]).stdout;
    let again = cli.run(&["import", "contacts", "main.csv", "--team", "Main", "--json"]).json();
    assert_eq!((&again["updated"], &again["failed"]), (&json!(3), &json!(0)));
    assert_eq!(cli.run(&["export", "contacts", "--team", "Main"]).stdout, before);
}

#[test]
fn topic_choices_and_segments_survive_an_export_and_an_import() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let topic = |name: &str| create(&server, "/topics", &json!({ "name": name, "default_subscription": "opt_in" }));
    let (news, offers) = (topic("News"), topic("Offers"));
    let readers = create(&server, "/segments", &json!({ "name": "Readers" }));
    let ada = json!({
        "email": "ada@example.com", "segments": [{ "id": readers }],
        "topics": [{ "id": news, "subscription": "opt_out" }, { "id": offers, "subscription": "opt_in" }],
    });
    let id = create(&server, "/contacts", &ada);
    create(&server, "/contacts", &json!({ "email": "bob@example.com" }));
    cli.run(&["export", "contacts", "backup.csv"]);
    let before = export(&cli, &[]);
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(&before[0])[5..8], [readers.clone(), offers.clone(), news.clone()]);
    assert_eq!(cells(&before[1])[5..8], ["", "", ""]);

    delete(&server, &format!("/contacts/{id}"));
    assert_eq!(export(&cli, &[]).len(), 1);
    let report = cli.run(&["import", "contacts", "backup.csv", "--json"]).json();
    assert_eq!((&report["created"], &report["updated"], &report["failed"]), (&json!(1), &json!(1), &json!(0)));
    let after = export(&cli, &[]);
    assert_eq!(
        without_id_and_times(&after[1..]),
        without_id_and_times(&before[..1]),
        "the contact that was created again is the last row"
    );

    // A later topic choice remains: an import does not replace an opt-out by an opt-in.
    let out = json!({ "email": "ada@example.com", "topics": [{ "id": offers, "subscription": "opt_out" }] });
    create(&server, "/contacts", &out);
    cli.run(&["import", "contacts", "backup.csv"]).success();
    assert_eq!(cells(&export(&cli, &[])[1])[5..8], [readers, String::new(), format!("{news} {offers}")]);
}

#[test]
fn a_failed_export_leaves_an_existing_file_unchanged() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    std::fs::write(cli.path("kept.csv"), "kept").unwrap();

    cli.run(&["export", "contacts", "no/such/place.csv"]).failed(2, &["no/such/place.csv"]);
    cli.run(&["export", "contacts", "--json"]).failed(2, &["--json"]);
    cli.run(&["export", "contacts", "kept.csv", "--team", "Third"]).failed(3, &["Third"]);
    assert_eq!(std::fs::read_to_string(cli.path("kept.csv")).unwrap(), "kept");
    assert!(!cli.path("kept.csv.partial").exists());

    let output = cli.run(&["export", "contacts", "kept.csv"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
    let written = std::fs::read_to_string(cli.path("kept.csv")).unwrap();
    assert!(written.starts_with("id,email,") && written.ends_with(",created_at,updated_at\r\n"), "{written}");
}

#[test]
fn files_with_contacts_are_private_and_symbolic_links_are_refused() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let mode = |name: &str| std::fs::symlink_metadata(cli.path(name)).unwrap().permissions().mode() & 0o777;
    let create_world_writable = |name: &str| {
        std::fs::write(cli.path(name), "old").unwrap();
        std::fs::set_permissions(cli.path(name), Permissions::from_mode(0o666)).unwrap();
    };
    for name in ["errors.csv", "out.csv", "out.csv.partial"] {
        create_world_writable(name);
    }
    std::fs::write(cli.path("people.csv"), "email\nada@example.com\nnobody\n").unwrap();

    assert_eq!(cli.run(&["import", "contacts", "people.csv", "--errors", "errors.csv"]).code, 1);
    cli.run(&["export", "contacts", "out.csv"]);

    assert!(std::fs::read_to_string(cli.path("errors.csv")).unwrap().contains("3,nobody,"));
    assert!(std::fs::read_to_string(cli.path("out.csv")).unwrap().contains(",ada@example.com,"));
    assert_eq!((mode("errors.csv"), mode("out.csv")), (0o600, 0o600));
    assert!(!cli.path("out.csv.partial").exists());

    create_world_writable("elsewhere");
    for name in ["errors.csv", "out.csv.partial", "linked.csv"] {
        let _ = std::fs::remove_file(cli.path(name));
        std::os::unix::fs::symlink("elsewhere", cli.path(name)).unwrap();
    }
    cli.run(&["import", "contacts", "people.csv", "--errors", "errors.csv"]).failed(2, &["errors.csv", "link"]);
    cli.run(&["export", "contacts", "out.csv"]).failed(2, &["out.csv.partial", "link"]);
    cli.run(&["export", "contacts", "linked.csv"]).failed(2, &["linked.csv", "link"]);
    cli.run(&["export", "contacts", "."]).failed(2, &["directory"]);
    assert_eq!(std::fs::read_to_string(cli.path("elsewhere")).unwrap(), "old");
    assert!(cli.path("linked.csv").is_symlink());
}

#[test]
fn a_closed_output_pipe_is_not_a_failure() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let rows: String = (0..2_000).map(|number| format!("person{number}@example.com\n")).collect();
    std::fs::write(cli.path("people.csv"), format!("email\n{rows}")).unwrap();
    cli.run(&["import", "contacts", "people.csv"]).success();

    let mut exporting = cli.command(&["export", "contacts"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(exporting.stdout.take());

    assert_eq!(exporting.wait().unwrap().code(), Some(0));
}
