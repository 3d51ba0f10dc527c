//! Compares bodies with their snapshots, after replacing values that differ between runs.

use serde_json::Value;

/// Compares a JSON body with its snapshot, after [`redacted`].
macro_rules! assert_body {
    ($body:expr) => {
        $crate::support::in_snapshots(|| insta::assert_json_snapshot!($crate::support::redacted(&$body)))
    };
}
pub(crate) use assert_body;

/// Compares lines of text with their snapshot.
macro_rules! assert_lines {
    ($lines:expr) => {
        $crate::support::in_snapshots(|| insta::assert_snapshot!($lines.join("\n")))
    };
}
pub(crate) use assert_lines;

/// Runs `assert` with `tests/it/snapshots` as the snapshot folder.
pub(crate) fn in_snapshots(assert: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snapshots"));
    settings.set_omit_expression(true);
    settings.bind(assert);
}

/// Returns `body` with placeholders for ids, times, tokens and secrets. Ids are numbered in the order of
/// their first appearance.
pub(crate) fn redacted(body: &Value) -> Value {
    let mut body = body.clone();
    redact(&mut body, &mut Vec::new());
    body
}

fn redact(value: &mut Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, ids)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(field, ids)),
        Value::String(text) => *text = redact_text(text, ids),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_text(text: &str, ids: &mut Vec<String>) -> String {
    if is_time(text) {
        return "[time]".to_owned();
    }
    if text.starts_with("rm_") {
        return "[token]".to_owned();
    }
    if text.starts_with("whsec_") {
        return "[secret]".to_owned();
    }
    let mut redacted_text = String::new();
    let mut rest = text;
    while let Some(position) = (0..rest.len()).find(|position| rest.get(*position..position + 36).is_some_and(is_id)) {
        let (before, from) = rest.split_at(position);
        let (id, after) = from.split_at(36);
        let number = ids.iter().position(|known| known == id).unwrap_or_else(|| {
            ids.push(id.to_owned());
            ids.len() - 1
        });
        redacted_text.push_str(before);
        redacted_text.push_str(&format!("[id {}]", number + 1));
        rest = after;
    }
    redacted_text.push_str(rest);
    redacted_text
}

fn is_id(text: &str) -> bool {
    text.bytes().enumerate().all(|(position, byte)| match position {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    })
}

/// Returns whether `text` is a time in the format of the API: UTC with milliseconds.
fn is_time(text: &str) -> bool {
    text.len() == 24
        && text.bytes().enumerate().all(|(position, byte)| match position {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            19 => byte == b'.',
            23 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}
