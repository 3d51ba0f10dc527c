//! The own account: the password, the authenticator app and its recovery codes.

use std::time::Duration;

use aws_lc_rs::hmac;

use super::browser::{Browser, EMAIL, PASSWORD, Page, set_up, user_link};
use crate::audit;
use crate::support::TestServer;

const NEW_PASSWORD: &str = "another long password";
/// Time after which the code of an app is another one.
const STEP: Duration = Duration::from_secs(30);

/// An authenticator app, written from RFC 6238 and RFC 4648.
struct App(Vec<u8>);

impl App {
    /// Stores the key that a page shows.
    fn scan(page: &Page) -> Self {
        let (_, rest) = page.body.split_once("<code>").unwrap();
        let (key, _) = rest.split_once("</code>").unwrap();
        let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0_u32, 0);
        for symbol in key.bytes().filter(|byte| *byte != b' ') {
            let value = if symbol.is_ascii_digit() { symbol - b'2' + 26 } else { symbol - b'A' };
            (buffer, bits) = ((buffer << 5) | u32::from(value), bits + 5);
            if bits >= 8 {
                bits -= 8;
                bytes.push((buffer >> bits) as u8);
                buffer &= (1 << bits) - 1;
            }
        }
        assert_eq!(bytes.len(), 20, "{key}");
        Self(bytes)
    }

    fn code(&self, server: &TestServer) -> String {
        let step = (server.now_ms() / 30_000) as u64;
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        let at = usize::from(tag[19] & 0x0f);
        let number = u32::from_be_bytes(tag[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }
}

/// Turns the second factor on, and returns the app and the recovery codes.
fn enable(server: &TestServer, browser: &Browser<'_>) -> (App, Vec<String>) {
    let page = browser.post("/dashboard/account", &[("action", "begin")]);
    page.shows(200, "<svg class=\"auth-qr\"");
    let (app, secret) = (App::scan(&page), page.hidden("secret"));
    let enabled = |code: &str, password: &str| {
        let fields = [("action", "enable"), ("secret", secret.as_str()), ("code", code), ("password", password)];
        browser.post("/dashboard/account", &fields)
    };
    enabled("12345", PASSWORD).shows(422, "The code is wrong");
    let refused = enabled(&app.code(server), "wrong password");
    refused.shows(422, "The current password is wrong.");
    assert_eq!(refused.hidden("secret"), secret, "the app keeps its key");
    let page = enabled(&app.code(server), PASSWORD);
    page.shows(200, "Save your recovery codes");
    let codes = page.body.split("<li>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
    // The code of the enrolment is used up.
    server.advance(STEP);
    (app, codes)
}

fn enter(browser: &Browser<'_>, code: &str) -> Page {
    browser.post("/dashboard/login/code", &[("code", code)])
}

#[test]
fn a_sign_in_needs_the_code_of_the_app_and_each_code_is_valid_once() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (app, _) = enable(&server, &first);
    let browser = Browser::new(&server);
    browser.get("/dashboard/login/code").leads_to("/dashboard/login");

    let fields = [("email", EMAIL), ("password", PASSWORD), ("next", "/dashboard/logs")];
    browser.post("/dashboard/login", &fields).leads_to("/dashboard/login/code?next=/dashboard/logs");

    assert!(!browser.has_session());
    browser.api("GET", "/sessions", None).is_error(401, "missing_session");
    let page = browser.get("/dashboard/login/code?next=/dashboard/logs");
    page.shows(200, "Code of your authenticator app");
    let code = app.code(&server);
    let wrong = if code == "000000" { "000001" } else { "000000" };
    enter(&browser, wrong).shows(422, "4 attempts are left");
    let next = page.hidden("next");
    browser
        .post("/dashboard/login/code", &[("code", code.as_str()), ("next", next.as_str())])
        .leads_to("/dashboard/logs");
    assert_eq!(browser.api("GET", "/sessions", None).status, 200);

    let again = Browser::new(&server);
    again.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    enter(&again, &code).shows(422, "used before");
    server.advance(STEP);
    enter(&again, &app.code(&server)).leads_to("/dashboard/");
}

#[test]
fn of_two_simultaneous_uses_of_a_code_one_succeeds() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (app, codes) = enable(&server, &first);

    for code in [app.code(&server), codes[0].clone()] {
        let cookies = [(); 2].map(|()| {
            let browser = Browser::new(&server);
            browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
            browser.cookie()
        });
        let barrier = std::sync::Barrier::new(2);
        let mut statuses = std::thread::scope(|scope| {
            let post = |cookie: String| {
                let (base, barrier, code) = (server.base(), &barrier, &code);
                scope.spawn(move || {
                    let browser = Browser::at(base).with("cookie", &cookie);
                    barrier.wait();
                    enter(&browser, code).status
                })
            };
            cookies.map(post).map(|thread| thread.join().unwrap())
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 422], "{code}");
    }
}

#[test]
fn a_recovery_code_replaces_the_app_once() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (_, codes) = enable(&server, &first);
    assert_eq!(codes.len(), 10);

    let browser = Browser::new(&server);
    browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    enter(&browser, &codes[0].to_uppercase()).leads_to("/dashboard/account");

    browser.get("/dashboard/account").shows(200, "9 of 10 recovery codes are left");
    let again = Browser::new(&server);
    again.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    enter(&again, &codes[0]).shows(422, "used before");
    enter(&again, &codes[1]).leads_to("/dashboard/account");
}

