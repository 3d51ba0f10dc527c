//! The workers of the guardrail, which begin with the server.

use ringmail::email_metrics::DayTotals;
use ringmail::tables::REGION_PAUSES;
use serde_json::json;

use super::deliveries;
use crate::support::{TestServer, retry_until_ok};

#[test]
fn a_server_compares_the_rates_of_teams_and_regions_from_its_start_on() {
    let flags = ["--guardrail", "on"];
    let server = TestServer::start_with(&flags);
    let endpoint = json!({ "endpoint": "http://127.0.0.1:9/", "events": ["deliverability.paused"] });
    let webhook = server.post("/webhooks", &endpoint).ok(201)["id"].as_str().unwrap().to_owned();
    // 62 of 1,100 recipients in the region of all teams.
    for (name, domain) in [("East", "east.example"), ("West", "west.example")] {
        server.other_team(name, domain).put_bounces(500, 26);
    }
    server.put_totals(DayTotals { sent: 100, sent_and_bounced: 10, ..DayTotals::default() });

    let server = server.restart_with(&flags);

    server.poll(&format!("/webhooks/{webhook}/events"), "the event", |_| {
        deliveries(&server, &webhook, "deliverability.paused") == 1
    });
    retry_until_ok("the pause of the region", || {
        match server.row_count(&REGION_PAUSES, &([0; 32],), &([u8::MAX; 32],)) {
            1 => Ok(()),
            regions => Err(format!("{regions} regions are paused")),
        }
    });
}
