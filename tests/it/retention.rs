//! Rows that a running server deletes when they are old, and that no request shows.

use std::time::Duration;

use ringmail::base::id::Id;
use ringmail::tables::{AUDIENCE_EVENTS, INSIGHT_DAYS};
use serde_json::json;

use crate::support::{TestServer, retry_until_ok};

/// Returns the number of stored events about the audience, and of stored counts of content checks.
fn rows(server: &TestServer) -> (usize, usize) {
    let events = server.row_count(&AUDIENCE_EVENTS, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX));
    let checks = server.row_count(&INSIGHT_DAYS, &(Id::MIN, 0, 0), &(Id::MAX, u32::MAX, u8::MAX));
    (events, checks)
}

#[test]
fn events_about_the_audience_and_counts_of_content_checks_are_deleted_after_their_periods() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    // The link fails a check, some seconds after the acceptance.
    server.send(&json!({ "to": "ada@example.net", "html": "<p><a href=\"https://bit.ly/x\">News</a></p>" }));
    server.advance(Duration::from_secs(6));
    let wait_for = |server: &TestServer, what: &str, is_expected: fn(usize) -> bool| {
        retry_until_ok(what, || match rows(server) {
            (events, checks) if is_expected(events) && is_expected(checks) => Ok(()),
            found => Err(format!("{found:?} rows")),
        });
    };
    wait_for(&server, "the rows", |rows| rows > 0);

    let server = server.restart_after(Duration::from_secs(70 * 24 * 3_600), &[]);

    wait_for(&server, "the deletion", |rows| rows == 0);
}
