//! `GET /emails/metrics` after opens and clicks.

use std::time::Duration;

use serde_json::json;

use super::{BROWSER, HTML, deliver, request, start_tracking, tracked_path};

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

    server.wait_for_metrics(&json!({
        "sent": 9, "delivered": 8, "opened": 6, "clicked": 3, "unique_opened": 4, "unique_clicked": 2,
        "open_rate": 50.0, "click_rate": 25.0, "prefetched": 1,
    }));
}

#[test]
fn a_repeat_and_an_erasure_change_no_metric() {
    let server = start_tracking();
    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    server.advance(Duration::from_secs(600));
    let hit = |kind: &str| {
        let response = request(&server, "GET", &tracked_path(&message.html, kind), &[BROWSER]);
        assert_eq!(response.status, if kind == "o" { 200 } else { 302 });
    };
    let expected = json!({ "opened": 1, "clicked": 1, "unique_opened": 1, "unique_clicked": 1, "prefetched": 0 });

    for kind in ["o", "c", "o", "c"] {
        hit(kind);
    }
    server.wait_for_metrics(&expected);
    server.erase(&["ada@example.org"]);
    server.advance(Duration::from_secs(600));
    for kind in ["o", "c"] {
        hit(kind);
    }

    server.wait_for_metrics(&expected);
}
