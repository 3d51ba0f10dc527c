use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use super::escapes::{self, Escapes};
use super::{EmailAddress, Mailbox};

/// Number of characters after an at sign that are searched for a domain. A domain has at most 253.
pub(super) const DOMAIN_CHARS_MAX: usize = 256;
/// The at sign and its escaped forms, in lower case.
const AT_SIGNS: [&str; 4] = ["@", "%40", "=40", "\\u0040"];

/// A set of addresses to search for in mailboxes and texts, ignoring letter case. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct AddressSet {
    index: Arc<AddressIndex>,
    /// First list whose addresses match.
    from: usize,
}

/// Each address with the number of the last list that contains it.
#[derive(Debug, Default)]
struct AddressIndex {
    identities: HashMap<String, usize>,
    /// Local parts by domain. A domain with A-labels is stored twice: in ASCII and in Unicode.
    locals: HashMap<String, Vec<(String, usize)>>,
}

impl AddressSet {
    pub fn new(addresses: &[EmailAddress]) -> Self {
        Self::of_lists([addresses])
    }

    /// Returns a set of the addresses of several lists. [`AddressSet::from_list`] can exclude the first lists.
    pub fn of_lists<'a, I>(lists: I) -> Self
    where
        I: IntoIterator<Item = &'a [EmailAddress], IntoIter: DoubleEndedIterator + ExactSizeIterator>,
    {
        let mut index = AddressIndex::default();
        let lists = lists.into_iter().enumerate().rev();
        for (list, address) in lists.flat_map(|(list, addresses)| addresses.iter().map(move |address| (list, address)))
        {
            let Entry::Vacant(entry) = index.identities.entry(address.identity()) else { continue };
            entry.insert(list);
            let domain = address.domain();
            let (ascii, unicode) = (domain.as_str().to_owned(), domain.to_unicode().to_lowercase());
            let local = address.local().to_lowercase();
            if unicode != ascii {
                index.locals.entry(unicode).or_default().push((local.clone(), list));
            }
            index.locals.entry(ascii).or_default().push((local, list));
        }
        Self { index: Arc::new(index), from: 0 }
    }

    /// Returns the set of the addresses that are in list number `list` or a later one.
    #[must_use]
    pub fn from_list(&self, list: usize) -> Self {
        Self { index: Arc::clone(&self.index), from: list }
    }

    /// Returns the addresses of all lists in lower case.
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.index.identities.keys().map(String::as_str)
    }

    /// Returns whether the address of a mailbox, with or without a display name, is in the set.
    pub fn contains(&self, mailbox: &str) -> bool {
        Mailbox::parse(mailbox).is_ok_and(|mailbox| self.contains_address(mailbox.address()))
    }

    /// Returns whether an address is in the set.
    pub fn contains_address(&self, address: &EmailAddress) -> bool {
        self.index.identities.get(&address.identity()).is_some_and(|list| *list >= self.from)
    }

    /// Returns whether an address of the set has this domain, in lower-case A-labels.
    pub fn has_domain(&self, domain: &str) -> bool {
        self.index.locals.contains_key(domain)
    }

    /// Returns whether a text contains one of the addresses, plain or with the escapes of JSON, URLs or
    /// quoted-printable. An address that is part of a longer address does not count.
    pub fn is_mentioned_in(&self, text: &str) -> bool {
        if !AT_SIGNS.iter().any(|sign| text.contains(sign)) {
            return false;
        }
        self.is_plain_in(text)
            || Escapes::ALL.iter().filter_map(|escapes| escapes.decode(text)).any(|text| self.is_plain_in(&text))
    }

    /// Returns whether a text contains one of the addresses without escapes, apart from an escaped at sign.
    fn is_plain_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        at_signs(&text).any(|(at, sign)| self.span_at(&text, at, sign).is_some())
    }

    /// Returns the occurrences of the addresses in a text in lower case. Two of them can overlap.
    pub(super) fn spans(&self, text: &str) -> Vec<Range<usize>> {
        at_signs(text).filter_map(|(at, sign)| self.span_at(text, at, sign)).collect()
    }

    /// Returns the longest occurrence of an address around the at sign at `at`.
    fn span_at(&self, text: &str, at: usize, sign: &str) -> Option<Range<usize>> {
        let after_sign = at + sign.len();
        let (before, after) = (&text[..at], &text[after_sign..]);
        let mut longest: Option<Range<usize>> = None;
        for domain in domain_candidates(after) {
            for (local, list) in self.index.locals.get(domain).into_iter().flatten() {
                let starts = before.strip_suffix(local.as_str()).filter(|before| can_precede_local_part(before));
                if *list >= self.from
                    && let Some(start) = starts.map(str::len)
                {
                    let span = start..after_sign + domain.len();
                    longest = longest.filter(|longest| longest.len() >= span.len()).or(Some(span));
                }
            }
        }
        longest
    }
}

