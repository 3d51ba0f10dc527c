//! Redacts arbitrary bodies for the request log. The copy is JSON, stays within its bound and contains no secret.

use ringmail::logs::{BodyCopy, redact};
use serde_json::Value;

const SECRET_FIELDS: [&str; 6] = ["html", "text", "content", "attachments", "token", "signing_secret"];

pub(crate) fn check(bytes: &[u8]) {
    let read = serde_json::from_slice::<Value>(bytes);
    match redact(bytes, usize::MAX) {
        BodyCopy::Json(copy) => {
            assert!(read.is_ok(), "only valid JSON has a copy");
            assert!(copy.len() <= bytes.len() + bytes.len() * 12, "a marker replaces a value of at least one byte");
            assert_redacted(&serde_json::from_str(&copy).expect("a copy is JSON"));
        }
        copy => assert!(copy == BodyCopy::NotJson && read.is_err(), "{copy:?}"),
    }
    for bytes_max in [0, 1, 50, 500] {
        match redact(bytes, bytes_max) {
            BodyCopy::Json(copy) => assert!(copy.len() <= bytes_max),
            BodyCopy::TooLarge { bytes: counted } => assert_eq!(counted, bytes.len()),
            BodyCopy::NotJson => {}
        }
    }
}

fn assert_redacted(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(assert_redacted),
        Value::Object(fields) => {
            for (name, value) in fields {
                if SECRET_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name)) {
                    assert_eq!(value, "[redacted]", "{name}");
                }
                assert_redacted(value);
            }
        }
        _ => {}
    }
}
