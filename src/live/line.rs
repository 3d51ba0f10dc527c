//! One event as one line of text. Pure.

use serde_json::Value;

use crate::base::printable::printable;

/// Characters of each part of a line, such as the list of addresses.
const PART_CHARS_MAX: usize = 200;
/// Characters of the subject of an email.
const SUBJECT_CHARS_MAX: usize = 80;
/// Width of the column of types.
const TYPE_CHARS: usize = 24;

/// Form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// Times with the date, for files and other programs.
    Plain,
    /// Times of the day in UTC, for a terminal.
    Short,
    /// [`LineStyle::Short`] with a colour for each outcome.
    Coloured,
}

/// Returns the time, type, addresses and id of an event, and the subject of an email. The id is that of the
/// email, the contact or the suppression, or else `id`, the id of the event. Without colours, the line cannot
/// control a terminal: control characters are replaced by spaces, because recipients and other servers write
/// parts of an event.
pub fn line(id: &str, body: &str, style: LineStyle) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name: &str| printable(body[name].as_str().unwrap_or("-"), PART_CHARS_MAX);
    let data = &body["data"];
    let at = text("created_at");
    let at = match style {
        LineStyle::Plain => at,
        LineStyle::Short | LineStyle::Coloured => time_of_day(&at).map_or(at.clone(), str::to_owned),
    };
    let event_type = text("type");
    let colour = match style {
        LineStyle::Plain | LineStyle::Short => None,
        LineStyle::Coloured => colour(&event_type),
    };
    let event_type = match colour {
        Some(colour) => format!("\x1b[{colour}m{event_type:<TYPE_CHARS$}\x1b[0m"),
        None => format!("{event_type:<TYPE_CHARS$}"),
    };
    let about = ["email_id", "id"].iter().find_map(|name| data[name].as_str()).unwrap_or(id);
    let subject = data["subject"].as_str().map(|subject| format!("  {}", printable(subject, SUBJECT_CHARS_MAX)));
    let subject = subject.unwrap_or_default();
    format!("{at}  {event_type}  {}  {}{subject}", addresses(data), printable(about, PART_CHARS_MAX))
}

/// Returns the time of day of an ISO 8601 time in UTC, without milliseconds.
fn time_of_day(at: &str) -> Option<&str> {
    at.strip_suffix('Z')?.split_once('T')?.1.get(..8)
}

/// Returns the colour of an event type as a parameter of SGR (ECMA-48 §8.3.117); `None` for the default.
fn colour(event_type: &str) -> Option<&'static str> {
    match event_type {
        "email.delivered" | "email.opened" | "email.clicked" => Some("32"),
        "email.delivery_delayed" | "email.suppressed" | "suppression.added" => Some("33"),
        "email.bounced" | "email.failed" | "email.complained" => Some("31"),
        "email.sent" => None,
        _ => Some("2"),
    }
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
            assert_eq!(line("0190", &body, LineStyle::Plain), format!("{at}  {event_type:<24}  {about}  0190"));
        }
    }

    #[test]
    fn a_line_shows_the_id_of_the_email_and_its_subject() {
        let at = "2026-01-05T09:12:33.456Z";
        let data = json!({ "to": ["ada@example.net"], "email_id": "0191", "subject": "Hello\u{1b}[2J" });
        let body = json!({ "type": "email.delivered", "created_at": at, "data": data }).to_string();

        for (style, shown) in [
            (LineStyle::Plain, format!("{at}  email.delivered           ada@example.net  0191  Hello [2J")),
            (LineStyle::Short, "09:12:33  email.delivered           ada@example.net  0191  Hello [2J".to_owned()),
            (
                LineStyle::Coloured,
                "09:12:33  \u{1b}[32memail.delivered         \u{1b}[0m  ada@example.net  0191  Hello [2J".to_owned(),
            ),
        ] {
            assert_eq!(line("0190", &body, style), shown);
        }
        let contact = json!({ "type": "contact.created", "created_at": at, "data": { "id": "0192" } }).to_string();
        assert!(line("0190", &contact, LineStyle::Short).ends_with("  -  0192"));
    }

    #[test]
    fn a_long_list_of_recipients_is_truncated() {
        let body = json!({ "type": "email.sent", "created_at": "", "data": { "to": ["x".repeat(1_000)] } }).to_string();

        assert!(line("0190", &body, LineStyle::Plain).contains(&format!("{}…  0190", "x".repeat(PART_CHARS_MAX))));
    }

    proptest! {
        #[test]
        fn no_event_controls_a_terminal(id in HOSTILE, about in HOSTILE, event_type in HOSTILE) {
            let body = json!({ "type": event_type, "created_at": about, "data": { "email": about } }).to_string();
            for style in [LineStyle::Plain, LineStyle::Short] {
                prop_assert!(is_plain_line(&line(&id, &body, style)));
                prop_assert!(is_plain_line(&line(&id, &about, style)));
            }
            let body = json!({ "type": event_type, "created_at": about, "data": { "to": [about, about], "subject": id } }).to_string();
            prop_assert!(is_plain_line(&line(&id, &body, LineStyle::Plain)));
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
