//! Verbs with a running server and verbs that open the store directly.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringmail::store::{OpenOptions, Store, StoreKind};

use super::program::Cli;

#[test]
fn a_key_created_or_revoked_on_a_running_server_applies_immediately() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);

    let token = cli.run(&["key", "create", "ci"]).success().to_owned();
    assert_eq!(server.get("/api-keys", &token).0, 200);
    cli.run(&["key", "revoke", "ci"]).success();

    assert_eq!(server.get("/api-keys", &token).0, 403);
}

#[test]
fn a_key_created_without_a_server_is_valid_on_the_next_server() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve"]).stop(), 0);

    let token = cli.run(&["key", "create", "ci"]).success().to_owned();

    let server = cli.serve(&["serve"]);
    assert_eq!(server.get("/api-keys", &token).0, 200);
}

#[test]
fn the_socket_of_a_crashed_server_does_not_block_verbs_or_a_start() {
    let cli = Cli::new();
    cli.serve(&["dev"]).crash();
    assert!(cli.path("ringmail-dev/ringmail.sock").exists());

    let listed = cli.run(&["key", "list", "--json"]).json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));

    let server = cli.serve(&["dev"]);
    cli.run(&["key", "create", "after"]).success();
    assert_eq!(server.stop(), 0);
}

#[test]
fn the_socket_accepts_bounded_lines_of_json() {
    let cli = Cli::new();
    let _server = cli.serve(&["dev"]);
    let connect = || {
        let stream = UnixStream::connect(cli.path("ringmail-dev/ringmail.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        BufReader::new(stream)
    };
    let mut stream = connect();
    let mut request = |line: &[u8]| {
        stream.get_mut().write_all(line).unwrap();
        let mut response = String::new();
        stream.read_line(&mut response).unwrap();
        serde_json::from_str::<serde_json::Value>(&response).unwrap()
    };

    assert_eq!(request(b"{\"verb\":\"ping\"}\n")["kind"], "server");
    for line in [
        &b"\n"[..],
        b"{}\n",
        b"\xff\n",
        b"{\"verb\":\"team_create\",\"name\":\"x\",\"more\":1}\n",
        b"{\"verb\":\"explode\"}\n",
    ] {
        assert_eq!(request(line)["kind"], "refused", "{line:?}");
    }
    assert_eq!(request(b"{\"verb\":\"team_list\"}\n")["kind"], "teams");

    let mut endless = connect();
    let mut response = String::new();
    // The server closes the connection at its limit, possibly before all bytes are written.
    let _ = endless.get_mut().write_all(&vec![b'x'; 4 << 20]);
    assert!(matches!(endless.read_line(&mut response), Ok(0) | Err(_)), "{response}");
}

#[test]
fn a_store_in_use_without_a_server_is_unreachable() {
    let cli = Cli::new();
    let options = OpenOptions { directory: cli.path("data"), kind: StoreKind::Serve, cache_bytes: 8 << 20 };
    let _held = Store::open(&options).unwrap();

    cli.run(&["key", "list", "--data-dir", "data"]).failed(5, &["data/ringmail.sock"]);
}

#[test]
fn without_a_store_a_verb_reports_the_path_of_the_missing_file() {
    let cli = Cli::new();

    cli.run(&["key", "list"]).failed(3, &["./ringmail-data/ringmail.redb", "ringmail serve", "--data-dir"]);
    cli.run(&["team", "list", "--data-dir", "there"]).failed(3, &["there/ringmail.redb"]);
    assert!(!cli.path("ringmail-data").exists());
    assert!(!cli.path("there").exists());
}

#[test]
fn a_verb_uses_the_store_of_the_running_server_if_two_stores_exist() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve"]).stop(), 0);
    let dev = cli.serve(&["dev"]);

    let listed = cli.run(&["key", "list", "--json"]);
    assert_eq!(listed.json()["data"][0]["name"], "Development");
    assert!(listed.stderr.contains("Using the store in ./ringmail-dev"), "{listed:?}");
    assert_eq!(dev.stop(), 0);

    cli.run(&["key", "list"]).failed(2, &["--data-dir"]);
}

#[test]
fn a_store_without_its_master_key_is_refused_and_no_key_is_created() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve"]).stop(), 0);
    std::fs::rename(cli.path("ringmail-data/master.key"), cli.path("moved")).unwrap();

    cli.run(&["key", "list"]).failed(1, &["--master-key-file"]);
    assert!(!cli.path("ringmail-data/master.key").exists());
    cli.run(&["key", "list", "--master-key-file", "moved"]).success();
}

#[test]
fn a_store_with_another_master_key_is_refused() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve"]).stop(), 0);
    std::fs::write(cli.path("other"), [9; 32]).unwrap();

    for verb in [&["serve", "--listen", "127.0.0.1:0"][..], &["key", "list"]] {
        let arguments = [verb, &["--master-key-file", "other"]].concat();
        cli.run(&arguments).failed(1, &["ringmail.redb", "another master key", "--master-key-file"]);
    }
    cli.run(&["key", "list"]).success();
}

#[test]
fn ready_waits_for_a_server_and_reports_an_unreachable_url() {
    let cli = Cli::new();
    cli.run(&["ready", "--url", "http://127.0.0.1:1"]).failed(5, &["http://127.0.0.1:1"]);
    let waiting = cli.spawn(&["ready", "--wait", "30s", "--json", "--data-dir", "ringmail-dev"]);

    let server = cli.serve(&["dev"]);

    let ready = waiting.finish().json();
    assert_eq!((&ready["ready"], ready["url"].as_str()), (&true.into(), Some(server.api())));
    assert_eq!(cli.run(&["ready", "--url", server.api()]).code, 0);
}

#[test]
fn ready_names_the_failing_parts_of_a_server() {
    let cli = Cli::new();
    let server = cli.serve(&["dev", "--disk-reserve-mb", "1073741824"]);

    cli.run(&["ready", "--url", server.api()]).failed(5, &["status 503, failing: disk"]);
}

#[test]
fn ready_fails_for_a_server_with_another_directory() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let listen = server.api().strip_prefix("http://").unwrap();
    let state = cli.path("state");

    let ready = |arguments: &[&str], variables: &[(&str, &str)]| {
        let variables = [&[("RINGMAIL_LISTEN", listen)], variables].concat();
        cli.run_with(&[&["ready"], arguments].concat(), &variables)
    };

    assert_eq!(ready(&[], &[]).code, 0);
    ready(&["--data-dir", "other"], &[]).failed(5, &["other"]);
    ready(&[], &[("STATE_DIRECTORY", super::program::text(&state))]).failed(5, &["state"]);
}

#[test]
fn the_openapi_verb_requires_no_store() {
    let cli = Cli::new();

    let document = cli.run(&["openapi"]).json();

    assert_eq!(document["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    assert!(document["paths"]["/emails"]["post"].is_object());
    assert!(std::fs::read_dir(cli.path(".")).unwrap().next().is_none());
}
