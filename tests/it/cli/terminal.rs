//! Output in a terminal.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::program::Cli;
use crate::support::retry_until_ok;

/// A program that drop ends, with the program that it has started.
pub(super) struct Killed(pub(super) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let children = format!("/proc/{0}/task/{0}/children", self.0.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        for child in children.split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", child]).status();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command in a terminal. Its output goes to the file `terminal`.
pub(super) fn start(cli: &Cli, command: &Command) -> Killed {
    let parts: Vec<&str> =
        [command.get_program()].into_iter().chain(command.get_args()).map(|part| part.to_str().unwrap()).collect();
    // `script` of util-linux runs a command in a terminal.
    let mut script = Command::new("script");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.args(["-qefc", &parts.join(" "), "terminal"]).current_dir(cli.path(""));
    script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    script.spawn().map(Killed).expect("the program `script` exists")
}

/// Waits until a file contains a text, and returns its contents.
#[track_caller]
pub(super) fn wait_for(path: &Path, text: &str) -> String {
    retry_until_ok(text, || {
        let contents = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        if contents.contains(text) { Ok(contents) } else { Err(contents) }
    })
}

/// Returns whether a text is a time of day, such as `09:00:00`.
fn is_time_of_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn a_terminal_shows_short_times_and_colors_unless_no_color_is_set() {
    for (no_color, dashboard, delivered) in [
        (None, "Dashboard  \x1b[1;4mhttp://", "\x1b[32memail.delivered"),
        (Some(""), "Dashboard  \x1b[1;4mhttp://", "\x1b[32memail.delivered"),
        (Some("1"), "Dashboard  http://", "email.delivered"),
    ] {
        let cli = Cli::new();
        let mut command = cli.command(&["dev", "--listen", "127.0.0.1:0", "--rate-limit", "0"]);
        match no_color {
            Some(value) => command.env("NO_COLOR", value),
            None => command.env_remove("NO_COLOR"),
        };
        let _server = start(&cli, &command);
        wait_for(&cli.path("terminal"), dashboard);
        wait_for(&cli.path("terminal"), "File  ");

        cli.run(&["send", "--to", "delivered@ringmail.test", "--json"]).success();

        let shown = wait_for(&cli.path("terminal"), "email.delivered");
        let line = shown.lines().find(|line| line.contains("email.delivered")).unwrap();
        let (time, rest) = line.split_once("  ").unwrap();
        assert!(is_time_of_day(time) && rest.starts_with(delivered), "{no_color:?}: {line:?}");
        assert_eq!(shown.contains('\x1b'), no_color != Some("1"), "{no_color:?}: {shown:?}");
    }
}
