//! `ringmail tail`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::program::Place;

/// A tail under way. Dropping it kills it.
struct Tail {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl Tail {
    /// Starts a tail and waits until it watches.
    #[track_caller]
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let arguments: Vec<&str> = ["tail"].into_iter().chain(arguments.iter().copied()).collect();
        let mut command = place.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let err = BufReader::new(child.stderr.take().expect("standard error is piped"));
        let mut tail = Self { child, out, err };
        tail.says("Watching events.");
        tail
    }

    /// Reads a line of standard error and checks it.
    #[track_caller]
    fn says(&mut self, words: &str) {
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

    /// Ends it as Ctrl-C does and returns its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let told = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("there is a kill");
        assert!(told.success());
        self.child.wait().expect("the program can be waited for").code()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn events_are_shown_as_they_happen_across_a_restart_of_the_server() {
    let place = Place::new();
    let server = place.serve(&["dev"]);
    let mut text = Tail::start(&place, &["--type", "email.*"]);
    let mut json = Tail::start(&place, &["--json", "--type", "email.sent,email.delivered"]);

    assert_eq!(place.run(&["send", "--to", "delivered@ringmail.test"]).code, 0);

    for kind in ["email.sent", "email.delivered"] {
        let line = text.line();
        let parts: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(parts[1..3], [kind, "delivered@ringmail.test"], "{line}");
        assert_eq!((parts[0].len(), parts[3].len()), (24, 36), "{line}");
        let body: Value = serde_json::from_str(&json.line()).unwrap();
        assert_eq!((&body["type"], &body["data"]["to"][0]), (&kind.into(), &"delivered@ringmail.test".into()));
    }

    assert_eq!(server.stop(), 0);
    text.says("not shown");
    let _server = place.serve(&["dev"]);
    text.says("back");
    assert_eq!(place.run(&["send", "--to", "delivered@ringmail.test"]).code, 0);
    assert!(text.line().contains("email.sent"));

    assert_eq!(text.interrupt(), Some(0));
    assert_eq!(json.interrupt(), Some(0));
}

#[test]
fn without_a_server_or_with_a_wrong_word_there_is_nothing_to_watch() {
    let place = Place::new();
    place.run(&["tail"]).failed(5, &["no server answers"]);

    let server = place.serve(&["dev"]);
    place.run(&["tail", "--type", "email.nothing"]).failed(2, &["email.nothing", "email.delivered"]);
    place.run(&["tail", "--team", "Nobody"]).failed(3, &["Nobody"]);
    assert_eq!(server.stop(), 0);
    place.run(&["tail"]).failed(5, &["no server answers"]);
}
