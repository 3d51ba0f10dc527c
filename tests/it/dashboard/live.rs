//! The live stream of a session: the number of streams, and their end.

use std::time::Duration;

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use ringmail::admin::users::UserVerb;
use ringmail::base::clock::monotonic;
use ringmail::users::Role;
use serde_json::json;

use super::browser::{Browser, EMAIL, LiveStream, PASSWORD, add_user, set_up};
use crate::support::TestServer;

/// Maximum time from a change to the end of a stream. Without a notification, the server checks a session 20 seconds after
/// the last check.
const END_MAX: Duration = Duration::from_secs(15);

/// Checks that a stream ends soon and without another event.
#[track_caller]
fn ends(mut stream: LiveStream) {
    let started = monotonic();
    assert_eq!(stream.next_type(), None);
    assert!(started.elapsed() < END_MAX, "{:?}", started.elapsed());
}

fn create_contact(server: &TestServer, email: &str) {
    server.post("/contacts", &json!({ "email": email })).ok(201);
}

#[test]
fn a_session_has_the_events_of_its_team_and_at_most_four_streams() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let second = Browser::new(&server);
    second.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    let mut streams: Vec<_> = (0..4).map(|_| first.events()).collect();

    let refused = first.get("/dashboard/api/events");

    refused.is_error(429, "rate_limit_exceeded");
    assert!(refused.body.contains("A session may have 4 streams"), "{}", refused.body);
    assert_eq!(refused.header("retry-after"), "5");
    streams.push(second.events());
    create_contact(&server, "ada@example.net");
    for stream in &mut streams {
        assert_eq!(stream.next_type().as_deref(), Some("contact.created"));
    }
}

#[test]
fn a_stream_ends_with_its_session_and_no_other_one_does() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let others = [(); 3].map(|()| Browser::new(&server));
    for other in &others {
        other.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    }
    let mut kept = first.events();
    let [out, one, rest] = others.each_ref().map(Browser::events);

    others[0].post("/dashboard/logout", &[]).leads_to("/dashboard/login");
    ends(out);
    let list = others[1].api("GET", "/sessions", None).json(200);
    let current = list["data"].as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
    first.api("DELETE", &format!("/sessions/{}", current["id"].as_str().unwrap()), None).json(200);
    ends(one);
    assert_eq!(first.api("DELETE", "/sessions", None).json(200)["deleted"], 1);
    ends(rest);

    create_contact(&server, "ada@example.net");
    assert_eq!(kept.next_type().as_deref(), Some("contact.created"));
}

#[test]
fn a_stream_ends_with_a_new_password() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let other = Browser::new(&server);
    other.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    let (mut own, elsewhere) = (first.events(), other.events());

    let fields = [("action", "password"), ("password", PASSWORD), ("new_password", "another long password")];
    first.post("/dashboard/account", &fields).leads_to("/dashboard/account?password=changed");

    ends(elsewhere);
    create_contact(&server, "ada@example.net");
    assert_eq!(own.next_type().as_deref(), Some("contact.created"));
}

#[test]
fn a_stream_ends_with_another_role_another_team_and_the_end_of_the_membership() {
    let server = TestServer::serve_with(&[]);
    let mut of_ada = set_up(&server).events();
    let bob = add_user(&server, "bob@example.com", Role::Member);
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    let email = || "bob@example.com".to_owned();

    let stream = bob.events();
    let Response::User(_) = server.admin(UserVerb::Role { email: email(), role: Role::Viewer }) else {
        panic!("the role is not changed")
    };
    ends(stream);
    let stream = bob.events();
    bob.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).is_error(404, "not_found");
    let Response::User(_) = server.admin(UserVerb::Remove { email: email() }) else { panic!("bob is not removed") };
    ends(stream);
    bob.get("/dashboard/api/events").is_error(401, "missing_session");

    create_contact(&server, "ada@example.net");
    assert_eq!(of_ada.next_type().as_deref(), Some("contact.created"));
}

#[test]
fn a_stream_ends_when_its_session_shows_another_team() {
    let server = TestServer::start();
    let browser = super::captured::opened(&server);
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    let stream = browser.events();

    browser.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).json(200);

    ends(stream);
}
