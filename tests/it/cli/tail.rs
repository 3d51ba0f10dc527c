//! `ringmail tail`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::program::Cli;

/// A running `ringmail tail`. Drop kills it.
struct Tail {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl Tail {
    /// Starts the program and waits until it is connected to the live stream.
    #[track_caller]
    fn start(cli: &Cli, arguments: &[&str]) -> Self {
        let arguments: Vec<&str> = ["tail"].into_iter().chain(arguments.iter().copied()).collect();
        let mut command = cli.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let err = BufReader::new(child.stderr.take().expect("standard error is piped"));
        let mut tail = Self { child, out, err };
        tail.assert_message("Watching events.");
        tail
    }

    /// Reads a line of standard error and checks that it contains `words`.
    #[track_caller]
    fn assert_message(&mut self, words: &str) {
        let mut line = String::new();
        self.err.read_line(&mut line).expect("the errors are text");
        assert!(line.contains(words), "no {words:?} in {line:?}");
    }

    /// Reads a line of standard output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("the output is text");
        line.trim_end().to_owned()
    }

    /// Stops the program with `SIGINT`, as Ctrl-C does, and returns its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &pid]).status().expect("the program `kill` exists");
        assert!(kill.success());
        self.child.wait().expect("the exit status").code()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn events_are_shown_live_and_after_a_restart_of_the_server() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let mut text = Tail::start(&cli, &["--type", "email.*"]);
    let mut json = Tail::start(&cli, &["--json", "--type", "email.sent,email.delivered"]);

    assert_eq!(cli.run(&["send", "--to", "delivered@ringmail.test"]).code, 0);

    for kind in ["email.sent", "email.delivered"] {
        let line = text.line();
        let parts: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(parts[1..3], [kind, "delivered@ringmail.test"], "{line}");
        assert_eq!((parts[0].len(), parts[3].len()), (24, 36), "{line}");
        let body: Value = serde_json::from_str(&json.line()).unwrap();
        assert_eq!((&body["type"], &body["data"]["to"][0]), (&kind.into(), &"delivered@ringmail.test".into()));
    }

    assert_eq!(server.stop(), 0);
    text.assert_message("not shown");
    let _server = cli.serve(&["dev"]);
    text.assert_message("back");
    assert_eq!(cli.run(&["send", "--to", "delivered@ringmail.test"]).code, 0);
    assert!(text.line().contains("email.sent"));

    assert_eq!(text.interrupt(), Some(0));
    assert_eq!(json.interrupt(), Some(0));
}

#[test]
fn tail_fails_without_a_server_or_with_an_unknown_type_or_team() {
    let cli = Cli::new();
    cli.run(&["tail"]).failed(5, &["no server answers"]);

    let server = cli.serve(&["dev"]);
    cli.run(&["tail", "--type", "email.nothing"]).failed(2, &["email.nothing", "email.delivered"]);
    cli.run(&["tail", "--team", "Nobody"]).failed(3, &["Nobody"]);
    assert_eq!(server.stop(), 0);
    cli.run(&["tail"]).failed(5, &["no server answers"]);
}
