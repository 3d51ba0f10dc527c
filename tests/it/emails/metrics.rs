//! `GET /emails/metrics`: counts of recipients by time, domain and broadcast.

use std::time::Duration;

use ringmail::suppressions::SuppressionOrigin;
use serde_json::{Value, json};

use crate::ingest;
use crate::support::{TestServer, email};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Sends an email to each simulated recipient that is delivered, bounces or complains; returns the id of the first.
fn send_three(server: &TestServer) -> String {
    let outcomes = ["delivered", "bounced", "complained"];
    let ids = outcomes.map(|name| server.send(&json!({ "to": format!("{name}@resend.dev") })));
    for (id, status) in ids.iter().zip(outcomes) {
        server.wait_for(id, status);
    }
    ids[0].clone()
}

/// Sends an email to a simulated recipient and waits until it is delivered.
fn send_one(server: &TestServer) {
    server.wait_for(&server.send(&json!({})), "delivered");
}

fn metrics(server: &TestServer, query: &str) -> Value {
    server.get(&format!("/emails/metrics?{query}")).ok(200)
}

/// Returns the start of each period with its number of sent emails.
fn periods(server: &TestServer, query: &str) -> Value {
    let report = metrics(server, &format!("dimensions=period&metrics=sent&{query}"));
    report["data"].as_array().unwrap().iter().map(|row| json!([row["period"], row["sent"]])).collect()
}

#[test]
fn the_totals_are_those_of_the_outcomes() {
    let server = TestServer::start();
    send_three(&server);

    let report = server.get("/emails/metrics").ok(200);

    assert_eq!((&report["object"], &report["granularity"]), (&json!("metrics"), &json!("daily")));
    assert_eq!(report["metrics"].as_array().unwrap().len(), 22, "prefetched is not among the defaults");
    assert_eq!(report.get("data"), None);
    let totals = &report["totals"];
    for (name, expected) in [
        ("sent", json!(3)),
        ("delivered", json!(2)),
        ("bounced", json!(1)),
        ("bounced_permanent", json!(1)),
        ("complained", json!(1)),
        ("received", json!(0)),
        ("delivery_rate", json!(66.67)),
        ("complaint_rate", json!(50.0)),
        ("open_rate", json!(0.0)),
    ] {
        assert_eq!(totals[name], expected, "{name}");
    }
}

#[test]
fn failures_delays_and_suppressed_recipients_are_counted_apart() {
    let server = ingest::server();
    for number in 0..3 {
        server.suppress(&format!("listed{number}@example.net"), SuppressionOrigin::Manual);
    }
    let ids: Vec<String> = (0..6).map(|number| ingest::deliver(&server, &format!("r{number}@example.net"))).collect();
    let reported = ["failed", "failed", "delayed", "delayed", "delayed", "bounced"];
    let event = |(number, id): (usize, &String)| {
        let recipient = format!("r{number}@example.net");
        json!({ "type": reported[number], "email_id": id, "recipient": recipient, "bounce": { "type": "Permanent" } })
    };
    let events: Vec<Value> = ids.iter().enumerate().map(event).collect();
    assert_eq!(ingest::report(&server, &Value::from(events)), (6, 0));
    // Three recipients are suppressed at the acceptance of an email, and one before the delivery of another.
    let cc: Vec<String> = (0..3).map(|number| format!("listed{number}@example.net")).collect();
    server.send(&json!({ "to": "ada@example.net", "cc": cc }));
    server.send(&json!({ "to": ["ada@example.net", "bob@example.net"], "scheduled_at": "in 1 hour" }));
    server.suppress("bob@example.net", SuppressionOrigin::Manual);
    server.advance(Duration::from_secs(3_601));

    server.wait_for_metrics(&json!({
        "sent": 8, "delivered": 8, "failed": 2, "delivery_delayed": 3, "suppressed": 4, "bounced": 1,
        "bounced_permanent": 1, "bounced_transient": 0, "bounced_undetermined": 0, "bounce_rate": 12.5,
    }));
}

