//! `ringmail send`.

use super::program::Place;

#[test]
fn an_email_is_followed_until_it_is_delivered() {
    let place = Place::new();
    let server = place.serve(&["dev"]);

    // One of the two goes through a real conversation with the built-in mailbox.
    let ran = place.run(&["send", "--to", "you@example.com", "--to", "delivered@ringmail.test"]);

    let lines: Vec<&str> = ran.line().lines().collect();
    let count = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    assert!(lines[1].contains("email.sent"), "{ran:?}");
    assert_eq!(count("email.delivered"), 2, "{ran:?}");
    let key = server.menu["key"].as_str().unwrap();
    let (status, email) = server.get(&format!("/emails/{}", lines[0]), key);
    assert_eq!((status, &email["from"]), (200, &"hello@example.com".into()));
}

#[test]
fn an_email_that_does_not_arrive_fails_the_verb_and_is_printed_all_the_same() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let to = ["--to", "delivered@ringmail.test", "--to", "bounced@ringmail.test"];
    let arguments: Vec<&str> = ["send", "--json", "--subject", "Both"].into_iter().chain(to).collect();

    let ran = place.run(&arguments);

    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("bounced@ringmail.test (bounced)"), "{ran:?}");
    let email: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&email["last_event"], &email["subject"]), (&"bounced".into(), &"Both".into()));
    assert_eq!(email["recipients"][0]["outcome"], "delivered");
    assert_eq!(email["recipients"][1]["outcome"], "undelivered");
}

#[test]
fn what_the_api_would_refuse_is_refused() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);

    place.run(&["send", "--to", "nobody"]).failed(2, &["`to`"]);
    place.run(&["send", "--to", "a@example.com", "--from", "a@other.example"]).failed(1, &["other.example"]);
    place.run(&["send", "--to", "a@example.com", "--subject", "a\nb"]).failed(2, &["`subject`"]);
    assert_eq!(place.run(&["send"]).code, 2);
}

#[test]
fn without_a_server_an_email_waits_for_one() {
    let place = Place::new();
    assert_eq!(place.serve(&["dev"]).stop(), 0);

    let sent = place.run(&["send", "--to", "delivered@ringmail.test", "--json"]);
    assert_eq!(sent.json()["last_event"], "queued");
    assert!(sent.err.contains("No server"), "{sent:?}");

    let server = place.serve(&["dev"]);
    let path = format!("/emails/{}", sent.json()["id"].as_str().unwrap());
    let key = server.menu["key"].as_str().unwrap().to_owned();
    let started = ringmail::clock::monotonic();
    while server.get(&path, &key).1["last_event"] != "delivered" {
        assert!(started.elapsed().as_secs() < 20, "{:#}", server.get(&path, &key).1);
    }
}

#[test]
fn an_email_that_is_held_is_not_waited_for_longer_than_asked() {
    let place = Place::new();
    let _server = place.serve(&["dev", "--hold"]);

    let ran = place.run(&["send", "--to", "delivered@ringmail.test", "--wait", "300ms", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("(queued)"), "{ran:?}");

    assert_eq!(place.run(&["send", "--to", "delivered@ringmail.test", "--wait", "0s"]).code, 0);
}
