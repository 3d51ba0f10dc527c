//! The link of a development server.

use std::time::Duration;

use super::browser::{Browser, setup_link};
use crate::support::TestServer;

#[test]
fn the_link_opens_the_dashboard_once() {
    let server = TestServer::start();
    let (link, browser) = (setup_link(&server), Browser::new(&server));
    browser.api("GET", "/sessions", None).is_error(401, "missing_session");

    let opened = browser.get(&link);

    opened.leads_to("/dashboard/");
    let cookie = opened.header("set-cookie");
    assert!(cookie.contains("; Path=/dashboard; ") && cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains("Secure"), "{cookie}");
    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"][0]["current"], true);
    browser.get(&link).leads_to("/dashboard/");
    let other = Browser::new(&server);
    other.get(&link).shows(404, "This link is not valid");
    assert!(!other.has_session());
    other.get("/dashboard/login").shows(200, "ringmail setup-link");
}

#[test]
fn a_new_link_replaces_the_one_before_it_and_each_ends_after_a_day() {
    let server = TestServer::start();
    let (first, second) = (setup_link(&server), setup_link(&server));

    Browser::new(&server).get(&first).shows(404, "This link is not valid");
    server.advance(Duration::from_secs(24 * 3600));
    Browser::new(&server).get(&second).shows(404, "This link is not valid");
}

#[test]
fn another_machine_and_a_proxy_can_use_neither_the_link_nor_the_session() {
    let server = TestServer::start();
    let link = setup_link(&server);
    let proxied = Browser::new(&server).with("x-forwarded-for", "192.0.2.1");
    proxied.get(&link).shows(403, "works on its machine only");

    let browser = Browser::new(&server);
    browser.get(&link).leads_to("/dashboard/");

    assert_eq!(browser.api("GET", "/sessions", None).status, 200);
    let stolen = browser.copy_with("x-forwarded-for", "192.0.2.1");
    stolen.api("GET", "/sessions", None).is_error(401, "missing_session");
}

#[test]
fn a_page_with_another_host_can_use_neither_the_link_nor_the_session() {
    let server = TestServer::start_with(&["--dashboard-hosts", "box.lan"]);
    let (link, browser) = (setup_link(&server), Browser::new(&server));

    // DNS rebinding: the name of another site resolves to this server.
    for host in ["evil.example", "evil.example:8787", "localhost.evil.example", "127.0.0.1.evil.example"] {
        Browser::new(&server).with("host", host).get(&link).is_error(404, "not_found");
    }
    // A host that is permitted, but is not this machine.
    Browser::new(&server).with("host", "box.lan").get(&link).shows(403, "works on its machine only");
    browser.get(&link).leads_to("/dashboard/");

    let with_host = |host: &str| browser.copy_with("host", host).api("GET", "/sessions", None);
    with_host("evil.example").is_error(404, "not_found");
    with_host("box.lan").is_error(401, "missing_session");
    assert_eq!(with_host("localhost").status, 200);
    assert_eq!(with_host("[::1]:8787").status, 200);
}

#[test]
fn a_page_that_is_loaded_in_advance_does_not_use_the_link_up() {
    let server = TestServer::start();
    let (link, browser) = (setup_link(&server), Browser::new(&server));

    assert_eq!(browser.request("HEAD", &link, &[], None).status, 503);
    assert_eq!(browser.request("GET", &link, &[("sec-purpose", "prefetch;prerender")], None).status, 503);
    assert!(!browser.has_session());

    browser.get(&link).leads_to("/dashboard/");
}

#[test]
fn the_session_of_a_development_server_survives_a_restart() {
    let server = TestServer::start();
    let cookie = {
        let browser = Browser::new(&server);
        browser.get(&setup_link(&server)).leads_to("/dashboard/");
        browser.cookie()
    };

    let server = server.restart_with(&[]);

    let again = Browser::new(&server).with("cookie", &cookie);
    assert_eq!(again.api("GET", "/sessions", None).status, 200);
}
