//! Sign-in with a password, its limits, and the sign-out.

use std::time::Duration;

use ringmail::admin::users::UserVerb;
use ringmail::base::clock::monotonic;

use super::browser::{Browser, EMAIL, PASSWORD, set_up};
use crate::support::TestServer;

/// Makes the client of a request the address in `X-Forwarded-For`.
const BEHIND_PROXY: [&str; 2] = ["--trusted-proxies", "127.0.0.1"];

fn from<'s>(server: &'s TestServer, address: &str) -> Browser<'s> {
    Browser::new(server).with("x-forwarded-for", address)
}

#[test]
fn a_password_starts_a_session_and_the_sign_out_ends_it() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let browser = Browser::new(&server);
    browser.get("/dashboard/login").shows(200, "Sign in to 127.0.0.1");

    let signed_in = browser.sign_in("ADA@Example.com", PASSWORD);

    signed_in.leads_to("/dashboard/");
    assert_eq!(signed_in.header("cache-control"), "no-store");
    let token = browser.cookie();
    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"].as_array().unwrap().len(), 2);
    browser.get("/dashboard/login").leads_to("/dashboard/");
    browser.post("/dashboard/logout", &[]).leads_to("/dashboard/login");
    assert!(!browser.has_session());
    let stolen = Browser::new(&server).with("cookie", &token);
    stolen.api("GET", "/sessions", None).is_error(401, "missing_session");
}

#[test]
fn a_cookie_needs_https_on_the_host_of_a_public_url_with_https() {
    let server = TestServer::serve_with(&["--public-url", "https://mail.example.com", "--dashboard-hosts", "box.lan"]);
    set_up(&server);

    for (host, is_secure) in
        [("mail.example.com", true), ("MAIL.example.com:443", true), ("127.0.0.1:8787", false), ("box.lan", false)]
    {
        let browser = Browser::new(&server).with("host", host);
        let cookie = browser.sign_in(EMAIL, PASSWORD).header("set-cookie").to_owned();
        assert_eq!(cookie.ends_with("; Secure"), is_secure, "{host}: {cookie}");
        assert!(cookie.starts_with("ringmail_session="), "{cookie}");
    }
}

#[test]
fn a_cookie_needs_https_if_the_browser_or_a_proxy_names_it() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let https = server.base().replace("http://", "https://");

    for (name, value, is_secure) in [
        ("origin", https.as_str(), true),
        ("origin", server.base(), false),
        ("x-forwarded-proto", "https", true),
        ("x-forwarded-proto", "HTTPS, http", true),
        ("x-forwarded-proto", "http, https", false),
    ] {
        let cookie = Browser::new(&server).with(name, value).sign_in(EMAIL, PASSWORD).header("set-cookie").to_owned();
        assert!(cookie.starts_with("ringmail_session="), "{name}: {value}: {cookie}");
        assert_eq!(cookie.ends_with("; Secure"), is_secure, "{name}: {value}: {cookie}");
    }
}

#[test]
fn the_page_that_needed_the_sign_in_follows_and_no_other_site() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let browser = Browser::new(&server);
    let page = browser.get("/dashboard/login?next=/dashboard/emails%3Fstatus%3Dbounced");
    assert_eq!(page.hidden("next"), "/dashboard/emails?status=bounced");

    for (next, expected) in [
        ("/dashboard/emails?status=bounced", "/dashboard/emails?status=bounced"),
        ("https://evil.example/", "/dashboard/"),
        ("//evil.example/", "/dashboard/"),
        ("/dashboard/api/emails", "/dashboard/"),
        ("/dashboard/emails/%2e%2e/../unsubscribe/x", "/dashboard/"),
    ] {
        let browser = Browser::new(&server);
        let fields = [("email", EMAIL), ("password", PASSWORD), ("next", next)];
        browser.post("/dashboard/login", &fields).leads_to(expected);
    }
}

#[test]
fn a_wrong_password_and_an_unknown_address_have_the_same_response() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    server.admin(UserVerb::Create { email: "new@example.com".to_owned(), role: None });

    let page = |email: &str, password: &str| {
        let page = Browser::new(&server).sign_in(email, password);
        page.shows(422, "Email and password do not match.");
        assert!(!page.body.contains(password) && page.header("set-cookie").is_empty());
        page.body.replace(email, "ADDRESS")
    };

    let wrong = page(EMAIL, "wrong password");
    assert_eq!(page("nobody@example.com", "wrong password"), wrong);
    assert_eq!(page("new@example.com", "wrong password"), wrong, "a user without a password");
}

