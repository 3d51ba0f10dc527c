//! TLS in direct delivery: the fallback to clear text, broken STARTTLS, downgrades and required TLS.

use std::time::Duration;

use ringmail::doctor::{CheckStatus, DoctorOptions};
use serde_json::json;

use crate::metrics::metrics;
use crate::support::{MailServer, NameServer, Received, StartTls, TestServer};

/// Time after which the next session is a later one, and within which an open session stays reusable.
const TICK: Duration = Duration::from_millis(10);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A server in direct mode, with one mail server behind several names.
struct World {
    server: TestServer,
    mail: MailServer,
    flags: Vec<String>,
    _names: NameServer,
}

impl World {
    /// Starts the servers. The domains `open.example` and `strict.example` have the host `mx.open.example`.
    fn start(starttls: StartTls, required: &str) -> Self {
        let (mail, names) = (MailServer::start(starttls), NameServer::start());
        names.add("open IN MX 10 mx.open.example.\nmx.open IN A 127.0.0.1\n");
        names.add("strict IN MX 10 mx.open.example.\n");
        let flags: Vec<String> = [
            ["--delivery", "direct"],
            ["--hostname", "mx.ringmail.test"],
            ["--resolver", &names.address()],
            ["--smtp-port", &mail.port()],
            ["--allow-address", "127.0.0.0/8"],
            ["--retry-delays", "1m"],
            ["--require-tls", required],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
        let server = TestServer::start_with(&texts(&flags));
        Self { server, mail, flags, _names: names }
    }

    fn restart(self) -> Self {
        let server = self.server.restart_with(&texts(&self.flags));
        Self { server, ..self }
    }

    /// Sends an email after a tick and waits until it is delivered. Returns whether it had TLS.
    fn deliver(&self, to: &str) -> bool {
        self.server.advance(TICK);
        let id = self.server.send(&json!({ "to": to }));
        self.server.wait_for(&id, "delivered");
        let received = self.mail.received();
        let last: &Received = received.last().unwrap();
        assert_eq!(last.recipient, to);
        last.has_tls
    }

    /// Waits until the open session has ended, so that the next email opens another one.
    fn end_session(self) -> Self {
        self.restart()
    }
}

fn texts(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

#[test]
fn a_failed_starttls_affects_one_message() {
    for fault in [StartTls::Refused, StartTls::HangsUp] {
        let world = World::start(fault, "none");

        assert!(!world.deliver("one@open.example"));
        world.mail.set_starttls(StartTls::Works);

        // The session in clear text ended with its message.
        assert!(world.deliver("two@open.example"));
        assert!(world.deliver("three@open.example"));
        assert_eq!(world.mail.starttls_commands(), 2);
        let text = metrics(&world.server);
        for line in ["failed\"} 1", "encrypted\"} 1", "clear\"} 0"] {
            let line = format!("ringmail_smtp_openings_total{{tls=\"{line}");
            assert!(text.lines().any(|its| its == line), "no line `{line}` in\n{text}");
        }
        let report = world.server.doctor(&DoctorOptions { probe: Vec::new(), time_server: None });
        let check = report.checks.iter().find(|check| check.check == "tls").unwrap();
        assert_eq!(check.status, CheckStatus::NotChecked, "too few sessions");
        assert!(check.seen.starts_with("1 of 2 SMTP sessions since the start of the server had no TLS"), "{check:?}");
    }
}

#[test]
fn three_failures_of_starttls_are_remembered_for_six_hours_and_after_a_restart() {
    let world = World::start(StartTls::Refused, "none");
    for to in ["one@open.example", "two@open.example", "three@open.example"] {
        assert!(!world.deliver(to));
    }
    world.mail.set_starttls(StartTls::Works);

    let world = world.restart();
    assert!(!world.deliver("four@open.example"));
    assert_eq!(world.mail.starttls_commands(), 3);
    world.server.advance(6 * HOUR);
    let world = world.end_session();

    assert!(world.deliver("five@open.example"));
    assert_eq!(world.mail.starttls_commands(), 4);
}

#[test]
fn a_success_between_failures_resets_their_number() {
    let world = World::start(StartTls::Refused, "none");
    assert!(!world.deliver("one@open.example"));
    assert!(!world.deliver("two@open.example"));
    world.mail.set_starttls(StartTls::Works);
    assert!(world.deliver("three@open.example"));
    world.mail.set_starttls(StartTls::Refused);
    let world = world.end_session();

    assert!(!world.deliver("four@open.example"));
    world.mail.set_starttls(StartTls::Works);

    assert!(world.deliver("five@open.example"));
}

#[test]
fn an_attempt_has_the_encryption_of_its_session() {
    let world = World::start(StartTls::Works, "none");
    let id = world.server.send(&json!({ "to": "one@open.example" }));
    world.server.wait_for(&id, "delivered");

    let attempts = world.server.get(&format!("/emails/{id}/attempts")).ok(200);

    let tls = &attempts["data"][0]["tls"];
    assert_eq!((&tls["version"], &tls["verified"]), (&json!("TLSv1.3"), &json!(false)));
    assert!(tls["cipher"].as_str().unwrap().starts_with("TLS13_"), "{tls}");
}

#[test]
fn clear_text_to_a_host_that_had_tls_is_recorded_as_downgraded() {
    let mut world = World::start(StartTls::Works, "none");
    assert!(world.deliver("one@open.example"));
    for (number, starttls) in [StartTls::Refused, StartTls::NotOffered].into_iter().enumerate() {
        world.mail.set_starttls(starttls);
        world = world.end_session();
        assert!(!world.deliver(&format!("{number}@open.example")));
    }
    world.server.advance(8 * 24 * HOUR);
    world = world.end_session();
    assert!(!world.deliver("last@open.example"));

    let attempts = world.server.stored_attempts();
    let downgraded: Vec<bool> = attempts.iter().map(|attempt| attempt.tls_downgraded).collect();
    assert_eq!(downgraded, [false, true, true, false], "{attempts:#?}");
    assert!(attempts[1].transcript.contains("on an earlier connection: TLS failed: STARTTLS was answered with 454"));
}

#[test]
fn a_recipient_domain_that_requires_tls_gets_no_clear_text() {
    for starttls in [StartTls::Refused, StartTls::NotOffered] {
        let world = World::start(starttls, "strict.example");
        // Its session in clear text is open and has the same host.
        assert!(!world.deliver("one@open.example"));

        let id = world.server.send(&json!({ "to": "two@strict.example" }));
        let email = world.server.wait_for(&id, "delivery_delayed");
        let reply = email["events"].to_string();
        assert!(
            reply.contains("4.7.4 TLS is required and not offered") || reply.contains("4.7.5 TLS failed"),
            "{reply}"
        );
        assert_eq!(world.mail.received().len(), 1);

        world.mail.set_starttls(StartTls::Works);
        world.server.advance(HOUR);
        world.server.wait_for(&id, "delivered");
        assert!(world.mail.received().last().unwrap().has_tls);
    }
}

// Without TLS, the host was paused for all of its domains.
#[test]
fn a_domain_that_requires_tls_does_not_delay_other_domains_of_its_host() {
    for starttls in [StartTls::Refused, StartTls::NotOffered] {
        let world = World::start(starttls, "strict.example");
        let first = world.server.send(&json!({ "to": "one@strict.example" }));
        world.server.wait_for(&first, "delivery_delayed");

        assert!(!world.deliver("two@open.example"));
        let second = world.server.send(&json!({ "to": "three@strict.example" }));
        assert!(!world.deliver("four@open.example"));

        let waiting = world.server.get(&format!("/emails/{second}")).ok(200);
        assert_eq!(waiting["last_event"], "queued", "no attempt is made while the host has no TLS");
    }
}

#[test]
fn a_host_that_requires_tls_gets_no_clear_text() {
    let world = World::start(StartTls::NotOffered, "mx.open.example");

    let id = world.server.send(&json!({ "to": "one@open.example" }));

    world.server.wait_for(&id, "delivery_delayed");
    assert_eq!(world.mail.received(), []);
}