/// Returns the position and the form of each at sign in a text in lower case.
fn at_signs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    AT_SIGNS.iter().flat_map(|sign| text.match_indices(sign))
}

/// Returns whether a local part can start after this text. Characters that usually quote or separate an address
/// end the text before it, although a local part may contain them (RFC 5322 §3.2.3): `to=ada@example.com`,
/// `'ada@example.com'`. An escape also ends it: `\nada@example.com`.
fn can_precede_local_part(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    !(last.is_alphanumeric() || "!#$%&+-.^_~".contains(last)) || escapes::ends_with_escape(before)
}

/// Returns the possible domains at the start of a text: one prefix for each position where a label ends.
///
/// A dot can start another label or a file extension, or end a sentence. An erasure must not miss an address, so
/// a match that is too long is accepted.
fn domain_candidates(text: &str) -> impl Iterator<Item = &str> {
    let is_label_char = |letter: char| letter.is_alphanumeric() || letter == '-';
    // Non-ASCII marks and signs can be part of a name. Only an ASCII character certainly ends a domain.
    let end = text.find(|letter: char| letter.is_ascii() && letter != '.' && !is_label_char(letter));
    let text = &text[..end.unwrap_or(text.len())];
    let letters = text.char_indices().take(DOMAIN_CHARS_MAX);
    let ends = letters.filter(move |(_, letter)| !is_label_char(*letter)).map(|(at, _)| at).chain([text.len()]);
    ends.map(move |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(addresses: &[&str]) -> AddressSet {
        let parsed: Vec<EmailAddress> = addresses.iter().map(|text| EmailAddress::parse(text).unwrap()).collect();
        AddressSet::new(&parsed)
    }

    #[test]
    fn a_mailbox_matches_with_any_display_name_and_letter_case() {
        let set = set(&["Ada@Example.com", "\"b c\"@example.com", "d@bücher.example"]);
        for mailbox in [
            "ada@example.com",
            "Ada Lovelace <ADA@example.COM>",
            "\"Lovelace, Ada\" <ada@example.com>",
            "\"b c\"@example.com",
            "D <d@xn--bcher-kva.example>",
        ] {
            assert!(set.contains(mailbox), "{mailbox}");
        }
        for mailbox in ["", "[erased]", "nada@example.com", "ada@example.com.au", "ada@example.org", "ada"] {
            assert!(!set.contains(mailbox), "{mailbox}");
        }
    }

    #[test]
    fn an_address_in_several_lists_belongs_to_the_last() {
        let parse = |texts: &[&str]| -> Vec<EmailAddress> {
            texts.iter().map(|text| EmailAddress::parse(text).unwrap()).collect()
        };
        let lists = [parse(&["ada@example.com", "bob@example.com"]), parse(&[]), parse(&["ADA@example.com"])];
        let set = AddressSet::of_lists(lists.iter().map(Vec::as_slice));

        for (from, ada, bob) in [(0, true, true), (1, true, false), (2, true, false), (3, false, false)] {
            let set = set.from_list(from);
            for (address, counts) in [("ada@example.com", ada), ("bob@example.com", bob)] {
                assert_eq!(set.contains(address), counts, "{from} {address}");
                assert_eq!(set.is_mentioned_in(&format!("<{address}>")), counts, "{from} {address}");
            }
        }
    }

    #[test]
    fn an_address_is_found_unless_it_is_part_of_a_longer_one() {
        let set =
            set(&["Ada@Example.com", "eve@example.com", "\"a@b\"@example.net", "d@bücher.example", "e.f@g.example"]);
        for text in [
            "ada@example.com",
            "550 5.1.1 <ADA@EXAMPLE.COM>: no such user",
            "for=ada@example.com;",
            "rfc822;ada@example.com",
            "mailto:ada@example.com?subject=x",
            "no mailbox 'ada@example.com' here",
            "«ada@example.com»",
            "„ada@example.com“",
            "x@example.com, eve@example.com",
            "nada@example.com ada@example.com",
            "Write to ada@example.com.",
            "ada@example.com..",
            "ada@example.com/x",
            "ada@example.com.pdf",
            "ada@example.com_",
            "RCPT TO:<\"a@b\"@example.net>",
            "to d@xn--bcher-kva.example",
            "an D@BÜCHER.example",
            "d@bücher.example…",
            "e.f@g.example",
            r#"{"error":"\u003cada@example.com\u003e: no such user"}"#,
            r#"{"error":"x:\nada@example.com\ty"}"#,
            r"\rada@example.com",
            r"ada\u0040example.com",
            r#"{"to":["\u0061da@example\u002ecom"]}"#,
            r"d@b\u00fccher.example",
            "%3Cada@example.com%3E",
            "/x?to=ada%40example.com&y",
            "/x?to=%61da%40EXAMPLE%2Ecom",
            "d@b%C3%BCcher.example",
            "=3Cada@example.com=3E",
            "ada=40example.com",
            "<ada@exam=\r\nple.com>",
            r"\u003cada%40example.com",
            r"mailto:\nada%40example.com",
            "to=adada%40example.com",
            "for=ada=40example.com",
        ] {
            assert!(set.is_mentioned_in(text), "{text}");
        }
        for text in [
            "",
            "@",
            "ada",
            "ada@",
            "@example.com",
            "ada at example.com",
            "ada@example.org",
            "bob@example.com",
            "nada@example.com",
            "x.ada@example.com",
            "x+ada@example.com",
            "x-ada@example.com",
            "x_ada@example.com",
            "øada@example.com",
            "ada@example.company",
            "ada@example.com-x",
            "ada@example.comø",
            "ada@mail.example.com",
            "ada@@example.com",
            "f@g.example",
            "nada%40example.com",
            r"nada\u0040example.com",
            "ada%4example.com",
            "ada=4 0example.com",
            r"\xada@example.com",
            r"u003cada@example.com",
            "3cada@example.com",
            "ada%40example.company",
        ] {
            assert!(!set.is_mentioned_in(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_found_between_separators(
            before in "(.{0,20}([ <;:,\"'=(]|\\\\u003[cC]|\\\\[nrt]|[%=]3[cC]))?",
            at in "@|%40|=40|\\\\u0040",
            after in "(([ >;:,\"')]|\\\\u003[eE]|\\\\[nrt]|[%=]3[eE]).{0,20})?",
        ) {
            let text = format!("{before}Ada{at}eXample.com{after}");
            prop_assert!(set(&["ada@example.com"]).is_mentioned_in(&text));
        }

        #[test]
        fn searching_never_panics(text in ".{0,60}|[a@.ø\u{301}-]{0,60}|[a@.\\\\u04%=]{0,60}") {
            let set = set(&["ada@example.com", "a@a.example"]);
            let _ = (set.contains(&text), set.is_mentioned_in(&text));
        }
    }
}
