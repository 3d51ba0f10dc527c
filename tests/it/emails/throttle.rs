//! Throttling in direct delivery: suspensions, pauses that a reply names, rates, and their state after a restart.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{MailServer, NameServer, StartTls, TestServer};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A server in direct mode, with two sites: one on a mail server that can refuse, one on a server that works.
struct World {
    server: TestServer,
    mail: MailServer,
    other: MailServer,
    flags: Vec<String>,
    _names: NameServer,
}

impl World {
    fn start(flags: &[&str]) -> Self {
        let mail = MailServer::start(StartTls::NotOffered);
        let other = MailServer::start_on("127.0.0.2", &mail.port(), StartTls::NotOffered);
        let names = NameServer::start();
        names.add("shop IN MX 10 mx.shop.example.\nmx.shop IN A 127.0.0.1\n");
        names.add("provider IN MX 10 mx.yahoodns.net.\n");
        names.add("other IN MX 10 mx.other.example.\nmx.other IN A 127.0.0.2\n");
        let mut all: Vec<String> = [
            ["--delivery", "direct"],
            ["--hostname", "mx.ringmail.test"],
            ["--resolver", &names.address()],
            ["--smtp-port", &mail.port()],
            ["--allow-address", "127.0.0.0/8"],
            ["--retry-delays", "1m"],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let server = TestServer::start_with(&texts(&all));
        Self { server, mail, other, flags: all, _names: names }
    }

    fn restart(self) -> Self {
        let server = self.server.restart_with(&texts(&self.flags));
        Self { server, ..self }
    }

    fn send(&self, to: &str) -> String {
        self.server.send(&json!({ "to": to }))
    }

    /// Delivers an email to the site that works. Afterwards, a session that could be opened with the first site has been
    /// opened as well, because it was reserved earlier.
    fn deliver_elsewhere(&self) {
        for number in 0..2 {
            let id = self.send(&format!("{number}@other.example"));
            self.server.wait_for(&id, "delivered");
        }
    }

    /// Waits until the site that can refuse has accepted this number of messages, and checks that no other follows.
    fn receive(&self, number: usize) {
        let reached = |_: &_| self.mail.received().len() == number;
        self.server.poll("/emails", "the messages are received", reached);
        self.deliver_elsewhere();
        assert_eq!(self.mail.received().len(), number);
    }

    fn wait_for(&self, id: &str, last_event: &str) -> Value {
        self.server.wait_for(id, last_event)
    }
}

fn texts(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

#[test]
fn a_site_that_refuses_for_reputation_gets_no_message_until_the_stop_ends_even_after_a_restart() {
    let world = World::start(&[]);
    world.mail.set_refusal(Some("421 4.7.0 [TSS04] Messages temporarily deferred, ada@shop.example"));
    let first = world.send("ada@shop.example");
    world.wait_for(&first, "delivery_delayed");
    world.mail.set_refusal(None);

    let second = world.send("bob@shop.example");
    world.deliver_elsewhere();
    world.server.advance(HOUR);
    world.deliver_elsewhere();
    let world = world.restart();
    world.deliver_elsewhere();
    assert_eq!((world.mail.connections(), world.mail.mail_commands()), (1, 1));
    assert_eq!(world.other.received().len(), 6);

    world.server.advance(HOUR);
    for id in [&first, &second] {
        world.wait_for(id, "delivered");
    }
}

#[test]
fn a_suspended_site_gets_one_message_a_minute_until_it_accepts_one() {
    let world = World::start(&[]);
    world.mail.set_refusal(Some("421 4.7.28 unusual rate of unsolicited mail"));
    // A new site gets two sessions. With one email, one of them opens.
    let mut ids = vec![world.send("first@shop.example")];
    world.wait_for(&ids[0], "delivery_delayed");
    ids.extend((0..4).map(|number| world.send(&format!("{number}@shop.example"))));
    world.deliver_elsewhere();
    assert_eq!(world.mail.mail_commands(), 1);
    let delayed = |ids: &[String]| {
        let events = ids.iter().map(|id| world.server.get(&format!("/emails/{id}")).ok(200)["last_event"].clone());
        events.filter(|event| *event == json!("delivery_delayed")).count()
    };
    let wait_for_commands = |number: usize| {
        let reached = |_: &_| world.mail.mail_commands() == number && delayed(&ids) == number;
        world.server.poll("/emails", "the next message was refused", reached);
    };
    for number in 2..=3 {
        world.server.advance(MINUTE);
        wait_for_commands(number);
        world.deliver_elsewhere();
        assert_eq!(world.mail.mail_commands(), number);
    }

    world.mail.set_refusal(None);
    world.server.advance(2 * MINUTE);
    for id in &ids {
        world.wait_for(id, "delivered");
    }
}

#[test]
fn a_message_and_its_site_wait_for_the_time_that_the_reply_names() {
    let world = World::start(&[]);
    world.mail.set_refusal(Some("421 4.3.2 Too many connections, try again in 10 minutes"));
    let id = world.send("ada@shop.example");
    world.wait_for(&id, "delivery_delayed");
    world.mail.set_refusal(None);

    world.server.advance(5 * MINUTE);
    world.deliver_elsewhere();
    assert_eq!(world.mail.mail_commands(), 1);

    // The message waits up to a fifth longer than the site.
    world.server.advance(7 * MINUTE);
    world.wait_for(&id, "delivered");
}

#[test]
fn a_site_gets_no_more_messages_than_its_rate_and_its_sessions_carry_no_more_than_its_limit() {
    let world = World::start(&["--site-limit", "shop.example=sessions:1,session-messages:2,messages-per-second:4"]);
    let ids: Vec<String> = (0..9).map(|number| world.send(&format!("{number}@shop.example"))).collect();
    let received = |number: usize| {
        let reached = |_: &_| world.mail.received().len() == number;
        world.server.poll("/emails", "the messages of the rate are received", reached);
    };
    received(4);
    world.deliver_elsewhere();
    assert_eq!(world.mail.received().len(), 4);
    world.server.advance(Duration::from_secs(1));
    received(8);
    world.server.advance(Duration::from_secs(1));

    for id in &ids {
        world.wait_for(id, "delivered");
    }
    assert_eq!(world.mail.connections(), 5);
}

#[test]
fn a_site_gets_a_hundred_messages_a_second_by_default() {
    let world = World::start(&[]);
    let ids: Vec<String> = (0..101).map(|number| world.send(&format!("{number}@shop.example"))).collect();

    world.receive(100);
    assert_eq!(world.server.site("shop.example").messages_per_second, Some(100.0));
    world.server.advance(MINUTE / 6_000);

    for id in &ids {
        world.wait_for(id, "delivered");
    }
}

#[test]
fn a_site_gets_a_hundred_connections_a_minute_and_ten_sessions_by_default() {
    // Each message needs a connection. A site with five more sessions without a refusal gets one more at a time.
    let world = World::start(&["--site-limit", "shop.example=session-messages:1"]);
    let ids: Vec<String> = (0..60).map(|number| world.send(&format!("{number}@shop.example"))).collect();

    for number in [16, 32, 48, 60] {
        world.receive(number);
        assert_eq!(world.mail.connections(), number);
        world.server.advance(MINUTE / 6);
    }

    for id in &ids {
        world.wait_for(id, "delivered");
    }
    assert_eq!(world.server.site("shop.example").sessions_max, 10);
}

#[test]
fn a_new_source_address_sends_a_large_provider_only_the_allowance_of_the_day() {
    let world = World::start(&["--warm-up", "start:4,growth:2,target:1000"]);
    let ids: Vec<String> = (0..14).map(|number| world.send(&format!("{number}@provider.example"))).collect();
    world.receive(4);
    let world = world.restart();
    world.receive(4);

    // The other site is no large provider, and its messages do not count.
    world.server.advance(24 * HOUR);
    world.receive(12);
    world.server.advance(24 * HOUR);
    for id in &ids {
        world.wait_for(id, "delivered");
    }
}
