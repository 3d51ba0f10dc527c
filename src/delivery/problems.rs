//! Warnings about problems that stop the delivery of all mail: name servers, the smarthost, or the SMTP port. Also
//! warns about sites that refuse mail for the reputation of this server.
//!
//! The timeline of each email has its own reason. The log has one warning an hour for each cause, with the
//! next step for the operator and without any recipient.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tracing::warn;

use super::routes::{LookupEffect, Routes};
use super::site_refusal::SiteRefusal;
use super::smtp::{SessionError, SmtpPhase};
use super::transport::{Servers, Transport};
use crate::base::clock::TimestampMs;
use crate::base::sync;

/// Time between two warnings about the same cause.
const WARN_EVERY_MS: i64 = 60 * 60 * 1_000;
/// Sites in a row without a connection that show that the port is blocked. A single site can be down itself. Before the
/// first connection since the start, one site is enough for a warning.
const SITES_MIN: usize = 3;
/// Number of sites whose warnings are remembered.
const WARNED_SITES_MAX: usize = 1_000;

/// Cause of a warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// No name server responds.
    NameServers,
    /// No address of this smarthost was found.
    SmarthostName(String),
    /// No session with this smarthost can be opened.
    Smarthost(String),
    /// No mail server can be reached on the SMTP port.
    Port,
    /// No session with the built-in mailbox can be opened.
    Mailbox,
}

/// The problems of one process. All teams share them.
#[derive(Debug, Default)]
pub(super) struct Problems(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Time of the last warning about each cause. The settings bound the number of smarthosts.
    warned_ms: BTreeMap<Cause, TimestampMs>,
    /// The sites that could not be connected to since the last connection, at most [`SITES_MIN`].
    unreachable_sites: BTreeSet<String>,
    /// Whether a mail server could be connected to since the start.
    has_connected: bool,
    /// Time of the last warning about each site, at most [`WARNED_SITES_MAX`].
    warned_sites_ms: BTreeMap<String, TimestampMs>,
}

impl State {
    /// Returns whether a warning about a site is due, and records that it is logged. Of many sites, those with the oldest
    /// warnings are forgotten.
    fn is_site_due(&mut self, site: &str, now_ms: TimestampMs) -> bool {
        if self.warned_sites_ms.get(site).is_some_and(|last| is_recent(*last, now_ms)) {
            return false;
        }
        if self.warned_sites_ms.len() >= WARNED_SITES_MAX {
            let oldest = self.warned_sites_ms.iter().min_by_key(|(_, at_ms)| **at_ms).map(|(site, _)| site.clone());
            if let Some(site) = oldest {
                self.warned_sites_ms.remove(&site);
            }
        }
        self.warned_sites_ms.insert(site.to_owned(), now_ms);
        true
    }
}

/// Returns whether the last warning is less than an hour old. If the wall clock was set back, it is not.
fn is_recent(last_ms: TimestampMs, now_ms: TimestampMs) -> bool {
    (last_ms..last_ms + WARN_EVERY_MS).contains(&now_ms)
}

/// Evidence that the SMTP port is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortProblem {
    /// No mail server could be connected to since the start.
    SinceStart,
    /// [`SITES_MIN`] sites in a row could not be connected to.
    SeveralSites,
}

impl Problems {
    /// Records that a mail server could be connected to.
    pub(super) fn connected(&self) {
        let mut state = sync::lock(&self.0);
        state.unreachable_sites.clear();
        state.has_connected = true;
    }

    /// Records that no session with one address of a site could be opened. Any failure after the connection shows
    /// that the port is open.
    pub(super) fn address_failed(&self, error: &SessionError) {
        if !is_without_connection(error) {
            self.connected();
        }
    }

    /// Records that no session with a site could be opened, and logs the cause if it concerns all mail.
    pub(super) fn session_failed(&self, routes: &Routes, servers: &Servers, error: &SessionError, now_ms: TimestampMs) {
        if let Some((cause, warning)) = self.session_problem(routes, servers, error) {
            self.warn(&cause, &warning, now_ms);
        }
    }

