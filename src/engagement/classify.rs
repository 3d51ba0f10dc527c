//! People and software: the verdict on one request. Pure.
//!
//! The rules that need the request alone are applied first, and those that need its email in the transaction.

use std::net::IpAddr;
use std::time::Duration;

use super::rules::{MachineReason, MachineRules, RuleCondition};

/// Operating systems of desktops in the user agent of a browser. CrOS is on laptops.
const DESKTOPS: [&str; 4] = ["(windows nt ", "(macintosh; ", "(x11; linux ", "(x11; cros "];

/// The facts about a request alone, whatever its email.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFacts<'a> {
    pub(super) user_agent: &'a str,
    /// `None` if the address is unknown.
    pub(super) address: Option<IpAddr>,
    /// Whether a header states that a browser loads the page ahead of time.
    pub(super) is_prefetch: bool,
    /// Whether the request is for a link, not for the pixel.
    pub(super) is_link: bool,
}

/// The facts about a request that depend on its email.
#[derive(Clone, Copy, Debug)]
pub(super) struct EmailFacts {
    pub(super) elapsed: Elapsed,
    /// Whether another link of the message was followed within the time of a burst.
    pub(super) is_burst: bool,
}

/// The first rule that matches a request alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestVerdict {
    /// Number of rules before it; that of all rules if none matches.
    rules_before: usize,
    reason: Option<MachineReason>,
    is_link: bool,
}

/// Time of a request since the message reached the recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elapsed {
    /// No server of the recipient has accepted the message.
    NotDelivered,
    /// Milliseconds since delivery. Negative before it.
    SinceDelivery(i64),
    /// Milliseconds since the first attempt: the time of delivery is unknown.
    SinceSend(i64),
    Unknown,
}

impl MachineRules {
    /// Returns the verdict on a request by the rules that need no email. These search the user agent for many words, so
    /// this runs before the transaction.
    pub(super) fn classify_request(&self, facts: RequestFacts<'_>) -> RequestVerdict {
        let agent = facts.user_agent.trim().to_ascii_lowercase();
        let without_devices = self.devices.iter().fold(agent.clone(), |agent, device| agent.replace(device, ""));
        let has_token_word = self.has_token_word(&without_devices);
        let is_match = |condition: &RuleCondition| match condition {
            RuleCondition::Agent(whole) => agent == *whole,
            RuleCondition::All(parts) => parts.iter().all(|part| agent.contains(part)),
            RuleCondition::Empty => agent.is_empty(),
            RuleCondition::Token(token) => has_token_word && token.is_in(&without_devices),
            RuleCondition::Network(network) => facts.address.is_some_and(|address| network.contains(&address)),
            RuleCondition::Header { .. } => facts.is_prefetch,
            RuleCondition::Browser { version_min } => facts.is_link && is_impossible_chrome(&agent, *version_min),
            RuleCondition::BeforeDelivery | RuleCondition::Timing(_) | RuleCondition::Burst(_) => false,
        };
        let rules_before = self.rules.iter().position(|rule| is_match(&rule.condition)).unwrap_or(self.rules.len());
        let reason = self.rules.get(rules_before).map(|rule| rule.reason);
        RequestVerdict { rules_before, reason, is_link: facts.is_link }
    }

    /// Returns the reason why a request is one of software; `None` for a request of a person. The first rule that matches
    /// wins. Within `prefetch_window` after delivery, no request is one of a person.
    pub(super) fn classify(
        &self,
        request: RequestVerdict,
        facts: EmailFacts,
        prefetch_window: Duration,
    ) -> Option<MachineReason> {
        let is_match = |condition: &RuleCondition| match condition {
            RuleCondition::BeforeDelivery => match facts.elapsed {
                Elapsed::NotDelivered => true,
                Elapsed::SinceDelivery(elapsed_ms) => elapsed_ms < 0,
                Elapsed::SinceSend(_) | Elapsed::Unknown => false,
            },
            RuleCondition::Timing(_) => match facts.elapsed {
                Elapsed::SinceDelivery(elapsed_ms) | Elapsed::SinceSend(elapsed_ms) => {
                    i128::from(elapsed_ms) < i128::try_from(prefetch_window.as_millis()).unwrap_or(i128::MAX)
                        && !prefetch_window.is_zero()
                }
                Elapsed::NotDelivered | Elapsed::Unknown => false,
            },
            RuleCondition::Burst(_) => request.is_link && facts.is_burst,
            // The request alone decides these.
            RuleCondition::Agent(_)
            | RuleCondition::All(_)
            | RuleCondition::Empty
            | RuleCondition::Token(_)
            | RuleCondition::Network(_)
            | RuleCondition::Header { .. }
            | RuleCondition::Browser { .. } => false,
        };
        let earlier = self.rules.iter().take(request.rules_before).find(|rule| is_match(&rule.condition));
        earlier.map(|rule| rule.reason).or(request.reason)
    }
}

/// Returns whether a user agent in lower case is that of Chrome on a desktop. It has a build number and no name of
/// another product. Chrome sends `N.0.0.0` since `version_min`; other browsers and programs on its engine add their
/// name.
fn is_impossible_chrome(agent: &str, version_min: u32) -> bool {
    let Some((system, product)) = agent.split_once(" applewebkit/537.36 (khtml, like gecko) chrome/") else {
        return false;
    };
    let Some(version) = product.strip_suffix(" safari/537.36") else { return false };
    let is_desktop = system.strip_prefix("mozilla/5.0 ").is_some_and(|system| {
        DESKTOPS.iter().any(|desktop| system.starts_with(desktop)) && !system.contains("android")
    });
    let Some((major, build)) = version.split_once('.') else { return false };
    let is_reduced = major.parse::<u32>().is_ok_and(|major| major >= version_min);
    // A further product would have a space.
    is_desktop && is_reduced && !build.contains(' ') && build != "0.0.0"
}
