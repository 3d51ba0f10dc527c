//! `GET /deliverability`: the score and the rates of a team.

use std::iter::repeat_n;
use std::time::Duration;

use serde_json::{Value, json};

use super::{EMAILS, report_outcome, start};
use crate::support::{ApiResponse, TestServer, email};

#[test]
fn a_new_team_has_no_score() {
    let server = TestServer::start();

    let shown = server.get("/deliverability").ok(200);

    assert_eq!(
        shown,
        json!({
            "object": "deliverability", "score": null, "band": null, "content_score": null, "outcome_score": null,
            "complaint_rate": 0.0, "hard_bounce_rate": 0.0, "emails_sent": 0, "scored_recipients": 0,
            "window_days": 30, "insufficient_outcome_data": true, "guardrail_status": "ok", "score_version": 1,
        })
    );
}

#[test]
fn a_key_for_sending_cannot_read_the_deliverability() {
    let server = TestServer::start();
    let key = server.create_sending_key();

    let refused = server.call("GET", "/deliverability", &key, &[], None);

    assert!(refused.refusal().starts_with("403 restricted_api_key"));
}

#[test]
fn a_score_has_the_content_and_the_outcomes_of_the_emails() {
    /// Recipients of each of the ten emails.
    const RECIPIENTS: usize = 50;
    let server = start("on");
    // Checks of the link and the subject subtract 1.25, 1.0, 0.25 and 0.25 points: 7.25, rounded to 7.3.
    let html = "<a href=\"http://192.0.2.1/\">example.com</a>";
    let bulk = |index: usize| {
        let to = (index * RECIPIENTS..(index + 1) * RECIPIENTS).map(|number| format!("r{number}@example.net"));
        let to: Vec<String> = to.collect();
        email(&json!({ "to": to, "subject": "FREE MONEY NOW", "html": html, "text": null }))
    };
    let sent = server.post("/emails/batch", &Value::from((0..10).map(bulk).collect::<Vec<_>>())).ok(200);
    let of_recipients = |email: &Value| repeat_n(email["id"].as_str().unwrap().to_owned(), RECIPIENTS);
    let ids: Vec<String> = sent["data"].as_array().unwrap().iter().flat_map(of_recipients).collect();
    // No check of this email fails. It has a score before it is sent.
    let to: Vec<String> = (0..20).map(|number| format!("later{number}@example.net")).collect();
    server.send(&json!({ "to": to, "scheduled_at": "in 1 hour" }));
    server.wait_for_metrics(&json!({ "sent": 500, "delivered": 500 }));

    report_outcome(&server, &ids, 0..21, "bounced");
    report_outcome(&server, &ids, 21..22, "complained");
    // The content is checked some seconds after the acceptance.
    server.advance(Duration::from_secs(6));
    let is_checked = |response: &ApiResponse| response.json["scored_recipients"] == 520;
    let shown = server.poll("/deliverability", "the checks", is_checked).ok(200);

    // Content: (500 * 7.3 + 20 * 10.0) / 520 = 7.40. Outcomes: 1 of 500 complaints (0.2 %) loses 3.00 points, and 21 of
    // 500 bounces (4.2 %) lose 2.93 points: 10 - 5.93 = 4.07. Score: 0.4 * 7.40 + 0.6 * 4.07 = 5.40.
    assert_eq!(
        shown,
        json!({
            "object": "deliverability", "score": 5.4, "band": "needs_attention", "content_score": 7.4,
            "outcome_score": 4.1, "complaint_rate": 0.002, "hard_bounce_rate": 0.042, "emails_sent": 500,
            "scored_recipients": 520, "window_days": 30, "insufficient_outcome_data": false,
            "guardrail_status": "warning", "score_version": 1,
        })
    );
}

#[test]
fn simulated_recipients_change_no_rate() {
    let server = start("on");
    let emails = vec![email(&json!({ "to": "bounced@resend.dev" })); EMAILS];
    let sent = server.post("/emails/batch", &Value::from(emails)).ok(200);
    for email in sent["data"].as_array().unwrap() {
        server.wait_for(email["id"].as_str().unwrap(), "bounced");
    }

    server.send(&json!({}));

    assert_eq!(server.get("/deliverability").ok(200)["emails_sent"], 0);
}
