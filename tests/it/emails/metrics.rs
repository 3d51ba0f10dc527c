//! `GET /emails/metrics`: counts of recipients by time, domain and broadcast.

use serde_json::{Value, json};

use crate::support::TestServer;

/// Sends an email to each simulated recipient that is delivered, bounces or complains; returns the id of the first.
fn send_three(server: &TestServer) -> String {
    let outcomes = ["delivered", "bounced", "complained"];
    let ids = outcomes.map(|name| server.send(&json!({ "to": format!("{name}@resend.dev") })));
    for (id, status) in ids.iter().zip(outcomes) {
        server.wait_for(id, status);
    }
    ids[0].clone()
}

fn metrics(server: &TestServer, query: &str) -> Value {
    server.get(&format!("/emails/metrics?{query}")).ok(200)
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
fn a_deleted_email_stays_in_the_counts() {
    let server = TestServer::start();
    let first = send_three(&server);

    server.delete(&format!("/emails/{first}")).ok(200);

    assert_eq!(metrics(&server, "metrics=delivered")["totals"], json!({ "delivered": 2 }));
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
    ] {
        server.get(&format!("/emails/metrics?{query}")).refused(422, "validation_error", message);
    }
}
