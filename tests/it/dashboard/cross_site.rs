//! Requests that other sites make a browser send.

use serde_json::json;

use super::browser::{Browser, EMAIL, PASSWORD, set_up, setup_link, user_link};
use super::roles::OWN_ROUTES;
use crate::support::{Ids, TestServer, every_route};

#[test]
fn a_change_without_the_header_of_the_dashboard_is_refused() {
    let server = TestServer::serve_with(&[]);
    let (browser, other) = (set_up(&server), Browser::new(&server));
    other.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");

    for headers in [&[][..], &[("x-ringmail-dashboard", "0")], &[("content-type", "text/plain")]] {
        let refused = browser.request("DELETE", "/dashboard/api/sessions", headers, None);
        refused.is_error(403, "invalid_access");
    }
    let body = json!({ "team_id": "x" }).to_string();
    let form = [("content-type", "text/plain")];
    browser.request("POST", "/dashboard/api/me/team", &form, Some(&body)).is_error(403, "invalid_access");

    assert_eq!(other.api("GET", "/sessions", None).status, 200);
    assert_eq!(browser.api("DELETE", "/sessions", None).json(200)["deleted"], 1);
    assert_eq!(other.api("GET", "/sessions", None).status, 401);
}

#[test]
fn every_route_that_changes_data_needs_the_header_of_the_dashboard() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let of_api = every_route(&server).into_iter().map(|route| (route.path_with(Ids::UNKNOWN), route.method));
    let own = OWN_ROUTES.map(|(method, path, _)| (path.replace("{}", Ids::UNKNOWN.email), method.to_owned()));
    let changes: Vec<_> = of_api.chain(own).filter(|(_, method)| method != "GET").collect();
    assert!(changes.len() > 40, "{changes:?}");

    for (path, method) in &changes {
        // The types of bodies that a form of another site can send, and the type that a page sends.
        for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/json"] {
            let body = (method != "DELETE").then_some("{}");
            let headers = [("content-type", content_type)];
            let refused = browser.request(method, &format!("/dashboard/api{path}"), &headers, body);

            refused.is_error(403, "invalid_access");
            assert!(refused.body.contains("needs the header `x-ringmail-dashboard: 1`"), "{method} {path}");
        }
    }
}

#[test]
fn another_origin_gets_no_permission_for_the_header() {
    let preflight = [
        ("origin", "https://evil.example"),
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "x-ringmail-dashboard"),
    ];
    for origins in [&[][..], &["--cors-origins", "*"]] {
        let server = TestServer::serve_with(origins);
        let browser = set_up(&server);

        let response = browser.request("OPTIONS", "/dashboard/api/sessions", &preflight, None);

        assert!(!response.header("access-control-allow-headers").contains("x-ringmail"), "{response:?}");
        assert_eq!(response.header("access-control-allow-credentials"), "", "{response:?}");
        assert_eq!(response.status >= 400, origins.is_empty(), "{response:?}");
    }
}

#[test]
fn a_form_of_another_site_changes_nothing() {
    let server = TestServer::serve_with(&[]);
    let link = setup_link(&server);
    let account = [("email", EMAIL), ("password", PASSWORD), ("team", "Acme")];
    let foreign = [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for (name, value) in foreign {
        Browser::new(&server).with(name, value).post(&link, &account).shows(403, "The form was refused");
    }
    let browser = set_up(&server);
    let new = user_link(&server, EMAIL);

    for (name, value) in foreign {
        let other = Browser::new(&server).with(name, value);
        other.sign_in(EMAIL, PASSWORD).shows(403, "The form was refused");
        other.post("/dashboard/login/code", &[("code", "1")]).shows(403, "The form was refused");
        other.post(&new, &[("password", PASSWORD)]).shows(403, "The form was refused");
        assert!(!other.has_session());
        // Even if the browser would send the cookie.
        let riding = browser.copy_with(name, value);
        riding.post("/dashboard/logout", &[]).shows(403, "The form was refused");
        riding.post("/dashboard/account", &[("action", "begin")]).shows(403, "The form was refused");
    }

    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"].as_array().unwrap().len(), 1);
    let own = server.base().to_owned();
    let same = browser.copy_with("origin", &own);
    same.post("/dashboard/logout", &[]).leads_to("/dashboard/login");
}

#[test]
fn a_link_of_another_site_changes_nothing() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);

    for path in ["/dashboard/logout", "/dashboard/account?action=begin", "/dashboard/login?email=a&password=b"] {
        browser.get(path);
    }

    assert_eq!(browser.api("GET", "/sessions", None).json(200)["data"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_host_gets_no_page_and_no_session() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let rebound = browser.copy_with("host", "evil.example");

    for path in ["/dashboard/login", "/dashboard/account", "/dashboard/api/sessions"] {
        rebound.get(path).is_error(404, "not_found");
    }
    let posted = rebound.sign_in(EMAIL, PASSWORD);
    posted.is_error(404, "not_found");
}
