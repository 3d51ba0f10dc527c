//! Runs the binary in its own working directory, without the `RINGMAIL_*` variables of the caller.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ringmail::base::clock::monotonic;
use serde_json::Value;

/// Maximum time that a test waits for a program to exit.
const DEADLINE: Duration = Duration::from_secs(40);
/// Pause between two checks whether a program has exited.
const EXIT_POLL_PAUSE: Duration = Duration::from_millis(1);

/// Pause between two runs of a program in [`poll`]. A run takes a tenth of a second of a processor, which other tests need.
const RUN_PAUSE: Duration = Duration::from_millis(100);

/// The binary with its own working directory. Drop deletes the directory.
pub(super) struct Cli(tempfile::TempDir);

/// Exit code and output of a run.
#[derive(Debug)]
pub(super) struct RunOutput {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Cli {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a command with arguments that is not started yet.
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

    /// Runs the program and waits for its exit.
    pub(super) fn run(&self, arguments: &[&str]) -> RunOutput {
        self.run_with(arguments, &[])
    }

    /// Runs the program with environment variables and waits for its exit.
    pub(super) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> RunOutput {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs"))
    }

    /// Starts the program and returns immediately.
    pub(super) fn spawn(&self, arguments: &[&str]) -> Spawned {
        let mut command = self.command(arguments);
        Spawned(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")))
    }

    /// Starts a server on a free port and waits for its menu, the JSON line that it prints when it is ready.
    pub(super) fn serve(&self, arguments: &[&str]) -> Server {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--listen", "127.0.0.1:0", "--json"]).collect();
        self.serve_by(self.command(&arguments))
    }

    /// Starts a server on a free port from a shell, after the shell command `before`.
    pub(super) fn serve_after(&self, before: &str, arguments: &[&str]) -> Server {
        self.serve_by(self.command_after(before, arguments))
    }

    /// Returns the command of a server on a free port in a shell, after the shell command `before`.
    pub(super) fn command_after(&self, before: &str, arguments: &[&str]) -> Command {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--listen", "127.0.0.1:0", "--json"]).collect();
        let server = self.command(&arguments);
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{before} && exec \"$0\" \"$@\""))
            .arg(server.get_program())
            .args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(self.0.path()).stdin(Stdio::null());
        shell
    }

    fn serve_by(&self, mut command: Command) -> Server {
        let errors = std::fs::File::create(self.path("errors")).expect("the directory is writable");
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("the menu is text");
        let Ok(menu) = serde_json::from_str(&line) else {
            let _ = child.kill();
            let errors = std::fs::read_to_string(self.path("errors")).unwrap_or_default();
            panic!("expected the menu, got {line:?}\n{errors}");
        };
        Server { child, menu, _out: out }
    }
}

impl RunOutput {
    /// Checks that the run succeeded, and returns the JSON value on standard output.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Checks that the run succeeded, and returns the standard output without the final line break.
    #[track_caller]
    pub(super) fn success(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout.trim_end()
    }

    /// Checks that the run failed with `code`, that standard output is empty, and that standard error has exactly one
    /// message. The message must contain each of `words`.
    #[track_caller]
    pub(super) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let messages: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("ringmail: ")).collect();
        assert_eq!(messages.len(), 1, "{self:?}");
        for words in words {
            assert!(messages[0].contains(words), "no {words:?} in {self:?}");
        }
    }
}

fn finish(mut child: Child) -> RunOutput {
    // Both pipes are read at the same time. If a pipe is full, the program blocks.
    let mut stderr = child.stderr.take().expect("standard error is piped");
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let mut stdout = String::new();
    child.stdout.take().expect("standard output is piped").read_to_string(&mut stdout).expect("the output is text");
    let stderr = reading.join().expect("the reader ends").expect("the errors are text");
    let code = wait(&mut child);
    RunOutput { code, stdout, stderr }
}

/// Waits up to [`DEADLINE`] for the exit of a program, and returns its exit code.
pub(super) fn wait(child: &mut Child) -> i32 {
    let started = monotonic();
    loop {
        if let Some(status) = child.try_wait().expect("the exit status") {
            return status.code().unwrap_or(-1);
        }
        assert!(started.elapsed() < DEADLINE, "the program does not exit");
        std::thread::park_timeout(EXIT_POLL_PAUSE);
    }
}

/// Repeats `read` until its value meets a condition, and returns the value.
#[track_caller]
pub(super) fn poll<T: Debug>(within: Duration, read: impl Fn() -> T, is_met: impl Fn(&T) -> bool) -> T {
    let started = monotonic();
    loop {
        let value = read();
        if is_met(&value) {
            return value;
        }
        assert!(started.elapsed() < within, "not within {within:?}; last value: {value:#?}");
        std::thread::park_timeout(RUN_PAUSE);
    }
}

/// A running program. Drop kills it.
pub(super) struct Spawned(Option<Child>);

impl Spawned {
    /// Waits for the exit.
    pub(super) fn finish(mut self) -> RunOutput {
        finish(self.0.take().expect("the program has not been waited for"))
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

/// A running server. Drop kills it without a shutdown.
pub(super) struct Server {
    child: Child,
    /// The menu that the server printed.
    pub(super) menu: Value,
    _out: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn api(&self) -> &str {
        self.menu["api"].as_str().expect("the menu has the URL of the API")
    }

    /// Returns the process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a GET request with a key and returns status and body.
    pub(super) fn get(&self, path: &str, key: &str) -> (u16, Value) {
        get(self.api(), path, key)
    }

    /// Sends a JSON body with a key and returns status and body.
    pub(super) fn post(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)))
            .build();
        let request = ureq::Agent::new_with_config(agent).post(format!("{}{path}", self.api()));
        let request =
            request.header("authorization", format!("Bearer {key}")).header("content-type", "application/json");
        let response = request.send(body.to_string()).expect("the server responds");
        let status = response.status().as_u16();
        let body = response.into_body().read_to_string().expect("the body is text");
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}")))
    }

    /// Sends a DELETE request with a key and returns the status.
    pub(super) fn delete(&self, path: &str, key: &str) -> u16 {
        let request = ureq::delete(format!("{}{path}", self.api())).header("authorization", format!("Bearer {key}"));
        request.call().expect("the server responds").status().as_u16()
    }

    /// Stops the server with `SIGTERM` and returns its exit code.
    pub(super) fn stop(mut self) -> i32 {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status().expect("the program `kill` exists");
        assert!(kill.success());
        wait(&mut self.child)
    }

    /// Kills the server without a shutdown.
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

/// Sends a GET request with a key to an API and returns status and body.
pub(super) fn get(api: &str, path: &str, key: &str) -> (u16, Value) {
    let agent =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(20))).build();
    let request = ureq::Agent::new_with_config(agent).get(format!("{api}{path}"));
    let response = request.header("authorization", format!("Bearer {key}")).call().expect("the server responds");
    let status = response.status().as_u16();
    let body = response.into_body().read_to_string().expect("the body is text");
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}")))
}

/// Returns a path as a command-line argument.
pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}
