//! Placeholders as single characters, so that Markdown does not change them. Pure.
//!
//! A token has the length of its placeholder: one character of the supplementary private use area, then filling.
//! Offsets in the source therefore stay the same.

use std::ops::Range;

use crate::merge_fields::{self, MergeField, Placeholder};

/// First character of the tokens.
const FIRST: u32 = 0xF_0000;
/// Number of tokens. Further placeholders stay as they are.
const TOKENS_MAX: usize = 0xFFFD;
/// Bytes of the character of a token.
const CHARACTER_BYTES: usize = 4;
/// Character after that of the token, up to its length.
const FILLING: &str = "x";
/// Replacement of a character of the source that a token could have, of the same length.
const REPLACEMENT: &str = "\u{FFFD} ";

/// The placeholders of a source.
#[derive(Debug)]
pub(super) struct Tokens<'s> {
    all: Vec<(&'s str, Placeholder<'s>)>,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPart<'p> {
    Plain(&'p str),
    Field(MergeField<'p>),
    /// The placeholder of the link of the recipient, as the source has it.
    Unsubscribe(&'p str),
}

/// Replaces the placeholders of a source by tokens.
pub(super) fn replace(source: &str) -> (Tokens<'_>, String) {
    let (mut all, mut replaced) = (Vec::new(), String::with_capacity(source.len()));
    let mut end = 0;
    for (range, placeholder) in merge_fields::placeholders(source).take(TOKENS_MAX) {
        let Range { start, end: next } = range.clone();
        push_plain(&mut replaced, &source[end..start]);
        end = next;
        let number = u32::try_from(all.len()).unwrap_or_default();
        replaced.push(char::from_u32(FIRST + number).unwrap_or(char::REPLACEMENT_CHARACTER));
        replaced.push_str(&FILLING.repeat(range.len() - CHARACTER_BYTES));
        all.push((&source[range], placeholder));
    }
    push_plain(&mut replaced, &source[end..]);
    (Tokens { all }, replaced)
}

fn push_plain(replaced: &mut String, text: &str) {
    for character in text.chars() {
        if index(character).is_some() { replaced.push_str(REPLACEMENT) } else { replaced.push(character) }
    }
}

/// Returns the number of the token that starts with a character.
fn index(character: char) -> Option<usize> {
    let index = usize::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (index < TOKENS_MAX).then_some(index)
}

impl Tokens<'_> {
    /// Splits a text at its tokens.
    pub(super) fn parts<'p>(&'p self, text: &'p str) -> impl Iterator<Item = TextPart<'p>> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let found = rest.char_indices().find_map(|(at, character)| {
                let (source, placeholder) = self.all.get(index(character)?)?;
                Some((at, *source, *placeholder))
            });
            let Some((at, source, placeholder)) = found else {
                return Some(TextPart::Plain(std::mem::take(&mut rest)));
            };
            if at > 0 {
                let (plain, from_token) = rest.split_at(at);
                rest = from_token;
                return Some(TextPart::Plain(plain));
            }
            // A token that a text ends within is complete in the source.
            rest = rest.get(source.len()..).unwrap_or_default();
            Some(match placeholder {
                Placeholder::Field(field) => TextPart::Field(field),
                Placeholder::Unsubscribe => TextPart::Unsubscribe(source),
            })
        })
    }

    /// Returns whether a text is one token.
    pub(super) fn is_one(&self, text: &str) -> bool {
        let mut parts = self.parts(text);
        parts.next().is_some_and(|part| !matches!(part, TextPart::Plain(_))) && parts.next().is_none()
    }

    /// Returns whether a text has a placeholder of the link of the recipient.
    pub(super) fn has_unsubscribe(&self, text: &str) -> bool {
        self.parts(text).any(|part| matches!(part, TextPart::Unsubscribe(_)))
    }

    /// Returns a text with its placeholders.
    pub(super) fn restore(&self, text: &str) -> String {
        let mut restored = String::with_capacity(text.len());
        for part in self.parts(text) {
            match part {
                TextPart::Plain(plain) => restored.push_str(plain),
                TextPart::Unsubscribe(source) => restored.push_str(source),
                TextPart::Field(field) => push_field(&mut restored, field, str::to_owned),
            }
        }
        restored
    }
}

/// Writes a field, with its fallback as `write` returns it.
pub(super) fn push_field(text: &mut String, field: MergeField<'_>, write: impl FnOnce(&str) -> String) {
    let MergeField { name, fallback } = field;
    match fallback {
        Some(fallback) => text.push_str(&format!("{{{{{{{name}|{}}}}}}}", write(fallback))),
        None => text.push_str(&format!("{{{{{{{name}}}}}}}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_keep_the_offsets_and_are_put_back() {
        let source = "Hi {{{FIRST_NAME|a b}}}, {{{A}}}\u{F0000}{{{UNSUBSCRIBE_URL}}}";

        let (tokens, replaced) = replace(source);

        assert_eq!(replaced.len(), source.len());
        assert_eq!(replaced.find(", "), source.find(", "));
        assert!(!replaced.contains('{'), "{replaced}");
        assert_eq!(tokens.restore(&replaced), source.replace('\u{F0000}', REPLACEMENT));
        assert!(tokens.has_unsubscribe(&replaced));
        let at = source.find("{{{A}}}").unwrap();
        assert!(tokens.is_one(&replaced[at..at + 7]) && !tokens.is_one(&replaced[at - 1..at + 7]));
    }

    proptest! {
        #[test]
        fn every_text_is_restored(source in "([{}A|]|\\{\\{\\{A(\\|b)?\\}\\}\\}|é){0,30}") {
            let (tokens, replaced) = replace(&source);

            prop_assert_eq!(tokens.restore(&replaced), source);
        }
    }
}
