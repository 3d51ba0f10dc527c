//! The request log: logged requests, redaction, erasure and retention.

mod details;
mod erasure;
mod list;
mod recorded;
mod redacted;
mod storage;

use serde_json::Value;

use crate::support::{ApiResponse, TestServer};

/// Returns the log entry of the request that got this response.
#[track_caller]
fn entry(server: &TestServer, response: &ApiResponse) -> Value {
    let id = response.header("x-request-id").expect("every response has a request id");
    server.get(&format!("/logs/{id}")).ok(200)
}

/// Returns method, path and status of every log entry, oldest first, except those of this call.
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
