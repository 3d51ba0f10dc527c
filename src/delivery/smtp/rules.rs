//! What the words of a reply mean, as data.
//!
//! Texts are in lower case and looked for anywhere in the reply, lines joined. Within a table the first match wins.

use super::classify::{Action, Class, SitePace};

/// What a rule knows about the site beyond the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteMeasure {
    pub(super) pace: SitePace,
    /// Where to ask for removal from the provider's list.
    pub(super) delist: Option<&'static str>,
}

impl SiteMeasure {
    pub(super) fn action(self, class: Class) -> Action {
        let Self { pace, delist } = self;
        match class {
            Class::Blocked => Action::HoldSite { pace, delist },
            _ => Action::ThrottleSite { pace },
        }
    }
}

/// One known meaning.
#[derive(Debug)]
pub(super) struct Rule {
    /// Suffixes of MX names; empty for everyone.
    hosts: &'static [&'static str],
    /// First and last basic code.
    codes: (u16, u16),
    /// Subject and detail of the enhanced code; empty for any, and for none.
    details: &'static [(u16, u16)],
    /// Any of these.
    texts: &'static [&'static str],
    pub(super) class: Class,
    pub(super) measure: Option<SiteMeasure>,
}

impl Rule {
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
pub(super) fn provider(text: &str, code: u16, detail: Option<(u16, u16)>, host: &str) -> Option<&'static Rule> {
    let mut rules = PROVIDERS.iter();
    rules.find(|rule| rule.matches(text, code, detail, host))
}

/// Returns what anyone means by such words.
pub(super) fn words(text: &str) -> Option<&'static Rule> {
    WORDS.iter().find(|rule| rule.texts.iter().any(|known| text.contains(known)))
}

const ANY: (u16, u16) = (400, 599);
const TRANSIENT: (u16, u16) = (400, 499);
const PERMANENT: (u16, u16) = (500, 599);

const MICROSOFT: &[&str] = &["outlook.com", "hotmail.com"];
const GOOGLE: &[&str] = &["google.com", "googlemail.com"];
const YAHOO: &[&str] = &["yahoodns.net"];

const fn trickle(delist: Option<&'static str>) -> Option<SiteMeasure> {
    Some(SiteMeasure { pace: SitePace::Trickle { minutes: 90 }, delist })
}

const MICROSOFT_CONSUMER_DELIST: &str = "https://sendersupport.olc.protection.outlook.com/pm/";
const MICROSOFT_OFFICE_DELIST: &str = "https://sender.office.com/";
const GOOGLE_DELIST: &str = "https://support.google.com/mail/contact/gmail_bulk_sender_escalation";
const YAHOO_DELIST: &str = "https://senders.yahooinc.com/contact";
const SPAMHAUS_DELIST: &str = "https://check.spamhaus.org/";

/// Meanings that contradict, or are finer than, the codes they come with.
static PROVIDERS: &[Rule] = &[
    // Microsoft.
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["(s3140)", "(s3150)", "(s31"],
        class: Class::Blocked,
        measure: trickle(Some(MICROSOFT_CONSUMER_DELIST)),
    },
    Rule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["banned sending ip", "delist.messaging.microsoft.com", "sender.office.com"],
        class: Class::Blocked,
        measure: trickle(Some(MICROSOFT_OFFICE_DELIST)),
    },
    // The consumer service says "our command was wrong" about mailboxes that do not exist.
    Rule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(5, 0)],
        texts: &["mailbox unavailable"],
        class: Class::BadMailbox,
        measure: None,
    },
    Rule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(1, 10)],
        texts: &["recipientnotfound", "recipient not found"],
        class: Class::BadMailbox,
        measure: None,
    },
    // Directory-based blocking at the edge of a tenant: the recipient is not in the directory.
    Rule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(4, 1)],
        texts: &["recipient address rejected: access denied"],
        class: Class::BadMailbox,
        measure: None,
    },
    Rule {
        hosts: MICROSOFT,
        codes: TRANSIENT,
        details: &[(7, 500)],
        texts: &["server busy"],
        class: Class::RateLimited,
        measure: None,
    },
    // Yahoo and AOL. TSS04 is about complaints: they ask for silence.
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["tss04"],
        class: Class::Blocked,
        measure: Some(SiteMeasure { pace: SitePace::Stop { minutes: 120 }, delist: Some(YAHOO_DELIST) }),
    },
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["[ts03]", "will be permanently deferred"],
        class: Class::Blocked,
        measure: trickle(Some(YAHOO_DELIST)),
    },
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["[tss", "[ts01]", "[ts02]", "[iptss", "[ipts"],
        class: Class::RateLimited,
        measure: trickle(None),
    },
    Rule {
        hosts: YAHOO,
        codes: ANY,
        details: &[],
        texts: &["[bl2", "listed on spamhaus", "ip addresses on spamhaus"],
        class: Class::Blocked,
        measure: trickle(Some(SPAMHAUS_DELIST)),
    },
    Rule {
        hosts: YAHOO,
        codes: (552, 554),
        details: &[],
        texts: &["mailbox not found", "this user doesn't have a", "this mailbox is disabled", "not a valid mailbox"],
        class: Class::BadMailbox,
        measure: None,
    },
    Rule {
        hosts: YAHOO,
        codes: PERMANENT,
        details: &[],
        texts: &["for policy reasons", "[ph01]"],
        class: Class::Content,
        measure: None,
    },
    // Google. A mailbox that receives too much says 5.2.1, the code of one that is disabled.
    Rule {
        hosts: GOOGLE,
        codes: ANY,
        details: &[(2, 1)],
        texts: &["receiving mail at a rate", "receiving mail too quickly"],
        class: Class::Temporary,
        measure: None,
    },
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["very low reputation of the sending ip", "low reputation of the sending domain"],
        class: Class::Blocked,
        measure: trickle(Some(GOOGLE_DELIST)),
    },
    Rule {
        hosts: &[],
        codes: TRANSIENT,
        details: &[],
        texts: &["unusual rate of unsolicited mail"],
        class: Class::RateLimited,
        measure: trickle(None),
    },
    Rule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["potential security issue"],
        class: Class::Attachment,
        measure: None,
    },
    Rule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["likely unsolicited mail", "likely suspicious"],
        class: Class::Content,
        measure: None,
    },
    Rule {
        hosts: GOOGLE,
        codes: PERMANENT,
        details: &[(4, 5)],
        texts: &["sending limit", "sending quota"],
        class: Class::RateLimited,
        measure: None,
    },
    // Too many recipients, also where it comes as a 5xx with another code.
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["too many recipients", "too many rcpt"],
        class: Class::TooManyRecipients,
        measure: None,
    },
    // Amazon SES as a smarthost.
    Rule {
        hosts: &["amazonaws.com"],
        codes: PERMANENT,
        details: &[],
        texts: &["email address is not verified"],
        class: Class::Authentication,
        measure: None,
    },
    Rule {
        hosts: &["amazonaws.com"],
        codes: ANY,
        details: &[],
        texts: &["maximum sending rate exceeded", "daily message quota exceeded"],
        class: Class::RateLimited,
        measure: None,
    },
];