    /// Records that no session with a site could be opened. Returns the cause and the warning if they concern all mail.
    fn session_problem(&self, routes: &Routes, servers: &Servers, error: &SessionError) -> Option<(Cause, String)> {
        let effect = if servers.fallback.is_some() { "emails use the fallback" } else { "emails stay queued" };
        Some(match routes.transport(servers.transport) {
            Transport::Capture { .. } => {
                (Cause::Mailbox, format!("the built-in mailbox cannot be reached: {}", without_reply(error)))
            }
            Transport::Relay(relay) => {
                let warning = format!(
                    "no session with the smarthost {}:{}: {}; {effect}. Check that it runs, {}, and its password",
                    relay.host,
                    relay.port,
                    without_reply(error),
                    relay.setting()
                );
                (Cause::Smarthost(format!("{}:{}", relay.host, relay.port)), warning)
            }
            Transport::Direct(direct) => {
                if !is_without_connection(error) {
                    return None;
                }
                let problem = match self.port_problem(&servers.site)? {
                    PortProblem::SinceStart => "no mail server has been reached since the start",
                    PortProblem::SeveralSites => "no mail server can be reached",
                };
                let warning = format!(
                    "{problem} on port {}; {effect}. Many providers block outgoing port 25: ask yours to \
                     open it, or use --delivery relay",
                    direct.port
                );
                (Cause::Port, warning)
            }
        })
    }

    /// Records a site without a connection. Returns the evidence that the port is blocked, if there is any.
    fn port_problem(&self, site: &str) -> Option<PortProblem> {
        let mut state = sync::lock(&self.0);
        if state.unreachable_sites.len() < SITES_MIN {
            state.unreachable_sites.insert(site.to_owned());
        }
        if !state.has_connected {
            return Some(PortProblem::SinceStart);
        }
        (state.unreachable_sites.len() >= SITES_MIN).then_some(PortProblem::SeveralSites)
    }

    /// Records that the lookup of a transport failed for a destination, and logs the cause if it concerns all mail.
    pub(super) fn lookup_failed(&self, transport: &Transport, effect: LookupEffect, now_ms: TimestampMs) {
        let effect = match effect {
            LookupEffect::Queued => "emails stay queued",
            LookupEffect::Fallback => "emails use the fallback",
            LookupEffect::NoFallback => "emails have no fallback",
        };
        let (resolver, smarthost) = match transport {
            Transport::Capture { .. } => return,
            Transport::Direct(direct) => (&direct.resolver, None),
            Transport::Relay(relay) => (&relay.resolver.0, Some(relay)),
        };
        if resolver.is_silent() {
            let state = if resolver.has_responded() { "" } else { " yet" };
            let warning = format!("no DNS server responds{state}; {effect}. Check the network and --resolver");
            self.warn(&Cause::NameServers, &warning, now_ms);
        } else if let Some(relay) = smarthost {
            // The caller does not know whether the name has no address or the servers did not respond.
            let warning = format!(
                "no address of the smarthost {} was found; {effect}. Check {}, the DNS, and --resolver",
                relay.host,
                relay.setting()
            );
            self.warn(&Cause::SmarthostName(relay.host.clone()), &warning, now_ms);
        }
    }

    /// Records a refusal of a site for the reputation of this server, and logs it once an hour for each site.
    pub(super) fn site_refused(
        &self,
        site: &str,
        refusal: &SiteRefusal,
        delisting: Option<&'static str>,
        now_ms: TimestampMs,
    ) {
        if !refusal.is_suspension() || !sync::lock(&self.0).is_site_due(site, now_ms) {
            return;
        }
        let next_step = delisting.map_or_else(
            || "Check the sender's reputation and the blocklists".to_owned(),
            |url| format!("Request removal at {url}"),
        );
        warn!(site, "{site} refuses mail of this server: {}; emails stay queued. {next_step}", refusal.reply);
    }

    fn warn(&self, cause: &Cause, warning: &str, now_ms: TimestampMs) {
        if self.is_due(cause, now_ms) {
            warn!(?cause, "{warning}");
        }
    }

    /// Returns whether a warning about the cause is due, and records that it is logged.
    fn is_due(&self, cause: &Cause, now_ms: TimestampMs) -> bool {
        let mut state = sync::lock(&self.0);
        let is_recent = state.warned_ms.get(cause).is_some_and(|last| is_recent(*last, now_ms));
        if !is_recent {
            state.warned_ms.insert(cause.clone(), now_ms);
        }
        !is_recent
    }
}

/// Returns whether the TCP connection failed. Any later failure shows that the port is open.
fn is_without_connection(error: &SessionError) -> bool {
    matches!(error, SessionError::Unreachable { .. } | SessionError::TimedOut { phase: SmtpPhase::Connect })
}

