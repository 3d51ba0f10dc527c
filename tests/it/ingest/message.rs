//! Messages that mail servers send back: those of `tests/fixtures/reports`, about emails of this server.

use serde_json::{Value, json};

use super::{counts, delivered, fixture, hand_in, marks, post, return_path, server, statuses, story};
use crate::support::TestServer;

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

#[test]
fn the_reports_of_real_servers_have_their_effect() {
    for (name, to, status, suppressed) in [
        ("postfix-unknown-user", "unknown@example.org", "bounced", true),
        ("postfix-content-refused", "content.grace@example.org", "failed", false),
        ("postfix-expired", "grey.grace@example.org", "failed", false),
        ("exim-unrouteable", "unknown@example.org", "bounced", true),
        ("exim-remote-unknown-user", "unknown.grace@example.org", "bounced", true),
        ("exim-content-refused", "content.grace@example.org", "failed", false),
        ("arf-full", "grace@example.org", "complained", true),
    ] {
        let server = server();
        let id = delivered(&server, to);

        assert_eq!(hand_in(&server, &fixture(name, &id, &return_path(&server, to))), (1, 0), "{name}");

        let email = read(&server, &id);
        assert_eq!(email["last_event"], status, "{name}");
        assert_eq!(server.suppressed_addresses(), if suppressed { vec![to] } else { vec![] }, "{name}");
    }
}

#[test]
fn what_was_said_stands_in_the_timeline() {
    let server = server();
    let to = "unknown.grace@example.org";
    let id = delivered(&server, to);

    hand_in(&server, &fixture("postfix-remote-unknown-user", &id, &return_path(&server, to)));

    let told = &read(&server, &id)["events"][2];
    assert_eq!(told["bounce"]["diagnosticCode"], json!(["550 5.1.1 No such user here"]));
    assert_eq!(told["bounce"]["subType"], "NoEmail");
}

#[test]
fn a_delay_is_told_and_a_delivery_is_known() {
    let server = server();
    let late = delivered(&server, "grey.grace@example.org");
    let soon = delivered(&server, "ada@example.net");

    for name in ["postfix-delayed", "exim-delayed"] {
        let path = return_path(&server, "grey.grace@example.org");
        assert_eq!(hand_in(&server, &fixture(name, &late, &path)), (1, 0), "{name}");
    }
    for name in ["postfix-success", "exim-success"] {
        let path = return_path(&server, "ada@example.net");
        assert_eq!(hand_in(&server, &fixture(name, &soon, &path)), (0, 1), "{name}");
    }

    let email = read(&server, &late);
    assert_eq!(email["last_event"], "delivered");
    assert_eq!(email["events"][2]["reply"], "450 4.7.1 Greylisted, please try again later");
    assert_eq!(story(&read(&server, &soon)), ["email.sent", "email.delivered"]);
}

#[test]
fn one_refused_recipient_says_nothing_of_the_other() {
    let server = server();
    let to = "unknown.grace@example.org";
    let id = server.send(&json!({ "to": [to, "eve@example.org"] }));
    server.wait_until(&id, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));

    hand_in(&server, &fixture("postfix-remote-unknown-user", &id, &return_path(&server, to)));

    assert_eq!(statuses(&read(&server, &id)), [(to, "bounced"), ("eve@example.org", "delivered")]);
}

#[test]
fn a_complaint_without_an_address_is_about_the_only_recipient_and_else_about_nobody() {
    let server = server();
    let one = delivered(&server, "ada@example.net");
    let two = server.send(&json!({ "to": ["ada@example.net", "eve@example.org"] }));
    server.wait_until(&two, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));

    assert_eq!(hand_in(&server, &fixture("arf-abuse", &two, "")), (0, 1));
    assert_eq!(hand_in(&server, &fixture("arf-abuse", &one, "")), (1, 0));

    assert_eq!(read(&server, &one)["events"][2]["complaint_feedback_type"], "abuse");
    assert_eq!(read(&server, &two)["last_event"], "delivered");
    let listed = server.get("/suppressions/ada@example.net").ok(200);
    assert_eq!((&listed["origin"], &listed["source_id"]), (&json!("complaint"), &json!(one)));
}

