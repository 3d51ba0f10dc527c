//! The warnings of a server about problems that stop all delivery, or the delivery to one site.

use std::time::Duration;

use super::program::{Cli, Server, poll};
use crate::support::{ClosedPort, MailServer, NameServer, StartTls};

/// Maximum wait for a failed attempt. Its lookup ends after some timeouts.
const FAILED_WITHIN: Duration = Duration::from_secs(60);

/// Sends an email to each address and waits until the first attempts have failed.
fn send_and_fail(cli: &Cli, addresses: &[&str]) {
    let send = |to: &&str| cli.run(&["send", "--to", to, "--wait", "0s", "--json"]).json();
    let sent: Vec<_> = addresses.iter().map(send).collect();
    for email in sent {
        let show = || cli.run(&["email", "show", email["id"].as_str().unwrap(), "--json"]).json();
        poll(FAILED_WITHIN, show, |email| email["events"].to_string().contains("email.delivery_delayed"));
    }
}

/// Returns the warnings in the log of a server.
fn logged(cli: &Cli) -> Vec<String> {
    let errors = std::fs::read_to_string(cli.path("errors")).unwrap();
    assert!(!errors.contains("ada@") && !errors.contains("bob@"), "{errors}");
    errors.lines().filter(|line| line.contains("emails stay queued")).map(str::to_owned).collect()
}

/// Returns the warnings of a server after three emails to different domains failed. The first one causes a warning.
fn warnings(cli: &Cli, _server: &Server) -> Vec<String> {
    send_and_fail(cli, &["ada@shop.example"]);
    assert_eq!(logged(cli).len(), 1, "{:#?}", logged(cli));
    send_and_fail(cli, &["bob@other.example", "eve@third.example"]);
    logged(cli)
}

#[test]
fn a_smarthost_that_is_down_is_logged_once() {
    let cli = Cli::new();
    let port = ClosedPort::bind();
    let relay = format!("smtp://127.0.0.1:{}?final=true", port.number());
    let server = cli.serve(&["dev", "--delivery", "relay", "--relay", &relay, "--retry-delays", "100ms"]);

    let warnings = warnings(&cli, &server);

    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains("127.0.0.1") && warnings[0].contains("--relay"));
}

#[test]
fn a_blocked_smtp_port_is_logged_once() {
    let dns = NameServer::start();
    for name in ["shop", "other", "third"] {
        dns.add(&format!("{name} IN MX 10 mx.{name}.example.\nmx.{name} IN A 127.0.0.1\n"));
    }
    let (cli, closed) = (Cli::new(), ClosedPort::bind());
    let port = closed.number().to_string();
    let direct = ["dev", "--delivery", "direct", "--hostname", "mx.test.example", "--allow-address", "127.0.0.0/8"];
    let settings = ["--resolver", &dns.address(), "--smtp-port", &port, "--retry-delays", "100ms"];
    let server = cli.serve(&[&direct[..], &settings].concat());

    let warnings = warnings(&cli, &server);

    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains(&port) && warnings[0].contains("--delivery relay"), "{warnings:#?}");
}

#[test]
fn name_servers_that_do_not_respond_are_logged_once() {
    let cli = Cli::new();
    let port = ClosedPort::bind();
    let resolver = format!("127.0.0.1:{}", port.number());
    let direct = ["dev", "--delivery", "direct", "--hostname", "mx.test.example", "--resolver", &resolver];
    let server = cli.serve(&direct);

    let warnings = warnings(&cli, &server);

    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains("no DNS server responds") && warnings[0].contains("--resolver"), "{warnings:#?}");
}

#[test]
fn a_smarthost_that_is_not_found_is_logged_once() {
    let dns = NameServer::start();
    dns.add("other IN A 127.0.0.1\n");
    let cli = Cli::new();
    let relay = ["dev", "--delivery", "relay", "--relay", "smtp://absent.example:25", "--resolver", &dns.address()];
    let server = cli.serve(&relay);

    let warnings = warnings(&cli, &server);

    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    let expected = "no address of the smarthost absent.example was found";
    assert!(warnings[0].contains(expected) && warnings[0].contains("--resolver"), "{warnings:#?}");
}

#[test]
fn a_smarthost_that_is_not_found_is_logged_although_the_fallback_delivers() {
    let (dns, mail) = (NameServer::start(), MailServer::start(StartTls::NotOffered));
    dns.add("other IN A 127.0.0.1\n");
    let cli = Cli::new();
    let second = format!("second=smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let relay = ["dev", "--delivery", "relay", "--relay", "smtp://absent.example:25", "--smarthost", &second];
    let settings = ["--route", "*=relay,second", "--resolver", &dns.address()];
    let _server = cli.serve(&[&relay[..], &settings].concat());

    cli.run(&["send", "--to", "ada@shop.example", "--wait", "20s"]).success();

    let errors = std::fs::read_to_string(cli.path("errors")).unwrap();
    let expected = "no address of the smarthost absent.example was found; emails use the fallback";
    assert_eq!(errors.matches(expected).count(), 1, "{errors}");
    assert_eq!(mail.received().len(), 1);
}

#[test]
fn a_dead_resolver_is_not_a_smarthost_without_an_address() {
    let cli = Cli::new();
    let port = ClosedPort::bind();
    let resolver = format!("127.0.0.1:{}", port.number());
    let relay = ["dev", "--delivery", "relay", "--relay", "smtp://relay.example:25", "--resolver", &resolver];
    let server = cli.serve(&relay);

    let warnings = warnings(&cli, &server);

    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].contains("no DNS server responds yet"), "{warnings:#?}");
}

#[test]
fn a_site_that_refuses_for_reputation_is_logged_with_its_reply_and_the_page_for_delisting() {
    let (dns, mail) = (NameServer::start(), MailServer::start(StartTls::NotOffered));
    dns.add("shop IN MX 10 mx.shop.example.\nmx.shop IN A 127.0.0.1\n");
    mail.set_refusal(Some("421 4.7.0 [TSS04] Messages to ada@shop.example temporarily deferred"));
    let cli = Cli::new();
    let direct = ["dev", "--delivery", "direct", "--hostname", "mx.test.example", "--allow-address", "127.0.0.0/8"];
    let settings = ["--resolver", &dns.address(), "--smtp-port", &mail.port()];
    let _server = cli.serve(&[&direct[..], &settings].concat());

    send_and_fail(&cli, &["ada@shop.example"]);

    let warnings = logged(&cli);
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    let expected = ["WARN", "shop.example refuses mail of this server", "[TSS04] Messages to [address]", "https://"];
    assert!(expected.iter().all(|part| warnings[0].contains(part)), "{warnings:#?}");
}
