//! Limits of sites: sessions, messages in a session, messages a second and connections a minute.

use super::providers::Provider;
use super::warm_up::WarmUpPlan;

/// Maximum number of messages in one session, if neither the provider nor the operator has another limit.
pub const SESSION_MESSAGES_MAX: u32 = 100;

/// Limits of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteLimits {
    /// Maximum number of concurrent sessions.
    pub sessions_max: usize,
    /// Maximum number of messages in one session.
    pub session_messages_max: u32,
    /// `None` is no limit.
    pub messages_per_second: Option<u32>,
    /// `None` is no limit.
    pub connections_per_minute: Option<u32>,
}

/// Limits that the operator sets for a site, by the name of the site or of its provider. `None` keeps a limit, and a
/// rate of 0 removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOverride {
    pub site: String,
    pub sessions_max: Option<usize>,
    pub session_messages_max: Option<u32>,
    pub messages_per_second: Option<u32>,
    pub connections_per_minute: Option<u32>,
}

/// The limits of all sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Limits of a site without others.
    pub defaults: SiteLimits,
    /// Maximum number of concurrent sessions with a smarthost or the built-in mailbox.
    pub single_sessions_max: usize,
    pub overrides: Vec<SiteOverride>,
    /// Plan for large providers, if the source address is new.
    pub warm_up: Option<WarmUpPlan>,
}

impl Rates {
    /// Returns the limits of a site. Those of its provider replace the defaults, and those of the operator replace both.
    /// A provider cannot raise the number of sessions above the default, nor can the default be above `part_max`.
    pub(super) fn of(&self, site: &str, provider: Option<&Provider>, part_max: usize) -> SiteLimits {
        let mut limits = SiteLimits { sessions_max: self.defaults.sessions_max.min(part_max), ..self.defaults };
        if let Some(provider) = provider {
            let sessions_max = provider.sessions_max.unwrap_or(limits.sessions_max);
            limits = SiteLimits {
                sessions_max: limits.sessions_max.min(sessions_max),
                session_messages_max: provider.session_messages_max.unwrap_or(limits.session_messages_max),
                messages_per_second: provider.messages_per_second.or(limits.messages_per_second),
                connections_per_minute: provider.connections_per_minute.or(limits.connections_per_minute),
            };
        }
        self.overridden(site, provider, limits)
    }

    /// Returns the limits of a smarthost or of the built-in mailbox. It has no rates unless the operator sets them.
    pub(super) fn of_single(&self, site: &str) -> SiteLimits {
        let limits = SiteLimits {
            sessions_max: self.single_sessions_max,
            messages_per_second: None,
            connections_per_minute: None,
            ..self.defaults
        };
        self.overridden(site, None, limits)
    }

    fn overridden(&self, site: &str, provider: Option<&Provider>, limits: SiteLimits) -> SiteLimits {
        let is_named = |name: &str| name == site || provider.is_some_and(|provider| provider.name == name);
        let overrides = self.overrides.iter().filter(|over| is_named(&over.site));
        let rate =
            |over: Option<u32>, limit: Option<u32>| over.map_or(limit, |rate| Some(rate).filter(|rate| *rate > 0));
        overrides.fold(limits, |limits, over| SiteLimits {
            sessions_max: over.sessions_max.unwrap_or(limits.sessions_max),
            session_messages_max: over.session_messages_max.unwrap_or(limits.session_messages_max),
            messages_per_second: rate(over.messages_per_second, limits.messages_per_second),
            connections_per_minute: rate(over.connections_per_minute, limits.connections_per_minute),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(sessions_max: usize, session_messages_max: u32, messages: u32, connections: u32) -> SiteLimits {
        let rate = |rate| Some(rate).filter(|rate| *rate > 0);
        SiteLimits {
            sessions_max,
            session_messages_max,
            messages_per_second: rate(messages),
            connections_per_minute: rate(connections),
        }
    }

    fn rates() -> Rates {
        let defaults = limits(10, 100, 100, 100);
        Rates { defaults, single_sessions_max: 20, overrides: Vec::new(), warm_up: None }
    }

    #[test]
    fn the_operator_overrides_the_provider_and_the_provider_overrides_the_defaults() {
        let provider = Provider {
            name: "google",
            sessions_max: Some(5),
            session_messages_max: Some(50),
            messages_per_second: None,
            connections_per_minute: Some(30),
            delisting: None,
        };
        let over = |site: &str| SiteOverride { site: site.into(), ..SiteOverride::default() };
        let fewer = SiteOverride { sessions_max: Some(3), messages_per_second: Some(7), ..over("google") };
        let more = SiteOverride { sessions_max: Some(8), messages_per_second: Some(0), ..over("opaque") };
        let other = SiteOverride { sessions_max: Some(1), ..over("other.example") };
        let raising = Provider { sessions_max: Some(25), ..provider.clone() };
        for (overrides, provider, expected) in [
            (vec![], None, limits(10, 100, 100, 100)),
            (vec![], Some(&provider), limits(5, 50, 100, 30)),
            (vec![], Some(&raising), limits(10, 50, 100, 30)),
            (vec![other.clone()], Some(&provider), limits(5, 50, 100, 30)),
            (vec![fewer.clone()], Some(&provider), limits(3, 50, 7, 30)),
            (vec![fewer.clone()], None, limits(10, 100, 100, 100)),
            (vec![fewer, more.clone()], Some(&provider), limits(8, 50, 0, 30)),
        ] {
            let rates = Rates { overrides: overrides.clone(), ..rates() };
            assert_eq!(rates.of("opaque", provider, 50), expected, "{overrides:?} {provider:?}");
        }
        let few = Rates { overrides: vec![more.clone()], ..rates() };
        assert_eq!([few.of("opaque", None, 5), few.of("other", None, 5)].map(|limits| limits.sessions_max), [8, 5]);
        let rates = Rates { overrides: vec![more], ..rates() };
        assert_eq!(rates.of_single("opaque"), limits(8, 100, 0, 0));
        assert_eq!(rates.of_single("relay"), limits(20, 100, 0, 0));
    }
}
