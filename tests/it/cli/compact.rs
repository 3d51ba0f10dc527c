//! `ringmail compact`.

use std::process::Stdio;
use std::time::Duration;

use ringmail::base::clock::monotonic;
use ringmail::store::FILE_NAME;
use serde_json::json;

use super::program::Cli;

/// Fills the store of `ringmail dev` with emails of 400 KiB, and deletes all but the last. That one is at the end of
/// the file, and the store gives back free space only behind the last page in use. Returns the id of that email and the
/// API key.
fn fill(cli: &Cli) -> (String, String) {
    let server = cli.serve(&["dev"]);
    let key = server.menu["key"].as_str().expect("the menu has the key").to_owned();
    let from = format!("hello@{}", server.get("/domains", &key).1["data"][0]["name"].as_str().expect("a domain"));
    // Compression makes random text only half as long.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let text: String = (0..25_000).map(|_| format!("{:016x}", next())).collect();
    let send = |number: u32| {
        let body = json!({
            "from": from, "to": "delivered@ringmail.test", "subject": format!("Report {number}"), "text": text,
            "scheduled_at": "in 5 days",
        });
        let (status, sent) = server.post("/emails", &key, &body);
        assert_eq!(status, 200, "{sent}");
        sent["id"].as_str().unwrap().to_owned()
    };
    let ids: Vec<String> = (0..12).map(send).collect();
    let (last, others) = ids.split_last().unwrap();
    for id in others {
        assert_eq!(server.delete(&format!("/emails/{id}"), &key), 200);
    }
    assert_eq!(server.stop(), 0);
    (last.clone(), key)
}

#[test]
fn a_stopped_store_is_smaller_after_a_compaction_and_has_its_emails() {
    let cli = Cli::new();
    let (id, key) = fill(&cli);

    let compacted = cli.run(&["compact", "--json"]).json();

    let bytes = |name: &str| compacted[name].as_u64().unwrap();
    assert!(bytes("after_bytes") * 2 < bytes("before_bytes"), "{compacted}");
    assert_eq!(std::fs::metadata(cli.path("ringmail-dev").join(FILE_NAME)).unwrap().len(), bytes("after_bytes"));
    let again = cli.run(&["compact"]);
    assert!(again.success().contains("MiB before, "), "{}", again.success());
    let server = cli.serve(&["dev"]);
    assert_eq!(server.get(&format!("/emails/{id}"), &key).1["subject"], "Report 11");
}

#[test]
fn a_compaction_that_is_killed_loses_nothing() {
    for delay_ms in [1, 5, 15, 40] {
        let cli = Cli::new();
        let (id, key) = fill(&cli);
        let mut compaction = cli.command(&["compact"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = monotonic();
        while started.elapsed() < Duration::from_millis(delay_ms) {
            std::hint::spin_loop();
        }
        compaction.kill().unwrap();
        compaction.wait().unwrap();

        let server = cli.serve(&["dev"]);

        assert_eq!(server.get(&format!("/emails/{id}"), &key).1["subject"], "Report 11", "killed after {delay_ms} ms");
    }
}

#[test]
fn a_running_server_and_a_missing_store_are_refused() {
    let cli = Cli::new();
    cli.run(&["compact", "--data-dir", "nowhere"]).failed(3, &["no store", "--data-dir"]);
    assert!(!cli.path("nowhere").exists());

    let server = cli.serve(&["dev"]);
    cli.run(&["compact"]).failed(4, &["stop the server"]);
    assert_eq!(server.stop(), 0);
}