/// Returns the error without the text of a reply, which can contain an address.
fn without_reply(error: &SessionError) -> String {
    match error {
        SessionError::Refused { phase, reply } => format!("refused at {phase} with code {}", reply.code),
        SessionError::StartTlsRefused { reply } => format!("STARTTLS was refused with code {}", reply.code),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp::Reply;

    #[test]
    fn a_cause_is_due_once_an_hour_and_independent_of_the_others() {
        let problems = Problems::default();

        for (cause, now_ms, is_due) in [
            (Cause::Port, 1_000, true),
            (Cause::Port, 1_001, false),
            (Cause::Mailbox, 1_001, true),
            (Cause::Port, 1_000 + WARN_EVERY_MS - 1, false),
            (Cause::Port, 1_000 + WARN_EVERY_MS, true),
            (Cause::Port, 1_000 + WARN_EVERY_MS, false),
            (Cause::Port, 999, true),
            (Cause::Smarthost("one".into()), 1_000, true),
            (Cause::Smarthost("two".into()), 1_000, true),
            (Cause::Smarthost("one".into()), 1_001, false),
        ] {
            assert_eq!(problems.is_due(&cause, now_ms), is_due, "{cause:?} {now_ms}");
        }
    }

    #[test]
    fn a_site_is_due_once_an_hour_and_the_number_of_remembered_sites_is_bounded() {
        let mut state = State::default();
        for (site, now_ms, is_due) in [
            ("google", 1_000, true),
            ("google", 1_001, false),
            ("yahoo", 1_001, true),
            ("google", 1_000 + WARN_EVERY_MS, true),
            ("google", 999, true),
        ] {
            assert_eq!(state.is_site_due(site, now_ms), is_due, "{site} {now_ms}");
        }
        for number in 0..2 * WARNED_SITES_MAX {
            assert!(state.is_site_due(&format!("{number}.example"), 2_000));
        }
        assert_eq!(state.warned_sites_ms.len(), WARNED_SITES_MAX);
        assert!(!state.is_site_due(&format!("{}.example", 2 * WARNED_SITES_MAX - 1), 2_001));
    }

    #[test]
    fn a_port_is_blocked_if_three_sites_in_a_row_are_not_reached() {
        let problems = Problems::default();
        problems.connected();
        for (site, is_blocked) in [
            ("one.example", false),
            ("one.example", false),
            ("two.example", false),
            ("one.example", false),
            ("three.example", true),
            ("four.example", true),
        ] {
            let expected = is_blocked.then_some(PortProblem::SeveralSites);
            assert_eq!(problems.port_problem(site), expected, "{site}");
        }
        problems.address_failed(&SessionError::TimedOut { phase: SmtpPhase::Connect });
        assert_eq!(problems.port_problem("five.example"), Some(PortProblem::SeveralSites));
        problems.address_failed(&SessionError::Lost { phase: SmtpPhase::Greeting });
        assert_eq!(problems.port_problem("five.example"), None);
        problems.port_problem("six.example");
        problems.connected();
        assert_eq!(problems.port_problem("seven.example"), None);
    }

    #[test]
    fn before_the_first_connection_one_site_is_enough_for_a_warning() {
        let problems = Problems::default();

        assert_eq!(problems.port_problem("one.example"), Some(PortProblem::SinceStart));
        assert_eq!(problems.port_problem("two.example"), Some(PortProblem::SinceStart));
        problems.address_failed(&SessionError::Lost { phase: SmtpPhase::Greeting });
        assert_eq!(problems.port_problem("one.example"), None);
    }

    #[test]
    fn a_mailbox_without_a_session_is_a_problem_with_the_reason() {
        let problems = Problems::default();
        let routes = Routes::captured("127.0.0.1:2525".parse().unwrap());
        let servers = Servers::new("capture".into(), Vec::new());
        for (error, reason) in [
            (
                SessionError::Unreachable { reason: "connection refused".into() },
                "could not connect: connection refused",
            ),
            (SessionError::Lost { phase: SmtpPhase::Greeting }, "connection lost at greeting"),
        ] {
            let warning = format!("the built-in mailbox cannot be reached: {reason}");

            assert_eq!(problems.session_problem(&routes, &servers, &error), Some((Cause::Mailbox, warning)));
        }
    }

    #[test]
    fn a_warning_has_no_text_of_a_reply() {
        let reply = || Reply { code: 454, enhanced: None, text: "not for ada@shop.example".into() };
        for error in [
            SessionError::StartTlsRefused { reply: reply() },
            SessionError::Refused { phase: SmtpPhase::Greeting, reply: reply() },
        ] {
            assert!(error.to_string().contains("ada@shop.example"));
            let warning = without_reply(&error);
            assert!(warning.contains("454") && !warning.contains("ada@"), "{warning}");
        }
    }
}
