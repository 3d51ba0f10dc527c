//! Tables of reply texts and their classes:
//! - `providers.rs`: for single providers;
//! - `sender.rs`: about the sender or the reputation of this server, at any host;
//! - `words.rs`: about the message or the recipient, at any host.
//!
//! Texts are in lower case and match anywhere in the joined lines of a reply. In each table the first match wins.

mod providers;
mod sender;
mod words;

use providers::PROVIDERS;
use sender::{POLICY, REPUTATION, SENDER};
use words::{GREYLISTING, RECIPIENT, TIMING, WORDS};

use super::classify::{Action, RefusalClass, SiteThrottle};

/// Limit for the site that follows from a rule, instead of the default of its class.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteLimit {
    pub(super) throttle: SiteThrottle,
    /// URL to request removal from the blocklist of the provider.
    pub(super) delist: Option<&'static str>,
}

impl SiteLimit {
    pub(super) fn action(self, class: RefusalClass) -> Action {
        let Self { throttle, delist } = self;
        match class {
            RefusalClass::Blocked => Action::HoldSite { throttle, delist },
            _ => Action::ThrottleSite { throttle },
        }
    }
}

/// Rule that assigns a class to matching replies.
#[derive(Debug)]
pub(super) struct ReplyRule {
    /// Suffixes of MX names. Empty for all hosts.
    hosts: &'static [&'static str],
    /// First and last basic code.
    codes: (u16, u16),
    /// Subject and detail of the enhanced code. Empty for replies with any or no enhanced code.
    details: &'static [(u16, u16)],
    /// Texts, one of which must occur.
    texts: &'static [&'static str],
    pub(super) class: RefusalClass,
    pub(super) limit: Option<SiteLimit>,
}

impl ReplyRule {
    const fn with_codes(self, codes: (u16, u16)) -> Self {
        Self { codes, ..self }
    }

    const fn with_details(self, details: &'static [(u16, u16)]) -> Self {
        Self { details, ..self }
    }

    const fn with_limit(self, limit: SiteLimit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Returns the text of the rule that occurs in the reply, if the rule matches.
    fn matched(&self, text: &str, code: u16, detail: Option<(u16, u16)>, host: &str) -> Option<&'static str> {
        let is_possible = (self.codes.0..=self.codes.1).contains(&code)
            && (self.details.is_empty() || detail.is_some_and(|it| self.details.contains(&it)))
            && (self.hosts.is_empty() || self.hosts.iter().any(|suffix| is_under(host, suffix)));
        self.texts.iter().find(|known| is_possible && text.contains(**known)).copied()
    }
}

/// Returns whether a host name equals the suffix or is a subdomain of it.
pub(super) fn is_under(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the first rule for single providers that matches, and its text in the reply.
pub(super) fn provider(
    text: &str,
    code: u16,
    detail: Option<(u16, u16)>,
    host: &str,
) -> Option<(&'static ReplyRule, &'static str)> {
    PROVIDERS.iter().find_map(|rule| Some((rule, rule.matched(text, code, detail, host)?)))
}

/// Returns the first rule for all hosts that matches. Rules about the recipient come last.
pub(super) fn words(text: &str, code: u16, detail: Option<(u16, u16)>) -> Option<&'static ReplyRule> {
    first([SENDER, GREYLISTING, REPUTATION, TIMING, WORDS, RECIPIENT], text, code, detail)
}

/// Returns the first rule for all hosts that matches and gives a cause other than the recipient. Rules about the
/// content are no such cause, because their words are also part of replies about a mailbox.
pub(super) fn other_cause(text: &str, code: u16) -> Option<&'static ReplyRule> {
    first([SENDER, GREYLISTING, TIMING, POLICY], text, code, None)
}

/// Returns the first matching rule of tables whose rules are for all hosts.
fn first<const N: usize>(
    tables: [&'static [ReplyRule]; N],
    text: &str,
    code: u16,
    detail: Option<(u16, u16)>,
) -> Option<&'static ReplyRule> {
    tables.into_iter().flatten().find(|rule| rule.matched(text, code, detail, "").is_some())
}

/// Returns a rule for all hosts, with any codes.
const fn any_host(class: RefusalClass, texts: &'static [&'static str]) -> ReplyRule {
    ReplyRule { hosts: &[], codes: (400, 599), details: &[], texts, class, limit: None }
}

/// Returns a rule for the hosts with these suffixes, with any codes.
const fn for_hosts(hosts: &'static [&'static str], class: RefusalClass, texts: &'static [&'static str]) -> ReplyRule {
    ReplyRule { hosts, ..any_host(class, texts) }
}

const TRANSIENT: (u16, u16) = (400, 499);
const PERMANENT: (u16, u16) = (500, 599);

/// Returns a limit of one message a minute for 90 minutes.
const fn trickle(delist: Option<&'static str>) -> SiteLimit {
    SiteLimit { throttle: SiteThrottle::Trickle { minutes: 90 }, delist }
}

const SPAMHAUS_DELIST: &str = "https://check.spamhaus.org/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_lower_case_and_has_at_least_four_characters() {
        let tables = [PROVIDERS, SENDER, GREYLISTING, REPUTATION, POLICY, TIMING, WORDS, RECIPIENT];
        for text in tables.into_iter().flatten().flat_map(|rule| rule.texts) {
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
