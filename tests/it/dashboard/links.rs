//! The first account, and the way back in.

use std::time::Duration;

use ringmail::admin::access::AccessVerb;
use ringmail::admin::users::UserVerb;
use ringmail::admin::{AdminErrorKind, Response};
use ringmail::users::Role;

use super::browser::{Browser, EMAIL, PASSWORD, add_user, set_up, setup_link, user_link};
use crate::support::TestServer;

const NEW_PASSWORD: &str = "another long password";

#[track_caller]
fn refused(response: Response, kind: AdminErrorKind) -> String {
    let Response::Refused(error) = response else { panic!("expected an error, got {response:?}") };
    assert_eq!(error.reason, kind, "{}", error.message);
    error.message
}

#[test]
fn a_setup_link_creates_the_first_account_once() {
    let server = TestServer::serve_with(&[]);
    let (link, browser) = (setup_link(&server), Browser::new(&server));
    browser.get("/dashboard/login").shows(200, "ringmail setup-link");
    browser.get(&link).shows(200, "valid for 30 more minutes");

    let fields = [("email", EMAIL), ("password", PASSWORD), ("team", "Acme & Söhne")];
    browser.post(&link, &fields).leads_to("/dashboard/");

    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"][0]["current"], true);
    let Response::Teams(teams) = server.admin(ringmail::admin::teams::TeamVerb::List) else { panic!("no teams") };
    assert_eq!(teams.data[0].name, "Acme & Söhne");
    let Response::Users(users) = server.admin(UserVerb::List { after: None }) else { panic!("no users") };
    assert_eq!((users.data[0].email.as_str(), users.data[0].role.as_str()), (EMAIL, "owner"));
    Browser::new(&server).get(&link).shows(404, "This link is not valid");
    Browser::new(&server).post(&link, &fields).shows(404, "This link is not valid");
    let message = refused(server.admin(AccessVerb::SetupLink {}), AdminErrorKind::Conflict);
    assert!(message.contains("ringmail user link"), "{message}");
}

#[test]
fn a_setup_link_ends_after_30_minutes_and_with_a_newer_one() {
    let server = TestServer::serve_with(&[]);
    let (first, second) = (setup_link(&server), setup_link(&server));
    let browser = Browser::new(&server);

    browser.get(&first).shows(404, "This link is not valid");
    server.advance(Duration::from_secs(29 * 60));
    browser.get(&second).shows(200, "valid for 1 more minute<");
    server.advance(Duration::from_secs(60));
    browser.get(&second).shows(404, "This link is not valid");
    let fields = [("email", EMAIL), ("password", PASSWORD), ("team", "Acme")];
    browser.post(&second, &fields).shows(404, "This link is not valid");
    assert!(!browser.has_session());
}

#[test]
fn an_invalid_form_is_shown_again_with_its_values_and_keeps_the_link() {
    let server = TestServer::serve_with(&[]);
    let (link, browser) = (setup_link(&server), Browser::new(&server));
    let long = "x".repeat(81);

    for (email, password, team, problem) in [
        ("no address", PASSWORD, "Acme", "This is not an email address"),
        (EMAIL, "short", "Acme", "at least 12 characters"),
        (EMAIL, "aaaaaaaaaaaaaaaa", "Acme", "easy to guess"),
        (EMAIL, PASSWORD, long.as_str(), "1 to 80 characters"),
    ] {
        let page = browser.post(&link, &[("email", email), ("password", password), ("team", team)]);
        page.shows(422, problem);
        assert!(page.body.contains(&format!("value=\"{email}\"")), "{}", page.body);
        assert!(!page.body.contains(password), "a page never contains a password: {}", page.body);
    }

    browser.post(&link, &[("email", EMAIL), ("password", PASSWORD), ("team", "Acme")]).leads_to("/dashboard/");
}

#[test]
fn the_first_account_can_be_that_of_a_user_of_the_command_line() {
    let server = TestServer::serve_with(&[]);
    let added = server.admin(UserVerb::Create { email: EMAIL.to_owned(), role: Some(Role::Member) });
    assert!(matches!(added, Response::User(_)), "{added:?}");

    set_up(&server);

    let Response::Users(users) = server.admin(UserVerb::List { after: None }) else { panic!("no users") };
    assert_eq!(users.data.len(), 1);
    assert_eq!(users.data[0].role, "owner");
}

