//! Check of the names of environment variables. A misspelled name would silently select the default.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;

use clap::Command;

use super::routes::PASSWORD_PREFIX;
use super::surroundings::RELAY_PASSWORD_VARIABLE;
use crate::base::nearest::nearest;
use crate::base::printable::printable;

/// Prefix of the variables of settings.
const PREFIX: &str = "RINGMAIL_";
/// Characters of a name that an error repeats.
const SHOWN_CHARS_MAX: usize = 64;

/// A variable that no setting has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownVariable {
    name: String,
    nearest: Option<String>,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.name, SHOWN_CHARS_MAX);
        match &self.nearest {
            Some(nearest) => write!(f, "no setting has the variable {name}; did you mean {nearest}?"),
            None => {
                write!(f, "no setting has the variable {name}; unset it. `ringmail serve --help` lists the variables")
            }
        }
    }
}

impl std::error::Error for UnknownVariable {}

/// Checks that each non-empty variable with the prefix of the settings belongs to an argument of a command
/// or its subcommands. An empty variable counts as unset.
///
/// # Errors
/// [`UnknownVariable`] for the first unknown name in alphabetical order.
pub(crate) fn check_variables(
    command: &Command,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), UnknownVariable> {
    let mut known = BTreeSet::from([RELAY_PASSWORD_VARIABLE.to_owned()]);
    add_variables(command, &mut known);
    let unknown = variables.into_iter().filter_map(|(name, value)| {
        let name = name.to_string_lossy().into_owned();
        let is_setting = name.starts_with(PREFIX) && !value.is_empty();
        // `RouteSettings` checks that a smarthost has the name of a password.
        let is_known = known.contains(&name) || name.starts_with(PASSWORD_PREFIX);
        (is_setting && !is_known && !is_of_service_link(&name, &value.to_string_lossy())).then_some(name)
    });
    match unknown.min() {
        None => Ok(()),
        Some(name) => {
            let rest = |name| str::strip_prefix(name, PREFIX).unwrap_or(name);
            let nearest = nearest(rest(&name), known.iter().map(|known| rest(known)));
            let nearest = nearest.map(|nearest| format!("{PREFIX}{nearest}"));
            Err(UnknownVariable { name, nearest })
        }
    }
}

fn add_variables(command: &Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env());
    known.extend(variables.map(|variable| variable.to_string_lossy().into_owned()));
    for subcommand in command.get_subcommands() {
        add_variables(subcommand, known);
    }
}

/// Returns whether Kubernetes sets the variable for a service with the name `ringmail` or `ringmail-` and more. It
/// sets `NAME_SERVICE_HOST`, `NAME_SERVICE_PORT` and `NAME_PORT`, the latter two with suffixes too, in every
/// container of the namespace.
fn is_of_service_link(name: &str, value: &str) -> bool {
    let is_url = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let is_port = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with('_')
    };
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.split("_PORT_").skip(1).any(is_port)
        || (name.ends_with("_PORT") && is_url)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    /// Checks one variable beside a valid one.
    fn check(name: &str, value: &str) -> Result<(), UnknownVariable> {
        let argument = |variable: &'static str| Arg::new(variable).long(variable).env(variable);
        let below = Command::new("below").args([argument("RINGMAIL_DATA_DIR"), argument("RINGMAIL_LISTEN")]);
        let command = Command::new("top").arg(argument("RINGMAIL_LOG")).subcommand(below);
        let variables = [("RINGMAIL_LOG", "info"), ("PATH", "/bin"), (name, value)];
        check_variables(&command, variables.map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn variables_of_settings_and_of_other_programs_are_accepted() {
        for (name, value) in [
            ("RINGMAIL_DATA_DIR", "data"),
            ("RINGMAIL_LISTEN", "not checked here"),
            ("RINGMAIL_RELAY_PASSWORD", "secret"),
            ("RINGMAIL_SMARTHOST_PASSWORD_BACKUP", "secret"),
            ("RINGMAIL_LISTN", ""),
            ("RINGMAILER_LISTN", "x"),
            ("RINGMAIL_SERVICE_HOST", "10.0.0.1"),
            ("RINGMAIL_SERVICE_PORT", "8787"),
            ("RINGMAIL_SERVICE_PORT_HTTP", "8787"),
            ("RINGMAIL_PORT", "tcp://10.0.0.1:8787"),
            ("RINGMAIL_PORT_8787_TCP_ADDR", "10.0.0.1"),
            ("RINGMAIL_SMTP_RELAY_SERVICE_HOST", "10.0.0.1"),
            ("RINGMAIL_SMTP_RELAY_SERVICE_PORT", "25"),
            ("RINGMAIL_SMTP_RELAY_SERVICE_PORT_SMTP", "25"),
            ("RINGMAIL_SMTP_RELAY_PORT", "tcp://10.0.0.1:25"),
            ("RINGMAIL_SMTP_RELAY_PORT_25_TCP", "tcp://10.0.0.1:25"),
        ] {
            assert_eq!(check(name, value), Ok(()), "{name}");
        }
    }

    #[test]
    fn an_unknown_variable_is_reported_with_the_nearest_name() {
        for (name, nearest) in [
            ("RINGMAIL_LISTN", "RINGMAIL_LISTEN"),
            ("RINGMAIL_DATA", "RINGMAIL_DATA_DIR"),
            ("RINGMAIL_data_dir", "RINGMAIL_DATA_DIR"),
            ("RINGMAIL_RELAY_PASSWD", "RINGMAIL_RELAY_PASSWORD"),
            ("RINGMAIL_PORT", "--help"),
            ("RINGMAIL_PORT_HTTP", "--help"),
            ("RINGMAIL_PORT_80", "--help"),
            ("RINGMAIL_RELAY_PORT", "--help"),
            ("RINGMAIL_", "--help"),
        ] {
            let sentence = check(name, "80").unwrap_err().to_string();

            assert!(sentence.contains(&format!("{name};")) && sentence.contains(nearest), "{sentence}");
        }
        let hostile = check(&format!("RINGMAIL_\u{1b}[2J{}", "X".repeat(1_000)), "1").unwrap_err().to_string();
        assert!(hostile.len() < 200 && !hostile.contains('\u{1b}'), "{hostile}");
    }
}
