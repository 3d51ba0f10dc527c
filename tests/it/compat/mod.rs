//! Opt-in compatibility: each value of `RINGMAIL_COMPAT`, with it and without it.

mod attachment_path;
mod events;
mod headers;
mod inline_images;
mod requests;

use serde_json::Value;

use crate::support::{TestServer, email};

/// Asserts that a server without compatibility refuses a send, and names the setting that accepts it.
#[track_caller]
fn assert_send_refused_without(setting: &str, fields: &Value) {
    let server = TestServer::start();

    let refused = server.post("/emails", &email(fields)).refusal();

    assert!(refused.starts_with("422 validation_error: "), "{fields}: {refused}");
    assert!(refused.contains(&format!("start the server with `RINGMAIL_COMPAT={setting}`")), "{fields}: {refused}");
    assert_eq!(server.stored_emails(), 0);
}
