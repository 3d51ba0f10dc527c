//! Settings of sessions and rates in delivery.

use clap::{Args, value_parser};

use super::ConfigError;
use crate::delivery::{Rates, SESSION_MESSAGES_MAX, SiteLimits, SiteOverride, WarmUpPlan};

/// Default maximum number of concurrent sessions with one site.
const SITE_SESSIONS_MAX: u16 = 10;
/// Default maximum number of concurrent sessions with a smarthost, which expects all mail of this server, and with the
/// built-in mailbox. Postfix opens as many to a relay.
const SINGLE_SESSIONS_MAX: u16 = 20;

/// Settings of sessions and rates as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct RateSettings {
    /// Maximum number of concurrent SMTP sessions with one site: 1 to 100 [default: 10; with a smarthost or the built-in mailbox 20].
    #[arg(long, env = "RINGMAIL_CONCURRENCY", value_name = "N",
          value_parser = value_parser!(u16).range(1..=100), help_heading = "Delivering")]
    concurrency: Option<u16>,

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

    /// Warm-up plan of a new source address: the emails that each large provider gets on the first day, the growth after
    /// a day without many refusals, and the number at which the plan ends. Further emails wait for the next day. `on` is
    /// start:200,growth:1.5,target:100000 [default: no plan].
    #[arg(long, env = "RINGMAIL_WARM_UP", value_name = "PLAN", value_parser = warm_up_plan, help_heading = "Delivering")]
    warm_up: Option<WarmUpSetting>,
}

/// Warm-up plan as clap parses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WarmUpSetting {
    Off,
    Plan(WarmUpPlan),
}

impl RateSettings {
    /// Returns the limits of sites, and the maximum number of all sessions.
    pub(super) fn into_rates(self) -> Result<(Rates, usize), ConfigError> {
        let sessions_max = |default| usize::from(self.concurrency.unwrap_or(default));
        let (site, all) = (sessions_max(SITE_SESSIONS_MAX), usize::from(self.sessions));
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
        let warm_up = match self.warm_up {
            Some(WarmUpSetting::Plan(plan)) => Some(plan),
            Some(WarmUpSetting::Off) | None => None,
        };
        let single_sessions_max = sessions_max(SINGLE_SESSIONS_MAX).min(all);
        Ok((Rates { defaults, single_sessions_max, overrides: self.site_limit, warm_up }, all))
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

/// Parses a warm-up plan: `on`, `off`, or its parts.
fn warm_up_plan(text: &str) -> Result<WarmUpSetting, String> {
    let wrong = || {
        format!(
            "`{text}` is not a warm-up plan; use on, off, or a form such as start:200,growth:1.5,target:100000, with a \
             start of at least 1, a growth of 1.05 to 4, and a target above the start, up to 10000000"
        )
    };
    let mut plan = WarmUpPlan { start: 200, growth_percent: 150, target: 100_000 };
    match text.trim() {
        "on" => return Ok(WarmUpSetting::Plan(plan)),
        "off" => return Ok(WarmUpSetting::Off),
        _ => {}
    }
    for part in text.trim().split(',') {
        let (name, value) = part.split_once(':').ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        match name {
            "start" => plan.start = value.parse().map_err(|_| wrong())?,
            "growth" => plan.growth_percent = percent(value).ok_or_else(wrong)?,
            "target" => plan.target = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    let is_valid = plan.start >= 1 && (105..=400).contains(&plan.growth_percent);
    let has_target = plan.target > plan.start && plan.target <= 10_000_000;
    if is_valid && has_target { Ok(WarmUpSetting::Plan(plan)) } else { Err(wrong()) }
}

/// Returns the percent of a factor with at most two digits after the point, such as `1.5`.
fn percent(factor: &str) -> Option<u32> {
    let (whole, part) = factor.split_once('.').unwrap_or((factor, "0"));
    let is_number = |text: &str, digits_max| {
        (1..=digits_max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole, 3) || !is_number(part, 2) {
        return None;
    }
    let hundredths: u32 = format!("{part:0<2}").parse().ok()?;
    Some(whole.parse::<u32>().ok()? * 100 + hundredths)
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

    #[test]
    fn a_warm_up_plan_has_a_start_a_growth_and_a_target() {
        let plan =
            |start, growth_percent, target| Ok(WarmUpSetting::Plan(WarmUpPlan { start, growth_percent, target }));
        for (text, expected) in [
            ("on", plan(200, 150, 100_000)),
            (" off ", Ok(WarmUpSetting::Off)),
            ("start:50", plan(50, 150, 100_000)),
            ("start:50, growth:2, target:5000", plan(50, 200, 5_000)),
            ("growth:1.05", plan(200, 105, 100_000)),
            ("growth:1.7", plan(200, 170, 100_000)),
        ] {
            assert_eq!(warm_up_plan(text), expected, "{text}");
        }
        for wrong in [
            "",
            "yes",
            "start",
            "start:0",
            "start:-1",
            "growth:1",
            "growth:1.045",
            "growth:4.01",
            "growth:1.5.5",
            "growth:+2",
            "growth:.5",
            "target:200",
            "target:10000001",
            "speed:2",
        ] {
            let sentence = warm_up_plan(wrong).unwrap_err();
            assert!(sentence.contains(&format!("`{wrong}`")) && sentence.contains("start:200"), "{sentence}");
        }
    }
}
