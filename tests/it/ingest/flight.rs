//! Reports that come while the delivery that they are about is under way.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SECRET, fixture, hand_in, report, story};
use crate::support::TestServer;

const TAKEN: &str = "250 2.0.0 Taken";
const LATER: &str = "451 4.3.0 Later";
/// How long a test waits for the server to speak.
const WITHIN: Duration = Duration::from_secs(20);

/// Starts a server that takes reports and relays by a smarthost that a test speaks for.
fn relaying() -> (TestServer, TcpListener) {
    let smarthost = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}?tls=never", smarthost.local_addr().unwrap());
    let flags = ["--delivery", "relay", "--relay", &relay, "--ingest-secret", SECRET];
    (TestServer::start_with(&flags), smarthost)
}

/// A conversation in which the smarthost has read the message and not answered it.
struct Unanswered {
    stream: BufReader<TcpStream>,
    return_path: String,
}

impl Unanswered {
    fn read(smarthost: &TcpListener) -> Self {
        let stream = accept(smarthost);
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        let mut conversation = Self { stream: BufReader::new(stream), return_path: String::new() };
        conversation.say("220 smarthost.example");
        loop {
            let line = conversation.line();
            if let Some(path) = line.strip_prefix("MAIL FROM:<") {
                conversation.return_path = path.split('>').next().unwrap().to_owned();
            }
            if line.starts_with("DATA") {
                break;
            }
            conversation.say("250 Yes");
        }
        conversation.say("354 Go on");
        while conversation.line() != ".\r\n" {}
        conversation
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).unwrap() > 0, "the conversation goes on");
        line
    }

    fn say(&mut self, reply: &str) {
        write!(self.stream.get_mut(), "{reply}\r\n").unwrap();
    }

    /// Answers the message and hangs up.
    fn answer(mut self, reply: &str) {
        self.say(reply);
    }
}

/// Waits for the next conversation, no longer than for a line of one.
fn accept(smarthost: &TcpListener) -> TcpStream {
    let (told, accepted) = mpsc::channel();
    let listening = smarthost.try_clone().unwrap();
    thread::spawn(move || told.send(listening.accept().unwrap().0));
    accepted.recv_timeout(WITHIN).expect("the next conversation begins")
}

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

/// Lets the next attempt happen, and be taken.
fn take_next_attempt(server: &TestServer, smarthost: &TcpListener, id: &str) {
    server.advance(Duration::from_secs(3_600));
    Unanswered::read(smarthost).answer(TAKEN);
    server.wait_for(id, "delivered");
}

#[test]
fn a_notice_that_knows_the_message_id_alone_leaves_a_delivery_under_way_to_its_own_outcome() {
    for (name, to) in [
        ("postfix-unknown-user", "unknown@example.org"),
        ("postfix-content-refused", "content.grace@example.org"),
        ("postfix-success", "ada@example.net"),
    ] {
        let (server, smarthost) = relaying();
        let notice = |id: &str| fixture(name, id, "b+x.y@send.example.com");
        let taken = server.send(&json!({ "to": to }));
        let conversation = Unanswered::read(&smarthost);

        assert_eq!(hand_in(&server, &notice(&taken)), (0, 1), "{name}");

        conversation.answer(TAKEN);
        assert_eq!(story(&server.wait_for(&taken, "delivered")), ["email.sent", "email.delivered"], "{name}");

        let deferred = server.send(&json!({ "to": to }));
        let conversation = Unanswered::read(&smarthost);
        assert_eq!(hand_in(&server, &notice(&deferred)), (0, 1), "{name}");
        conversation.answer(LATER);
        server.wait_for(&deferred, "delivery_delayed");
        take_next_attempt(&server, &smarthost, &deferred);
        let expected = ["email.sent", "email.delivery_delayed", "email.delivered"];
        assert_eq!(story(&read(&server, &deferred)), expected, "{name}");
    }
}

#[test]
fn a_delay_is_told_by_whoever_has_seen_the_message_and_the_delivery_goes_on() {
    let (server, smarthost) = relaying();
    let id = server.send(&json!({ "to": "grey.grace@example.org" }));
    let conversation = Unanswered::read(&smarthost);

    assert_eq!(hand_in(&server, &fixture("postfix-delayed", &id, "b+x.y@send.example.com")), (1, 0));

    assert_eq!(read(&server, &id)["last_event"], "delivery_delayed");
    conversation.answer(TAKEN);
    let email = server.wait_for(&id, "delivered");
    assert_eq!(story(&email), ["email.sent", "email.delivery_delayed", "email.delivered"]);
}

#[test]
fn what_is_proven_ends_a_delivery_under_way_whatever_its_own_outcome() {
    for reply in [TAKEN, LATER] {
        let (server, smarthost) = relaying();
        let to = "content.grace@example.org";
        let noticed = server.send(&json!({ "to": to }));
        let conversation = Unanswered::read(&smarthost);
        let notice = fixture("postfix-content-refused", &noticed, &conversation.return_path);
        assert_eq!(hand_in(&server, &notice), (1, 0), "{reply}");
        conversation.answer(reply);

        let relayed = server.send(&json!({ "to": to }));
        let conversation = Unanswered::read(&smarthost);
        let event = json!({ "type": "failed", "email_id": relayed, "recipient": to });
        assert_eq!(report(&server, &event), (1, 0), "{reply}");
        conversation.answer(reply);

        // What comes after both conversations have been settled, and every attempt that could follow.
        server.advance(Duration::from_secs(3_600));
        let later = server.send(&json!({ "to": "bob@example.net" }));
        Unanswered::read(&smarthost).answer(TAKEN);
        server.wait_for(&later, "delivered");
        for id in [&noticed, &relayed] {
            assert_eq!(story(&read(&server, id)), ["email.sent", "email.failed"], "{reply}");
        }
    }
}

#[test]
fn the_complaint_of_an_only_recipient_ends_a_delivery_under_way() {
    for reply in [TAKEN, LATER] {
        let (server, smarthost) = relaying();
        let id = server.send(&json!({ "to": "grace@example.org" }));
        let conversation = Unanswered::read(&smarthost);

        assert_eq!(hand_in(&server, &fixture("arf-full", &id, "b+x.y@send.example.com")), (1, 0), "{reply}");

        conversation.answer(reply);
        // What comes after the conversation has been settled, and every attempt that could follow.
        server.advance(Duration::from_secs(3_600));
        let later = server.send(&json!({ "to": "bob@example.net" }));
        Unanswered::read(&smarthost).answer(TAKEN);
        server.wait_for(&later, "delivered");
        assert_eq!(story(&read(&server, &id)), ["email.sent", "email.complained"], "{reply}");
    }
}