#[test]
fn a_repeated_request_and_a_repeated_report_change_no_count() {
    let server = ingest::server();
    let body = email(&json!({ "to": "ada@example.net" })).to_string();
    let send = || {
        let headers = [("idempotency-key", "once")];
        server.call("POST", "/emails", server.key(), &headers, Some(body.as_bytes())).ok(200)
    };
    let first = send();
    let id = first["id"].as_str().unwrap();
    server.wait_for(id, "delivered");
    let complaint = json!({ "type": "complained", "email_id": id, "recipient": "ada@example.net" });
    assert_eq!(ingest::report(&server, &complaint), (1, 0));

    assert_eq!(send(), first);
    assert_eq!(ingest::report(&server, &complaint), (0, 1));

    // A further email leaves after one that the repeated request had queued.
    ingest::deliver(&server, "bob@example.net");
    server.wait_for_metrics(&json!({ "sent": 2, "delivered": 2, "complained": 1, "complaint_rate": 50.0 }));
}

#[test]
fn rows_are_grouped_by_period_and_domain() {
    let server = TestServer::start();
    let first = send_three(&server);

    let daily = metrics(&server, "dimensions=period&metrics=sent&timezone=Asia/Katmandu");
    let rows = daily["data"].as_array().unwrap();
    assert!(rows.len() >= 7, "periods without events have rows");
    assert_eq!(rows.iter().map(|row| row["sent"].as_u64().unwrap()).sum::<u64>(), 3);
    let by_domain = metrics(&server, "dimensions=domain&metrics=sent&metrics=prefetched");
    let row = &by_domain["data"][0];
    assert_eq!((&row["domain_name"], &row["sent"], &row["prefetched"]), (&json!("example.com"), &json!(3), &json!(0)));
    let domain = row["domain_id"].as_str().unwrap();
    let other = "0190a6c0-0000-7000-8000-000000000001";
    assert_eq!(metrics(&server, &format!("domain_id={domain},{other}"))["totals"]["sent"], 3);
    assert_eq!(metrics(&server, &format!("domain_id={other}"))["totals"]["sent"], 0);
    let by_broadcast = metrics(&server, "dimensions=broadcast&metrics=sent");
    assert_eq!(by_broadcast["data"], json!([{ "broadcast_id": null, "broadcast_name": null, "sent": 3 }]));
    let by_email = metrics(&server, &format!("dimensions=email&metrics=sent&email_id={first},{other}"));
    assert_eq!(by_email["data"], json!([{ "email_id": first, "sent": 1 }]));
}

#[test]
fn rows_begin_with_the_hours_weeks_and_months_of_the_range() {
    let server = TestServer::start();
    // The clock of the instance starts on Monday, 5 January, at 09:00 UTC.
    send_one(&server);
    server.advance(HOUR * 3 / 2);
    send_one(&server);
    send_one(&server);

    // The first hour begins before the range.
    assert_eq!(
        periods(&server, "granularity=hourly&start_date=2026-01-05T07:30:00Z"),
        json!([["2026-01-05T07:00", 0], ["2026-01-05T08:00", 0], ["2026-01-05T09:00", 1], ["2026-01-05T10:00", 2]])
    );

    // Monday, 2 February. 1 January is a Thursday.
    server.advance(28 * DAY);
    send_one(&server);
    assert_eq!(
        periods(&server, "granularity=weekly&start_date=2026-01-01"),
        json!([
            ["2025-12-29", 0],
            ["2026-01-05", 3],
            ["2026-01-12", 0],
            ["2026-01-19", 0],
            ["2026-01-26", 0],
            ["2026-02-02", 1],
        ])
    );
    assert_eq!(
        periods(&server, "granularity=monthly&start_date=2025-12-31"),
        json!([["2025-12-01", 0], ["2026-01-01", 3], ["2026-02-01", 1]])
    );
}

