//! Kills of the binary during the creation of a store, and during the removal of a team.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Duration;

use ringmail::base::clock::{Clock, monotonic};
use ringmail::base::id::TeamId;
use ringmail::store::FILE_NAME;

use super::program::Cli;
use crate::support::TestServer;
use crate::team_removal::{tables_with, wait_for_removal};

/// Longest wait for a file.
const DEADLINE: Duration = Duration::from_secs(20);
/// Signal of the kernel to a process that writes past its limit of file sizes. It ends the process.
const SIGXFSZ: i32 = 25;
/// Time after which no request from before a removal is in progress.
const REQUESTS_END_MS: i64 = 10 * 60 * 1_000;

/// Returns the names of the files in the data directory of `ringmail dev`.
fn files(cli: &Cli) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(cli.path("ringmail-dev")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().expect("the names are UTF-8")).collect();
    names.sort();
    names
}

/// Starts a server, and checks that it answers, has used the master key that was there, and leaves no temporary file.
fn assert_next_start(cli: &Cli, what: &str) {
    let key_file = cli.path("ringmail-dev/master.key");
    let master_key = std::fs::read(&key_file).ok();

    let server = cli.serve(&["dev"]);

    let (status, domains) = server.get("/domains", server.menu["key"].as_str().expect("the menu has the key"));
    assert_eq!((status, domains["data"].as_array().map(Vec::len)), (200, Some(1)), "{what}");
    assert_eq!(files(cli), ["master.key", FILE_NAME, "ringmail.sock"], "{what}");
    if let Some(master_key) = master_key {
        assert_eq!(std::fs::read(&key_file).unwrap(), master_key, "{what}");
    }
}

/// Passes the time without a pause of the thread: a kill follows at this moment.
fn spin(time: Duration) {
    let started = monotonic();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_start_that_is_killed_while_it_writes_a_new_file_is_completed_by_the_next() {
    // The limit of 512 bytes has room for the master key, and not for the store.
    for (blocks, left) in [(0, &["master.key.new"][..]), (1, &["master.key", "ringmail.redb.new"])] {
        let cli = Cli::new();
        let mut start = cli.command_after(&format!("ulimit -c 0 && ulimit -f {blocks}"), &["dev"]);

        let killed = start.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();

        assert_eq!(killed.signal(), Some(SIGXFSZ), "{killed:?}");
        assert_eq!(files(&cli), left);
        assert_next_start(&cli, &format!("{blocks} blocks"));
    }
}

#[test]
fn a_start_that_is_killed_after_any_step_of_a_creation_is_completed_by_the_next() {
    for (file, pause_ms) in
        [("master.key", 0), ("ringmail.redb.new", 0), (FILE_NAME, 0), (FILE_NAME, 3), ("ringmail.sock", 30)]
    {
        let cli = Cli::new();
        let [awaited, store] = [file, FILE_NAME].map(|name| cli.path("ringmail-dev").join(name));
        let start = cli.spawn(&["dev", "--listen", "127.0.0.1:0"]);
        let started = monotonic();
        // A temporary file can be renamed between two checks.
        let is_past = || awaited.exists() || (file.ends_with(".new") && store.exists());
        while !is_past() {
            assert!(started.elapsed() < DEADLINE, "the server creates no {file}");
        }
        spin(Duration::from_millis(pause_ms));

        drop(start);

        assert!(files(&cli).contains(&"master.key".to_owned()));
        assert_next_start(&cli, &format!("{file} and {pause_ms} ms"));
    }
}

/// Returns the tables that contain the id of a team, in the store of a server that has been killed. Opens a copy,
/// because the next server must repair the file itself.
fn tables_of_team(cli: &Cli, team: TeamId) -> Vec<String> {
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(cli.path("ringmail-dev").join(FILE_NAME), copy.path().join(FILE_NAME)).unwrap();
    tables_with(copy.path(), &[team.as_bytes().to_vec()])
}

/// Imports contacts to a team.
fn import(cli: &Cli, team: &str, count: usize) {
    let rows: String = (0..count).map(|number| format!("person{number}@example.net\n")).collect();
    std::fs::write(cli.path("people.csv"), format!("email\n{rows}")).unwrap();
    cli.run(&["import", "contacts", "people.csv", "--team", team]).success();
}

#[test]
fn a_removal_of_a_team_that_is_killed_at_any_time_is_completed_by_the_next_servers() {
    let cli = Cli::new();
    let mut server = cli.serve(&["dev"]);
    let team = cli.run(&["team", "create", "Second", "--json"]).json();
    let team = TeamId::parse(team["id"].as_str().unwrap()).unwrap();
    let key = cli.run(&["key", "create", "second", "--team", "Second"]).success().to_owned();
    let kept_key = cli.run(&["key", "create", "kept", "--team", "Main"]).success().to_owned();
    // More rows than one commit deletes.
    import(&cli, "Second", 5_000);
    import(&cli, "Main", 3);

    // The servers are killed before, during and after the commit of the removal.
    for pause_ms in (0..).step_by(6) {
        let removal = cli.spawn(&["team", "remove", "Second", "--force", "--json"]);
        spin(Duration::from_millis(pause_ms));
        server.crash();
        let code = removal.finish().code;
        let is_removed = tables_of_team(&cli, team).contains(&"removed_teams-1".to_owned());
        server = cli.serve(&["dev"]);

        // A removal that was not acknowledged has happened as a whole, or not at all.
        assert!(is_removed || code != 0, "the acknowledged removal is lost");
        assert_eq!(server.get("/contacts", &key).0, if is_removed { 403 } else { 200 });
        if is_removed {
            break;
        }
        let contacts = server.get("/usage", &key).1;
        assert_eq!(contacts["contacts"]["used"], 5_000, "{contacts}");
    }
    // The servers are killed while they delete the rows.
    let mut interrupted = 0;
    for pause_ms in [0, 2, 10, 30, 60, 100, 200, 400] {
        spin(Duration::from_millis(pause_ms));
        server.crash();
        let tables = tables_of_team(&cli, team);
        assert!(tables.contains(&"removed_teams-1".to_owned()), "{tables:?}");
        server = cli.serve(&["dev"]);
        assert_eq!((server.get("/contacts", &key).0, server.get("/contacts", &kept_key).0), (403, 200));
        if tables.len() == 1 {
            break;
        }
        interrupted += 1;
    }
    assert!(interrupted > 0, "no kill interrupted the removal");
    server.crash();

    // The last pass runs when no request from before the removal is in progress.
    let directory = tempfile::tempdir().unwrap();
    std::fs::rename(cli.path("ringmail-dev"), directory.path()).unwrap();
    let server = TestServer::start_on(directory, Clock::System.now_ms() + REQUESTS_END_MS);
    wait_for_removal(&server);
    assert_eq!(server.get("/contacts").ok(200)["data"].as_array().map(Vec::len), Some(3));
    let directory = server.into_directory();
    // The audit log of a team stays.
    assert_eq!(tables_with(directory.path(), &[team.as_bytes().to_vec()]), ["audit_log-1"]);
}
