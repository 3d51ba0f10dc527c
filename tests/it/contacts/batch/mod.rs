//! `/contacts/batch`.

mod create;
mod get;
mod refusals;
mod remove;

use serde_json::Value;

use crate::support::{ApiResponse, TestServer};

const PATH: &str = "/contacts/batch";

/// Posts a batch. `on_conflict` is the rule for known addresses, and `validation` is the mode for invalid items.
fn post_batch(server: &TestServer, on_conflict: &str, validation: &str, items: &Value) -> ApiResponse {
    let path = format!("{PATH}?on_conflict={on_conflict}");
    let headers = [("x-batch-validation", validation)];
    server.call("POST", &path, server.key(), &headers, Some(items.to_string().as_bytes()))
}

/// Returns index and status of the items that succeeded.
fn statuses(response: &Value) -> Vec<(u64, &str)> {
    let row = |row: &'_ Value| row["index"].as_u64().unwrap();
    response["data"].as_array().unwrap().iter().map(|item| (row(item), item["status"].as_str().unwrap())).collect()
}

/// Returns index and message of the items that failed.
fn failures(response: &Value) -> Vec<(u64, &str)> {
    let rows = response["errors"].as_array().unwrap();
    rows.iter().map(|row| (row["index"].as_u64().unwrap(), row["message"].as_str().unwrap())).collect()
}
