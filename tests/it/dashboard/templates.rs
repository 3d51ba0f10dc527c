//! The previews of a template.

use serde_json::json;

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
