//! The data of the pages of broadcasts: content, Markdown, previews, the check, test emails, and the report.

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use ringmail::admin::users::UserVerb;
use serde_json::{Value, json};

use super::browser::{Browser, set_up};
use super::captured::opened;
use crate::deliverability::send_with_bounces;
use crate::http::large_responses;
use crate::ingest::SECRET;
use crate::support::{TestServer, retry_until_ok};

const SOURCE: &str =
    "# News\n\nHi {{{FIRST_NAME}}},\n\n[[button: Read](https://example.com/news)]\n\n{{{UNSUBSCRIBE_URL}}}";

/// Creates a draft and returns its id.
fn draft(browser: &Browser<'_>, fields: &Value) -> String {
    let mut draft = json!({ "from": "Acme <news@example.com>", "subject": "News for {{{FIRST_NAME|you}}}" });
    draft.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    browser.api("POST", "/broadcasts", Some(&draft)).json(201)["id"].as_str().unwrap().to_owned()
}

fn put_content(browser: &Browser<'_>, id: &str, content: &Value) -> Value {
    browser.api("PUT", &format!("/broadcasts/{id}/content"), Some(content)).json(200)
}

fn kinds(check: &Value) -> Vec<&str> {
    check["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}

#[test]
fn the_composer_stores_markdown_or_html() {
    let server = TestServer::start();
    let browser = opened(&server);
    let id = draft(&browser, &json!({}));
    let path = format!("/broadcasts/{id}/content");
    let empty = browser.api("GET", &path, None).json(200);
    assert_eq!((&empty["format"], &empty["html"], &empty["html_bytes"]), (&"html".into(), &Value::Null, &0.into()));

    let content = put_content(&browser, &id, &json!({ "source": SOURCE }));

    assert_eq!((&content["format"], &content["source"]), (&"markdown".into(), &SOURCE.into()));
    let html = content["html"].as_str().unwrap();
    assert_eq!(content["html_bytes"], html.len());
    assert!(html.contains("href=\"https://example.com/news\"") && html.contains("Hi {{{FIRST_NAME}}},"), "{html}");
    assert!(content["text"].as_str().unwrap().contains("Unsubscribe: {{{UNSUBSCRIBE_URL}}}"), "{content}");
    assert_eq!(browser.api("GET", &path, None).json(200), content);
    let of_api = server.get(&format!("/broadcasts/{id}")).ok(200);
    assert_eq!((&of_api["html"], &of_api["source"]), (&content["html"], &Value::Null));

    // HTML that is set without Markdown ends the Markdown.
    server.patch(&format!("/broadcasts/{id}"), &json!({ "html": "<p>From the API" })).ok(200);
    let content = browser.api("GET", &path, None).json(200);
    assert_eq!((&content["format"], &content["html"]), (&"html".into(), &"<p>From the API".into()));
    let content = put_content(&browser, &id, &json!({ "html": "<p>Hi", "text": "Hi" }));
    assert_eq!((&content["format"], &content["text"]), (&"html".into(), &"Hi".into()));

    let both = json!({ "source": "a", "html": "b" });
    browser.api("PUT", &path, Some(&both)).is_error(422, "validation_error");
    let long = json!({ "source": "a".repeat((256 << 10) + 1) });
    browser.api("PUT", &path, Some(&long)).is_error(422, "validation_error");
}

#[test]
fn a_change_of_an_older_revision_of_a_draft_is_refused() {
    let server = TestServer::start();
    let browser = opened(&server);
    let id = draft(&browser, &json!({}));
    let (path, content) = (format!("/broadcasts/{id}"), format!("/broadcasts/{id}/content"));
    let get = |path: &str| browser.api("GET", path, None).json(200);
    let stored = || (get(&path), get(&content));
    let stale = |method: &str, path: &str, body: Value| {
        let before = stored();
        let refused = browser.api(method, path, Some(&body));
        refused.is_error(409, "stale_revision");
        let message = "This draft was changed in another window. Load it again before you continue.";
        assert_eq!(refused.json(409)["message"], message);
        assert_eq!(stored(), before, "{body}");
    };
    assert_eq!((&get(&path)["revision"], &get(&content)["revision"]), (&0.into(), &0.into()));

    let name = |revision: u32| json!({ "name": "June", "revision": revision });
    let changed = browser.api("PATCH", &path, Some(&name(0))).json(200);

    assert_eq!(changed, json!({ "object": "broadcast", "id": id, "revision": 1 }));
    for revision in [0, 2] {
        stale("PATCH", &path, json!({ "name": "July", "revision": revision }));
        stale("PUT", &content, json!({ "source": SOURCE, "revision": revision }));
        stale("PUT", &content, json!({ "html": "<p>Hi", "revision": revision }));
    }
    assert_eq!(put_content(&browser, &id, &json!({ "source": SOURCE, "revision": 1 }))["revision"], 2);
    // Without a revision, a change applies to the newest one. The API counts its changes, and has no revision.
    assert_eq!(browser.api("PATCH", &path, Some(&json!({ "name": "July" }))).json(200)["revision"], 3);
    assert_eq!(put_content(&browser, &id, &json!({ "html": "<p>Hi" }))["revision"], 4);
    server.patch(&path, &json!({ "name": "August" })).ok(200);
    stale("PATCH", &path, name(4));
    assert_eq!((&get(&path)["name"], &get(&path)["revision"]), (&"August".into(), &5.into()));
    let refusal = server.patch(&path, &name(5)).refusal();
    assert!(refusal.starts_with("422 validation_error") && refusal.contains("unknown field `revision`"), "{refusal}");
    assert_eq!(server.get(&path).ok(200).get("revision"), None);
}

#[test]
fn markdown_is_converted_without_html_of_its_own() {
    let server = TestServer::start();
    let browser = opened(&server);
    let render = |text: &str| browser.api("POST", "/markdown", Some(&json!({ "text": text })));

    let rendered = render("**a** <script>alert(1)</script> [b](javascript:alert(1))").json(200);

    let html = rendered["html"].as_str().unwrap();
    assert!(html.contains("<strong>a</strong>") && !html.contains("<script") && !html.contains("javascript"), "{html}");
    assert_eq!(
        (&rendered["html_bytes"], &rendered["text"]),
        (&html.len().into(), &"a <script>alert(1)</script> b\n".into())
    );
    render(&"a".repeat((256 << 10) + 1)).is_error(422, "validation_error");
    browser.api("POST", "/markdown", Some(&json!({}))).is_error(422, "missing_required_field");
}

#[test]
fn markdown_is_converted_within_the_memory_of_responses() {
    let server = TestServer::start();
    let browser = opened(&server);
    let id = draft(&browser, &json!({}));
    let path = format!("/broadcasts/{id}/content");
    let email = format!("/emails/{}", server.send(&large_responses::html()));
    let unread = [(); 2].map(|()| {
        let mut stream = large_responses::request_unread(&server, &email);
        assert_eq!(large_responses::status(&mut stream), 200);
        stream
    });
    let (markdown, content) = (json!({ "text": "a" }), json!({ "source": "a" }));

    // Both requests wait for memory at the same time.
    let other = browser.copy_with("accept", "application/json");
    let refused = std::thread::scope(|scope| {
        let (path, content) = (&path, &content);
        let stored = scope.spawn(move || other.api("PUT", path, Some(content)));
        [browser.api("POST", "/markdown", Some(&markdown)), stored.join().unwrap()]
    });

    for response in refused {
        response.is_error(503, "service_unavailable");
    }
    assert_eq!(browser.api("GET", &path, None).json(200)["html"], Value::Null);
    drop(unread);
    retry_until_ok("free memory", || {
        let converted = browser.api("POST", "/markdown", Some(&markdown));
        if converted.status() == 200 { Ok(()) } else { Err(format!("{converted:?}")) }
    });
    put_content(&browser, &id, &content);
}

#[test]
fn a_preview_shows_the_broadcast_of_a_contact_in_a_sandbox() {
    let server = TestServer::start();
    let browser = opened(&server);
    let contact = json!({ "email": "bob@example.net", "first_name": "<b>Bob</b>" });
    let contact = server.post("/contacts", &contact).ok(201)["id"].as_str().unwrap().to_owned();
    let id = draft(&browser, &json!({ "preview_text": "For {{{FIRST_NAME|you}}}" }));
    put_content(&browser, &id, &json!({ "source": SOURCE }));
    let rendered = |query: &str| browser.api("GET", &format!("/broadcasts/{id}/rendered{query}"), None).json(200);

    let sample = rendered("");
    assert_eq!((&sample["subject"], &sample["contact"]["email"]), (&"News for Ada".into(), &"ada@example.net".into()));
    assert_eq!((&sample["contact"]["id"], &sample["preview_text"]), (&Value::Null, &"For Ada".into()));
    assert!(sample["html"].as_str().unwrap().contains("Hi Ada,"), "{sample}");
    assert!(sample["html"].as_str().unwrap().contains("href=\"#unsubscribe\""), "{sample}");
    assert!(!sample["text"].as_str().unwrap().contains("{{{"), "{sample}");
    let nameless = rendered("?contact=none");
    assert_eq!((&nameless["subject"], &nameless["contact"]["first_name"]), (&"News for you".into(), &Value::Null));
    for query in [format!("?contact={contact}"), "?contact=bob%40example.net".to_owned()] {
        let bob = rendered(&query);
        assert_eq!((&bob["subject"], &bob["contact"]["id"]), (&"News for <b>Bob</b>".into(), &contact.as_str().into()));
        assert!(bob["html"].as_str().unwrap().contains("Hi &lt;b&gt;Bob&lt;/b&gt;,"), "{bob}");
    }
    let frame = browser.api("GET", &format!("/broadcasts/{id}/preview?dark=1"), None);
    assert_eq!((frame.status, frame.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(frame.header("content-security-policy").starts_with("sandbox; default-src 'none';"));
    assert!(frame.body.contains("Hi Ada,"), "{}", frame.body);
    for query in ["?contact=ada", "?images=2"] {
        let path = format!("/broadcasts/{id}/preview{query}");
        browser.api("GET", &path, None).is_error(422, "validation_error");
    }
    let unknown = format!("/broadcasts/{id}/preview?contact=carol%40example.net");
    browser.api("GET", &unknown, None).is_error(404, "not_found");
}

#[test]
fn the_check_counts_the_audience_and_lists_the_findings() {
    let server = TestServer::start();
    let browser = opened(&server);
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201)["id"].as_str().unwrap().to_owned();
    let topic = json!({ "name": "News", "default_subscription": "opt_in" });
    let topic = server.post("/topics", &topic).ok(201)["id"].as_str().unwrap().to_owned();
    let contact = |local: &str, fields: &Value| {
        let mut contact = json!({ "email": format!("{local}@example.net"), "segments": [{ "id": &segment }] });
        contact.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        server.post("/contacts", &contact).ok(201);
    };
    contact("ada", &json!({ "first_name": "Ada" }));
    contact("bob", &json!({}));
    contact("gone", &json!({ "unsubscribed": true }));
    contact("left", &json!({ "topics": [{ "id": &topic, "subscription": "opt_out" }] }));
    contact("listed", &json!({}));
    server.post("/contacts", &json!({ "email": "outside@example.net" })).ok(201);
    server.post("/suppressions", &json!({ "email": "listed@example.net" })).ok(201);
    let id = draft(&browser, &json!({ "segment_id": segment, "topic_id": topic }));
    let path = format!("/broadcasts/{id}/check");
    let check = || browser.api("POST", &path, Some(&json!({}))).json(200);
    assert_eq!(kinds(&check()), ["content_missing"]);

    put_content(&browser, &id, &json!({ "source": SOURCE }));
    let found = check();

    assert_eq!(
        found["audience"],
        json!({
            "total": 5, "unsubscribed": 1, "opted_out": 1, "suppressed": 1, "will_receive": 2, "complete": true,
        })
    );
    assert_eq!(kinds(&found), ["fallback_missing"]);
    let finding = &found["findings"][0];
    assert_eq!(
        (&finding["part"], &finding["line"], &finding["name"]),
        (&"source".into(), &3.into(), &"FIRST_NAME".into())
    );
    assert_eq!((&finding["at"], &finding["length"], &finding["contacts"]), (&11.into(), &16.into(), &1.into()));
    assert_eq!((&finding["severity"], &found["links"]), (&"warning".into(), &Value::Null));

    browser.api("PATCH", &format!("/broadcasts/{id}"), Some(&json!({ "from": "news@other.example" }))).json(200);
    put_content(&browser, &id, &json!({ "html": "<p>{{{UNSUBSCRIBE_URL}}} <a href='http://127.0.0.1:9/'>a</a>" }));
    let found = browser.api("POST", &path, Some(&json!({ "links": true }))).json(200);
    assert_eq!(found["links"], json!({ "found": 1, "checked": 1, "dead": 1 }));
    assert_eq!(kinds(&found), ["sender_unverified", "link_dead"]);
}

#[test]
fn a_test_email_belongs_to_no_broadcast() {
    let server = TestServer::start();
    let browser = opened(&server);
    server.post("/contacts", &json!({ "email": "bob@example.net", "first_name": "Bob" })).ok(201);
    let id = draft(&browser, &json!({ "reply_to": "help@example.com" }));
    let path = format!("/broadcasts/{id}/test");
    let test = |body: Value| browser.api("POST", &path, Some(&body));
    test(json!({ "to": ["ada@example.net"] })).is_error(422, "validation_error");
    put_content(&browser, &id, &json!({ "source": SOURCE }));

    let sent = test(json!({ "to": ["ada@example.net", "ADA@example.net"], "contact": "bob@example.net" })).json(200);

    assert_eq!(sent["object"], "email");
    let email = sent["id"].as_str().unwrap();
    server.wait_for(email, "delivered");
    let email = server.get(&format!("/emails/{email}")).ok(200);
    assert_eq!((&email["subject"], &email["to"]), (&"[Test] News for Bob".into(), &json!(["ada@example.net"])));
    assert_eq!(email["reply_to"], json!(["help@example.com"]));
    let message = retry_until_ok("the message", || {
        let list = browser.api("GET", "/captured", None).json(200);
        list["data"][0]["id"].as_str().map(str::to_owned).ok_or_else(|| list.to_string())
    });
    let message = browser.api("GET", &format!("/captured/{message}"), None).json(200);
    assert!(message["text"].as_str().unwrap().contains("/unsubscribe/"), "{message}");
    let broadcast = server.get(&format!("/broadcasts/{id}")).ok(200);
    assert_eq!((&broadcast["status"], &broadcast["sent_count"]), (&"draft".into(), &0.into()));
    for body in [json!({ "to": [] }), json!({ "to": ["ada"] }), json!({ "to": vec!["a@example.net"; 11] })] {
        test(body).is_error(422, "validation_error");
    }
}

#[test]
fn the_report_follows_a_broadcast_to_its_end() {
    let server = TestServer::start();
    let browser = opened(&server);
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201)["id"].as_str().unwrap().to_owned();
    for local in ["ada", "bob"] {
        let contact = json!({ "email": format!("{local}@example.net"), "segments": [{ "id": &segment }] });
        server.post("/contacts", &contact).ok(201);
    }
    let id = draft(&browser, &json!({ "segment_id": &segment, "name": "June" }));
    put_content(&browser, &id, &json!({ "source": SOURCE }));
    let report = || browser.api("GET", &format!("/broadcasts/{id}/report"), None).json(200);
    let before = report();
    assert_eq!((&before["status"], &before["segment_name"]), (&"draft".into(), &"Some".into()));
    assert_eq!((&before["rate_per_minute"], &before["remaining"]), (&Value::Null, &0.into()));

    browser.api("POST", &format!("/broadcasts/{id}/send"), Some(&json!({}))).json(200);

    let done = retry_until_ok("the end of the broadcast", || {
        let report = report();
        let is_done = report["counts"]["delivered"] == 2 && report["status"] == "sent";
        if is_done { Ok(report) } else { Err(report.to_string()) }
    });
    assert_eq!((&done["audience"], &done["counts"]["attempted"]), (&2.into(), &2.into()));
    assert_eq!(done["fan_out"], json!({ "queued": 2, "total": 2, "complete": true }));
    assert_eq!(done["funnel"][2], json!({ "kind": "delivered", "count": 2 }));
    let domain = json!({ "domain": "example.net", "attempted": 2, "delivered": 2, "bounced": 0, "waiting": 0 });
    assert_eq!((&done["domains"], &done["other_domains"]), (&json!([domain]), &Value::Null));
    assert_eq!((&done["segment_id"], &done["topic_id"]), (&segment.as_str().into(), &Value::Null));
    assert_eq!(done["machines"], json!({ "opened": 0, "clicked": 0 }));
    let listed = browser.api("GET", "/broadcasts", None).json(200);
    let row = &listed["data"][0];
    assert_eq!((&row["name"], &row["status"], &row["segment_name"]), (&"June".into(), &"sent".into(), &"Some".into()));
    assert_eq!((&row["counts"]["delivered"], &row["audience"]), (&2.into(), &2.into()));
    let path = format!("/broadcasts/{id}/content");
    browser.api("PUT", &path, Some(&json!({ "source": "late" }))).is_error(403, "validation_error");
}

#[test]
fn no_route_shows_or_changes_a_broadcast_of_another_team() {
    let server = TestServer::start();
    let browser = opened(&server);
    let id = draft(&browser, &json!({}));
    put_content(&browser, &id, &json!({ "source": SOURCE }));
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    browser.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).json(200);

    for (method, path, body) in [
        ("GET", "", None),
        ("PATCH", "", Some(json!({ "name": "x" }))),
        ("GET", "/content", None),
        ("PUT", "/content", Some(json!({ "html": "x" }))),
        ("GET", "/preview", None),
        ("GET", "/rendered", None),
        ("GET", "/report", None),
        ("POST", "/check", Some(json!({}))),
        ("POST", "/test", Some(json!({ "to": ["ada@example.net"] }))),
    ] {
        browser.api(method, &format!("/broadcasts/{id}{path}"), body.as_ref()).is_error(404, "not_found");
    }
    assert_eq!(browser.api("GET", "/broadcasts", None).json(200)["data"], json!([]));
}

#[test]
fn only_test_emails_to_users_of_the_team_are_sent_during_a_pause() {
    let server = TestServer::start_with(&["--ingest-secret", SECRET, "--guardrail", "on"]);
    let browser = opened(&server);
    server.admin(UserVerb::Create { email: "ada@example.net".into(), role: None });
    let id = draft(&browser, &json!({ "text": "Hi" }));
    send_with_bounces(&server, 10);
    let test = |to: &[&str]| browser.api("POST", &format!("/broadcasts/{id}/test"), Some(&json!({ "to": to })));

    test(&["ada@example.net", "bob@example.net"]).is_error(403, "sending_paused");

    test(&["Ada@example.net"]).json(200);
}

#[test]
fn a_session_of_a_server_can_check_a_broadcast() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let id = draft(&browser, &json!({ "html": "<p>{{{UNSUBSCRIBE_URL}}}" }));

    let found = browser.api("POST", &format!("/broadcasts/{id}/check"), Some(&json!({}))).json(200);

    assert!(kinds(&found).contains(&"audience_empty"), "{found}");
}
