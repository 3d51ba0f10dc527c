//! One event as one line of text. Pure.

use serde_json::Value;

use crate::base::printable::printable;

/// Characters of each part of a line, such as the list of addresses.
const PART_CHARS_MAX: usize = 200;

/// Returns the time, type, addresses and id of an event. The line cannot control a terminal: control
/// characters are replaced by spaces, because recipients and other servers write parts of an event.
pub fn line(id: &str, body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name: &str| printable(body[name].as_str().unwrap_or("-"), PART_CHARS_MAX);
    format!(
        "{}  {:<24}  {}  {}",
        text("created_at"),
        text("type"),
        addresses(&body["data"]),
        printable(id, PART_CHARS_MAX)
    )
}

/// Returns the recipients of an email event, or the address of a contact or suppression event.
fn addresses(data: &Value) -> String {
    let joined = match &data["to"] {
        Value::Array(to) => to.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => data["email"].as_str().unwrap_or_default().to_owned(),
    };
    if joined.is_empty() { "-".to_owned() } else { printable(&joined, PART_CHARS_MAX) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_shows_time_type_addresses_and_id() {
        let at = "2026-01-05T09:12:33.456Z";
        for (event_type, data, about) in [
            ("email.sent", json!({ "to": ["ada@example.net", "bob@example.net"] }), "ada@example.net, bob@example.net"),
            ("contact.created", json!({ "email": "ada@example.net" }), "ada@example.net"),
            ("suppression.added", json!({ "email": "a\u{1b}[2Jb@example.net" }), "a [2Jb@example.net"),
            ("email.sent", json!({ "to": ["a\u{202e}b@example.net"] }), "a b@example.net"),
            ("deliverability.warning", json!({ "rate": 0.1 }), "-"),
        ] {
            let body = json!({ "type": event_type, "created_at": at, "data": data }).to_string();
            assert_eq!(line("0190", &body), format!("{at}  {event_type:<24}  {about}  0190"));
        }
    }

    #[test]
    fn a_long_list_of_recipients_is_truncated() {
        let body = json!({ "type": "email.sent", "created_at": "", "data": { "to": ["x".repeat(1_000)] } }).to_string();

        assert!(line("0190", &body).contains(&format!("{}…  0190", "x".repeat(PART_CHARS_MAX))));
    }

    proptest! {
        #[test]
        fn no_event_controls_a_terminal(id in HOSTILE, about in HOSTILE, event_type in HOSTILE) {
            let body = json!({ "type": event_type, "created_at": about, "data": { "email": about } }).to_string();
            prop_assert!(is_plain_line(&line(&id, &body)));
            prop_assert!(is_plain_line(&line(&id, &about)));
            let body = json!({ "type": event_type, "created_at": about, "data": { "to": [about, about] } }).to_string();
            prop_assert!(is_plain_line(&line(&id, &body)));
        }
    }

    /// Text with many control characters, format characters and separators.
    const HOSTILE: &str =
        "(\\PC|[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]|[\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]){0,40}";

    /// Returns whether a terminal shows the text on one line and in its own order.
    fn is_plain_line(text: &str) -> bool {
        // Bidi_Control, as PropList.txt of Unicode lists it.
        let direction_marks =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        let line_separators = "\u{2028}\u{2029}";
        !text.chars().any(|c| c.is_control() || direction_marks.contains(c) || line_separators.contains(c))
    }
}
