//! Filling of a text that must not have a field without a value.

use std::borrow::Cow;

use super::{CLOSE, MergeField, OPEN, Piece, Pieces, UNSUBSCRIBE_NAMES, ValueForm, push_fallback, push_value};

/// Reason why a text is not filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FillError {
    /// The first field that has neither a value nor a fallback: its name.
    MissingValue(String),
    /// The filled text is too large.
    TooLarge,
}

/// Replaces each field of a text by its value. A field whose value is empty is replaced by its fallback, or by nothing.
/// A field without a value is replaced by its fallback.
///
/// # Errors
/// [`FillError::MissingValue`] for the first field without a value and without a fallback; [`FillError::TooLarge`] if
/// the result has more than `bytes_max` bytes.
pub fn try_fill<'v>(
    text: &str,
    form: ValueForm,
    bytes_max: usize,
    mut value: impl FnMut(MergeField<'_>) -> Option<Cow<'v, str>>,
) -> Result<String, FillError> {
    let mut filled = String::with_capacity(text.len().min(bytes_max));
    for piece in (Pieces { rest: text }) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Field(field) => match (value(field), field.fallback) {
                (None, None) => return Err(FillError::MissingValue(field.name.to_owned())),
                (Some(value), None) => push_value(&mut filled, form, &value),
                (Some(value), Some(_)) if !value.is_empty() => push_value(&mut filled, form, &value),
                (_, Some(fallback)) => push_fallback(&mut filled, form, fallback),
            },
        }
        if filled.len() > bytes_max {
            return Err(FillError::TooLarge);
        }
    }
    Ok(filled)
}

/// Returns the number of placeholders of the unsubscribe link in a text.
pub fn unsubscribe_placeholders(text: &str) -> usize {
    UNSUBSCRIBE_NAMES.iter().map(|name| text.matches(&format!("{OPEN}{name}{CLOSE}")).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(field: MergeField<'_>) -> Option<Cow<'static, str>> {
        match field.name {
            "NAME" => Some("<Ada>".into()),
            "EMPTY" => Some("".into()),
            _ => None,
        }
    }

    #[test]
    fn a_field_needs_a_value_or_a_fallback() {
        let missing = |name: &str| Err(FillError::MissingValue(name.to_owned()));
        for (text, expected) in [
            ("Hi {{{NAME}}}", Ok("Hi &lt;Ada&gt;".to_owned())),
            ("Hi {{{NAME|you}}}", Ok("Hi &lt;Ada&gt;".to_owned())),
            ("{{{EMPTY}}}{{{EMPTY|<b>}}}", Ok("<b>".to_owned())),
            ("{{{NONE|<b>}}}{{{NONE|}}}", Ok("<b>".to_owned())),
            ("{{{NAME}}}{{{FIRST}}}{{{SECOND}}}", missing("FIRST")),
            ("{{{name}}}", missing("name")),
            ("{{{UNSUBSCRIBE_URL}}} {{NAME}}", Ok("{{{UNSUBSCRIBE_URL}}} {{NAME}}".to_owned())),
        ] {
            assert_eq!(try_fill(text, ValueForm::Html, 100, value), expected, "{text}");
        }
    }

    #[test]
    fn a_filled_text_has_at_most_the_given_bytes() {
        assert_eq!(try_fill("{{{NAME}}}", ValueForm::Text, 5, value), Ok("<Ada>".to_owned()));
        assert_eq!(try_fill("{{{NAME}}}", ValueForm::Text, 4, value), Err(FillError::TooLarge));
        assert_eq!(try_fill("12345", ValueForm::Text, 4, value), Err(FillError::TooLarge));
    }

    #[test]
    fn both_placeholders_are_counted() {
        let text = "{{{{UNSUBSCRIBE_URL}}}} {{{RESEND_UNSUBSCRIBE_URL}}} {{{NAME}}} {{UNSUBSCRIBE_URL}}";
        assert_eq!(unsubscribe_placeholders(text), 2);
    }
}
