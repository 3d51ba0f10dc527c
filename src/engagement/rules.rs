//! The rules of the embedded file `assets/engagement/rules.txt`. Pure.
//!
//! Each line has a kind, a pattern, a reason and the source of the fact. Kinds:
//! - `agent`: the whole user agent.
//! - `all`: every part of the pattern is in the user agent. Parts are separated by ` & `.
//! - `device`: the text is removed from the user agent before tokens are searched. Never matches itself.
//! - `empty`: no user agent.
//! - `token`: a word of the user agent. The character before and the character after are no letter and no digit, unless
//!   the pattern has a `*` there, or ends in punctuation.
//! - `network`: the address is in the network.
//! - `header`: the request has the header with a value that begins with that of the pattern.
//! - `before_delivery`, `timing` (seconds after delivery), `browser` (first version of Chrome; links only), `burst`
//!   (milliseconds between two links of a message).

use std::sync::LazyLock;
use std::time::Duration;

use aho_corasick::AhoCorasick;
use ipnet::IpNet;

use crate::base::words::words;

const FILE: &str = include_str!("../../assets/engagement/rules.txt");

/// The rules of the file.
static RULES: LazyLock<MachineRules> =
    LazyLock::new(|| MachineRules::parse(FILE).expect("a test reads the embedded rules"));

/// Time after delivery in which no person reads, as the file has it.
pub static PREFETCH_WINDOW: LazyLock<Duration> = LazyLock::new(|| RULES.prefetch_window());

words! {
    /// Reason why a request is one of software.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum MachineReason {
        /// The mail proxy of Apple loaded the images of an email that may never be opened.
        AppleMpp = "apple_mpp",
        /// Gmail loaded the images before it showed the email.
        GmailPrefetch = "gmail_prefetch",
        /// A security gateway, a crawler, a link preview or an HTTP library.
        Scanner = "scanner",
        /// The browser loads the page before the person opens it.
        Prefetch = "prefetch",
        /// The message had not been delivered.
        BeforeDelivery = "before_delivery",
        /// Sooner after delivery than a person reads.
        Timing = "timing",
        /// A browser that does not exist.
        Browser = "browser",
        /// Several links of a message at once.
        Burst = "burst",
    } with ALL
}

impl MachineReason {
    /// Parses the name in the API.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }
}

/// Condition of a rule. Texts are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleCondition {
    Agent(String),
    All(Vec<String>),
    Empty,
    Token(AgentToken),
    Network(IpNet),
    Header { name: String, value: String },
    BeforeDelivery,
    Timing(Duration),
    Browser { version_min: u32 },
    Burst(Duration),
}

/// A word in a user agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentToken {
    text: String,
    /// Whether a letter or digit may be before the word.
    is_open_before: bool,
    /// Whether a letter or digit may be after it.
    is_open_after: bool,
}

impl AgentToken {
    fn parse(pattern: &str) -> Option<Self> {
        let (pattern, is_open_before) = pattern.strip_prefix('*').map_or((pattern, false), |rest| (rest, true));
        let (pattern, has_star) = pattern.strip_suffix('*').map_or((pattern, false), |rest| (rest, true));
        let last = pattern.chars().next_back()?;
        let is_open_after = has_star || !last.is_ascii_alphanumeric();
        Some(Self { text: pattern.to_owned(), is_open_before, is_open_after })
    }

    /// Returns whether the word is in a user agent in lower case.
    pub(super) fn is_in(&self, agent: &str) -> bool {
        let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = agent.as_bytes();
        agent.match_indices(&self.text).any(|(at, found)| {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            let after = bytes.get(at + found.len());
            (self.is_open_before || !is_word(before)) && (self.is_open_after || !is_word(after))
        })
    }
}

/// A rule of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MachineRule {
    pub(super) condition: RuleCondition,
    pub(super) reason: MachineReason,
}

