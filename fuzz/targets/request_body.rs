//! Parses arbitrary bodies of `POST /emails` and `POST /emails/batch` with all rules that need no store.

use ringmail::base::compat::Compat;
use ringmail::emails::api::request::{RequestRules, SendBatchRequest, SendEmailRequest};
use ringmail::http::{FromBody, body, canonical};

fn rules(compat: Compat) -> RequestRules {
    RequestRules { now_ms: 1_767_603_600_000, attachment_bytes_max: 1 << 20, compat }
}

pub(crate) fn check(bytes: &[u8]) {
    for compat in [Compat::NONE, Compat::ALL] {
        check_with(bytes, rules(compat));
    }
}

fn check_with(bytes: &[u8], rules: RequestRules) {
    if let Ok(request) = body::parse::<SendEmailRequest>(bytes, &["created_at"]) {
        // An accepted body is valid JSON, so an idempotency key can be stored with its hash.
        assert!(canonical::hash(bytes).is_some());
        if let Err(error) = request.parse(rules) {
            assert!(error.message.len() < 2_000, "{}", error.message);
        }
    }
    let Ok(SendBatchRequest(items)) = SendBatchRequest::from_body(bytes, &[]) else { return };
    for item in items {
        if let Ok(request) = body::parse::<SendEmailRequest>(item.get().as_bytes(), &["created_at"]) {
            let _ = request.parse(rules);
        }
    }
}
