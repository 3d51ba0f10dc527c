//! Merge fields: `{{{NAME}}}` and `{{{NAME|fallback}}}` in the content of broadcasts and templates. Pure.
//!
//! A name has ASCII letters, digits and underscores, and a fallback has no braces. Any other text in braces is no field.
//! `strict.rs` refuses a text whose fields have neither a value nor a fallback.
//!
//! Invariants:
//! - A value is not scanned for fields.
//! - The placeholders of the unsubscribe link are no fields. `preferences` replaces them before the fields are filled.

mod strict;

use std::borrow::Cow;
use std::ops::Range;

pub use strict::{FillError, try_fill, unsubscribe_placeholders};

/// Names of the placeholders of the unsubscribe link, without braces.
const UNSUBSCRIBE_NAMES: [&str; 2] = ["UNSUBSCRIBE_URL", "RESEND_UNSUBSCRIBE_URL"];
const OPEN: &str = "{{{";
const CLOSE: &str = "}}}";

/// A field of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeField<'t> {
    /// Name, case-sensitive.
    pub name: &'t str,
    /// Text that replaces a missing value; `None` if the field gives none.
    pub fallback: Option<&'t str>,
}

/// A placeholder of a text: a field, or the link of the recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder<'t> {
    Field(MergeField<'t>),
    Unsubscribe,
}

/// Form in which values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// Escaped for HTML. A fallback is written as it is, because it is part of the HTML.
    Html,
    /// Unchanged.
    Text,
    /// On one line: a control character is written as a space. Fallbacks too.
    Line,
}

/// Returns the fields of a text, in order.
pub fn fields(text: &str) -> impl Iterator<Item = MergeField<'_>> {
    Pieces { rest: text }.filter_map(|piece| match piece {
        Piece::Field(field) => Some(field),
        Piece::Text(_) => None,
    })
}

/// Returns the placeholders of a text with their bytes, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = (Range<usize>, Placeholder<'_>)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text[from..].find(OPEN).map(|at| from + at) {
            let Some((field, after)) = braces_at_start(&text[at..]) else {
                from = at + 1;
                continue;
            };
            let end = text.len() - after.len();
            from = end;
            let is_link = UNSUBSCRIBE_NAMES.contains(&field.name);
            match (is_link, field.fallback) {
                (true, None) => return Some((at..end, Placeholder::Unsubscribe)),
                (true, Some(_)) => {}
                (false, _) => return Some((at..end, Placeholder::Field(field))),
            }
        }
        None
    })
}

/// Replaces each field of a text by its value, by its fallback if `value` returns `None` or an empty value, or by
/// nothing.
pub fn fill<'v>(text: &str, form: ValueForm, mut value: impl FnMut(MergeField<'_>) -> Option<Cow<'v, str>>) -> String {
    let mut filled = String::with_capacity(text.len());
    for piece in (Pieces { rest: text }) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Field(field) => match value(field).filter(|value| !value.is_empty()) {
                Some(value) => push_value(&mut filled, form, &value),
                None => push_fallback(&mut filled, form, field.fallback.unwrap_or_default()),
            },
        }
    }
    filled
}

fn push_value(filled: &mut String, form: ValueForm, value: &str) {
    match form {
        ValueForm::Html => {
            for character in value.chars() {
                match character {
                    '&' => filled.push_str("&amp;"),
                    '<' => filled.push_str("&lt;"),
                    '>' => filled.push_str("&gt;"),
                    '"' => filled.push_str("&quot;"),
                    '\'' => filled.push_str("&#39;"),
                    other => filled.push(other),
                }
            }
        }
        ValueForm::Text => filled.push_str(value),
        ValueForm::Line => filled.extend(value.chars().map(|it| if it.is_control() { ' ' } else { it })),
    }
}

fn push_fallback(filled: &mut String, form: ValueForm, fallback: &str) {
    let form = if form == ValueForm::Html { ValueForm::Text } else { form };
    push_value(filled, form, fallback);
}

