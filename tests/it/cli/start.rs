//! Startup output and startup errors of `serve` and `dev`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use ringmail::base::clock::monotonic;

use ringmail::store::meta::{META, MetaKey, MetaRow};
use ringmail::store::migrations::SCHEMA_VERSION;
use ringmail::store::{OpenOptions, Store, StoreError, StoreKind};

use super::program::{Cli, get, text};

/// Makes a start fail when it creates the socket of the command line. At that point, the store is open.
const NO_SOCKET: (&str, &str) = ("RUNTIME_DIRECTORY", "nowhere");

#[test]
fn dev_prints_five_lines_with_a_working_key() {
    let cli = Cli::new();
    let mut child = cli
        .command(&["dev", "--listen", "127.0.0.1:0", "--data-dir", text(&cli.path("data"))])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let lines: Vec<String> = out.lines().take(5).map(Result::unwrap).collect();

    let value_of = |name: &str| {
        let line = lines.iter().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {lines:#?}"))[name.len()..].trim().to_owned()
    };
    let api = value_of("API");
    assert!(api.starts_with("http://127.0.0.1:") && !api.ends_with(":0"), "{api}");
    assert!(value_of("Dashboard").starts_with(&format!("{api}/dashboard/open/")), "{lines:#?}");
    assert_eq!(value_of("File"), text(&cli.path("data/ringmail.redb")));
    let key = value_of("Key");
    let curl = value_of("Try");
    assert!(curl.starts_with(&format!("curl {api}/emails -H 'Authorization: Bearer {key}'")), "{curl}");
    let (status, domains) = super::program::get(&api, "/domains", &key);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status, 200);
    assert_eq!(domains["data"][0]["name"], "example.com");
    assert_eq!(domains["data"][0]["status"], "verified");
}

#[test]
fn dev_accepts_a_key_and_domains_and_keeps_its_own_key_across_restarts() {
    let cli = Cli::new();
    let key = "rm_0123456789abcdefghijklmnopqrstuv";
    let configured = cli.serve(&["dev", "--api-key", key, "--domain", "a.example", "--domain", "b.example"]);

    let (status, domains) = configured.get("/domains", key);
    assert_eq!((status, configured.menu["key"].as_str()), (200, Some(key)));
    assert_eq!(domains["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(configured.stop(), 0);

    let generated = cli.serve(&["dev"]);
    let first = generated.menu["key"].clone();
    assert_eq!(generated.stop(), 0);
    let again = cli.serve(&["dev"]);
    assert_eq!(again.menu["key"], first);
    assert_eq!(again.get("/domains", key).0, 200);
    assert_eq!(again.get("/api-keys", first.as_str().unwrap()).1["data"].as_array().map(Vec::len), Some(2));
}

#[test]
fn serve_prints_the_delivery_mode_and_no_key() {
    let cli = Cli::new();
    let server = cli.serve(&["serve"]);

    assert_eq!(server.menu["delivery"], "capture");
    assert!(server.menu.get("key").is_none());
    assert_eq!(server.menu["dashboard"], format!("{}/dashboard/", server.api()), "no link in the output for programs");
    assert_eq!(server.menu["file"], "./ringmail-data/ringmail.redb");
    assert_eq!(server.stop(), 0);
    assert!(!cli.path("ringmail-data/ringmail.sock").exists());
}

#[test]
fn requests_get_503_until_the_store_is_open() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve"]).stop(), 0);
    let store = File::options().read(true).write(true).open(cli.path("ringmail-data/ringmail.redb")).unwrap();
    // The server waits for the lock, as it waits for the repair of a large store.
    store.lock().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = monotonic();
    let _server = cli.spawn(&["serve", "--listen", &address.to_string()]);
    while TcpStream::connect(address).is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "the server does not listen");
    }
    let api = format!("http://{address}");

    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(20)));
    let request = ureq::Agent::new_with_config(config.build()).post(format!("{api}/emails"));
    let response = request.send(vec![b' '; 1 << 20]).unwrap();

    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    assert!(response.into_body().read_to_string().unwrap().contains("starting"));
    store.unlock().unwrap();
    while get(&api, "/health", "").0 != 200 {
        assert!(started.elapsed() < Duration::from_secs(20), "the server is not ready");
    }
}

#[test]
fn a_port_in_use_is_reported_with_the_flag_to_change() {
    let cli = Cli::new();
    let in_use = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = in_use.local_addr().unwrap().to_string();

    let output = cli.run(&["serve", "--listen", &address]);

    output.failed(1, &[&address, "--listen"]);
    assert!(!cli.path("ringmail-data").exists());
}

#[test]
fn a_file_in_use_is_reported_with_the_flag_to_change() {
    let cli = Cli::new();
    let _first = cli.serve(&["dev"]);

    let output = cli.run(&["dev", "--listen", "127.0.0.1:0"]);

    output.failed(1, &["ringmail-dev/ringmail.redb", "--data-dir"]);
}

#[test]
fn a_directory_that_is_not_writable_is_reported_with_the_flag_to_change() {
    let cli = Cli::new();
    std::fs::write(cli.path("file"), b"not a directory").unwrap();

    for directory in ["file", "file/below"] {
        let output = cli.run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", directory]);

        output.failed(1, &[directory, "--data-dir"]);
    }
    assert_eq!(std::fs::read(cli.path("file")).unwrap(), b"not a directory");
}

#[test]
fn a_store_of_the_other_command_is_reported() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["dev", "--data-dir", "data"]).stop(), 0);

    let output = cli.run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);

    output.failed(1, &["`ringmail dev`", "--data-dir"]);
}

