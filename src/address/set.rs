use std::collections::{HashMap, HashSet};

use super::{EmailAddress, Mailbox};

/// Addresses that mailboxes and texts are searched for, without regard to letter case.
#[derive(Debug, Clone, Default)]
pub struct AddressSet {
    identities: HashSet<String>,
    /// The local parts by the domain they stand before, in each of the domain's spellings.
    locals: HashMap<String, Vec<String>>,
}

impl AddressSet {
    /// Returns a set of these addresses.
    pub fn new(addresses: &[EmailAddress]) -> Self {
        let mut set = Self::default();
        for address in addresses {
            if !set.identities.insert(address.identity()) {
                continue;
            }
            let domain = address.domain();
            let (ascii, unicode) = (domain.as_str().to_owned(), domain.to_unicode().to_lowercase());
            let local = address.local().to_lowercase();
            if unicode != ascii {
                set.locals.entry(unicode).or_default().push(local.clone());
            }
            set.locals.entry(ascii).or_default().push(local);
        }
        set
    }

    /// Returns whether a mailbox, with a display name or bare, is one of the addresses.
    pub fn contains(&self, mailbox: &str) -> bool {
        let Ok(mailbox) = Mailbox::parse(mailbox) else { return false };
        self.identities.contains(&mailbox.address().identity())
    }

    /// Returns whether a text holds one of the addresses, wherever it stands: as a part of a longer
    /// address too, because a trace that is left weighs more than one word too many.
    pub fn is_mentioned_in(&self, text: &str) -> bool {
        if !text.contains('@') {
            return false;
        }
        let text = text.to_lowercase();
        text.match_indices('@').any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + 1..]);
            self.locals.iter().any(|(domain, locals)| {
                after.starts_with(domain.as_str()) && locals.iter().any(|local| before.ends_with(local.as_str()))
            })
        })
    }
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
    fn a_text_mentions_an_address_wherever_it_stands() {
        let set = set(&["Ada@Example.com", "eve@example.com", "\"a@b\"@example.net", "d@bücher.example"]);
        for text in [
            "ada@example.com",
            "550 5.1.1 <ADA@EXAMPLE.COM>: no such user",
            "for=ada@example.com;",
            "x@example.com, eve@example.com",
            "RCPT TO:<\"a@b\"@example.net>",
            "to d@xn--bcher-kva.example",
            "an D@BÜCHER.example",
        ] {
            assert!(set.is_mentioned_in(text), "{text}");
        }
        for text in ["", "@", "ada", "ada@", "@example.com", "ada at example.com", "ada@example.org", "bob@example.com"]
        {
            assert!(!set.is_mentioned_in(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_found_between_any_texts(before in ".{0,20}", after in ".{0,20}") {
            let text = format!("{before}Ada@eXample.com{after}");
            prop_assert!(set(&["ada@example.com"]).is_mentioned_in(&text));
        }

        #[test]
        fn no_text_panics_the_search(text in ".{0,60}") {
            let set = set(&["ada@example.com"]);
            let _ = (set.contains(&text), set.is_mentioned_in(&text));
        }
    }
}