const fn anyone(class: Class, texts: &'static [&'static str]) -> Rule {
    Rule { hosts: &[], codes: ANY, details: &[], texts, class, measure: None }
}

/// Words for replies whose codes say nothing more than "refused". What blames this side comes first, what suppresses
/// an address comes last.
static WORDS: &[Rule] = &[
    anyone(
        Class::Authentication,
        &[
            "domain of sender",
            "sender domain",
            "sender address rejected",
            "sender verify failed",
            "dmarc",
            "spf check",
            "spf fail",
            "spf validation",
            "spf record",
            "not authorized to send",
            "unauthenticated email",
            "unauthenticated mail",
            "dkim signature",
            "does not pass authentication",
        ],
    ),
    Rule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["spamhaus"],
        class: Class::Blocked,
        measure: trickle(Some(SPAMHAUS_DELIST)),
    },
    anyone(
        Class::Blocked,
        &[
            "blocklist",
            "blacklist",
            "block list",
            "black list",
            "blocked using",
            "spamcop",
            "barracudacentral",
            "sorbs",
            "dnsbl",
            "uceprotect",
            "bad reputation",
            "poor reputation",
            "low reputation",
            "ip reputation",
            "your ip has been",
            "your ip address has been",
            "ip address is blocked",
            "traffic not accepted from this ip",
        ],
    ),
    anyone(
        Class::Greylisted,
        &["greylist", "graylist", "grey-list", "gray-list", "grey list", "gray list", "first attempt from this"],
    ),
    anyone(
        Class::RateLimited,
        &[
            "rate limit",
            "rate-limit",
            "ratelimit",
            "throttl",
            "too many connections",
            "too many concurrent",
            "too many messages",
            "too many sessions",
            "too much mail",
            "too fast",
            "connection limit",
            "concurrent connections",
            "sending limit exceeded",
        ],
    ),
    anyone(Class::Attachment, &["attachment", "file type", "executable content"]),
    anyone(
        Class::Content,
        &[
            "virus",
            "malware",
            "phish",
            "spam",
            "junk mail",
            "unsolicited",
            "message content",
            "content reject",
            "content filter",
            "content policy",
            "due to content",
            "bulk mail",
            "bad url",
            "bad link",
        ],
    ),
    anyone(
        Class::MailboxFull,
        &[
            "over quota",
            "overquota",
            "quota exceeded",
            "exceeded quota",
            "exceeds quota",
            "exceeded its quota",
            "storage quota",
            "mailbox quota",
            "exceeded storage",
            "mailbox full",
            "mailbox is full",
            "inbox is full",
            "mailbox size limit",
            "out of storage space",
        ],
    ),
    anyone(
        Class::TooLarge,
        &[
            "message too large",
            "message too big",
            "message is too large",
            "message is too big",
            "message size exceeds",
            "exceeds size limit",
            "exceeds maximum size",
            "maximum message size",
            "message file too big",
            "message exceeds",
            "size limit exceeded",
        ],
    ),
    anyone(Class::BadDomain, &["no such domain", "domain does not exist", "domain not found", "unknown domain"]),
    anyone(
        Class::BadMailbox,
        &[
            "user unknown",
            "unknown user",
            "no such user",
            "no such mailbox",
            "no such recipient",
            "no such address",
            "no such account",
            "no such person",
            "does not exist",
            "doesn't exist",
            "user not found",
            "mailbox not found",
            "recipient not found",
            "address not found",
            "unknown recipient",
            "recipient unknown",
            "unknown mailbox",
            "mailbox unknown",
            "address unknown",
            "unknown local part",
            "unknown address",
            "invalid recipient",
            "invalid mailbox",
            "not a valid mailbox",
            "not a valid recipient",
            "not a known user",
            "mailbox unavailable",
            "mailbox disabled",
            "mailbox is disabled",
            "account disabled",
            "account is disabled",
            "account has been disabled",
            "no mailbox here",
            "unrouteable address",
            "user doesn't have",
            "no longer valid",
        ],
    ),
];

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
