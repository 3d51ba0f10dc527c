//! `GET /deliverability`, and the guardrail that pauses the sending of a team.
//!
//! In reading order:
//!
//! - `report.rs`: the score and the rates of a team.
//! - `pauses.rs`: limits that pause the sends of a team, and the events about them.
//! - `broadcasts.rs`: broadcasts of a team with a warning or a pause.
//! - `regions.rs`: pauses of the broadcasts of a region.
//! - `workers.rs`: the workers of a running server.

mod broadcasts;
mod pauses;
mod regions;
mod report;
mod workers;

use std::ops::Range;
use std::time::Duration;

use ringmail::base::id::BroadcastId;
use ringmail::broadcasts::FanOutRow;
use ringmail::store::{Reads as _, StoreError};
use ringmail::tables::BROADCAST_FAN_OUTS;
use serde_json::{Value, json};

use crate::ingest::{self, SECRET};
use crate::support::{TestServer, email, retry_until_ok};

const HOUR: Duration = Duration::from_secs(3_600);
/// Emails of a test: the minimum number of recipients for a limit.
const EMAILS: usize = 100;

/// Starts a server that accepts delivery reports. `guardrail` is `on` or `off`.
pub(crate) fn start(guardrail: &str) -> TestServer {
    TestServer::start_with(&["--ingest-secret", SECRET, "--guardrail", guardrail])
}

/// Sends an email to each of 100 recipients, waits until they are delivered, and returns their ids. The address of a
/// recipient has its number: `r0@example.net` is the first one.
pub(crate) fn deliver_emails(server: &TestServer) -> Vec<String> {
    let emails: Vec<Value> =
        (0..EMAILS).map(|number| email(&json!({ "to": format!("r{number}@example.net") }))).collect();
    let sent = server.post("/emails/batch", &Value::from(emails)).ok(200);
    let id = |email: &Value| email["id"].as_str().unwrap().to_owned();
    let ids: Vec<String> = sent["data"].as_array().unwrap().iter().map(id).collect();
    for id in &ids {
        server.wait_for(id, "delivered");
    }
    ids
}

/// Reports an outcome for the recipients with these numbers. `ids` has the email of each recipient.
#[track_caller]
pub(crate) fn report_outcome(server: &TestServer, ids: &[String], recipients: Range<usize>, outcome: &str) {
    let event = |number: usize| {
        let recipient = format!("r{number}@example.net");
        json!({ "type": outcome, "email_id": ids[number], "recipient": recipient, "bounce": { "type": "Permanent" } })
    };
    let events: Vec<Value> = recipients.clone().map(event).collect();
    assert_eq!(ingest::report(server, &Value::from(events)), (recipients.len() as u64, 0));
}

/// Sends 100 emails, waits until they are delivered, and reports the first `bounced` of them as bounced.
#[track_caller]
pub(crate) fn send_with_bounces(server: &TestServer, bounced: usize) {
    let ids = deliver_emails(server);
    report_outcome(server, &ids, 0..bounced, "bounced");
}

/// Returns the number of deliveries of an event type to an endpoint.
fn deliveries(server: &TestServer, webhook: &str, event: &str) -> usize {
    let listed = server.get(&format!("/webhooks/{webhook}/events")).ok(200);
    listed["data"].as_array().unwrap().iter().filter(|delivery| delivery["type"] == event).count()
}

/// Returns the fan-out of a broadcast; `None` once all its recipients are queued.
fn fan_out(server: &TestServer, broadcast: &str) -> Option<FanOutRow> {
    let id = BroadcastId::parse(broadcast).unwrap();
    server.context().store.read_now::<_, StoreError>(|tx| tx.get(&BROADCAST_FAN_OUTS, &(id,))).unwrap()
}

/// Waits until a due broadcast is held.
#[track_caller]
fn wait_for_hold(server: &TestServer, broadcast: &str) {
    retry_until_ok("the hold", || match fan_out(server, broadcast) {
        Some(row) if row.is_held => Ok(()),
        row => Err(format!("{row:?}")),
    });
}
