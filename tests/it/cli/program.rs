//! Runs the binary in a directory of its own, with none of the caller's settings.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ringmail::clock::monotonic;
use serde_json::Value;

/// How long a program may take over anything.
const DEADLINE: Duration = Duration::from_secs(40);

/// A directory to run in.
pub(super) struct Place(tempfile::TempDir);

/// How a run ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Place {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory can be made"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the program with arguments, ready to run.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringmail"));
        for (name, _) in std::env::vars() {
            if name.starts_with("RINGMAIL_") || name == "STATE_DIRECTORY" || name == "RUNTIME_DIRECTORY" {
                command.env_remove(name);
            }
        }
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    /// Runs the program to its end with variables set.
    pub(super) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs"))
    }

    /// Starts the program and returns at once.
    pub(super) fn spawn(&self, arguments: &[&str]) -> Spawned {
        let mut command = self.command(arguments);
        Spawned(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")))
    }

    /// Starts a server on a free port and waits for its menu.
    pub(super) fn serve(&self, arguments: &[&str]) -> Server {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--listen", "127.0.0.1:0", "--json"]).collect();
        let errors = std::fs::File::create(self.path("errors")).expect("the directory can be written");
        let mut child =
            self.command(&arguments).stdout(Stdio::piped()).stderr(errors).spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("the menu is text");
        let Ok(menu) = serde_json::from_str(&line) else {
            let _ = child.kill();
            let errors = std::fs::read_to_string(self.path("errors")).unwrap_or_default();
            panic!("no menu but {line:?}\n{errors}");
        };
        Server { child, menu, _out: out }
    }
}

impl Ran {
    /// Returns the one JSON value on standard output of a run that went well.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Returns the standard output of a run that went well, without the line's end.
    #[track_caller]
    pub(super) fn line(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        self.out.trim_end()
    }

    /// Checks that the run failed with `code`, nothing on standard output and one sentence with
    /// `words` in it on standard error.
    #[track_caller]
    pub(super) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        let sentences: Vec<&str> = self.err.lines().filter(|line| line.starts_with("ringmail: ")).collect();
        assert_eq!(sentences.len(), 1, "{self:?}");
        for words in words {
            assert!(sentences[0].contains(words), "no {words:?} in {self:?}");
        }
    }
}

fn finish(mut child: Child) -> Ran {
    // Both pipes are read to their ends: a full one would stop the program.
    let mut err = child.stderr.take().expect("standard error is piped");
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    let mut out = String::new();
    child.stdout.take().expect("standard output is piped").read_to_string(&mut out).expect("the output is text");
    let err = reading.join().expect("the reader ends").expect("the errors are text");
    let code = wait(&mut child);
    Ran { code, out, err }
}

fn wait(child: &mut Child) -> i32 {
    let started = monotonic();
    loop {
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            return status.code().unwrap_or(-1);
        }
        assert!(started.elapsed() < DEADLINE, "the program goes on and on");
        std::thread::yield_now();
    }
}

/// A program that runs beside the test.
pub(super) struct Spawned(Option<Child>);

impl Spawned {
    /// Waits for the end.
    pub(super) fn finish(mut self) -> Ran {
        finish(self.0.take().expect("a program ends once"))
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A server. Dropping it kills it, as a crash would.
pub(super) struct Server {
    child: Child,
    /// The menu it printed.
    pub(super) menu: Value,
    _out: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn api(&self) -> &str {
        self.menu["api"].as_str().expect("the menu names the API")
    }

    /// Asks for a path with a key and returns status and body.
    pub(super) fn get(&self, path: &str, key: &str) -> (u16, Value) {
        get(self.api(), path, key)
    }

    /// Stops the server as an operator does and returns its exit code.
    pub(super) fn stop(mut self) -> i32 {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status().expect("there is a kill");
        assert!(told.success());
        wait(&mut self.child)
    }

    /// Ends the server as a crash does.
    pub(super) fn crash(mut self) {
        self.child.kill().expect("the server runs");
        wait(&mut self.child);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks an API for a path with a key and returns status and body.
pub(super) fn get(api: &str, path: &str, key: &str) -> (u16, Value) {
    let agent =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(20))).build();
    let request = ureq::Agent::new_with_config(agent).get(format!("{api}{path}"));
    let response = request.header("authorization", format!("Bearer {key}")).call().expect("the server answers");
    let status = response.status().as_u16();
    let body = response.into_body().read_to_string().expect("the answer is text");
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}")))
}

/// Returns the text of a path for the command line.
pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}
