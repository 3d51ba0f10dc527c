//! The permissions of each role.

use ringmail::admin::Response;
use ringmail::admin::users::UserVerb;
use ringmail::users::Role;

use super::browser::{add_user, set_up};
use crate::support::{Ids, TestServer, every_route};

/// Routes of the dashboard that the API does not have, with the lowest role. The stream of events and the checks, which use
/// the network, have tests of their own.
pub(super) const OWN_ROUTES: [(&str, &str, Role); 40] = [
    ("GET", "/me", Role::Viewer),
    ("POST", "/me/team", Role::Viewer),
    ("GET", "/sessions", Role::Viewer),
    ("DELETE", "/sessions", Role::Viewer),
    ("DELETE", "/sessions/{}", Role::Viewer),
    ("GET", "/audit", Role::Admin),
    ("GET", "/search", Role::Viewer),
    ("GET", "/overview", Role::Viewer),
    ("GET", "/connect", Role::Viewer),
    ("DELETE", "/captured", Role::Member),
    ("DELETE", "/captured/{}", Role::Member),
    ("GET", "/captured/{}/raw", Role::Viewer),
    ("GET", "/captured/{}/preview", Role::Viewer),
    ("GET", "/captured/{}/parts/0", Role::Viewer),
    ("POST", "/captured/{}/release", Role::Member),
    ("GET", "/emails/{}/preview", Role::Viewer),
    ("GET", "/emails/{}/raw", Role::Viewer),
    ("GET", "/emails/{}/request", Role::Viewer),
    ("GET", "/emails/{}/deliveries", Role::Viewer),
    ("POST", "/emails/{}/resend", Role::Member),
    ("GET", "/broadcasts/{}/content", Role::Viewer),
    ("PUT", "/broadcasts/{}/content", Role::Member),
    ("GET", "/broadcasts/{}/preview", Role::Viewer),
    ("GET", "/broadcasts/{}/rendered", Role::Viewer),
    ("GET", "/broadcasts/{}/report", Role::Viewer),
    ("POST", "/broadcasts/{}/check", Role::Member),
    ("POST", "/broadcasts/{}/test", Role::Member),
    ("POST", "/markdown", Role::Member),
    ("GET", "/queue", Role::Viewer),
    ("GET", "/queue/domain:one.example", Role::Viewer),
    ("POST", "/queue/pause", Role::Admin),
    ("POST", "/queue/resume", Role::Admin),
    ("POST", "/queue/domain:one.example/pause", Role::Admin),
    ("POST", "/queue/domain:one.example/flush", Role::Admin),
    ("POST", "/queue/domain:one.example/resume", Role::Admin),
    ("GET", "/webhooks/{}/deliveries", Role::Viewer),
    ("GET", "/webhooks/{}/deliveries/{}", Role::Viewer),
    ("POST", "/webhooks/{}/deliveries/{}/replay", Role::Admin),
    ("POST", "/webhooks/{}/rotate-secret", Role::Admin),
    ("POST", "/health/run", Role::Admin),
];

/// Changes that need more than the role `member`.
const OF_ADMINS: [&str; 5] = ["/domains", "/api-keys", "/suppressions", "/webhooks", "/queue"];

#[test]
fn each_role_permits_what_the_roles_below_it_permit_and_more() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let viewer = add_user(&server, "viewer@example.com", Role::Viewer);
    let member = add_user(&server, "member@example.com", Role::Member);
    let admin = add_user(&server, "admin@example.com", Role::Admin);

    for route in every_route(&server) {
        let path = route.path_with(Ids::UNKNOWN);
        let body = route.body();
        let is_refused = |browser: &super::browser::Browser<'_>| {
            let response = browser.api(&route.method, &path, body.as_ref());
            assert_ne!(response.status, 401, "{route}: {}", response.body);
            let is_refused = response.status == 403 && response.body.contains("invalid_access");
            assert!(!response.body.contains("does not use this endpoint"), "{route} is in no role");
            is_refused
        };
        let is_secret = route.path == "/webhooks/{id}";
        let is_read = route.method == "GET" || route.path == "/contacts/batch/get";
        let is_of_admins = is_secret || (!is_read && OF_ADMINS.iter().any(|prefix| route.path.starts_with(prefix)));

        assert_eq!(is_refused(&viewer), is_of_admins || !is_read, "{route} as a viewer");
        assert_eq!(is_refused(&member), is_of_admins, "{route} as a member");
        assert!(!is_refused(&admin), "{route} as an admin");
    }
}

#[test]
fn each_route_of_the_dashboard_alone_needs_its_role() {
    let server = TestServer::serve_with(&[]);
    let owner = set_up(&server);
    let viewer = add_user(&server, "viewer@example.com", Role::Viewer);
    let member = add_user(&server, "member@example.com", Role::Member);
    let admin = add_user(&server, "admin@example.com", Role::Admin);
    let browsers = [(Role::Viewer, &viewer), (Role::Member, &member), (Role::Admin, &admin), (Role::Owner, &owner)];

    for (method, path, lowest) in OWN_ROUTES {
        let path = path.replace("{}", Ids::UNKNOWN.email);
        for (role, browser) in browsers {
            if role.includes(lowest) && path == "/health/run" {
                continue;
            }
            let response = browser.api(method, &path, None);

            let is_refused = response.status == 403 && response.body.contains("Your role in this team is");
            assert_eq!(is_refused, !role.includes(lowest), "{method} {path} as {role:?}: {}", response.body);
            assert!(!response.body.contains("does not use this endpoint"), "{method} {path} is in no role");
            assert!(response.status != 401, "{method} {path} as {role:?}: {}", response.body);
        }
    }
}

#[test]
fn a_path_without_a_route_is_not_found_for_every_role() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let viewer = add_user(&server, "viewer@example.com", Role::Viewer);

    viewer.api("GET", "/absent", None).is_error(404, "not_found");
    // The parameter of another route would match these paths.
    for path in ["/domains/claims", "/contacts/imports/1"] {
        viewer.api("GET", path, None).is_error(404, "not_found");
        viewer.api("POST", path, None).is_error(404, "not_found");
    }
    viewer.api("GET", "/emails/batch", None).is_error(405, "method_not_allowed");
}

#[test]
fn a_changed_role_has_an_effect_on_the_next_request() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let bob = add_user(&server, "bob@example.com", Role::Viewer);
    let create = || bob.api("POST", "/topics", Some(&serde_json::json!({})));
    let refused = create();
    refused.is_error(403, "invalid_access");
    assert!(refused.body.contains("Your role in this team is viewer, and this needs member."), "{}", refused.body);

    let verb = UserVerb::Role { email: "bob@example.com".to_owned(), role: Role::Member };
    let Response::User(_) = server.admin(verb) else { panic!("the role is not changed") };

    create().is_error(422, "missing_required_field");
}
