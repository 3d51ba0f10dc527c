//! Verbs over a running server and over a store that nobody holds.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringmail::store::{Kind, OpenOptions, Store};

use super::program::Place;

#[test]
fn a_key_made_while_a_server_runs_works_at_once_and_stops_at_once() {
    let place = Place::new();
    let server = place.serve(&["dev"]);

    let token = place.run(&["key", "create", "ci"]).line().to_owned();
    assert_eq!(server.get("/api-keys", &token).0, 200);
    place.run(&["key", "revoke", "ci"]).line();

    assert_eq!(server.get("/api-keys", &token).0, 403);
}

#[test]
fn a_key_made_while_no_server_runs_works_in_the_next_one() {
    let place = Place::new();
    assert_eq!(place.serve(&["serve"]).stop(), 0);

    let token = place.run(&["key", "create", "ci"]).line().to_owned();

    let server = place.serve(&["serve"]);
    assert_eq!(server.get("/api-keys", &token).0, 200);
}

#[test]
fn the_socket_that_a_crash_left_is_in_nobody_s_way() {
    let place = Place::new();
    place.serve(&["dev"]).crash();
    assert!(place.path("ringmail-dev/ringmail.sock").exists());

    let listed = place.run(&["key", "list", "--json"]).json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));

    let server = place.serve(&["dev"]);
    place.run(&["key", "create", "after"]).line();
    assert_eq!(server.stop(), 0);
}

#[test]
fn the_socket_takes_lines_of_json_and_nothing_endless() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let connect = || {
        let stream = UnixStream::connect(place.path("ringmail-dev/ringmail.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        BufReader::new(stream)
    };
    let mut stream = connect();
    let mut ask = |line: &[u8]| {
        stream.get_mut().write_all(line).unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).unwrap();
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()
    };

    assert_eq!(ask(b"{\"verb\":\"ping\"}\n")["kind"], "server");
    for line in [
        &b"\n"[..],
        b"{}\n",
        b"\xff\n",
        b"{\"verb\":\"team_create\",\"name\":\"x\",\"more\":1}\n",
        b"{\"verb\":\"explode\"}\n",
    ] {
        assert_eq!(ask(line)["kind"], "refused", "{line:?}");
    }
    assert_eq!(ask(b"{\"verb\":\"team_list\"}\n")["kind"], "teams");

    let mut endless = connect();
    let mut answer = String::new();
    // The server hangs up at its bound, wherever the writing has got to by then.
    let _ = endless.get_mut().write_all(&vec![b'x'; 4 << 20]);
    assert!(matches!(endless.read_line(&mut answer), Ok(0) | Err(_)), "{answer}");
}

#[test]
fn a_store_in_use_that_nobody_answers_for_is_unreachable() {
    let place = Place::new();
    let options = OpenOptions { directory: place.path("data"), kind: Kind::Serve, cache_bytes: 8 << 20 };
    let _held = Store::open(&options).unwrap();

    place.run(&["key", "list", "--data-dir", "data"]).failed(5, &["data/ringmail.sock"]);
}

#[test]
fn without_a_store_verbs_say_where_they_looked() {
    let place = Place::new();

    place.run(&["key", "list"]).failed(3, &["./ringmail-data/ringmail.redb", "ringmail serve", "--data-dir"]);
    place.run(&["team", "list", "--data-dir", "there"]).failed(3, &["there/ringmail.redb"]);
    assert!(!place.path("ringmail-data").exists());
    assert!(!place.path("there").exists());
}

#[test]
fn of_two_stores_the_one_that_is_served_is_meant() {
    let place = Place::new();
    assert_eq!(place.serve(&["serve"]).stop(), 0);
    let dev = place.serve(&["dev"]);

    assert_eq!(place.run(&["key", "list", "--json"]).json()["data"][0]["name"], "Development");
    assert_eq!(dev.stop(), 0);

    place.run(&["key", "list"]).failed(2, &["--data-dir"]);
}

#[test]
fn a_store_without_its_master_key_is_not_given_another() {
    let place = Place::new();
    assert_eq!(place.serve(&["serve"]).stop(), 0);
    std::fs::rename(place.path("ringmail-data/master.key"), place.path("moved")).unwrap();

    place.run(&["key", "list"]).failed(1, &["--master-key-file"]);
    assert!(!place.path("ringmail-data/master.key").exists());
    place.run(&["key", "list", "--master-key-file", "moved"]).line();
}

#[test]
fn ready_waits_for_a_server_and_says_where_none_is() {
    let place = Place::new();
    place.run(&["ready", "--url", "http://127.0.0.1:1"]).failed(5, &["http://127.0.0.1:1"]);
    let waiting = place.spawn(&["ready", "--wait", "30s", "--json", "--data-dir", "ringmail-dev"]);

    let server = place.serve(&["dev"]);

    let ready = waiting.finish().json();
    assert_eq!((&ready["ready"], ready["url"].as_str()), (&true.into(), Some(server.api())));
    assert_eq!(place.run(&["ready", "--url", server.api()]).code, 0);
}

#[test]
fn a_server_over_another_directory_is_not_the_one_that_is_ready() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    let listen = server.api().strip_prefix("http://").unwrap();
    let state = place.path("state");

    let ready = |arguments: &[&str], variables: &[(&str, &str)]| {
        let variables = [&[("RINGMAIL_LISTEN", listen)], variables].concat();
        place.run_with(&[&["ready"], arguments].concat(), &variables)
    };

    assert_eq!(ready(&[], &[]).code, 0);
    ready(&["--data-dir", "other"], &[]).failed(5, &["other"]);
    ready(&[], &[("STATE_DIRECTORY", super::program::text(&state))]).failed(5, &["state"]);
}

#[test]
fn the_description_of_the_api_needs_no_store() {
    let place = Place::new();

    let document = place.run(&["openapi"]).json();

    assert_eq!(document["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    assert!(document["paths"]["/emails"]["post"].is_object());
    assert!(std::fs::read_dir(place.path(".")).unwrap().next().is_none());
}
