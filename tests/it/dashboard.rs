//! The routes of the dashboard.

use std::time::Duration;

use crate::support::TestServer;

/// Returns status, `content-type`, `location` and body of a response. Does not follow redirects.
fn get(server: &TestServer, path: &str, host: Option<&str>) -> (u16, String, String, String) {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(Duration::from_secs(30)))
        .build();
    let mut request = ureq::Agent::new_with_config(config).get(format!("{}{path}", server.base()));
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let response = request.call().unwrap();
    let header =
        |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let (status, kind, location) = (response.status().as_u16(), header("content-type"), header("location"));
    (status, kind, location, response.into_body().read_to_string().unwrap())
}

#[test]
fn the_dashboard_is_served_and_short_paths_redirect_to_it() {
    let server = TestServer::start();

    let (status, kind, _, body) = get(&server, "/dashboard/", None);
    assert_eq!((status, kind.as_str()), (200, "text/html; charset=utf-8"));
    assert!(body.contains("<html"), "{body}");
    assert_eq!(get(&server, "/dashboard/index.html", None).3, body);
    for path in ["/", "/dashboard"] {
        let (status, _, location, _) = get(&server, path, None);
        assert_eq!((status, location.as_str()), (307, "/dashboard/"), "{path}");
    }
    assert_eq!(get(&server, "/dashboard/absent.js", None).0, 404);
}

#[test]
fn an_unknown_host_gets_no_dashboard() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com", "--dashboard-hosts", "box.lan"]);

    for host in ["mail.example.com", "localhost:8787", "[::1]:8787", "box.lan:8787"] {
        assert_eq!(get(&server, "/dashboard/", Some(host)).0, 200, "{host}");
    }
    for path in ["/", "/dashboard", "/dashboard/", "/dashboard/index.html"] {
        let (status, kind, location, body) = get(&server, path, Some("evil.example"));
        assert_eq!((status, kind.as_str(), location.as_str()), (404, "application/json; charset=utf-8", ""), "{path}");
        assert!(body.contains(r#""name":"not_found""#), "{body}");
    }
    assert_eq!(get(&server, "/health", Some("evil.example")).0, 200);
}
