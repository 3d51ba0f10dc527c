//! Delivery status messages and feedback reports through `/ingest/message`. Uses the messages of
//! `tests/fixtures/reports` with the ids of emails of the test server.

use serde_json::{Value, json};

use super::{
    counts, dedup_key_count, deliver, event_types, fixture, post, report_message, return_path, server, statuses,
};
use crate::support::TestServer;

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

#[test]
fn a_report_of_a_real_server_has_its_effect() {
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
        let id = deliver(&server, to);

        assert_eq!(report_message(&server, &fixture(name, &id, &return_path(&server, to))), (1, 0), "{name}");

        let email = read(&server, &id);
        assert_eq!(email["last_event"], status, "{name}");
        assert_eq!(server.suppressed_addresses(), if suppressed { vec![to] } else { vec![] }, "{name}");
    }
}

#[test]
fn the_timeline_has_the_diagnostic_code_of_the_report() {
    let server = server();
    let to = "unknown.grace@example.org";
    let id = deliver(&server, to);

    report_message(&server, &fixture("postfix-remote-unknown-user", &id, &return_path(&server, to)));

    let event = &read(&server, &id)["events"][2];
    assert_eq!(event["bounce"]["diagnosticCode"], json!(["550 5.1.1 No such user here"]));
    assert_eq!(event["bounce"]["subType"], "NoEmail");
}

#[test]
fn a_reported_delay_is_recorded_and_a_known_delivery_is_ignored() {
    let server = server();
    let delayed = deliver(&server, "grey.grace@example.org");
    let successful = deliver(&server, "ada@example.net");

    for name in ["postfix-delayed", "exim-delayed"] {
        let path = return_path(&server, "grey.grace@example.org");
        assert_eq!(report_message(&server, &fixture(name, &delayed, &path)), (1, 0), "{name}");
    }
    for name in ["postfix-success", "exim-success"] {
        let path = return_path(&server, "ada@example.net");
        assert_eq!(report_message(&server, &fixture(name, &successful, &path)), (0, 1), "{name}");
    }

    let email = read(&server, &delayed);
    assert_eq!(email["last_event"], "delivered");
    assert_eq!(email["events"][2]["reply"], "450 4.7.1 Greylisted, please try again later");
    assert_eq!(event_types(&read(&server, &successful)), ["email.sent", "email.delivered"]);
}

#[test]
fn a_report_about_one_recipient_does_not_affect_the_other() {
    let server = server();
    let to = "unknown.grace@example.org";
    let id = server.send(&json!({ "to": [to, "eve@example.org"] }));
    server.wait_until(&id, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));

    report_message(&server, &fixture("postfix-remote-unknown-user", &id, &return_path(&server, to)));

    assert_eq!(statuses(&read(&server, &id)), [(to, "bounced"), ("eve@example.org", "delivered")]);
}

#[test]
fn a_complaint_without_an_address_applies_only_if_there_is_one_recipient() {
    let server = server();
    let one = deliver(&server, "ada@example.net");
    let two = server.send(&json!({ "to": ["ada@example.net", "eve@example.org"] }));
    server.wait_until(&two, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));

    assert_eq!(report_message(&server, &fixture("arf-abuse", &two, "")), (0, 1));
    assert_eq!(report_message(&server, &fixture("arf-abuse", &one, "")), (1, 0));

    assert_eq!(read(&server, &one)["events"][2]["complaint_feedback_type"], "abuse");
    assert_eq!(read(&server, &two)["last_event"], "delivered");
    let listed = server.get("/suppressions/ada@example.net").ok(200);
    assert_eq!((&listed["origin"], &listed["source_id"]), (&json!("complaint"), &json!(one)));
}

