//! Sign-in by the header of a trusted proxy.

use ringmail::admin::Response;
use ringmail::admin::users::UserVerb;
use ringmail::users::Role;
use serde_json::Value;

use super::browser::{Browser, EMAIL, set_up};
use crate::support::TestServer;

const FLAGS: [&str; 4] = ["--trusted-proxies", "127.0.0.1", "--auth-proxy-header", "X-Email"];

#[test]
fn the_header_of_a_trusted_proxy_signs_its_user_in() {
    let server = TestServer::serve_with(&FLAGS);
    let added = server.admin(UserVerb::Create { email: EMAIL.to_owned(), role: None });
    assert!(matches!(added, Response::User(_)), "{added:?}");
    let proxied = Browser::new(&server).with("x-email", "ADA@example.com").with("x-forwarded-for", "192.0.2.7");

    proxied.get("/dashboard/login?next=/dashboard/logs").leads_to("/dashboard/logs");

    let session = &proxied.api("GET", "/sessions", None).json(200)["data"][0];
    assert_eq!((session["current"].as_bool(), session["ip"].as_str()), (Some(true), Some("192.0.2.7")));
    proxied.get("/dashboard/account").shows(200, "You sign in through the proxy");
}

#[test]
fn each_request_of_such_a_session_needs_the_header_of_the_same_user() {
    let server = TestServer::serve_with(&FLAGS);
    for email in [EMAIL, "bob@example.com"] {
        server.admin(UserVerb::Create { email: email.to_owned(), role: None });
    }
    let proxied = Browser::new(&server).with("x-email", EMAIL);
    proxied.get("/dashboard/login").leads_to("/dashboard/");
    let cookie = proxied.cookie();

    for header in [None, Some("bob@example.com"), Some("")] {
        let mut browser = Browser::new(&server).with("cookie", &cookie);
        if let Some(value) = header {
            browser = browser.with("x-email", value);
        }
        browser.api("GET", "/sessions", None).is_error(401, "missing_session");
    }
    assert_eq!(proxied.api("GET", "/sessions", None).status, 200);
}

#[test]
fn a_sign_out_ends_the_session_and_says_that_the_proxy_signs_in_again() {
    let server = TestServer::serve_with(&FLAGS);
    server.admin(UserVerb::Create { email: EMAIL.to_owned(), role: None });
    let proxied = Browser::new(&server).with("x-email", EMAIL);
    proxied.get("/dashboard/login").leads_to("/dashboard/");
    let ended = Browser::new(&server).with("x-email", EMAIL).with("cookie", &proxied.cookie());

    proxied.post("/dashboard/logout", &[]).shows(200, "You are signed out");

    assert!(!proxied.has_session());
    ended.api("GET", "/sessions", None).is_error(401, "missing_session");
    proxied.get("/dashboard/login").leads_to("/dashboard/");
}

#[test]
fn a_development_server_shows_its_key_to_admins_only() {
    let server = TestServer::start_with(&FLAGS);
    for (email, role, shown) in [
        ("viewer@example.com", Role::Viewer, Value::Null),
        ("member@example.com", Role::Member, Value::Null),
        ("admin@example.com", Role::Admin, Value::from(server.key())),
    ] {
        server.admin(UserVerb::Create { email: email.to_owned(), role: Some(role) });
        let proxied = Browser::new(&server).with("x-email", email);
        proxied.get("/dashboard/login").leads_to("/dashboard/");

        assert_eq!(proxied.api("GET", "/connect", None).json(200)["first_key"], shown, "{email}");
    }
}

#[test]
fn a_user_without_a_team_and_a_repeated_header_get_no_session() {
    let server = TestServer::serve_with(&FLAGS);
    set_up(&server);

    let unknown = Browser::new(&server).with("x-email", "nobody@example.com");
    unknown.get("/dashboard/login").shows(403, "ringmail user create");
    let repeated = Browser::new(&server).with("x-email", EMAIL).with("x-email", EMAIL);
    repeated.get("/dashboard/login").shows(200, "Sign in to");

    assert!(!unknown.has_session() && !repeated.has_session());
}

#[test]
fn the_header_of_another_client_and_without_the_setting_has_no_effect() {
    for flags in [
        &["--trusted-proxies", "192.0.2.0/24", "--auth-proxy-header", "X-Email"][..],
        &["--trusted-proxies", "127.0.0.1"],
    ] {
        let server = TestServer::serve_with(flags);
        set_up(&server);
        let browser = Browser::new(&server).with("x-email", EMAIL);

        browser.get("/dashboard/login").shows(200, "Sign in to");

        assert!(!browser.has_session());
    }
}
