//! `ringmail doctor`.

use serde_json::Value;

use super::program::{Cli, RunOutput, text};
use crate::doctor::time_server;
use crate::support::{MailServer, NameServer, StartTls};

/// Servers for a successful check.
struct World {
    mail: MailServer,
    names: NameServer,
}

impl World {
    fn start() -> Self {
        let (mail, names) = (MailServer::start(StartTls::NotOffered), NameServer::start());
        names.add("one IN MX 10 mx.one.example.\nmx.one IN A 127.0.0.1\nmail.host IN A 192.0.2.1\n");
        Self { mail, names }
    }

    fn run(&self, cli: &Cli, arguments: &[&str], public_url: &str) -> RunOutput {
        let (resolver, port) = (self.names.address(), self.mail.port());
        let variables = [
            ("RINGMAIL_DELIVERY", "direct"),
            ("RINGMAIL_HOSTNAME", "mail.host.example"),
            ("RINGMAIL_RESOLVER", &resolver),
            ("RINGMAIL_SMTP_PORT", &port),
            ("RINGMAIL_ALLOW_ADDRESS", "127.0.0.0/8,192.0.2.0/24"),
            ("RINGMAIL_PUBLIC_URL", public_url),
        ];
        let time_server = time_server(0);
        let options = ["doctor", "--probe", "one.example", "--time-server", &time_server];
        let arguments: Vec<&str> = options.iter().chain(arguments).copied().collect();
        cli.run_with(&arguments, &variables)
    }
}

/// Returns each check with its status.
fn statuses(report: &Value) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter();
    checks.map(|check| format!("{} {}", check["check"].as_str().unwrap(), check["status"].as_str().unwrap())).collect()
}

#[test]
fn the_checks_run_before_the_first_start() {
    let (cli, world) = (Cli::new(), World::start());
    // No server listens there, so that this machine cannot reach its public URL.
    let unreachable = "https://127.0.0.1:9";

    let report = world.run(&cli, &["--json"], unreachable).json();

    let expected = [
        "resolver ok",
        "smtp_port ok",
        "hostname ok",
        "reverse_dns ok",
        "domains not_checked",
        "public_url not_checked",
        "clock ok",
        "disk ok",
        "open_files ok",
        "permissions ok",
        "queue not_checked",
        "corrupt_rows not_checked",
        "one_click_unsubscribe ok",
        "complaints not_checked",
        "tls not_checked",
    ];
    assert_eq!((statuses(&report), report["ok"].as_bool()), (expected.map(str::to_owned).to_vec(), Some(true)));
    assert!(!cli.path("ringmail-data").exists());
}

#[test]
fn a_failed_check_exits_with_1_and_says_what_to_do() {
    let (cli, world) = (Cli::new(), World::start());

    let output = world.run(&cli, &[], "http://mail.host.example");

    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("ringmail: 1 check failed"), "{output:?}");
    let lines = [
        "FAILED       public_url: http://mail.host.example is not encrypted",
        "             Expected: a URL of https that recipients can open",
        "             Do: Set --public-url to the https URL of the reverse proxy in front of the server.",
    ];
    assert!(output.stdout.contains(&lines.join("\n")), "{output:?}");
    let dependent = "not checked  one_click_unsubscribe: it depends on public_url";
    assert!(output.stdout.contains(dependent), "{output:?}");
    assert!(output.stdout.contains("ok           smtp_port: connected to mx.one.example (127.0.0.1:"), "{output:?}");
}

#[test]
fn a_running_server_executes_the_checks_with_its_own_settings() {
    let (cli, world) = (Cli::new(), World::start());
    let data = cli.path("data");
    let server = cli.serve(&["dev", "--data-dir", text(&data)]);

    // The variables would select direct delivery.
    let report = world.run(&cli, &["--json", "--data-dir", text(&data)], "http://mail.host.example").json();

    assert!(statuses(&report).contains(&"smtp_port not_checked".to_owned()), "{report:#}");
    assert!(statuses(&report).contains(&"permissions ok".to_owned()), "{report:#}");
    assert_eq!(server.stop(), 0);
    let stopped = world.run(&cli, &["--json", "--data-dir", text(&data)], "https://127.0.0.1:9");
    assert!(stopped.stderr.contains("No server is running"), "{stopped:?}");
    assert!(statuses(&stopped.json()).contains(&"smtp_port ok".to_owned()), "{stopped:?}");
}
