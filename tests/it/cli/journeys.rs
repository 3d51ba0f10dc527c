//! Two ways of a user through the dashboard of the program: back in after a lost password, and out everywhere else.

use std::fs;

use serde_json::Value;

use super::program::{Cli, Server};
use crate::dashboard::browser::{Browser, EMAIL, PASSWORD};

const NEW_PASSWORD: &str = "another long password";

/// Returns the path of a link.
fn path_of(link: &str) -> String {
    let (_, path) = link.split_once("/dashboard/").expect("a link to the dashboard");
    format!("/dashboard/{path}")
}

/// Creates the first account with the link of `ringmail setup-link`, and returns the browser with its session.
fn set_up<'s>(cli: &Cli, server: &'s Server) -> Browser<'s> {
    let link = cli.run(&["setup-link", "--data-dir", "data"]);
    let browser = Browser::at(server.api());
    let fields = [("email", EMAIL), ("password", PASSWORD), ("team", "Acme")];
    browser.post(&path_of(link.success()), &fields).leads_to("/dashboard/");
    browser
}

/// Returns a browser with a name and a new session.
fn signed_in<'s>(server: &'s Server, name: &str, password: &str) -> Browser<'s> {
    let browser = Browser::at(server.api()).with("user-agent", name);
    browser.sign_in(EMAIL, password).leads_to("/dashboard/");
    browser
}

fn sessions(browser: &Browser<'_>) -> Vec<Value> {
    browser.api("GET", "/sessions", None).json(200)["data"].as_array().expect("a list").clone()
}

#[test]
fn a_user_with_a_lost_password_gets_back_in_and_every_other_session_ends() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--data-dir", "data", "--log", "debug"]);
    let stolen = set_up(&cli, &server);
    let mut events = stolen.events();
    let browser = Browser::at(server.api());
    // The sign-in page names the command.
    browser.sign_in(EMAIL, "a forgotten password").shows(422, "ringmail user link EMAIL");

    let printed = cli.run(&["user", "link", EMAIL, "--data-dir", "data"]);
    let link = path_of(printed.success());
    assert!(printed.stderr.contains("The link works once, until "), "{printed:?}");
    browser.get(&link).shows(200, EMAIL);
    browser.post(&link, &[("password", NEW_PASSWORD)]).leads_to("/dashboard/");

    assert_eq!(browser.api("GET", "/me", None).json(200)["user"]["email"], EMAIL);
    assert_eq!(sessions(&browser).len(), 1);
    assert_eq!(events.next_type(), None);
    stolen.api("GET", "/me", None).is_error(401, "missing_session");
    browser.post("/dashboard/logout", &[]).leads_to("/dashboard/login");
    Browser::at(server.api()).get(&link).shows(404, "This link is not valid");
    Browser::at(server.api()).post(&link, &[("password", PASSWORD)]).shows(404, "This link is not valid");
    Browser::at(server.api()).sign_in(EMAIL, PASSWORD).shows(422, "do not match");
    let kept = signed_in(&server, "Browser/1.0", NEW_PASSWORD).cookie();
    assert_eq!(server.stop(), 0);
    let log = fs::read_to_string(cli.path("errors")).expect("the log is text");
    assert!(log.contains("set a new password with a link"), "{log}");
    let (_, secret) = link.rsplit_once('/').expect("a path");
    let (_, token) = kept.split_once('=').expect("a cookie");
    for secret in [secret, token, PASSWORD, NEW_PASSWORD] {
        assert!(!log.contains(secret), "{log}");
    }

    let server = cli.serve(&["serve", "--data-dir", "data"]);
    let browser = Browser::at(server.api()).with("cookie", &kept);
    assert_eq!(sessions(&browser).len(), 1, "a session survives a restart");
    signed_in(&server, "Browser/1.0", NEW_PASSWORD);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_user_signs_out_elsewhere_and_stays_signed_in_here() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--data-dir", "data"]);
    let here = set_up(&cli, &server);
    let [laptop, phone, tablet] = ["Laptop/1.0", "Phone/1.0", "Tablet/1.0"].map(|name| {
        let browser = signed_in(&server, name, PASSWORD);
        let events = browser.events();
        (browser, events)
    });
    let mut own = here.events();
    let listed = sessions(&here);
    assert_eq!(listed.len(), 4);
    let id_of = |name: &str| {
        let session = listed.iter().find(|session| session["user_agent"] == name).expect("the session is listed");
        session["id"].as_str().expect("an id").to_owned()
    };

    here.api("DELETE", &format!("/sessions/{}", id_of("Phone/1.0")), None).json(200);
    let ends = |(browser, mut events): (Browser<'_>, crate::dashboard::browser::LiveStream)| {
        assert_eq!(events.next_type(), None);
        browser.api("GET", "/me", None).is_error(401, "missing_session");
        browser.get("/dashboard/login").shows(200, "Sign in to");
    };
    ends(phone);
    assert_eq!(laptop.0.api("GET", "/me", None).status(), 200);
    assert_eq!(here.api("DELETE", "/sessions", None).json(200)["deleted"], 2);
    ends(laptop);
    ends(tablet);

    assert_eq!(sessions(&here).len(), 1);
    let key = cli.run(&["key", "create", "Test", "--data-dir", "data", "--json"]).json();
    let token = key["token"].as_str().expect("a token");
    assert_eq!(server.post("/contacts", token, &serde_json::json!({ "email": "ada@example.net" })).0, 201);
    assert_eq!(own.next_type().as_deref(), Some("contact.created"));
    drop(own);
    assert_eq!(server.stop(), 0);
}
