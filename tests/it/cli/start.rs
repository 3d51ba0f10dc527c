//! `serve` and `dev`: what they say when they start, and when they cannot.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use ringmail::store::migrations::SCHEMA_VERSION;
use ringmail::store::tables::{META, MetaKey, MetaRow};
use ringmail::store::{Kind, OpenOptions, Store, StoreError};

use super::program::{Place, text};

/// Lets a start come as far as the socket of the command line, which is made once the store is open.
const NO_SOCKET: (&str, &str) = ("RUNTIME_DIRECTORY", "nowhere");

#[test]
fn dev_prints_five_lines_on_standard_output_and_the_key_works() {
    let place = Place::new();
    let mut child = place
        .command(&["dev", "--listen", "127.0.0.1:0", "--data-dir", text(&place.path("data"))])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let lines: Vec<String> = out.lines().take(5).map(Result::unwrap).collect();

    let named = |name: &str| {
        let line = lines.iter().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {lines:#?}"))[name.len()..].trim().to_owned()
    };
    let api = named("API");
    assert!(api.starts_with("http://127.0.0.1:") && !api.ends_with(":0"), "{api}");
    assert_eq!(named("Dashboard"), format!("{api}/dashboard/"));
    assert_eq!(named("File"), text(&place.path("data/ringmail.redb")));
    let key = named("Key");
    let curl = named("Try");
    assert!(curl.starts_with(&format!("curl {api}/emails -H 'Authorization: Bearer {key}'")), "{curl}");
    let (status, domains) = super::program::get(&api, "/domains", &key);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status, 200);
    assert_eq!(domains["data"][0]["name"], "example.com");
    assert_eq!(domains["data"][0]["status"], "verified");
}

#[test]
fn dev_takes_a_key_and_domains_and_keeps_its_own_key_over_restarts() {
    let place = Place::new();
    let key = "rm_0123456789abcdefghijklmnopqrstuv";
    let given = place.serve(&["dev", "--api-key", key, "--domain", "a.example", "--domain", "b.example"]);

    let (status, domains) = given.get("/domains", key);
    assert_eq!((status, given.menu["key"].as_str()), (200, Some(key)));
    assert_eq!(domains["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(given.stop(), 0);

    let own = place.serve(&["dev"]);
    let first = own.menu["key"].clone();
    assert_eq!(own.stop(), 0);
    let again = place.serve(&["dev"]);
    assert_eq!(again.menu["key"], first);
    assert_eq!(again.get("/domains", key).0, 200);
    assert_eq!(again.get("/api-keys", first.as_str().unwrap()).1["data"].as_array().map(Vec::len), Some(2));
}

#[test]
fn serve_says_that_it_captures_and_prints_no_key() {
    let place = Place::new();
    let server = place.serve(&["serve"]);

    assert_eq!(server.menu["delivery"], "capture");
    assert!(server.menu.get("key").is_none());
    assert_eq!(server.menu["file"], "./ringmail-data/ringmail.redb");
    assert_eq!(server.stop(), 0);
    assert!(!place.path("ringmail-data/ringmail.sock").exists());
}

#[test]
fn a_busy_port_is_one_sentence_with_the_flag_that_helps() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();

    let ran = place.run(&["serve", "--listen", &address]);

    ran.failed(1, &[&address, "--listen"]);
    assert!(!place.path("ringmail-data").exists());
}

#[test]
fn a_second_process_on_the_same_file_is_one_sentence_with_the_flag_that_helps() {
    let place = Place::new();
    let _first = place.serve(&["dev"]);

    let ran = place.run(&["dev", "--listen", "127.0.0.1:0"]);

    ran.failed(1, &["ringmail-dev/ringmail.redb", "--data-dir"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_one_sentence_with_the_flag_that_helps() {
    let place = Place::new();
    std::fs::write(place.path("file"), b"not a directory").unwrap();

    for directory in ["file", "file/below"] {
        let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", directory]);

        ran.failed(1, &[directory, "--data-dir"]);
    }
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"not a directory");
}

#[test]
fn a_store_of_the_other_command_is_one_sentence() {
    let place = Place::new();
    assert_eq!(place.serve(&["dev", "--data-dir", "data"]).stop(), 0);

    let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);

    ran.failed(1, &["`ringmail dev`", "--data-dir"]);
}

#[test]
fn a_newer_file_is_refused_and_left_as_it_was() {
    let place = Place::new();
    assert_eq!(place.serve(&["serve", "--data-dir", "data"]).stop(), 0);
    let options = OpenOptions { directory: place.path("data"), kind: Kind::Serve, cache_bytes: 8 << 20 };
    let newer = MetaRow { schema: SCHEMA_VERSION + 1, kind: Kind::Serve };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&options).unwrap();
        store.write::<_, StoreError>(move |tx| tx.put(&META, &MetaKey::SCHEMA, &newer)).await.unwrap();
        store.close().await;
    });

    let found = format!("schema {}", SCHEMA_VERSION + 1);
    for verb in [&["serve", "--listen", "127.0.0.1:0"][..], &["key", "list"]] {
        let arguments: Vec<&str> = verb.iter().copied().chain(["--data-dir", "data"]).collect();

        place.run(&arguments).failed(1, &["newer Ringmail", &found, "--data-dir"]);
    }
}