#[test]
fn an_unknown_address_takes_as_long_as_a_wrong_password() {
    let server = TestServer::serve_with(&BEHIND_PROXY);
    set_up(&server);
    // The shortest of several times is that without other load.
    let shortest = |email: &str, block: u8| {
        let times = (1..=8_u8).map(|number| {
            let browser = from(&server, &format!("192.0.{block}.{number}"));
            let started = monotonic();
            browser.sign_in(email, "wrong password").shows(422, "do not match");
            started.elapsed()
        });
        times.min().unwrap()
    };
    shortest(EMAIL, 0);

    let (known, unknown) = (shortest(EMAIL, 2), shortest("nobody@example.com", 3));

    let (shorter, longer) = (known.min(unknown), known.max(unknown));
    assert!(longer < shorter * 3, "known {known:?}, unknown {unknown:?}");
    // The hash is most of the time, so that its absence would be seen.
    assert!(shorter > Duration::from_millis(5), "known {known:?}, unknown {unknown:?}");
}

#[test]
fn five_failed_attempts_lock_a_client_out_of_an_account_for_15_minutes() {
    let server = TestServer::serve_with(&BEHIND_PROXY);
    set_up(&server);
    let browser = from(&server, "192.0.2.1");
    for left in ["4 attempts are left", "3 attempts", "2 attempts", "1 attempt is left", "No attempt is left"] {
        browser.sign_in(EMAIL, "wrong password").shows(422, left);
    }

    let refused = browser.sign_in(EMAIL, PASSWORD);

    refused.shows(429, "Try again in 15 minutes.");
    assert_eq!(refused.header("retry-after"), "900");
    from(&server, "198.51.100.1").sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    server.advance(Duration::from_secs(15 * 60 - 1));
    browser.sign_in(EMAIL, PASSWORD).shows(429, "Try again in 1 minute.");
    server.advance(Duration::from_secs(1));
    browser.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
}

#[test]
fn a_client_cannot_try_many_accounts_nor_escape_within_its_ipv6_network() {
    let server = TestServer::serve_with(&BEHIND_PROXY);
    set_up(&server);
    for number in 0..20 {
        let browser = from(&server, &format!("2001:db8::{number:x}"));
        browser.sign_in(&format!("user{number}@example.com"), "wrong password").shows(422, "do not match");
    }

    from(&server, "2001:db8::ffff").sign_in(EMAIL, PASSWORD).shows(429, "Too many failed attempts");
    from(&server, "2001:db8:0:1::1").sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
}

#[test]
fn a_flood_of_passwords_is_refused_before_it_is_hashed() {
    let server = TestServer::serve_with(&BEHIND_PROXY);
    set_up(&server);
    // Two hashes are computed at a time, and 32 requests compute one or wait.
    let flood = |round: u32| {
        let barrier = std::sync::Barrier::new(96);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..96)
                .map(|number| {
                    let (base, barrier) = (server.base(), &barrier);
                    scope.spawn(move || {
                        let browser = Browser::at(base).with("x-forwarded-for", &format!("10.{round}.0.{number}"));
                        barrier.wait();
                        browser.sign_in(&format!("user{round}.{number}@example.com"), "wrong password")
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    };

    // The threads of the test may start slowly on a busy machine.
    let refused = (0..20).flat_map(flood).find(|page| page.status == 503).expect("no sign-in is refused");

    refused.shows(503, "too many passwords");
    assert_eq!(refused.header("retry-after"), "5");
    from(&server, "192.0.2.1").sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
}

#[test]
fn a_client_that_is_no_trusted_proxy_cannot_choose_its_address() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    for number in 0..5 {
        let browser = from(&server, &format!("192.0.2.{number}"));
        browser.sign_in(EMAIL, "wrong password").shows(422, "do not match");
    }

    from(&server, "192.0.2.200").sign_in(EMAIL, PASSWORD).shows(429, "Too many failed attempts");
}

#[test]
fn a_form_that_is_incomplete_too_long_or_of_another_type_is_refused() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let browser = Browser::new(&server);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let long = format!("email={}", "a".repeat(10_000));
    let many = "a=1&".repeat(100);
    for body in [long.as_str(), &many] {
        browser.request("POST", "/dashboard/login", &form, Some(body)).shows(400, "The form was refused");
    }

    let json = [("content-type", "application/json")];
    browser.request("POST", "/dashboard/login", &json, Some("{}")).shows(400, "The form was refused");
    browser.request("POST", "/dashboard/login", &form, Some("")).shows(422, "do not match");
}