/// Part of a text.
enum Piece<'t> {
    Text(&'t str),
    Field(MergeField<'t>),
}

/// Iterator over the parts of a text.
struct Pieces<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = self.rest[from..].find(OPEN).map(|at| from + at) {
            if let Some((field, after)) = field_at_start(&self.rest[at..]) {
                if at == 0 {
                    self.rest = after;
                    return Some(Piece::Field(field));
                }
                let (text, rest) = self.rest.split_at(at);
                self.rest = rest;
                return Some(Piece::Text(text));
            }
            // A fourth brace may be the start of a field.
            from = at + 1;
        }
        Some(Piece::Text(std::mem::take(&mut self.rest)))
    }
}

/// Returns the field at the start of a text, with the text after it.
fn field_at_start(text: &str) -> Option<(MergeField<'_>, &str)> {
    braces_at_start(text).filter(|(field, _)| !UNSUBSCRIBE_NAMES.contains(&field.name))
}

/// Does the same as [`field_at_start`], and accepts the names of the unsubscribe link.
fn braces_at_start(text: &str) -> Option<(MergeField<'_>, &str)> {
    let inner = text.strip_prefix(OPEN)?;
    let end = inner.find(['{', '}'])?;
    let after = inner[end..].strip_prefix(CLOSE)?;
    let (name, fallback) = match inner[..end].split_once('|') {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (&inner[..end], None),
    };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((MergeField { name, fallback }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<Cow<'static, str>> {
        match name {
            "NAME" => Some("<Ada & \"Bob\">".into()),
            "LINES" => Some("a\r\nb".into()),
            "FIELD" => Some("{{{NAME}}}".into()),
            "EMPTY" => Some("".into()),
            _ => None,
        }
    }

    #[test]
    fn each_form_writes_values_and_fallbacks() {
        for (form, text, expected) in [
            (ValueForm::Html, "Hi {{{NAME}}}!", "Hi &lt;Ada &amp; &quot;Bob&quot;&gt;!"),
            (ValueForm::Text, "Hi {{{NAME|you}}}!", "Hi <Ada & \"Bob\">!"),
            (ValueForm::Line, "{{{LINES}}}", "a  b"),
            (ValueForm::Line, "{{{NONE|a\tb}}}", "a b"),
            (ValueForm::Html, "{{{NONE|<b>you</b>}}}", "<b>you</b>"),
            (ValueForm::Text, "{{{EMPTY|there}}}{{{NONE}}}.", "there."),
            (ValueForm::Text, "{{{FIELD}}}", "{{{NAME}}}"),
            (ValueForm::Text, "{{{{NAME}}}}", "{<Ada & \"Bob\">}"),
        ] {
            assert_eq!(fill(text, form, |field| value(field.name)), expected, "{text}");
        }
    }

    #[test]
    fn other_text_in_braces_is_no_field() {
        for text in [
            "",
            "{{{",
            "{{{}}}",
            "{{{NAME}}",
            "{{NAME}}",
            "{{{A B}}}",
            "{{{ä}}}",
            "{{{|x}}}",
            "{{{NAME|a{b}}}",
            "{{{UNSUBSCRIBE_URL}}}",
            "{{{RESEND_UNSUBSCRIBE_URL}}}",
        ] {
            assert_eq!(fields(text).count(), 0, "{text}");
            assert_eq!(fill(text, ValueForm::Text, |field| value(field.name)), text);
        }
    }

    #[test]
    fn placeholders_have_their_bytes() {
        let text = "é{{{A|b}}} {{{{UNSUBSCRIBE_URL}}}} {{{UNSUBSCRIBE_URL|x}}}{{{RESEND_UNSUBSCRIBE_URL}}}";

        let found: Vec<_> = placeholders(text).map(|(range, placeholder)| (&text[range], placeholder)).collect();

        let field = Placeholder::Field(MergeField { name: "A", fallback: Some("b") });
        assert_eq!(
            found,
            [
                ("{{{A|b}}}", field),
                ("{{{UNSUBSCRIBE_URL}}}", Placeholder::Unsubscribe),
                ("{{{RESEND_UNSUBSCRIBE_URL}}}", Placeholder::Unsubscribe),
            ]
        );
    }

    #[test]
    fn the_fields_of_a_text_are_listed_in_order() {
        let found: Vec<_> = fields("{{{B|}}} {{{A}}} {{{B}}}").map(|field| (field.name, field.fallback)).collect();

        assert_eq!(found, [("B", Some("")), ("A", None), ("B", None)]);
    }
}
