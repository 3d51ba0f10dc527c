//! Settings of sessions and rates in delivery.

use clap::{Args, value_parser};

use super::ConfigError;
use crate::delivery::{Rates, SESSION_MESSAGES_MAX, SiteLimits, SiteOverride};

/// Settings of sessions and rates as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct RateSettings {
    /// Maximum number of concurrent SMTP sessions with one site: 1 to 100.
    #[arg(long, env = "RINGMAIL_CONCURRENCY", value_name = "N", default_value_t = 10,
          value_parser = value_parser!(u16).range(1..=100), help_heading = "Delivering")]
    concurrency: u16,

    /// Maximum number of concurrent SMTP sessions: 1 to 5000.
    #[arg(long, env = "RINGMAIL_SESSIONS", value_name = "N", default_value_t = 200,
          value_parser = value_parser!(u16).range(1..=5_000), help_heading = "Delivering")]
    sessions: u16,

    /// Maximum number of messages per second to one site in direct delivery, up to 100000; 0 is no limit.
    #[arg(long, env = "RINGMAIL_SITE_MESSAGES_PER_SECOND", value_name = "N", default_value_t = 100,
          value_parser = value_parser!(u32).range(0..=100_000), help_heading = "Delivering")]
    site_messages_per_second: u32,

    /// Maximum number of new connections per minute to one site in direct delivery, up to 100000; 0 is no limit.
    #[arg(long, env = "RINGMAIL_SITE_CONNECTIONS_PER_MINUTE", value_name = "N", default_value_t = 100,
          value_parser = value_parser!(u32).range(0..=100_000), help_heading = "Delivering")]
    site_connections_per_minute: u32,

    /// Limits of one site instead of the general ones and those of its provider, such as
    /// google=sessions:3,session-messages:20,messages-per-second:10,connections-per-minute:30; a rate of 0 is no limit;
    /// may be repeated, in the variable with semicolons.
    #[arg(long, env = "RINGMAIL_SITE_LIMIT", value_name = "SITE=LIMIT:N,...", value_delimiter = ';',
          value_parser = site_limit, help_heading = "Delivering")]
    site_limit: Vec<SiteOverride>,
}

impl RateSettings {
    /// Returns the limits of sites, and the maximum number of all sessions.
    pub(super) fn into_rates(self) -> Result<(Rates, usize), ConfigError> {
        let (site, all) = (usize::from(self.concurrency), usize::from(self.sessions));
        if all < site {
            return Err(ConfigError::Sessions { site, all });
        }
        let rate = |rate: u32| (rate > 0).then_some(rate);
        let defaults = SiteLimits {
            sessions_max: site,
            session_messages_max: SESSION_MESSAGES_MAX,
            messages_per_second: rate(self.site_messages_per_second),
            connections_per_minute: rate(self.site_connections_per_minute),
        };
        Ok((Rates { defaults, overrides: self.site_limit }, all))
    }
}

/// Parses the limits of one site.
fn site_limit(text: &str) -> Result<SiteOverride, String> {
    let wrong = || {
        format!(
            "`{text}` is not the limits of a site; use a form such as google=sessions:3,messages-per-second:10, with \
             sessions (1 to 100), session-messages (1 to 10000), messages-per-second and connections-per-minute (up to \
             100000)"
        )
    };
    let (site, limits) = text.trim().split_once('=').ok_or_else(wrong)?;
    let site = site.trim().to_ascii_lowercase();
    if site.is_empty() || site.len() > 253 || limits.is_empty() {
        return Err(wrong());
    }
    let mut over = SiteOverride { site, ..SiteOverride::default() };
    for limit in limits.split(',') {
        let (name, value) = limit.split_once(':').ok_or_else(wrong)?;
        let value: u32 = value.trim().parse().map_err(|_| wrong())?;
        let within = |min: u32, max: u32| (min..=max).contains(&value).then_some(value).ok_or_else(wrong);
        match name.trim() {
            "sessions" => over.sessions_max = Some(within(1, 100)? as usize),
            "session-messages" => over.session_messages_max = Some(within(1, 10_000)?),
            "messages-per-second" => over.messages_per_second = Some(within(0, 100_000)?),
            "connections-per-minute" => over.connections_per_minute = Some(within(0, 100_000)?),
            _ => return Err(wrong()),
        }
    }
    Ok(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_site_are_pairs_of_a_name_and_a_number() {
        let over =
            site_limit(" Google=sessions:3, session-messages:20,messages-per-second:0,connections-per-minute:30 ");
        let expected = SiteOverride {
            site: "google".into(),
            sessions_max: Some(3),
            session_messages_max: Some(20),
            messages_per_second: Some(0),
            connections_per_minute: Some(30),
        };
        assert_eq!(over, Ok(expected));
        assert_eq!(site_limit("relay mx.example=sessions:9").unwrap().site, "relay mx.example");
        for wrong in [
            "",
            "google",
            "google=",
            "=sessions:3",
            "google=sessions",
            "google=sessions:0",
            "google=sessions:101",
            "google=sessions:-1",
            "google=session-messages:0",
            "google=messages-per-second:100001",
            "google=pace:3",
            "google=sessions:3,",
        ] {
            let sentence = site_limit(wrong).unwrap_err();
            assert!(sentence.contains(&format!("`{wrong}`")) && sentence.contains("sessions:3"), "{sentence}");
        }
    }
}
