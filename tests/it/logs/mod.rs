//! The request log: what is in it, what is left out of it, and how long it stays.

mod erasure;
mod list;
mod recorded;
mod redacted;
mod room;

use serde_json::Value;

use crate::support::{ApiResponse, TestServer};

/// Returns the entry of the request that was answered so.
#[track_caller]
fn entry(server: &TestServer, answer: &ApiResponse) -> Value {
    let id = answer.header("x-request-id").expect("every answer names its request");
    server.get(&format!("/logs/{id}")).ok(200)
}

/// Returns method, path and status of every request in the log, oldest first, but those of this call.
fn logged(server: &TestServer) -> Vec<String> {
    let mut lines = Vec::new();
    let mut path = "/logs?limit=100".to_owned();
    loop {
        let page = server.get(&path).ok(200);
        let rows = page["data"].as_array().unwrap();
        for row in rows {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            lines.push(format!("{} {} {}", text("method"), text("endpoint"), row["response_status"]));
        }
        if page["has_more"] == false {
            break;
        }
        path = format!("/logs?limit=100&after={}", rows.last().unwrap()["id"].as_str().unwrap());
    }
    lines.reverse();
    lines
}
