//! Patterns that select recipients, for routes and for `--deliver-only`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::base::address::{DomainName, EmailAddress};
use crate::dns::host;

/// Prefix of the destinations of released messages. A domain has no colon.
const RELEASED: &str = "release:";

/// Pattern of recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientPattern {
    /// `*`: every recipient.
    Any,
    /// The recipients of one domain.
    Domain(DomainName),
    /// `*.` and a domain: the recipients of its subdomains, without the domain itself.
    Subdomains(DomainName),
    /// One address, in the form of [`EmailAddress::identity`].
    Address(String),
}

impl RecipientPattern {
    /// Returns whether the pattern selects a destination of the queue: a domain, or an address.
    pub(super) fn matches(&self, destination: &str) -> bool {
        let domain = domain_of(destination);
        match self {
            Self::Any => true,
            Self::Domain(name) => domain == name.as_str(),
            Self::Subdomains(parent) => domain.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.')),
            Self::Address(address) => destination == address,
        }
    }
}

impl FromStr for RecipientPattern {
    type Err = String;

    /// Parses a pattern. The error is a sentence with the accepted forms.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = |why: &dyn fmt::Display| {
            format!("`{text}` is not a pattern of recipients ({why}); use example.com, *.example.com, an address, or *")
        };
        if text == "*" {
            return Ok(Self::Any);
        }
        if text.contains('@') {
            let address = EmailAddress::parse(text).map_err(|error| wrong(&error))?;
            return Ok(Self::Address(address.identity()));
        }
        let parsed = match text.strip_prefix("*.") {
            Some(parent) => DomainName::parse(parent).map(Self::Subdomains),
            None => DomainName::parse(text).map(Self::Domain),
        };
        parsed.map_err(|error| wrong(&error))
    }
}

/// The recipients that are delivered to: the other ones are captured. An empty list selects every recipient.
#[derive(Clone, Debug, Default)]
pub struct DeliverOnly(Arc<[RecipientPattern]>);

impl DeliverOnly {
    /// Returns the list of these patterns.
    pub fn new(patterns: Vec<RecipientPattern>) -> Self {
        Self(patterns.into())
    }

    /// Returns whether the list selects every recipient because it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a destination of the queue is delivered to. A domain is delivered to only if a pattern selects
    /// all its recipients.
    pub(super) fn includes(&self, destination: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches(destination))
    }

    /// Returns whether a pattern selects this recipient, and none selects its domain. Such a recipient needs its own
    /// destination.
    pub(crate) fn selects_alone(&self, address: &EmailAddress) -> bool {
        !self.0.is_empty() && !self.includes(address.domain().as_str()) && self.includes(&address.identity())
    }
}

/// Returns the domain of a destination of the queue.
pub(crate) fn domain_of(destination: &str) -> &str {
    let destination = destination.strip_prefix(RELEASED).unwrap_or(destination);
    destination.rsplit_once('@').map_or(destination, |(_, domain)| domain)
}

/// Returns the destination of released messages to a domain.
pub(crate) fn released_destination(domain: &str) -> String {
    format!("{RELEASED}{domain}")
}

/// Returns the destination with a name: a domain, an address that `--deliver-only` selects, or the released messages to
/// a domain. `None` for any other text.
pub(crate) fn parse_destination(text: &str) -> Option<String> {
    if let Some(domain) = text.strip_prefix(RELEASED) {
        return host::normalize(domain).map(|domain| released_destination(&domain));
    }
    if text.contains('@') {
        return EmailAddress::parse(text).ok().map(|address| address.identity());
    }
    host::normalize(text)
}

/// Returns whether a destination is one of released messages.
pub(super) fn is_released(destination: &str) -> bool {
    destination.starts_with(RELEASED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> RecipientPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_pattern_selects_a_domain_its_subdomains_one_address_or_everything() {
        for (text, selected, not_selected) in [
            ("*", &["example.com", "ada@example.com"][..], &[][..]),
            ("Example.COM", &["example.com", "ada@example.com"], &["mail.example.com", "notexample.com"]),
            ("*.example.com", &["mail.example.com", "a@x.mail.example.com"], &["example.com", "notexample.com"]),
            ("Ada@Example.com", &["ada@example.com"], &["example.com", "bob@example.com", "ada@mail.example.com"]),
            ("b\u{fc}cher.example", &["xn--bcher-kva.example"], &["b\u{fc}cher.example"]),
            ("\"a@b\"@example.com", &["\"a@b\"@example.com"], &["b\"@example.com"]),
        ] {
            for destination in selected {
                assert!(pattern(text).matches(destination), "{text} {destination}");
            }
            for destination in not_selected {
                assert!(!pattern(text).matches(destination), "{text} {destination}");
            }
        }
    }

    #[test]
    fn an_invalid_pattern_is_an_error_with_the_accepted_forms() {
        for text in ["", "example", "*example.com", "*.", "a@", "*@example.com@x", "-a.example", "exa mple.com"] {
            let error = text.parse::<RecipientPattern>().unwrap_err();

            assert!(error.contains("use example.com, *.example.com, an address, or *"), "{error}");
        }
    }

    #[test]
    fn only_selected_recipients_are_delivered_to() {
        let only = DeliverOnly::new(vec![pattern("staff.example"), pattern("Ada@shop.example")]);
        let address = |text: &str| EmailAddress::parse(text).unwrap();

        for (destination, is_included) in [
            ("staff.example", true),
            ("shop.example", false),
            ("ada@shop.example", true),
            ("bob@shop.example", false),
            ("other.example", false),
        ] {
            assert_eq!(only.includes(destination), is_included, "{destination}");
        }
        assert!(only.selects_alone(&address("ADA@shop.example")));
        assert!(!only.selects_alone(&address("bob@shop.example")) && !only.selects_alone(&address("a@staff.example")));
        assert!(DeliverOnly::default().includes("other.example"));
        assert!(!DeliverOnly::default().selects_alone(&address("ada@shop.example")));
    }

    #[test]
    fn the_domain_of_every_form_of_destination_is_known() {
        for destination in ["shop.example", "ada@shop.example", &released_destination("shop.example")] {
            assert_eq!(domain_of(destination), "shop.example", "{destination}");
        }
    }

    #[test]
    fn a_destination_is_named_in_every_form() {
        for (text, destination) in [
            ("Shop.Example", Some("shop.example")),
            ("b\u{fc}cher.example", Some("xn--bcher-kva.example")),
            ("Ada@Shop.Example", Some("ada@shop.example")),
            ("release:Shop.example", Some("release:shop.example")),
            ("simulated", Some("simulated")),
            ("release:ada@shop.example", None),
            ("ada@", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(parse_destination(text).as_deref(), destination, "{text}");
        }
    }
}
