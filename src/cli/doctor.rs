//! `ringmail doctor`: checks the setup, and says what to do.

use clap::Args;

use super::failure::Failure;
use super::output::Output;
use super::store_args::StoreArgs;
use crate::admin::{AdminClient, AdminClientError, ServerVerb};
use crate::base::printable::printable;
use crate::config::Config;
use crate::doctor::{CheckStatus, Doctor, DoctorOptions, DoctorReport, SetupCheck, parse_time_server};

/// Value of `--time-server` that skips the check of the clock.
const NONE: &str = "none";
/// Characters of a line of a result. Other servers write parts of it.
const LINE_CHARS_MAX: usize = 1_000;

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// Domains whose mail servers direct delivery connects to.
    #[arg(long, value_name = "DOMAIN", value_delimiter = ',', default_value = "gmail.com,outlook.com,yahoo.com")]
    probe: Vec<String>,

    /// Time server that the clock is compared with: HOST, HOST:PORT or none.
    #[arg(long, value_name = "HOST", default_value = "pool.ntp.org", value_parser = time_server)]
    time_server: TimeServer,

    #[command(flatten)]
    store: StoreArgs,
}

/// A time server; `None` skips the check of the clock.
#[derive(Clone, Debug)]
struct TimeServer(Option<(String, u16)>);

fn time_server(text: &str) -> Result<TimeServer, String> {
    if text == NONE {
        return Ok(TimeServer(None));
    }
    parse_time_server(text).map(|server| TimeServer(Some(server)))
}

/// Runs the checks, in the server of the data directory if one runs.
///
/// # Errors
/// Fails if a check failed.
pub(super) async fn run(args: DoctorArgs, output: Output) -> Result<(), Failure> {
    let DoctorArgs { probe, time_server: TimeServer(time_server), store } = args;
    let options = DoctorOptions { probe, time_server };
    let config = store.config().await?;
    let report = match AdminClient::open(config.clone(), None).await {
        Ok(mut client) => {
            if !client.is_running() {
                note_settings();
            }
            let report = client.request(ServerVerb::Doctor { options }).await;
            client.close().await;
            report?
        }
        Err(AdminClientError::NoStore(_)) => {
            note_settings();
            without_store(&config, &options).await
        }
        Err(error) => return Err(error.into()),
    };
    output.print(&report, text)?;
    let failed = report.checks.iter().filter(|check| check.status == CheckStatus::Failed).count();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::failed("1 check failed")),
        failed => Err(Failure::failed(format!("{failed} checks failed"))),
    }
}

fn note_settings() {
    eprintln!("No server is running: the checks use the settings of this shell, such as RINGMAIL_DELIVERY.");
}

async fn without_store(config: &Config, options: &DoctorOptions) -> DoctorReport {
    let resolver = config.resolver().map_err(|error| error.to_string());
    Doctor::new(config.doctor_settings(), resolver).run(options).await
}

/// Formats the results: a block for each check.
fn text(report: &DoctorReport) -> String {
    report.checks.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(check: &SetupCheck) -> String {
    let SetupCheck { check: name, subject, status, seen, expected, fix } = check;
    let status = match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Failed => "FAILED",
        CheckStatus::NotChecked => "not checked",
    };
    let name = subject.as_ref().map_or_else(|| name.clone(), |subject| format!("{name} {subject}"));
    let line = |start: &str, text: &str| format!("{start:<13}{}", printable(text, LINE_CHARS_MAX));
    let mut lines = vec![line(status, &format!("{name}: {seen}"))];
    if let Some(fix) = fix {
        lines.extend(expected.iter().map(|expected| line("", &format!("Expected: {expected}"))));
        lines.push(line("", &format!("Do: {fix}")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_has_the_expectation_and_the_next_step() {
        let check = |status, expected: Option<&str>, fix: Option<&str>| SetupCheck {
            check: "reverse_dns".into(),
            subject: Some("192.0.2.1".into()),
            status,
            seen: "192.0.2.1 has\u{1b}[2J no name".into(),
            expected: expected.map(str::to_owned),
            fix: fix.map(str::to_owned),
        };
        let report = DoctorReport {
            ok: false,
            checks: vec![
                check(CheckStatus::Ok, Some("a name"), None),
                check(CheckStatus::Failed, Some("a name"), Some("Set a name.")),
                check(CheckStatus::NotChecked, None, None),
            ],
        };

        assert_eq!(
            text(&report),
            "ok           reverse_dns 192.0.2.1: 192.0.2.1 has [2J no name\n\
             FAILED       reverse_dns 192.0.2.1: 192.0.2.1 has [2J no name\n             \
             Expected: a name\n             Do: Set a name.\n\
             not checked  reverse_dns 192.0.2.1: 192.0.2.1 has [2J no name"
        );
    }

    #[test]
    fn a_time_server_is_a_host_with_an_optional_port() {
        for (text, expected) in [
            ("none", Some(None)),
            ("pool.ntp.org", Some(Some(("pool.ntp.org", 123)))),
            ("127.0.0.1:1123", Some(Some(("127.0.0.1", 1_123)))),
            ("[::1]:123", Some(Some(("::1", 123)))),
            ("host:x", None),
            (":123", None),
        ] {
            let parsed = time_server(text).ok().map(|server| server.0);
            let expected = expected.map(|server| server.map(|(host, port)| (host.to_owned(), port)));
            assert_eq!(parsed, expected, "{text}");
        }
    }
}