#[test]
fn five_wrong_codes_and_five_minutes_end_the_wait_for_a_code() {
    let server = TestServer::serve_with(&["--trusted-proxies", "127.0.0.1"]);
    let first = set_up(&server);
    let (app, codes) = enable(&server, &first);
    for number in 0..5 {
        let browser = Browser::new(&server).with("x-forwarded-for", &format!("192.0.2.{number}"));
        browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
        enter(&browser, "12345").shows(422, "The code is wrong");
    }
    let browser = Browser::new(&server);
    browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    enter(&browser, &app.code(&server)).shows(429, "Too many failed attempts");

    server.advance(Duration::from_secs(15 * 60));
    browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    server.advance(Duration::from_secs(5 * 60));
    enter(&browser, &codes[0]).shows(422, "The time for the code is over");
    assert!(!browser.has_session());
}

#[test]
fn a_cookie_of_someone_else_does_not_continue_a_sign_in() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (app, _) = enable(&server, &first);

    for pending in ["x", "AAAA", &"A".repeat(82), &"A".repeat(4_000)] {
        let browser = Browser::new(&server).with("cookie", &format!("ringmail_sign_in={pending}"));
        enter(&browser, &app.code(&server)).shows(422, "The time for the code is over");
        assert!(!browser.has_session());
    }
}

#[test]
fn a_new_password_needs_the_current_one_and_ends_the_other_sessions() {
    let server = TestServer::serve_with(&[]);
    let (first, other) = (set_up(&server), Browser::new(&server));
    other.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    let change = |current: &str, new: &str| {
        first.post("/dashboard/account", &[("action", "password"), ("password", current), ("new_password", new)])
    };

    change("wrong password", NEW_PASSWORD).shows(422, "The current password is wrong.");
    change(PASSWORD, "short").shows(422, "at least 12 characters");
    change(PASSWORD, NEW_PASSWORD).leads_to("/dashboard/account?password=changed");

    first.get("/dashboard/account?password=changed").shows(200, "The password is changed.");
    other.api("GET", "/sessions", None).is_error(401, "missing_session");
    Browser::new(&server).sign_in(EMAIL, PASSWORD).shows(422, "do not match");
    Browser::new(&server).sign_in(EMAIL, NEW_PASSWORD).leads_to("/dashboard/");
}

#[test]
fn the_app_is_removed_and_its_recovery_codes_are_replaced_with_the_password() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let (_, codes) = enable(&server, &first);
    let act =
        |action: &str, password: &str| first.post("/dashboard/account", &[("action", action), ("password", password)]);

    act("codes", "wrong password").shows(422, "The current password is wrong.");
    let page = act("codes", PASSWORD);
    page.shows(200, "Save your recovery codes");
    assert!(!page.body.contains(&codes[0]), "{}", page.body);
    let browser = Browser::new(&server);
    browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/login/code");
    enter(&browser, &codes[0]).shows(422, "The code is wrong");

    act("disable", "wrong password").shows(422, "The current password is wrong.");
    act("disable", PASSWORD).leads_to("/dashboard/account?factor=removed");
    Browser::new(&server).sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
}

#[test]
fn each_change_of_the_second_factor_leaves_one_entry_without_secrets() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    let mut secrets = vec![PASSWORD.to_owned()];
    let entries = audit::recorded(&server, || {
        let (_, codes) = enable(&server, &first);
        secrets.extend(codes);
        let act = |action: &str| first.post("/dashboard/account", &[("action", action), ("password", PASSWORD)]);
        act("codes").shows(200, "Save your recovery codes");
        act("disable").leads_to("/dashboard/account?factor=removed");
    });

    let expected = ["user.second_factor_set", "user.recovery_codes_replaced", "user.second_factor_removed"];
    assert_eq!(audit::actions(&entries), expected);
    for entry in &entries {
        assert_eq!((entry.actor.kind.as_str(), entry.actor.name.as_deref()), ("user", Some(EMAIL)));
        assert!(entry.team_id.is_some(), "{entry:?}");
        assert!(secrets.iter().all(|secret| !format!("{entry:?}").contains(secret)), "{entry:?}");
    }
}

#[test]
fn a_link_removes_the_app_only_on_request() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    enable(&server, &first);

    let link = user_link(&server, EMAIL);
    Browser::new(&server).get(&link).shows(200, "Remove the authenticator app");
    Browser::new(&server).post(&link, &[("password", NEW_PASSWORD)]).leads_to("/dashboard/");
    Browser::new(&server).sign_in(EMAIL, NEW_PASSWORD).leads_to("/dashboard/login/code");

    let fields = [("password", NEW_PASSWORD), ("remove_second_factor", "1")];
    Browser::new(&server).post(&user_link(&server, EMAIL), &fields).leads_to("/dashboard/");
    Browser::new(&server).sign_in(EMAIL, NEW_PASSWORD).leads_to("/dashboard/");
}

#[test]
fn the_account_page_needs_a_session_of_a_user() {
    let server = TestServer::serve_with(&[]);
    let browser = Browser::new(&server);
    browser.get("/dashboard/account").leads_to("/dashboard/login?next=/dashboard/account");
    let begun = browser.post("/dashboard/account", &[("action", "begin")]);
    begun.leads_to("/dashboard/login?next=/dashboard/account");
    drop(browser);

    let server = TestServer::start();
    let browser = Browser::new(&server);
    browser.get(&super::browser::setup_link(&server)).leads_to("/dashboard/");
    browser.get("/dashboard/account").shows(404, "A development server has no accounts");
}
