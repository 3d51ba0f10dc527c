//! Recognition of unsubscribe links. Pure.

use crate::merge_fields::{self, Placeholder};

/// Parts of words that name an unsubscribe link, in lower case.
const WORDS: [&str; 18] = [
    "unsubscribe",
    "opt-out",
    "opt_out",
    "optout",
    "opt out",
    "abmelde",
    "abbestell",
    "désabonn",
    "desabonn",
    "désinscri",
    "desinscri",
    "disiscri",
    "darse de baja",
    "anular la suscripción",
    "cancelar inscrição",
    "uitschrijven",
    "afmelden",
    "отписаться",
];

/// Returns whether a URL leads to an unsubscribe page: a placeholder of the server, or an address that says so.
pub(super) fn is_unsubscribe_url(url: &str) -> bool {
    has_placeholder(url) || has_word(url)
}

/// Returns whether a link is an unsubscribe link by its URL or its text.
pub(super) fn is_unsubscribe_link(url: &str, text: &str) -> bool {
    is_unsubscribe_url(url) || has_word(text)
}

/// Returns whether a text part has an unsubscribe link.
pub(super) fn has_unsubscribe_link(text: &str) -> bool {
    let is_url = |word: &&str| word.contains("://") || word.starts_with("mailto:");
    has_placeholder(text) || text.split_whitespace().filter(is_url).any(has_word)
}

fn has_placeholder(text: &str) -> bool {
    merge_fields::placeholders(text).any(|(_, placeholder)| placeholder == Placeholder::Unsubscribe)
}

fn has_word(text: &str) -> bool {
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_an_address_or_a_word_makes_an_unsubscribe_link() {
        for (url, text, expected) in [
            ("{{{UNSUBSCRIBE_URL}}}", "Leave", true),
            ("https://e.example/Unsubscribe?x", "", true),
            ("https://e.example/u/1", "Vom Newsletter ABMELDEN", true),
            ("https://e.example/u/1", "Se désabonner", true),
            ("https://e.example/subscribe", "Subscribe", false),
        ] {
            assert_eq!(is_unsubscribe_link(url, text), expected, "{url} {text}");
        }
    }

    #[test]
    fn a_text_part_needs_a_link_and_not_only_the_word() {
        for (text, expected) in [
            ("Unsubscribe: {{{UNSUBSCRIBE_URL}}}", true),
            ("See https://e.example/unsubscribe/1", true),
            ("You can unsubscribe at any time.", false),
            ("", false),
        ] {
            assert_eq!(has_unsubscribe_link(text), expected, "{text}");
        }
    }
}
