//! What the words of a reply mean, as data: what single providers mean (`providers.rs`), and what anyone means
//! (`words.rs`).
//!
//! Texts are in lower case and looked for anywhere in the reply, lines joined. Within a table the first match wins.

mod providers;
mod words;

use providers::PROVIDERS;
use words::WORDS;

use super::classify::{Action, RefusalClass, SiteThrottle};

/// What a rule knows about the site beyond the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteMeasure {
    pub(super) pace: SiteThrottle,
    /// Where to ask for removal from the provider's list.
    pub(super) delist: Option<&'static str>,
}

impl SiteMeasure {
    pub(super) fn action(self, class: RefusalClass) -> Action {
        let Self { pace, delist } = self;
        match class {
            RefusalClass::Blocked => Action::HoldSite { pace, delist },
            _ => Action::ThrottleSite { pace },
        }
    }
}

/// One known meaning.
#[derive(Debug)]
pub(super) struct ReplyRule {
    /// Suffixes of MX names; empty for everyone.
    hosts: &'static [&'static str],
    /// First and last basic code.
    codes: (u16, u16),
    /// Subject and detail of the enhanced code; empty for any, and for none.
    details: &'static [(u16, u16)],
    /// Any of these.
    texts: &'static [&'static str],
    pub(super) class: RefusalClass,
    pub(super) measure: Option<SiteMeasure>,
}

impl ReplyRule {
    fn matches(&self, text: &str, code: u16, detail: Option<(u16, u16)>, host: &str) -> bool {
        (self.codes.0..=self.codes.1).contains(&code)
            && (self.details.is_empty() || detail.is_some_and(|it| self.details.contains(&it)))
            && (self.hosts.is_empty() || self.hosts.iter().any(|suffix| is_under(host, suffix)))
            && self.texts.iter().any(|known| text.contains(known))
    }
}

fn is_under(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns what the provider behind `host` is known to mean.
pub(super) fn provider(text: &str, code: u16, detail: Option<(u16, u16)>, host: &str) -> Option<&'static ReplyRule> {
    let mut rules = PROVIDERS.iter();
    rules.find(|rule| rule.matches(text, code, detail, host))
}

/// Returns what anyone means by such words.
pub(super) fn words(text: &str) -> Option<&'static ReplyRule> {
    WORDS.iter().find(|rule| rule.texts.iter().any(|known| text.contains(known)))
}

const ANY: (u16, u16) = (400, 599);

const fn trickle(delist: Option<&'static str>) -> Option<SiteMeasure> {
    Some(SiteMeasure { pace: SiteThrottle::Trickle { minutes: 90 }, delist })
}

const SPAMHAUS_DELIST: &str = "https://check.spamhaus.org/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_lower_case_and_long_enough_to_mean_something() {
        for text in PROVIDERS.iter().chain(WORDS).flat_map(|rule| rule.texts) {
            assert_eq!(*text, text.to_ascii_lowercase());
            assert!(text.len() >= 4, "{text}");
        }
    }

    #[test]
    fn a_suffix_matches_whole_labels() {
        assert!(is_under("gmail-smtp-in.l.google.com", "google.com"));
        assert!(is_under("google.com", "google.com"));
        assert!(!is_under("notgoogle.com", "google.com"));
        assert!(!is_under("google.com.example", "google.com"));
    }
}
