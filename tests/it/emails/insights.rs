//! `GET /emails/{id}/insights`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Age at which an email is checked.
const SETTLED: Duration = Duration::from_secs(6);

/// Lets some seconds pass, and returns the insights of an email.
#[track_caller]
fn insights(server: &TestServer, id: &str) -> Value {
    server.advance(SETTLED);
    server.poll(&format!("/emails/{id}/insights"), "the insights", |response| response.status == 200).json
}

/// Returns the ids of the checks with a status.
fn checks<'i>(insights: &'i Value, status: &str) -> Vec<&'i str> {
    let checks = insights["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["status"] == status).map(|check| check["id"].as_str().unwrap()).collect()
}

#[test]
fn an_email_has_insights_some_seconds_after_its_acceptance() {
    let server = TestServer::start();
    let html = "<a href=\"http://192.0.2.1/\">example.com</a>";
    let id = server.send(&json!({ "subject": "FREE MONEY NOW", "html": html, "text": null }));
    let message = "The insights of this email are not computed yet. Try again some seconds after it was sent.";
    server.get(&format!("/emails/{id}/insights")).refused(404, "not_found", message);

    let insights = insights(&server, &id);

    assert_eq!((&insights["object"], &insights["email_id"]), (&json!("email_insights"), &json!(id)));
    let failing = ["link_domains_match", "phishing_links", "insecure_links", "subject_lint", "reply_to_present"];
    assert_eq!(checks(&insights, "fail"), failing);
    assert_eq!(checks(&insights, "passed_by_design"), ["auth_alignment", "plain_text"]);
    assert_eq!((&insights["score"], &insights["score_version"]), (&json!(7.3), &json!(1)));
    let phishing = insights["checks"].as_array().unwrap().iter().find(|check| check["id"] == "phishing_links");
    let expected = json!({
        "id": "phishing_links", "severity": "major", "weight": 1.0, "status": "fail",
        "detail": { "count": 1, "failing": 1 },
    });
    assert_eq!(phishing, Some(&expected));
}

#[test]
fn insights_stay_after_a_restart_and_are_deleted_with_their_email() {
    let server = TestServer::start();
    let (kept, deleted) = (server.send(&json!({})), server.send(&json!({})));
    let before = insights(&server, &kept);
    insights(&server, &deleted);

    let server = server.restart_after(Duration::from_secs(60), &[]);
    server.delete(&format!("/emails/{deleted}")).ok(200);

    assert_eq!(server.get(&format!("/emails/{kept}/insights")).ok(200), before);
    server.get(&format!("/emails/{deleted}/insights")).refused(404, "not_found", "Email not found");
}

#[test]
fn the_emails_of_a_broadcast_have_the_insights_of_the_broadcast() {
    let server = TestServer::start();
    for contact in ["ada@example.net", "bob@example.net"] {
        server.add_contact(contact, false);
    }
    let html = "<p>Hello {{{FIRST_NAME|there}}}</p><a href=\"{{{UNSUBSCRIBE_URL}}}\">Leave</a>";
    let body = json!({
        "from": "Acme <news@example.com>", "subject": "NEWS FOR {{{FIRST_NAME}}} IN JUNE", "html": html, "send": true,
    });
    let broadcast = server.post("/broadcasts", &body).ok(201)["id"].as_str().unwrap().to_owned();
    let list = format!("/emails?broadcast_id={broadcast}");
    let is_queued =
        |response: &crate::support::ApiResponse| response.json["data"].as_array().is_some_and(|it| it.len() == 2);
    let emails = server.poll(&list, "two emails", is_queued).json;
    let ids: Vec<&str> = emails["data"].as_array().unwrap().iter().map(|email| email["id"].as_str().unwrap()).collect();

    let [first, second] = [ids[0], ids[1]].map(|id| insights(&server, id));

    assert_eq!(first["checks"], second["checks"]);
    assert_eq!(checks(&first, "passed_by_design"), ["auth_alignment", "list_unsubscribe", "plain_text"]);
    let failing = ["root_domain_send", "subject_lint", "reply_to_present"];
    assert_eq!(checks(&first, "fail"), failing);
    assert_eq!(first["score"], json!(9.5));
}

#[test]
fn an_unknown_email_has_no_insights() {
    let server = TestServer::start();

    server.get("/emails/0190a6c0-0000-7000-8000-000000000001/insights").refused(404, "not_found", "Email not found");
}