/// All rules.
#[derive(Clone, Debug)]
pub(super) struct MachineRules {
    /// In their order: the first that matches wins.
    pub(super) rules: Vec<MachineRule>,
    /// Names of devices that contain a token.
    pub(super) devices: Vec<String>,
    /// The words of the tokens, to search all of them at once.
    words: AhoCorasick,
    /// Time within which two links of a message are a burst.
    burst_window: Duration,
}

impl MachineRules {
    /// Returns the embedded rules.
    pub(super) fn embedded() -> &'static Self {
        &RULES
    }

    /// Parses a file. The error names the line.
    pub(super) fn parse(file: &str) -> Result<Self, String> {
        let (mut rules, mut devices) = (Vec::new(), Vec::new());
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match RuleLine::parse(line).ok_or_else(|| format!("not a rule: {line}"))? {
                RuleLine::Rule(rule) => rules.push(rule),
                RuleLine::Device(name) => devices.push(name),
            }
        }
        let words = rules.iter().filter_map(|rule: &MachineRule| match &rule.condition {
            RuleCondition::Token(token) => Some(&token.text),
            _ => None,
        });
        let words = AhoCorasick::new(words).map_err(|error| format!("the words of the tokens: {error}"))?;
        let burst = rules.iter().find_map(|rule| match rule.condition {
            RuleCondition::Burst(window) => Some(window),
            _ => None,
        });
        Ok(Self { rules, devices, words, burst_window: burst.unwrap_or_default() })
    }

    /// Returns whether a user agent in lower case and without devices contains the word of a token, wherever it is. Otherwise
    /// no token is in it. The agent of a person seldom contains one.
    pub(super) fn has_token_word(&self, agent: &str) -> bool {
        self.words.is_match(agent)
    }

    /// Returns the time after delivery in which no person reads, as the file has it.
    fn prefetch_window(&self) -> Duration {
        let window = |rule: &MachineRule| match rule.condition {
            RuleCondition::Timing(window) => Some(window),
            _ => None,
        };
        self.rules.iter().find_map(window).unwrap_or_default()
    }

    /// Returns whether the requests of two links of a message, `apart_ms` milliseconds apart, are a burst.
    pub(super) fn is_burst(&self, apart_ms: u64) -> bool {
        u128::from(apart_ms) <= self.burst_window.as_millis()
    }

    /// Returns whether a header of a request states that a browser loads the page ahead of time. `header` returns the
    /// value of a header, whose name is in lower case.
    pub(super) fn is_prefetch<'h>(&self, header: impl Fn(&str) -> Option<&'h str>) -> bool {
        self.rules.iter().any(|rule| match &rule.condition {
            RuleCondition::Header { name, value } => header(name)
                .and_then(|sent| sent.trim().get(..value.len()))
                .is_some_and(|sent| sent.eq_ignore_ascii_case(value)),
            _ => false,
        })
    }
}

/// A line of the file.
enum RuleLine {
    Rule(MachineRule),
    Device(String),
}

impl RuleLine {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kind, pattern, reason, source] = fields[..] else { return None };
        let reason = MachineReason::parse(reason)?;
        if pattern.is_empty() || !source.starts_with("http") {
            return None;
        }
        let text = pattern.to_ascii_lowercase();
        let condition = match kind {
            "device" => return Some(Self::Device(text)),
            "agent" => RuleCondition::Agent(text),
            "all" => RuleCondition::All(text.split(" & ").map(str::to_owned).collect()),
            "empty" => RuleCondition::Empty,
            "token" => RuleCondition::Token(AgentToken::parse(&text)?),
            "network" => RuleCondition::Network(pattern.parse().ok()?),
            "header" => {
                let (name, value) = text.split_once(": ")?;
                RuleCondition::Header { name: name.to_owned(), value: value.to_owned() }
            }
            "before_delivery" => RuleCondition::BeforeDelivery,
            "timing" => RuleCondition::Timing(Duration::from_secs(pattern.parse().ok()?)),
            "browser" => RuleCondition::Browser { version_min: pattern.parse().ok()? },
            "burst" => RuleCondition::Burst(Duration::from_millis(pattern.parse().ok()?)),
            _ => return None,
        };
        Some(Self::Rule(MachineRule { condition, reason }))
    }
}