#[test]
fn a_complaint_with_only_the_message_id_applies_only_if_there_is_one_recipient() {
    let server = server();
    let to = "grace@example.org";
    let several = server.send(&json!({ "to": to, "bcc": "eve@example.net" }));
    server.wait_until(&several, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let one = deliver(&server, "ada@example.net");
    let by_id = |id: &str| fixture("arf-full", id, "b+x.y@send.example.com");

    assert_eq!(report_message(&server, &by_id(&several)), (0, 1), "every recipient can forge the report");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
    assert_eq!(report_message(&server, &by_id(&one).replace(to, "ada@example.net")), (1, 0));
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
    let authenticated = fixture("arf-full", &several, &return_path(&server, to));
    assert_eq!(report_message(&server, &authenticated), (1, 0));

    assert_eq!(server.suppressed_addresses(), ["ada@example.net", to]);
    let expected = [(to, "complained"), ("eve@example.net", "delivered")];
    assert_eq!(statuses(&read(&server, &several)), expected);
}

#[test]
fn a_report_with_a_return_path_applies_to_the_only_recipient_of_its_group() {
    let server = server();
    // Recipients of two domains are two recipient groups.
    let id = server.send(&json!({ "to": ["grace@example.org", "ada@example.net"] }));
    server.wait_until(&id, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let message = fixture("postfix-unknown-user", &id, &return_path(&server, "ada@example.net"));

    // The report names another address, to which the message was forwarded.
    assert_eq!(report_message(&server, &message), (1, 0));

    assert_eq!(statuses(&read(&server, &id)), [("grace@example.org", "delivered"), ("ada@example.net", "bounced")]);
}

#[test]
fn a_return_path_authenticates_only_its_own_group() {
    let server = server();
    let to = "unknown@example.org";
    let id = server.send(&json!({ "to": [to, "ada@example.net", "eve@example.net"] }));
    server.wait_until(&id, "all", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    let message = |group: &str| fixture("postfix-unknown-user", &id, &return_path(&server, group));

    assert_eq!(report_message(&server, &message("ada@example.net")), (0, 1), "the recipient is not in this group");
    assert_eq!(report_message(&server, &message(to)), (1, 0));

    let expected = [(to, "bounced"), ("ada@example.net", "delivered"), ("eve@example.net", "delivered")];
    assert_eq!(statuses(&read(&server, &id)), expected);
    assert_eq!(server.suppressed_addresses(), [to]);
}

#[test]
fn a_forged_return_path_is_ignored_and_a_message_id_suppresses_no_address() {
    let server = server();
    let to = "unknown@example.org";
    let id = deliver(&server, to);
    let valid = return_path(&server, to);
    let (local, host) = valid.split_once('@').unwrap();
    let forged = format!("{}a@{host}", &local[..local.len() - 1]);
    let message = |path: &str, email: &str| fixture("postfix-unknown-user", email, path);
    let unknown_id = "0190a6c0-0000-7000-8000-000000000001";

    if forged != valid {
        assert_eq!(report_message(&server, &message(&forged, unknown_id)), (0, 1));
    }
    assert_eq!(report_message(&server, &message("b+x.y@send.example.com", unknown_id)), (0, 1));

    assert_eq!(read(&server, &id)["last_event"], "delivered");
    assert_eq!(
        report_message(&server, &message("b+x.y@send.example.com", &id)),
        (1, 0),
        "the returned message has the email id"
    );
    let email = read(&server, &id);
    assert_eq!(email["last_event"], "failed");
    assert_eq!(email["events"][2]["failed"]["reason"], "rejected");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new(), "every reader of the message can forge the report");

    assert_eq!(report_message(&server, &message(&valid, &id)), (1, 0), "an authenticated report is accepted");
    assert_eq!(server.suppressed_addresses(), [to]);
}

#[test]
fn a_delivery_status_with_only_the_message_id_must_name_a_recipient() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let other_recipient = fixture("postfix-unknown-user", &id, "b+x.y@send.example.com");
    let in_reply_to_only = fixture("exim-unrouteable", &id, "b+x.y@send.example.com")
        .replace("\nMessage-ID:", "\nX-Message-ID:")
        .replace("unknown@example.org", "ada@example.net");

    assert_eq!(report_message(&server, &other_recipient), (0, 1), "the report names another recipient");
    assert_eq!(report_message(&server, &in_reply_to_only), (0, 1), "`In-Reply-To` does not identify the email");

    assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.delivered"]);
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn a_message_that_is_not_a_report_is_ignored() {
    let server = server();
    let to = "grace@example.org";
    let id = deliver(&server, to);
    let path = return_path(&server, to);
    for message in [
        fixture("auto-reply", &id, &path),
        fixture("arf-not-spam", &id, &path),
        String::new(),
        "Subject: hello\r\n\r\nHello".to_owned(),
        "\0\u{7f}".to_owned(),
    ] {
        assert_eq!(report_message(&server, &message), (0, 1));
    }

    assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.delivered"]);
    assert_eq!(dedup_key_count(&server), 0, "an ignored message stores no deduplication key");
}

#[test]
fn a_message_that_is_posted_twice_is_recorded_once() {
    let server = server();
    let to = "grey.grace@example.org";
    let id = deliver(&server, to);
    let message = fixture("postfix-delayed", &id, &return_path(&server, to));
    let report_message = |id: &str| counts(post(&server, "/ingest/message", id, message.as_bytes()));

    assert_eq!(report_message("msg_1"), (1, 0));
    assert_eq!(report_message("msg_1"), (0, 1));
    assert_eq!(report_message("msg_2"), (0, 1));

    assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.delivered", "email.delivery_delayed"]);
}