#[test]
fn a_complaint_that_knows_the_message_id_alone_counts_where_nobody_else_has_seen_the_message() {
    let server = server();
    let to = "grace@example.org";
    let several = server.send(&json!({ "to": to, "bcc": "eve@example.net" }));
    server.wait_until(&several, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let one = delivered(&server, "ada@example.net");
    let by_id = |id: &str| fixture("arf-full", id, "b+x.y@send.example.com");

    assert_eq!(hand_in(&server, &by_id(&several)), (0, 1), "anybody among the recipients can write it");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
    assert_eq!(hand_in(&server, &by_id(&one).replace(to, "ada@example.net")), (1, 0));
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
    let proven = fixture("arf-full", &several, &return_path(&server, to));
    assert_eq!(hand_in(&server, &proven), (1, 0));

    assert_eq!(server.suppressed_addresses(), ["ada@example.net", to]);
    let expected = [(to, "complained"), ("eve@example.net", "delivered")];
    assert_eq!(statuses(&read(&server, &several)), expected);
}

#[test]
fn a_return_path_names_the_group_whose_only_recipient_is_meant() {
    let server = server();
    // Two domains are two groups.
    let id = server.send(&json!({ "to": ["grace@example.org", "ada@example.net"] }));
    server.wait_until(&id, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let message = fixture("postfix-unknown-user", &id, &return_path(&server, "ada@example.net"));

    // The report names the address that the mail was forwarded to.
    assert_eq!(hand_in(&server, &message), (1, 0));

    assert_eq!(statuses(&read(&server, &id)), [("grace@example.org", "delivered"), ("ada@example.net", "bounced")]);
}

#[test]
fn a_return_path_speaks_for_its_own_group_alone() {
    let server = server();
    let to = "unknown@example.org";
    let id = server.send(&json!({ "to": [to, "ada@example.net", "eve@example.net"] }));
    server.wait_until(&id, "all", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let message = |group: &str| fixture("postfix-unknown-user", &id, &return_path(&server, group));

    assert_eq!(hand_in(&server, &message("ada@example.net")), (0, 1), "it went to somebody else");
    assert_eq!(hand_in(&server, &message(to)), (1, 0));

    let expected = [(to, "bounced"), ("ada@example.net", "delivered"), ("eve@example.net", "delivered")];
    assert_eq!(statuses(&read(&server, &id)), expected);
    assert_eq!(server.suppressed_addresses(), [to]);
}

#[test]
fn a_return_path_made_elsewhere_names_nothing_and_a_message_id_suppresses_nobody() {
    let server = server();
    let to = "unknown@example.org";
    let id = delivered(&server, to);
    let right = return_path(&server, to);
    let (local, host) = right.split_once('@').unwrap();
    let forged = format!("{}a@{host}", &local[..local.len() - 1]);
    let message = |path: &str, email: &str| fixture("postfix-unknown-user", email, path);
    let nobody = "0190a6c0-0000-7000-8000-000000000001";

    if forged != right {
        assert_eq!(hand_in(&server, &message(&forged, nobody)), (0, 1));
    }
    assert_eq!(hand_in(&server, &message("b+x.y@send.example.com", nobody)), (0, 1));

    assert_eq!(read(&server, &id)["last_event"], "delivered");
    assert_eq!(hand_in(&server, &message("b+x.y@send.example.com", &id)), (1, 0), "the returned message names it");
    let email = read(&server, &id);
    assert_eq!(email["last_event"], "bounced");
    assert_eq!(email["events"][2]["bounce"]["type"], "Undetermined");
    assert_eq!(email["events"][2]["bounce"]["diagnosticCode"], json!(["unknown user: \"unknown@example.org\""]));
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new(), "whoever has seen the message can write that");

    assert_eq!(hand_in(&server, &message(&right, &id)), (1, 0), "what is proven is news");
    assert_eq!(server.suppressed_addresses(), [to]);
}

#[test]
fn a_notice_that_knows_the_message_id_alone_has_to_name_a_recipient() {
    let server = server();
    let id = delivered(&server, "ada@example.net");
    let named_otherwise = fixture("postfix-unknown-user", &id, "b+x.y@send.example.com");
    let answering = fixture("exim-unrouteable", &id, "b+x.y@send.example.com")
        .replace("\nMessage-ID:", "\nX-Message-ID:")
        .replace("unknown@example.org", "ada@example.net");

    assert_eq!(hand_in(&server, &named_otherwise), (0, 1), "the only recipient is not meant");
    assert_eq!(hand_in(&server, &answering), (0, 1), "what a notice answers to names nothing");

    assert_eq!(story(&read(&server, &id)), ["email.sent", "email.delivered"]);
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn what_is_no_report_is_acknowledged_and_ignored() {
    let server = server();
    let to = "grace@example.org";
    let id = delivered(&server, to);
    let path = return_path(&server, to);
    for message in [
        fixture("auto-reply", &id, &path),
        fixture("arf-not-spam", &id, &path),
        String::new(),
        "Subject: hello\r\n\r\nHello".to_owned(),
        "\0\u{7f}".to_owned(),
    ] {
        assert_eq!(hand_in(&server, &message), (0, 1));
    }

    assert_eq!(story(&read(&server, &id)), ["email.sent", "email.delivered"]);
    assert_eq!(marks(&server), 0, "nothing is remembered of what says nothing");
}

#[test]
fn a_message_that_is_handed_in_twice_is_told_once_whoever_hands_it_in() {
    let server = server();
    let to = "grey.grace@example.org";
    let id = delivered(&server, to);
    let message = fixture("postfix-delayed", &id, &return_path(&server, to));
    let hand_in = |id: &str| counts(post(&server, "/ingest/message", id, message.as_bytes()));

    assert_eq!(hand_in("msg_1"), (1, 0));
    assert_eq!(hand_in("msg_1"), (0, 1));
    assert_eq!(hand_in("msg_2"), (0, 1));

    assert_eq!(story(&read(&server, &id)), ["email.sent", "email.delivered", "email.delivery_delayed"]);
}