#[test]
fn a_link_sets_a_new_password_once_and_ends_all_sessions_of_the_user() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (link, browser) = (user_link(&server, EMAIL), Browser::new(&server));
    browser.get(&link).shows(200, EMAIL);
    browser.post(&link, &[("password", "short")]).shows(422, "at least 12 characters");

    browser.post(&link, &[("password", NEW_PASSWORD)]).leads_to("/dashboard/");

    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"].as_array().unwrap().len(), 1);
    first.api("GET", "/sessions", None).is_error(401, "missing_session");
    Browser::new(&server).get(&link).shows(404, "This link is not valid");
    Browser::new(&server).sign_in(EMAIL, PASSWORD).shows(422, "do not match");
    Browser::new(&server).sign_in(EMAIL, NEW_PASSWORD).leads_to("/dashboard/");
}

#[test]
fn of_two_simultaneous_uses_of_a_link_one_succeeds() {
    let server = TestServer::serve_with(&[]);
    // Returns the statuses of two posts at the same time, in ascending order.
    let race = |link: &str, fields: [&[(&str, &str)]; 2]| {
        let barrier = std::sync::Barrier::new(2);
        let mut statuses = std::thread::scope(|scope| {
            let post = |fields| {
                let (base, barrier) = (server.base(), &barrier);
                scope.spawn(move || {
                    let browser = Browser::at(base);
                    barrier.wait();
                    browser.post(link, fields).status
                })
            };
            fields.map(post).map(|thread| thread.join().unwrap())
        });
        statuses.sort_unstable();
        statuses
    };
    let account = |email| [("email", email), ("password", PASSWORD), ("team", "Acme")];

    let first = race(&setup_link(&server), [&account("one@example.com"), &account("two@example.com")]);

    assert_eq!(first, [303, 404]);
    let Response::Users(users) = server.admin(UserVerb::List { after: None }) else { panic!("no users") };
    assert_eq!(users.data.len(), 1, "{users:?}");
    let link = user_link(&server, &users.data[0].email);
    assert_eq!(race(&link, [&[("password", PASSWORD)], &[("password", NEW_PASSWORD)]]), [303, 404]);
}

#[test]
fn a_link_for_a_user_ends_after_30_minutes_and_needs_a_user() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let link = user_link(&server, EMAIL);
    server.advance(Duration::from_secs(30 * 60));

    Browser::new(&server).get(&link).shows(404, "This link is not valid");
    let unknown = server.admin(UserVerb::Link { email: "nobody@example.com".to_owned() });
    assert!(refused(unknown, AdminErrorKind::NotFound).contains("ringmail user create"));
    refused(server.admin(UserVerb::Link { email: "nobody".to_owned() }), AdminErrorKind::Invalid);
}

#[test]
fn a_removed_user_has_no_link_no_password_and_no_session() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let bob = add_user(&server, "bob@example.com", Role::Admin);
    let link = user_link(&server, "bob@example.com");

    let removed = server.admin(UserVerb::Remove { email: "bob@example.com".to_owned() });

    assert!(matches!(removed, Response::User(_)), "{removed:?}");
    bob.api("GET", "/sessions", None).is_error(401, "missing_session");
    Browser::new(&server).get(&link).shows(404, "This link is not valid");
    Browser::new(&server).sign_in("bob@example.com", PASSWORD).shows(422, "do not match");
}

#[test]
fn a_development_server_has_no_links_for_users() {
    let server = TestServer::start();

    let message = refused(server.admin(UserVerb::Link { email: EMAIL.to_owned() }), AdminErrorKind::Conflict);

    assert!(message.contains("ringmail setup-link"), "{message}");
}

#[test]
fn the_pages_have_a_policy_without_scripts_and_their_address_stays_private() {
    let server = TestServer::serve_with(&[]);
    let (link, browser) = (setup_link(&server), Browser::new(&server));
    let setup = browser.get(&link);
    set_up(&server);

    for page in [setup, browser.get("/dashboard/login"), browser.get("/dashboard/link/unknown")] {
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("script"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{policy}");
        assert_eq!((page.header("cache-control"), page.header("referrer-policy")), ("no-store", "same-origin"));
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert!(!page.body.contains("<script") && !page.body.contains(" style="), "{}", page.body);
    }
}

#[test]
fn every_file_of_a_page_is_served() {
    let server = TestServer::serve_with(&[]);
    let page = Browser::new(&server).get("/dashboard/login");

    let links: Vec<&str> = page.body.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let files: Vec<&&str> = links.iter().filter(|link| link.ends_with(".css") || link.ends_with(".svg")).collect();

    assert!(files.len() > 5, "{links:?}");
    for file in files {
        let served = Browser::new(&server).get(file);
        let kind = if file.ends_with(".css") { "text/css; charset=utf-8" } else { "image/svg+xml" };
        assert_eq!((served.status, served.header("content-type")), (200, kind), "{file}");
    }
}