#[test]
fn a_file_with_a_newer_schema_is_refused_and_reported() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve", "--data-dir", "data"]).stop(), 0);
    let options = OpenOptions { directory: cli.path("data"), kind: StoreKind::Serve, cache_bytes: 8 << 20 };
    let newer = MetaRow { schema: SCHEMA_VERSION + 1, kind: StoreKind::Serve };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&options).unwrap();
        store.write::<_, StoreError>(move |tx| tx.put(&META, &MetaKey::SCHEMA, &newer)).await.unwrap();
        store.close().await;
    });

    let found = format!("schema {}", SCHEMA_VERSION + 1);
    for verb in [&["serve", "--listen", "127.0.0.1:0"][..], &["key", "list"]] {
        let arguments: Vec<&str> = verb.iter().copied().chain(["--data-dir", "data"]).collect();

        cli.run(&arguments).failed(1, &["newer Ringmail", &found, "--data-dir"]);
    }
}

#[test]
fn a_malformed_master_key_is_reported() {
    let cli = Cli::new();
    std::fs::write(cli.path("short"), b"short").unwrap();

    let output = cli.run(&["serve", "--listen", "127.0.0.1:0", "--master-key-file", "short"]);

    output.failed(1, &["short", "--master-key-file"]);
}

#[test]
fn invalid_settings_exit_with_2_and_show_no_password() {
    let cli = Cli::new();
    let listen = ["serve", "--listen", "127.0.0.1:0"];

    for (arguments, variables) in [
        (&["--email-retention-days", "1"][..], &[][..]),
        (&["--delivery", "relay"], &[]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user:hunter2@mail.example.com:x")]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user:hunter2@mail.example.com?tls=never")]),
        (&["--delivery", "relay"], &[("RINGMAIL_RELAY", "smtp://user@mail.example.com")]),
        (&["--log", "ringmail=loud"], &[]),
        (&["--delivery", "direct", "--hostname", "laptop.local"], &[]),
    ] {
        let arguments: Vec<&str> = listen.iter().chain(arguments).copied().collect();
        let output = cli.run_with(&arguments, variables);

        output.failed(2, &["--"]);
        assert!(!output.stderr.contains("hunter2"), "{output:?}");
    }
    for (arguments, variables) in
        [(&["dev", "--api-key", "hunter2"][..], &[][..]), (&["dev"], &[("RINGMAIL_API_KEY", "hunter2")])]
    {
        let output = cli.run_with(arguments, variables);

        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains("--api-key") && !output.stderr.contains("hunter2"), "{output:?}");
    }
    assert_eq!(cli.run(&["serve", "--port", "80"]).code, 2);
    assert_eq!(cli.run(&["frobnicate"]).code, 2);
    assert_eq!(cli.run_with(&["serve"], &[("RINGMAIL_LISTEN", "nowhere")]).code, 2);
}

#[test]
fn an_empty_variable_equals_an_unset_variable() {
    let cli = Cli::new();
    let empty = ["DATA_DIR", "RELAY", "DELIVERY", "HOLD", "RESOLVER", "HOSTNAME", "RATE_LIMIT", "API_KEY"]
        .map(|name| format!("RINGMAIL_{name}"));
    let variables: Vec<(&str, &str)> = empty.iter().map(|name| (name.as_str(), "")).collect();

    let with_no_socket = [variables.as_slice(), &[NO_SOCKET]].concat();

    cli.run_with(&["serve", "--listen", "127.0.0.1:0"], &with_no_socket).failed(1, &["socket"]);
    assert!(cli.path("ringmail-data/ringmail.redb").exists());
    cli.run_with(&["team", "list"], &variables).success();
    cli.run_with(&["dev", "--listen", "127.0.0.1:0"], &with_no_socket).failed(1, &["socket"]);
}

#[test]
fn an_unknown_variable_is_refused_by_every_verb_with_the_nearest_name() {
    let cli = Cli::new();

    for verb in [&["serve"][..], &["dev"], &["key", "list"], &["ready"], &["tail"], &["openapi"]] {
        cli.run_with(verb, &[("RINGMAIL_LISTN", "127.0.0.1:0")]).failed(2, &["RINGMAIL_LISTN", "RINGMAIL_LISTEN"]);
    }
    assert!(std::fs::read_dir(cli.path(".")).unwrap().next().is_none());
    assert_eq!(cli.run_with(&["serve", "--help"], &[("RINGMAIL_LISTN", "127.0.0.1:0")]).code, 0);
    assert_eq!(cli.run_with(&["openapi"], &[("RINGMAIL_LISTN", ""), ("RINGMAIL_SERVICE_PORT", "80")]).code, 0);
}

#[test]
fn a_flag_overrides_its_variable_and_a_variable_overrides_the_default() {
    let cli = Cli::new();
    let in_use = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = in_use.local_addr().unwrap().to_string();
    let variables = [("RINGMAIL_DATA_DIR", "from-variable"), ("RINGMAIL_LISTEN", address.as_str()), NO_SOCKET];
    let free = ["serve", "--listen", "127.0.0.1:0"];

    cli.run_with(&["serve"], &variables).failed(1, &[&address]);
    cli.run_with(&free, &variables).failed(1, &["socket"]);
    assert!(cli.path("from-variable/ringmail.redb").exists());
    cli.run_with(&[&free[..], &["--data-dir", "from-flag"]].concat(), &variables).failed(1, &["socket"]);
    assert!(cli.path("from-flag/ringmail.redb").exists());
}

#[test]
fn a_server_raises_its_limit_of_open_files_to_the_maximum() {
    let cli = Cli::new();

    let server = cli.serve_after("ulimit -Sn 128", &["dev", "--data-dir", "d"]);

    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let values: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(values[0], values[1], "{line}");
    assert_ne!(values[0], "128", "{line}");
}
