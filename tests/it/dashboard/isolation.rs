//! The routes of the dashboard show and change nothing of another team.

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use serde_json::{Value, json};

use super::captured::{captured, opened};
use crate::support::{MailServer, StartTls, TestServer, retry_until_ok};

#[test]
fn no_route_shows_or_changes_the_data_of_another_team() {
    let mail = MailServer::start(StartTls::NotOffered);
    let smarthost = format!("out=smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let server = TestServer::start_with(&["--smarthost", &smarthost, "--release", "out"]);
    let browser = opened(&server);
    let first_team = browser.api("GET", "/me", None).json(200)["team"]["id"].clone();
    let new = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"] });
    let webhook = server.post("/webhooks", &new).ok(201)["id"].as_str().unwrap().to_owned();
    let domain = server.post("/domains", &json!({ "name": "shop.example" })).ok(201);
    let (email, message) = captured(
        &server,
        &browser,
        json!({ "to": "ada@example.net", "attachments": [{ "filename": "a.txt", "content": "aGk=" }] }),
    );
    let delivery = retry_until_ok("the delivery", || {
        let list = browser.api("GET", &format!("/webhooks/{webhook}/deliveries"), None).json(200);
        list["data"][0]["id"].as_str().map(str::to_owned).ok_or_else(|| list.to_string())
    });
    let request = server.get("/logs").ok(200)["data"][0]["id"].as_str().unwrap().to_owned();
    let routes = [
        ("GET", format!("/emails/{email}/preview")),
        ("GET", format!("/emails/{email}/raw")),
        ("GET", format!("/emails/{email}/request")),
        ("GET", format!("/emails/{email}/deliveries")),
        ("POST", format!("/emails/{email}/resend")),
        ("GET", format!("/captured/{message}")),
        ("GET", format!("/captured/{message}/raw")),
        ("GET", format!("/captured/{message}/preview")),
        ("GET", format!("/captured/{message}/parts/0")),
        ("GET", format!("/webhooks/{webhook}")),
        ("GET", format!("/webhooks/{webhook}/deliveries")),
        ("GET", format!("/webhooks/{webhook}/deliveries/{delivery}")),
        ("POST", format!("/webhooks/{webhook}/deliveries/{delivery}/replay")),
        ("POST", format!("/webhooks/{webhook}/rotate-secret")),
        ("GET", format!("/domains/{}", domain["id"].as_str().unwrap())),
        ("POST", format!("/captured/{message}/release")),
        ("DELETE", format!("/captured/{message}")),
    ];
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    browser.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).json(200);

    for (method, path) in &routes {
        let body = (*method == "POST" && path.ends_with("rotate-secret")).then(|| json!({}));
        browser.api(method, path, body.as_ref()).is_error(404, "not_found");
    }
    let lists = [
        "/search".to_owned(),
        "/search?to=ada%40example.net".to_owned(),
        format!("/search?q={email}"),
        "/emails".to_owned(),
        "/captured".to_owned(),
        "/webhooks".to_owned(),
        "/api-keys".to_owned(),
        "/logs".to_owned(),
        "/logs?method=POST".to_owned(),
        format!("/logs?q={request}"),
    ];
    for path in &lists {
        assert_eq!(browser.api("GET", path, None).json(200)["data"], json!([]), "{path}");
    }
    assert_eq!(browser.api("DELETE", "/captured", None).json(200)["count"], 0);
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!((&overview["last"], &overview["domains"]["unverified"]), (&json!([]), &0.into()));
    let connect = browser.api("GET", "/connect", None).json(200);
    assert_eq!((&connect["first_key"], &connect["sdks"]), (&Value::Null, &json!([])));

    // The own team still has all of it.
    browser.api("POST", "/me/team", Some(&json!({ "team_id": first_team }))).json(200);
    for (method, path) in routes.iter().filter(|(method, _)| *method == "GET") {
        assert_eq!(browser.api(method, path, None).status, 200, "{path}");
    }
    for path in &lists {
        assert_ne!(browser.api("GET", path, None).json(200)["data"], json!([]), "{path}");
    }
}
