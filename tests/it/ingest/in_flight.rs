//! Reports about a delivery that is in flight.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SECRET, event_types, fixture, report, report_message};
use crate::support::TestServer;

const ACCEPTED: &str = "250 2.0.0 Taken";
const DEFERRED: &str = "451 4.3.0 Later";
/// Maximum time that a test waits for a connection or a line of the server.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a server that accepts delivery reports and relays to a smarthost that the test controls. Its acceptance is
/// the delivery.
fn relay_server() -> (TestServer, TcpListener) {
    relay_server_with("&final=true")
}

fn relay_server_with(parameters: &str) -> (TestServer, TcpListener) {
    let smarthost = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}?tls=never{parameters}", smarthost.local_addr().unwrap());
    let flags = ["--delivery", "relay", "--relay", &relay, "--ingest-secret", SECRET];
    (TestServer::start_with(&flags), smarthost)
}

/// An SMTP session in which the smarthost has received the message and not replied to it.
struct OpenTransaction {
    stream: BufReader<TcpStream>,
    return_path: String,
}

impl OpenTransaction {
    /// Accepts a connection and reads the message.
    fn receive(smarthost: &TcpListener) -> Self {
        let stream = accept(smarthost);
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut transaction = Self { stream: BufReader::new(stream), return_path: String::new() };
        transaction.reply("220 smarthost.example");
        loop {
            let line = transaction.read_line();
            if let Some(path) = line.strip_prefix("MAIL FROM:<") {
                transaction.return_path = path.split('>').next().unwrap().to_owned();
            }
            if line.starts_with("DATA") {
                break;
            }
            transaction.reply("250 Yes");
        }
        transaction.reply("354 Go on");
        while transaction.read_line() != ".\r\n" {}
        transaction
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).unwrap() > 0, "the server closed the connection");
        line
    }

    fn reply(&mut self, line: &str) {
        write!(self.stream.get_mut(), "{line}\r\n").unwrap();
    }

    /// Replies to the message and closes the connection.
    fn complete(mut self, line: &str) {
        self.reply(line);
    }
}

/// Waits up to [`TIMEOUT`] for the next connection.
fn accept(smarthost: &TcpListener) -> TcpStream {
    let (accepted_tx, accepted) = mpsc::channel();
    let listener = smarthost.try_clone().unwrap();
    thread::spawn(move || accepted_tx.send(listener.accept().unwrap().0));
    accepted.recv_timeout(TIMEOUT).expect("the server connects")
}

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

/// Advances the clock to the next attempt, and accepts its message.
fn accept_next_attempt(server: &TestServer, smarthost: &TcpListener, id: &str) {
    server.advance(Duration::from_secs(3_600));
    OpenTransaction::receive(smarthost).complete(ACCEPTED);
    server.wait_for(id, "delivered");
}

#[test]
fn a_delivery_status_with_only_the_message_id_does_not_affect_a_delivery_in_flight() {
    for (name, to) in [
        ("postfix-unknown-user", "unknown@example.org"),
        ("postfix-content-refused", "content.grace@example.org"),
        ("postfix-success", "ada@example.net"),
    ] {
        let (server, smarthost) = relay_server();
        let delivery_status = |id: &str| fixture(name, id, "b+x.y@send.example.com");
        let accepted = server.send(&json!({ "to": to }));
        let transaction = OpenTransaction::receive(&smarthost);

        assert_eq!(report_message(&server, &delivery_status(&accepted)), (0, 1), "{name}");

        transaction.complete(ACCEPTED);
        assert_eq!(event_types(&server.wait_for(&accepted, "delivered")), ["email.sent", "email.delivered"], "{name}");

        let deferred = server.send(&json!({ "to": to }));
        let transaction = OpenTransaction::receive(&smarthost);
        assert_eq!(report_message(&server, &delivery_status(&deferred)), (0, 1), "{name}");
        transaction.complete(DEFERRED);
        server.wait_for(&deferred, "delivery_delayed");
        accept_next_attempt(&server, &smarthost, &deferred);
        let expected = ["email.sent", "email.delivery_delayed", "email.delivered"];
        assert_eq!(event_types(&read(&server, &deferred)), expected, "{name}");
    }
}

#[test]
fn an_email_that_a_smarthost_has_accepted_stays_sent_until_a_report() {
    let (server, smarthost) = relay_server_with("");
    let to = "ada@example.net";
    let id = server.send(&json!({ "to": to }));
    OpenTransaction::receive(&smarthost).complete(DEFERRED);
    server.wait_for(&id, "delivery_delayed");

    server.advance(Duration::from_secs(3_600));
    OpenTransaction::receive(&smarthost).complete(ACCEPTED);

    let email = server.wait_for(&id, "sent");
    assert_eq!(event_types(&email), ["email.sent", "email.delivery_delayed"]);
    assert_eq!(report(&server, &json!({ "type": "delivered", "email_id": id, "recipient": to })), (1, 0));
    let expected = ["email.sent", "email.delivery_delayed", "email.delivered"];
    assert_eq!(event_types(&server.wait_for(&id, "delivered")), expected);
}