#[test]
fn a_master_key_of_another_store_or_form_is_one_sentence() {
    let place = Place::new();
    std::fs::write(place.path("short"), b"short").unwrap();

    let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--master-key-file", "short"]);

    ran.failed(1, &["short", "--master-key-file"]);
}

#[test]
fn settings_that_are_not_in_order_exit_with_2_and_show_no_password() {
    let place = Place::new();
    let listen = ["serve", "--listen", "127.0.0.1:0"];

    for (arguments, variables) in [
        (&["--email-retention-days", "1"][..], &[][..]),
        (&["--delivery", "relay"], &[]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user:hunter2@mail.example.com:x")]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user:hunter2@mail.example.com?tls=never")]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user@mail.example.com")]),
        (&["--log", "ringmail=loud"], &[]),
    ] {
        let arguments: Vec<&str> = listen.iter().chain(arguments).copied().collect();
        let ran = place.run_with(&arguments, variables);

        ran.failed(2, &["--"]);
        assert!(!ran.err.contains("hunter2"), "{ran:?}");
    }
    for (arguments, variables) in
        [(&["dev", "--api-key", "hunter2"][..], &[][..]), (&["dev"], &[("RINGMAIL_API_KEY", "hunter2")])]
    {
        let ran = place.run_with(arguments, variables);

        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("--api-key") && !ran.err.contains("hunter2"), "{ran:?}");
    }
    assert_eq!(place.run(&["serve", "--port", "80"]).code, 2);
    assert_eq!(place.run(&["frobnicate"]).code, 2);
    assert_eq!(place.run_with(&["serve"], &[("RINGMAIL_LISTEN", "nowhere")]).code, 2);
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let place = Place::new();
    let empty = ["DATA_DIR", "RELAY", "DELIVERY", "HOLD", "RESOLVER", "HOSTNAME", "RATE_LIMIT", "API_KEY"]
        .map(|name| format!("RINGMAIL_{name}"));
    let variables: Vec<(&str, &str)> = empty.iter().map(|name| (name.as_str(), "")).collect();

    let starting = [variables.as_slice(), &[NO_SOCKET]].concat();

    place.run_with(&["serve", "--listen", "127.0.0.1:0"], &starting).failed(1, &["socket"]);
    assert!(place.path("ringmail-data/ringmail.redb").exists());
    place.run_with(&["team", "list"], &variables).line();
    place.run_with(&["dev", "--listen", "127.0.0.1:0"], &starting).failed(1, &["socket"]);
}

#[test]
fn a_flag_beats_its_variable_and_a_variable_beats_the_default() {
    let place = Place::new();
    let in_use = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = in_use.local_addr().unwrap().to_string();
    let variables = [("RINGMAIL_DATA_DIR", "from-variable"), ("RINGMAIL_LISTEN", address.as_str()), NO_SOCKET];
    let free = ["serve", "--listen", "127.0.0.1:0"];

    place.run_with(&["serve"], &variables).failed(1, &[&address]);
    place.run_with(&free, &variables).failed(1, &["socket"]);
    assert!(place.path("from-variable/ringmail.redb").exists());
    place.run_with(&[&free[..], &["--data-dir", "from-flag"]].concat(), &variables).failed(1, &["socket"]);
    assert!(place.path("from-flag/ringmail.redb").exists());
}
