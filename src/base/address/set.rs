use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::escapes::{self, Escapes};
use super::{EmailAddress, Mailbox};

/// Characters of a domain that are looked at: more than the 253 that one has.
const DOMAIN_CHARS_MAX: usize = 256;
/// The sign between the parts of an address, and what stands for it in texts.
const AT_SIGNS: [&str; 4] = ["@", "%40", "=40", "\\u0040"];

/// Addresses that mailboxes and texts are searched for, without regard to letter case. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct AddressSet {
    known: Arc<Known>,
    /// The first of the lists that counts.
    from: usize,
}

/// Every address with the last list that names it.
#[derive(Debug, Default)]
struct Known {
    identities: HashMap<String, usize>,
    /// The local parts by the domain they stand before, in each of the domain's spellings.
    locals: HashMap<String, Vec<(String, usize)>>,
}

impl AddressSet {
    /// Returns a set of these addresses.
    pub fn new(addresses: &[EmailAddress]) -> Self {
        Self::of_lists([addresses])
    }

    /// Returns a set of the addresses of several lists, of which the first can be left out
    /// ([`AddressSet::from_list`]).
    pub fn of_lists<'a, I>(lists: I) -> Self
    where
        I: IntoIterator<Item = &'a [EmailAddress], IntoIter: DoubleEndedIterator + ExactSizeIterator>,
    {
        let mut set = Known::default();
        let lists = lists.into_iter().enumerate().rev();
        for (list, address) in lists.flat_map(|(list, addresses)| addresses.iter().map(move |address| (list, address)))
        {
            let Entry::Vacant(place) = set.identities.entry(address.identity()) else { continue };
            place.insert(list);
            let domain = address.domain();
            let (ascii, unicode) = (domain.as_str().to_owned(), domain.to_unicode().to_lowercase());
            let local = address.local().to_lowercase();
            if unicode != ascii {
                set.locals.entry(unicode).or_default().push((local.clone(), list));
            }
            set.locals.entry(ascii).or_default().push((local, list));
        }
        Self { known: Arc::new(set), from: 0 }
    }

    /// Returns the set without the addresses that only lists before that one name.
    #[must_use]
    pub fn from_list(&self, list: usize) -> Self {
        Self { known: Arc::clone(&self.known), from: list }
    }

    /// Returns whether a mailbox, with a display name or bare, is one of the addresses.
    pub fn contains(&self, mailbox: &str) -> bool {
        let Ok(mailbox) = Mailbox::parse(mailbox) else { return false };
        self.known.identities.get(&mailbox.address().identity()).is_some_and(|list| *list >= self.from)
    }

    /// Returns whether a text holds one of the addresses: as an address of its own, and not as a part
    /// of a longer one. It may stand there in the escapes of JSON, of a URL or of quoted-printable.
    pub fn is_mentioned_in(&self, text: &str) -> bool {
        if !AT_SIGNS.iter().any(|sign| text.contains(sign)) {
            return false;
        }
        self.is_read_in(text)
            || Escapes::ALL.iter().filter_map(|escapes| escapes.read(text)).any(|text| self.is_read_in(&text))
    }

    fn is_read_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        AT_SIGNS.iter().flat_map(|sign| text.match_indices(sign)).any(|(at, sign)| {
            let (before, after) = (&text[..at], &text[at + sign.len()..]);
            domains_at(after)
                .filter_map(|domain| self.known.locals.get(domain))
                .flatten()
                .filter(|(_, list)| *list >= self.from)
                .any(|(local, _)| before.strip_suffix(local.as_str()).is_some_and(ends_before_a_local_part))
        })
    }
}

/// Returns whether a local part can begin after this text. What quotes an address in a text or sets
/// it off counts as such, though a local part may hold it (RFC 5322 §3.2.3): `to=ada@example.com`,
/// `'ada@example.com'`. So does an escape, whatever it stands for: `\nada@example.com`.
fn ends_before_a_local_part(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    !(last.is_alphanumeric() || "!#$%&+-.^_~".contains(last)) || escapes::is_at_end(before)
}

/// Returns what a domain at the start of this text can be: up to each place where no label goes on. A
/// dot may begin another label, or the ending of a file's name, or stand at the end of a sentence: a
/// trace that is left weighs more than one word too many.
fn domains_at(text: &str) -> impl Iterator<Item = &str> {
    let is_of_label = |letter: char| letter.is_alphanumeric() || letter == '-';
    // Marks belong to letters, and some other signs stand in names: all that ends a domain for sure is
    // in ASCII.
    let end = text.find(|letter: char| letter.is_ascii() && letter != '.' && !is_of_label(letter));
    let text = &text[..end.unwrap_or(text.len())];
    let letters = text.char_indices().take(DOMAIN_CHARS_MAX);
    let ends = letters.filter(move |(_, letter)| !is_of_label(*letter)).map(|(at, _)| at).chain([text.len()]);
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
    fn a_mailbox_is_one_of_the_addresses_whatever_its_name_and_its_letters() {
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
    fn an_address_of_several_lists_counts_with_the_last() {
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
    fn a_text_mentions_an_address_where_it_stands_alone() {
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
        fn an_address_is_found_between_any_texts(
            before in "(.{0,20}([ <;:,\"'=(]|\\\\u003[cC]|\\\\[nrt]|[%=]3[cC]))?",
            at in "@|%40|=40|\\\\u0040",
            after in "(([ >;:,\"')]|\\\\u003[eE]|\\\\[nrt]|[%=]3[eE]).{0,20})?",
        ) {
            let text = format!("{before}Ada{at}eXample.com{after}");
            prop_assert!(set(&["ada@example.com"]).is_mentioned_in(&text));
        }

        #[test]
        fn no_text_panics_the_search(text in ".{0,60}|[a@.ø\u{301}-]{0,60}|[a@.\\\\u04%=]{0,60}") {
            let set = set(&["ada@example.com", "a@a.example"]);
            let _ = (set.contains(&text), set.is_mentioned_in(&text));
        }
    }
}