#[test]
fn a_delay_with_only_the_message_id_is_recorded_and_the_delivery_continues() {
    let (server, smarthost) = relay_server();
    let id = server.send(&json!({ "to": "grey.grace@example.org" }));
    let transaction = OpenTransaction::receive(&smarthost);

    assert_eq!(report_message(&server, &fixture("postfix-delayed", &id, "b+x.y@send.example.com")), (1, 0));

    assert_eq!(read(&server, &id)["last_event"], "delivery_delayed");
    transaction.complete(ACCEPTED);
    let email = server.wait_for(&id, "delivered");
    assert_eq!(event_types(&email), ["email.sent", "email.delivery_delayed", "email.delivered"]);
}

#[test]
fn an_authenticated_report_settles_a_delivery_in_flight() {
    for reply in [ACCEPTED, DEFERRED] {
        let (server, smarthost) = relay_server();
        let to = "content.grace@example.org";
        let by_message = server.send(&json!({ "to": to }));
        let transaction = OpenTransaction::receive(&smarthost);
        let delivery_status = fixture("postfix-content-refused", &by_message, &transaction.return_path);
        assert_eq!(report_message(&server, &delivery_status), (1, 0), "{reply}");
        transaction.complete(reply);

        let by_event = server.send(&json!({ "to": to }));
        let transaction = OpenTransaction::receive(&smarthost);
        let event = json!({ "type": "failed", "email_id": by_event, "recipient": to });
        assert_eq!(report(&server, &event), (1, 0), "{reply}");
        transaction.complete(reply);

        // The delivery of a later email shows that both transactions are settled and no attempt follows.
        server.advance(Duration::from_secs(3_600));
        let later = server.send(&json!({ "to": "bob@example.net" }));
        OpenTransaction::receive(&smarthost).complete(ACCEPTED);
        server.wait_for(&later, "delivered");
        for id in [&by_message, &by_event] {
            assert_eq!(event_types(&read(&server, id)), ["email.sent", "email.failed"], "{reply}");
        }
    }
}

#[test]
fn the_complaint_of_the_only_recipient_settles_a_delivery_in_flight() {
    for reply in [ACCEPTED, DEFERRED] {
        let (server, smarthost) = relay_server();
        let id = server.send(&json!({ "to": "grace@example.org" }));
        let transaction = OpenTransaction::receive(&smarthost);

        assert_eq!(report_message(&server, &fixture("arf-full", &id, "b+x.y@send.example.com")), (1, 0), "{reply}");

        transaction.complete(reply);
        // The delivery of a later email shows that the transaction is settled and no attempt follows.
        server.advance(Duration::from_secs(3_600));
        let later = server.send(&json!({ "to": "bob@example.net" }));
        OpenTransaction::receive(&smarthost).complete(ACCEPTED);
        server.wait_for(&later, "delivered");
        assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.complained"], "{reply}");
    }
}

/// Sends an email through a smarthost that is not final, and waits until the smarthost has accepted it. Returns the id.
fn relay(server: &TestServer, smarthost: &TcpListener, to: &str) -> String {
    let id = server.send(&json!({ "to": to }));
    // The status `sent` follows the delay only after the acceptance is settled.
    OpenTransaction::receive(smarthost).complete(DEFERRED);
    server.wait_for(&id, "delivery_delayed");
    server.advance(Duration::from_secs(3_600));
    OpenTransaction::receive(smarthost).complete(ACCEPTED);
    server.wait_for(&id, "sent");
    id
}

/// Checks that reports about an email have no effect.
#[track_caller]
fn assert_reports_are_ignored(server: &TestServer, id: &str, to: &str) {
    for event_type in ["delivered", "bounced", "complained"] {
        let bounce = json!({ "type": "Permanent" });
        let event = json!({ "type": event_type, "email_id": id, "recipient": to, "bounce": bounce });
        assert_eq!(report(server, &event), (0, 1), "{event_type}");
    }
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn a_relayed_email_can_be_deleted_before_its_report() {
    let (server, smarthost) = relay_server_with("");
    let id = relay(&server, &smarthost, "ada@example.net");

    server.delete(&format!("/emails/{id}")).ok(200);

    server.get(&format!("/emails/{id}")).refused(404, "not_found", "Email not found");
    assert!(!server.has_content(&id));
    assert_eq!(server.recorded_events(&id), Vec::<&str>::new());
    assert_reports_are_ignored(&server, &id, "ada@example.net");
}

#[test]
fn a_relayed_email_is_erased_before_its_report() {
    let (server, smarthost) = relay_server_with("");
    let id = relay(&server, &smarthost, "ada@example.net");

    server.erase(&["ada@example.net"]);

    let email = read(&server, &id);
    assert_eq!((&email["last_event"], &email["to"]), (&json!("sent"), &json!(["[erased]"])));
    assert!(!server.has_content(&id));
    assert_reports_are_ignored(&server, &id, "ada@example.net");
    assert_eq!(read(&server, &id), email);
}
