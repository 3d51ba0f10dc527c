//! `GET /emails/metrics` after opens and clicks.

use std::time::Duration;

use serde_json::json;

use super::{BROWSER, HTML, deliver, request, start_tracking, tracked_path};

const METRICS: [&str; 9] = [
    "sent",
    "delivered",
    "opened",
    "clicked",
    "unique_opened",
    "unique_clicked",
    "open_rate",
    "click_rate",
    "prefetched",
];

#[test]
fn each_metric_of_opens_and_clicks_has_its_own_count() {
    let server = start_tracking();
    let bounced = server.send(&json!({ "to": "bounced@resend.dev" }));
    server.wait_for(&bounced, "bounced");
    let html: Vec<String> = (0..8)
        .map(|number| {
            let to = format!("r{number}@example.org");
            deliver(&server, &json!({ "to": to, "html": HTML })).1.html
        })
        .collect();
    let hit = |recipient: usize, kind: &str, headers: &[(&str, &str)]| {
        let response = request(&server, "GET", &tracked_path(&html[recipient], kind), headers);
        assert_eq!(response.status, if kind == "o" { 200 } else { 302 });
    };

    // The click of the recipient 3 proves an open.
    server.advance(Duration::from_secs(600));
    for (recipient, kind) in [(0, "o"), (1, "o"), (2, "o"), (3, "c"), (0, "c")] {
        hit(recipient, kind, &[BROWSER]);
    }
    server.advance(Duration::from_secs(120));
    for (recipient, kind) in [(0, "o"), (1, "o"), (0, "c")] {
        hit(recipient, kind, &[BROWSER]);
    }
    hit(4, "o", &[BROWSER, ("sec-purpose", "prefetch")]);

    let expected = json!({
        "sent": 9, "delivered": 8, "opened": 6, "clicked": 3, "unique_opened": 4, "unique_clicked": 2,
        "open_rate": 50.0, "click_rate": 25.0, "prefetched": 1,
    });
    let query = METRICS.map(|metric| format!("metrics={metric}")).join("&");
    server.poll(&format!("/emails/metrics?{query}"), "the totals", |response| response.json["totals"] == expected);
}