#[test]
fn an_email_counts_in_the_period_of_the_time_zone() {
    let server = TestServer::start();
    send_one(&server);
    // 20:00 UTC, which is 01:45 of the next day in Kathmandu.
    server.advance(11 * HOUR);
    send_one(&server);
    send_one(&server);

    assert_eq!(periods(&server, "start_date=2026-01-05"), json!([["2026-01-05", 3]]));
    assert_eq!(
        periods(&server, "start_date=2026-01-05&timezone=Asia/Kathmandu"),
        json!([["2026-01-05", 1], ["2026-01-06", 2]])
    );
    // The date of the start is one of the time zone too.
    assert_eq!(
        periods(&server, "granularity=hourly&start_date=2026-01-06&timezone=Asia/Kathmandu"),
        json!([["2026-01-06T00:00", 0], ["2026-01-06T01:00", 2]])
    );
}

#[test]
fn the_emails_of_a_broadcast_have_a_row_of_their_own() {
    let server = TestServer::start();
    for contact in ["ada@example.net", "bob@example.net"] {
        server.post("/contacts", &json!({ "email": contact })).ok(201);
    }
    let body = json!({
        "from": "Acme <news@example.com>", "subject": "June", "name": "News of June", "text": "Hi", "send": true,
    });
    let broadcast = server.post("/broadcasts", &body).ok(201)["id"].clone();
    send_one(&server);
    server.wait_for_metrics(&json!({ "sent": 3, "delivered": 3 }));

    let of_broadcast = json!({ "broadcast_id": broadcast, "broadcast_name": "News of June", "sent": 2 });
    assert_eq!(
        metrics(&server, "dimensions=broadcast&metrics=sent")["data"],
        json!([{ "broadcast_id": null, "broadcast_name": null, "sent": 1 }, of_broadcast])
    );
    let id = broadcast.as_str().unwrap();
    let selected = metrics(&server, &format!("dimensions=broadcast&metrics=sent&broadcast_id={id}"));
    assert_eq!((&selected["totals"], &selected["data"]), (&json!({ "sent": 2 }), &json!([of_broadcast])));
    let other = "0190a6c0-0000-7000-8000-000000000001";
    assert_eq!(metrics(&server, &format!("metrics=sent&broadcast_id={other}"))["totals"], json!({ "sent": 0 }));
}

#[test]
fn a_deleted_email_stays_in_the_counts() {
    let server = TestServer::start();
    let first = send_three(&server);

    server.delete(&format!("/emails/{first}")).ok(200);

    assert_eq!(metrics(&server, "metrics=delivered")["totals"], json!({ "delivered": 2 }));
}

#[test]
fn counts_are_deleted_after_the_configured_days() {
    let flags = ["--metrics-retention-days", "5"];
    let server = TestServer::start_with(&flags);
    send_one(&server);
    let server = server.restart_after(3 * DAY, &flags);
    // Counts of an unchecked day stay, whatever their age is.
    server.wait_for_count_check();
    send_one(&server);
    assert_eq!(metrics(&server, "metrics=sent&start_date=2026-01-01")["totals"]["sent"], 2);

    let server = server.restart_after(3 * DAY, &flags);

    server.poll("/emails/metrics?metrics=sent&start_date=2026-01-01", "the purge", |response| {
        response.json["totals"]["sent"] == 1
    });
}

#[test]
fn invalid_parameters_are_refused() {
    let server = TestServer::start();
    for (query, message) in [
        (
            "start_date=2026-02-30",
            "The `start_date` must be a date such as `2026-07-01` or a time such as `2026-07-01T00:00:00Z`.",
        ),
        ("end_date=2020-01-01&start_date=2020-01-02", "The `start_date` must be on or before the `end_date`."),
        ("timezone=Mars", "The `timezone` must be the IANA name of a time zone, such as `America/New_York`."),
        ("granularity=yearly", "The `granularity` parameter may contain `hourly`, `daily`, `weekly`, `monthly`."),
        ("domain_id=7", "Each `domain_id` must be a valid UUID."),
        ("dimensions=email", "The `email` dimension needs `email_id`, with up to 100 ids of emails."),
        (
            "dimensions=email,broadcast",
            "The `email` dimension and `email_id` cannot be combined with the `broadcast` dimension or `broadcast_id`.",
        ),
    ] {
        server.get(&format!("/emails/metrics?{query}")).refused(422, "validation_error", message);
    }
}
