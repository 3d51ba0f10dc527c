//! The output of `ringmail dev`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::program::{self, Cli, poll};

/// Longest wait for the deliveries.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running server with text output. Drop kills it.
struct Dev {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Dev {
    /// Starts the program. Its messages go to the file `errors`.
    fn start(cli: &Cli) -> Self {
        let errors = std::fs::File::create(cli.path("errors")).unwrap();
        Self::start_with(cli, &["dev", "--rate-limit", "0"], errors.into())
    }

    /// Starts the program with arguments. Its messages go to `errors`.
    fn start_with(cli: &Cli, arguments: &[&str], errors: Stdio) -> Self {
        let mut command = cli.command(&[arguments, &["--listen", "127.0.0.1:0"]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Self { child, out }
    }

    /// Reads a line of standard output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("the output is text");
        line.trim_end().to_owned()
    }

    /// Reads a line of the menu and returns its value.
    #[track_caller]
    fn value(&mut self, name: &str) -> String {
        let line = self.line();
        line.strip_prefix(name).unwrap_or_else(|| panic!("no {name} in {line:?}")).trim().to_owned()
    }

    /// Stops the program with a signal and returns whether it succeeded.
    fn stop(&mut self, signal: &str) -> bool {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.expect("the program `kill` exists").success());
        program::wait(&mut self.child) == 0
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn dev_prints_events_with_subject_and_id_and_says_that_everything_is_on_disk() {
    let cli = Cli::new();
    let mut dev = Dev::start(&cli);
    assert!(dev.value("Dashboard").starts_with("http://"));
    for name in ["API", "Key", "Try", "File"] {
        dev.value(name);
    }

    let sent = cli.run(&["send", "--to", "delivered@ringmail.test", "--subject", "Hi there", "--json"]).json();

    let id = sent["id"].as_str().unwrap();
    for kind in ["email.sent", "email.delivered"] {
        let line = dev.line();
        assert!(line.contains(kind) && line.ends_with(&format!("delivered@ringmail.test  {id}  Hi there")), "{line}");
        // The output is no terminal.
        let (time, _) = line.split_once("  ").unwrap();
        assert!(time.contains('T') && time.ends_with('Z') && !line.contains('\x1b'), "{line:?}");
    }
    assert!(dev.stop("-INT"));
    let errors = std::fs::read_to_string(cli.path("errors")).unwrap();
    assert!(errors.contains("everything is on disk in ./ringmail-dev/ringmail.redb"), "{errors}");
    assert!(!errors.contains("INFO"), "events replace the log lines of a development server: {errors}");
}

#[test]
fn a_development_server_stops_although_its_output_is_not_read() {
    let cli = Cli::new();
    let mut dev = Dev::start(&cli);
    dev.value("Dashboard");
    let (api, key) = (dev.value("API"), dev.value("Key"));
    let email = serde_json::json!({
        "from": "hello@example.com", "to": "delivered@ringmail.test", "subject": "x".repeat(80), "text": "Hi",
    });
    let batch = serde_json::Value::Array(vec![email; 100]).to_string();
    // About 200 bytes for each of two events of 400 emails: twice the capacity of a pipe.
    for _ in 0..4 {
        let request = ureq::post(format!("{api}/emails/batch")).header("authorization", format!("Bearer {key}"));
        assert_eq!(request.content_type("application/json").send(&batch).unwrap().status().as_u16(), 200);
    }
    let listed = || cli.run(&["email", "list", "--limit", "400", "--json"]).json();
    let is_delivered = |row: &serde_json::Value| row["last_event"] == "delivered";
    poll(DEADLINE, listed, |list| list["data"].as_array().unwrap().iter().all(is_delivered));

    assert!(dev.stop("-TERM"));
}

#[test]
fn a_server_stops_although_its_messages_have_no_reader() {
    let cli = Cli::new();
    for arguments in [&["dev"][..], &["serve", "--data-dir", "data"]] {
        let mut server = Dev::start_with(&cli, arguments, Stdio::piped());
        let menu: Vec<String> =
            std::iter::repeat_with(|| server.line()).take_while(|line| !line.is_empty()).take(5).collect();
        assert!(menu.last().is_some_and(|line| line.starts_with("File")), "{menu:?}");
        drop(server.child.stderr.take());

        assert!(server.stop("-TERM"), "{arguments:?}");
    }
}
