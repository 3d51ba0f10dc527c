//! The revisions and the previews of a template.

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use serde_json::{Value, json};

use super::captured::opened;
use crate::support::TestServer;

#[test]
fn a_preview_shows_the_newest_version_with_sample_values() {
    let server = TestServer::start();
    let browser = opened(&server);
    let template = json!({
        "name": "Receipt", "alias": "receipt", "subject": "{{{NAME}}} {{{ID}}}",
        "html": "<p>{{{NAME}}} {{{CITY|here}}} {{{ID}}}</p><base href=\"/\">", "text": "{{{MORE}}}",
    });
    let id = server.post("/templates", &template).ok(201)["id"].clone();
    let query = "variables=%7B%22NAME%22%3A%22%3CAda%3E%22%7D";

    let rendered = browser.api("GET", &format!("/templates/receipt/rendered?{query}"), None).json(200);
    let page = browser.api("GET", &format!("/templates/receipt/preview?{query}&dark=0&v=3"), None);

    let expected = json!({
        "object": "template_preview", "id": id, "subject": "<Ada> {ID}",
        "html": "<p>&lt;Ada&gt; here {ID}</p><base href=\"/\">", "text": "{MORE}", "missing": ["ID", "MORE"],
    });
    assert_eq!(rendered, expected);
    assert_eq!((page.status, page.body.as_str()), (200, "<p>&lt;Ada&gt; here {ID}</p><x-base href=\"/\">"));
    assert!(page.header("content-security-policy").contains("sandbox"));
    server.post("/templates/receipt/publish", &json!({})).ok(200);
    server.patch("/templates/receipt", &json!({ "html": "<p>New</p>" })).ok(200);
    for (version, html) in
        [("", "<p>New</p>"), ("draft", "<p>New</p>"), ("published", expected["html"].as_str().unwrap())]
    {
        let path = format!("/templates/receipt/rendered?version={version}&{query}");
        assert_eq!(browser.api("GET", &path, None).json(200)["html"], html, "{version}");
    }
}

#[test]
fn a_preview_lists_the_first_of_many_missing_variables() {
    let server = TestServer::start();
    let browser = opened(&server);
    let html: String = (0..30_000).map(|number| format!("{{{{{{V{number}}}}}}}")).collect();
    server.post("/templates", &json!({ "name": "Many", "alias": "many", "html": html })).ok(201);

    let rendered = browser.api("GET", "/templates/many/rendered", None).json(200);

    let missing: Vec<String> = (0..100).map(|number| format!("V{number}")).collect();
    assert_eq!(rendered["missing"], json!(missing));
    assert_eq!(rendered["html"], html.replace("{{{", "{").replace("}}}", "}"));
}

#[test]
fn a_change_of_an_older_revision_of_a_template_is_refused() {
    let server = TestServer::start();
    let browser = opened(&server);
    server.post("/templates", &json!({ "name": "Receipt", "alias": "receipt", "html": "<p>Hi</p>" })).ok(201);
    let path = "/templates/receipt";
    let get = || browser.api("GET", path, None).json(200);
    let stale = |body: Value| {
        let before = get();
        let refused = browser.api("PATCH", path, Some(&body));
        refused.is_error(409, "stale_revision");
        let message = "This template was changed in another window. Load it again before you continue.";
        assert_eq!(refused.json(409)["message"], message);
        assert_eq!(get(), before, "{body}");
    };
    let change = |body: Value| browser.api("PATCH", path, Some(&body)).json(200);
    let first = get();
    assert_eq!((&first["revision"], &first["html"]), (&0.into(), &"<p>Hi</p>".into()));

    let changed = change(json!({ "html": "<p>One</p>", "revision": 0 }));

    assert_eq!(changed, json!({ "object": "template", "id": first["id"], "revision": 1 }));
    for revision in [0, 2] {
        stale(json!({ "html": "<p>Two</p>", "revision": revision }));
        stale(json!({ "name": "Invoice", "revision": revision }));
        stale(json!({ "html": "<p>One</p>", "revision": revision }));
    }
    assert_eq!(change(json!({ "name": "Invoice", "revision": 1 }))["revision"], 2);
    assert_eq!(change(json!({ "name": "Invoice", "revision": 2 }))["revision"], 2, "nothing was changed");
    // A publication changes nothing that the editor shows.
    server.post("/templates/receipt/publish", &json!({})).ok(200);
    // Without a revision, a change applies to the newest one. The API counts its changes, and has no revision.
    assert_eq!(change(json!({ "text": "Two" }))["revision"], 3);
    server.patch(path, &json!({ "name": "Bill" })).ok(200);
    stale(json!({ "name": "Invoice", "revision": 3 }));
    let last = get();
    assert_eq!((&last["name"], &last["revision"]), (&"Bill".into(), &4.into()));
    let refusal = server.patch(path, &json!({ "name": "Invoice", "revision": 4 })).refusal();
    assert!(refusal.starts_with("422 validation_error") && refusal.contains("unknown field `revision`"), "{refusal}");
    assert_eq!(server.get(path).ok(200).get("revision"), None);
}

#[test]
fn no_route_shows_or_changes_a_template_of_another_team() {
    let server = TestServer::start();
    let browser = opened(&server);
    let template = json!({ "name": "Receipt", "alias": "receipt", "html": "<p>Hi</p>" });
    let id = server.post("/templates", &template).ok(201)["id"].as_str().unwrap().to_owned();
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    browser.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).json(200);

    for reference in [id.as_str(), "receipt"] {
        let path = format!("/templates/{reference}");
        browser.api("GET", &path, None).is_error(404, "not_found");
        browser.api("PATCH", &path, Some(&json!({ "name": "x", "revision": 0 }))).is_error(404, "not_found");
    }
    assert_eq!(server.get(&format!("/templates/{id}")).ok(200)["name"], "Receipt");
}

#[test]
fn a_preview_of_an_unknown_template_or_with_invalid_values_is_refused() {
    let server = TestServer::start();
    let browser = opened(&server);
    server.post("/templates", &json!({ "name": "Receipt", "alias": "receipt", "html": "<p>Hi</p>" })).ok(201);

    for part in ["preview", "rendered"] {
        browser.api("GET", &format!("/templates/unknown/{part}"), None).is_error(404, "not_found");
        for query in
            ["variables=x", "variables=%5B%5D", "variables=%7B%22A%22%3A1%7D", "version=published", "version=x"]
        {
            let path = format!("/templates/receipt/{part}?{query}");
            browser.api("GET", &path, None).is_error(422, "validation_error");
        }
    }
}
