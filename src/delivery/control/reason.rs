//! From the facts about a queued group and the schedule to the reason why it waits. Pure.

use super::DeliveryState;
use super::facts::GroupFacts;
use super::waiting_state::WaitingState;
use crate::base::clock::TimestampMs;
use crate::base::enhanced_code::split_enhanced_code;
use crate::delivery::queue::HoldKind;
use crate::delivery::schedule::{LaneWait, SiteHold};

/// The reason why a group waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) state: WaitingState,
    /// Expected time of the next attempt or test; `None` if it is not known.
    pub(super) until_ms: Option<TimestampMs>,
    /// A sentence.
    pub(super) text: String,
}

/// Returns the reason of the wait of a group. `lane` returns the state of its lane, for groups that are due.
pub(super) fn reason(
    facts: &GroupFacts,
    now_ms: TimestampMs,
    delivery: DeliveryState,
    lane: impl Fn() -> LaneWait,
) -> Reason {
    let GroupFacts { key, due, domain, scheduled_ms, last_result, hold, .. } = facts;
    let of = |state, until_ms, text: String| Reason { state, until_ms, text };
    if let Some(kind) = hold {
        return of(WaitingState::Held, None, held_text(*kind, domain));
    }
    let last = last_result.as_deref().map(|result| format!(" The last result was: {result}")).unwrap_or_default();
    if key.due_ms > now_ms {
        let until_ms = Some(key.due_ms);
        if due.attempts == 0 && last_result.is_none() && due.vanished_ms.is_none() && *scheduled_ms == until_ms {
            return of(WaitingState::Scheduled, until_ms, "The email is scheduled.".into());
        }
        let is_tried = due.attempts > 0 || last_result.is_some() || due.vanished_ms.is_some() || due.is_postponed;
        if !is_tried && matches!(lane(), LaneWait::LookupFailed { .. }) {
            return of(WaitingState::LookupFailed, until_ms, lookup_failed_text(domain));
        }
        if !is_tried && scheduled_ms.is_some() && due.delays_reported == 0 {
            let text =
                "The clock was set forward. The scheduled email waits until the new time has lasted for ten minutes.";
            return of(WaitingState::Scheduled, until_ms, text.into());
        }
        // The pause of a site can be longer than the delay of the email that caused it.
        if is_tried && delivery == DeliveryState::Running {
            let lane = lane();
            if matches!(lane, LaneWait::HostsPaused { until_ms } | LaneWait::SiteHeld { until_ms, .. } if until_ms > key.due_ms)
            {
                return lane_reason(facts, lane, &last);
            }
        }
        let text = match (due.vanished_ms, due.is_postponed) {
            (Some(_), _) if last_result.as_deref().is_some_and(names_missing_domain) => format!(
                "A server says that the domain {domain} or its mail server does not exist. The email is tried again before \
                 it bounces.{last}"
            ),
            (Some(_), _) => {
                format!("The domain {domain} was not found. It is looked up again before the email bounces.")
            }
            (None, true) => "The operator had paused the email. It is tried again at this time.".into(),
            (None, false) => format!("The last attempt failed temporarily, and the next one follows.{last}"),
        };
        return of(WaitingState::Retry, until_ms, text);
    }
    match delivery {
        DeliveryState::Stopped => {
            return of(WaitingState::Stopped, None, "No server runs. The next one delivers the email.".into());
        }
        DeliveryState::Held => {
            let text = "The server accepts email and does not deliver it, because it was started with `--hold`.";
            return of(WaitingState::QueueHeld, None, text.into());
        }
        DeliveryState::Running => {}
    }
    lane_reason(facts, lane(), &last)
}

/// Returns the reason of the wait of the lane of a group. `last` is the sentence about its last result.
fn lane_reason(facts: &GroupFacts, lane: LaneWait, last: &str) -> Reason {
    let domain = &facts.domain;
    let of = |state, until_ms, text: String| Reason { state, until_ms, text };
    match lane {
        LaneWait::Slowed => of(WaitingState::Slowed, None, slowed_text()),
        LaneWait::Unloaded | LaneWait::Taken | LaneWait::Session { .. } if facts.is_slowed => {
            of(WaitingState::Slowed, None, slowed_text())
        }
        LaneWait::Unloaded | LaneWait::Taken => {
            of(WaitingState::Session, None, format!("It waits for a session with the mail servers of {domain}.{last}"))
        }
        LaneWait::Session { site } => {
            of(WaitingState::Session, None, format!("It waits for a session with {site}.{last}"))
        }
        LaneWait::Lookup => {
            of(WaitingState::Lookup, None, format!("The mail servers of {domain} are being looked up."))
        }
        LaneWait::LookupFailed { until_ms } => {
            of(WaitingState::LookupFailed, Some(until_ms), lookup_failed_text(domain))
        }
        LaneWait::HostsPaused { until_ms } => {
            let text = format!(
                "The mail servers of {domain} cannot be connected to. They are paused until the next test.{last}"
            );
            of(WaitingState::HostsPaused, Some(until_ms), text)
        }
        LaneWait::SiteHeld { site, hold, until_ms } => {
            let (state, text) = match hold {
                SiteHold::Failure => (
                    WaitingState::SitePaused,
                    format!(
                        "The mail servers of {site} refused or limited mail of this server. They are paused until the \
                         next test.{last}"
                    ),
                ),
                SiteHold::Reputation => (
                    WaitingState::SitePaused,
                    format!(
                        "The mail servers of {site} refuse mail for the reputation of this server. They are paused \
                         until the next test.{last}"
                    ),
                ),
                SiteHold::Rate => (WaitingState::RateLimited, format!("The rate of messages to {site} is reached.")),
                SiteHold::WarmUp => {
                    (WaitingState::WarmUp, format!("The warm-up plan allows no further message to {site} today."))
                }
            };
            of(state, Some(until_ms), text)
        }
    }
}

/// Returns whether a reply says that the domain or its mail server does not exist, as in `550 5.1.2 no such domain`.
fn names_missing_domain(reply: &str) -> bool {
    let code = reply.get(4..).and_then(|rest| split_enhanced_code(rest.as_bytes()));
    matches!(code, Some(((_, 1, 2) | (_, 4, 4), _)))
}

fn lookup_failed_text(domain: &str) -> String {
    format!("The name servers gave no answer for {domain}. The lookup is repeated.")
}

fn slowed_text() -> String {
    "The broadcasts of the team together send one message a second, because too many emails of the team bounced or were \
     reported as spam."
        .into()
}

fn held_text(kind: HoldKind, domain: &str) -> String {
    match kind {
        HoldKind::Site => format!("The operator has paused the mail servers of {domain}."),
        HoldKind::Domain => format!("The operator has paused the domain {domain}."),
        HoldKind::Email => "The operator has paused this email.".into(),
        HoldKind::Key => "The operator has paused the API key that sent the email.".into(),
        HoldKind::Team => "The operator has paused the email of the team.".into(),
        HoldKind::Queue => "The operator has paused the whole queue.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::queue::{DueKey, LaneKey};
    use crate::delivery::rows::{Class, DueRow};

    const NOW_MS: TimestampMs = 1_000_000;

    /// A group that is due in `ms` from now.
    fn facts(ms: i64) -> GroupFacts {
        let lane = LaneKey::new("a.example", Class::Transactional, Id::MIN);
        GroupFacts {
            key: DueKey { lane, due_ms: NOW_MS + ms, email: Id::MIN, group: 0 },
            due: DueRow::fresh(Id::MIN, "a.example".into(), NOW_MS),
            recipients: vec!["ada@a.example".into()],
            domain: "a.example".into(),
            scheduled_ms: None,
            last_result: None,
            hold: None,
            is_slowed: false,
        }
    }

    #[test]
    fn each_cause_has_a_state_a_time_and_a_sentence() {
        use DeliveryState::{Held, Running, Stopped};

        let until_ms = NOW_MS + 9_000;
        let tried = || GroupFacts { last_result: Some("451 4.7.1 Greylisted".into()), ..facts(0) };
        let slowed = || GroupFacts { is_slowed: true, ..facts(0) };
        let later = |facts: GroupFacts| GroupFacts { key: DueKey { due_ms: until_ms, ..facts.key }, ..facts };
        let vanished = DueRow { vanished_ms: Some(1), ..facts(0).due };
        let (vanished_too, refused) = (vanished.clone(), vanished.clone());
        let postponed = DueRow { is_postponed: true, ..facts(0).due };
        let cases = [
            (
                GroupFacts { scheduled_ms: Some(until_ms), ..later(facts(0)) },
                Running,
                LaneWait::Unloaded,
                WaitingState::Scheduled,
                Some(until_ms),
                "The email is scheduled.",
            ),
            (
                GroupFacts { scheduled_ms: Some(until_ms - 1), ..later(facts(0)) },
                Running,
                LaneWait::Unloaded,
                WaitingState::Scheduled,
                Some(until_ms),
                "The clock was set forward.",
            ),
            (later(tried()), Stopped, LaneWait::Unloaded, WaitingState::Retry, Some(until_ms), "451 4.7.1 Greylisted"),
            (
                later(GroupFacts { due: vanished, ..facts(0) }),
                Running,
                LaneWait::Unloaded,
                WaitingState::Retry,
                Some(until_ms),
                "The domain a.example was not found.",
            ),
            (
                later(GroupFacts { due: vanished_too, last_result: Some("451 4.7.1 Greylisted".into()), ..facts(0) }),
                Running,
                LaneWait::Unloaded,
                WaitingState::Retry,
                Some(until_ms),
                "The domain a.example was not found.",
            ),
            (
                later(GroupFacts { due: refused, last_result: Some("550 5.1.2 no such domain".into()), ..facts(0) }),
                Running,
                LaneWait::Unloaded,
                WaitingState::Retry,
                Some(until_ms),
                "A server says that the domain a.example",
            ),
            (
                later(tried()),
                Running,
                LaneWait::HostsPaused { until_ms: until_ms + 1 },
                WaitingState::HostsPaused,
                Some(until_ms + 1),
                "paused until the next test",
            ),
            (
                later(tried()),
                Running,
                LaneWait::HostsPaused { until_ms: until_ms - 1 },
                WaitingState::Retry,
                Some(until_ms),
                "the next one follows",
            ),
            (
                later(GroupFacts { due: postponed, ..facts(0) }),
                Running,
                LaneWait::Unloaded,
                WaitingState::Retry,
                Some(until_ms),
                "had paused",
            ),
            (
                later(facts(0)),
                Running,
                LaneWait::LookupFailed { until_ms: NOW_MS },
                WaitingState::LookupFailed,
                Some(until_ms),
                "The name servers gave no answer for a.example.",
            ),
            (facts(0), Stopped, LaneWait::Unloaded, WaitingState::Stopped, None, "No server runs."),
            (facts(0), Held, LaneWait::Unloaded, WaitingState::QueueHeld, None, "`--hold`"),
            (facts(0), Running, LaneWait::Taken, WaitingState::Session, None, "mail servers of a.example"),
            (
                facts(0),
                Running,
                LaneWait::Session { site: "b".into() },
                WaitingState::Session,
                None,
                "a session with b.",
            ),
            (facts(0), Running, LaneWait::Lookup, WaitingState::Lookup, None, "are being looked up"),
            (
                facts(0),
                Running,
                LaneWait::LookupFailed { until_ms },
                WaitingState::LookupFailed,
                Some(until_ms),
                "The name servers gave no answer for a.example.",
            ),
            (
                tried(),
                Running,
                LaneWait::HostsPaused { until_ms },
                WaitingState::HostsPaused,
                Some(until_ms),
                "cannot be connected to. They are paused until the next test. The last result was: 451 4.7.1 Greylisted",
            ),
            (
                tried(),
                Running,
                LaneWait::SiteHeld { site: "b".into(), hold: SiteHold::Failure, until_ms },
                WaitingState::SitePaused,
                Some(until_ms),
                "The mail servers of b refused or limited",
            ),
            (
                tried(),
                Running,
                LaneWait::SiteHeld { site: "b".into(), hold: SiteHold::Reputation, until_ms },
                WaitingState::SitePaused,
                Some(until_ms),
                "for the reputation of this server",
            ),
            (
                facts(0),
                Running,
                LaneWait::SiteHeld { site: "b".into(), hold: SiteHold::Rate, until_ms },
                WaitingState::RateLimited,
                Some(until_ms),
                "The rate of messages to b",
            ),
            (
                facts(0),
                Running,
                LaneWait::SiteHeld { site: "b".into(), hold: SiteHold::WarmUp, until_ms },
                WaitingState::WarmUp,
                Some(until_ms),
                "The warm-up plan",
            ),
            (facts(0), Running, LaneWait::Slowed, WaitingState::Slowed, None, "send one message a second"),
            (slowed(), Running, LaneWait::Unloaded, WaitingState::Slowed, None, "send one message a second"),
            (
                slowed(),
                Running,
                LaneWait::Session { site: "b".into() },
                WaitingState::Slowed,
                None,
                "bounced or were reported as spam",
            ),
            (slowed(), Running, LaneWait::Lookup, WaitingState::Lookup, None, "are being looked up"),
            (slowed(), Stopped, LaneWait::Unloaded, WaitingState::Stopped, None, "No server runs."),
        ];
        for (facts, delivery, lane, state, until_ms, words) in cases {
            let reason = reason(&facts, NOW_MS, delivery, || lane.clone());

            assert_eq!((reason.state, reason.until_ms), (state, until_ms), "{lane:?}: {reason:?}");
            assert!(reason.text.contains(words), "no {words:?} in {reason:?}");
        }
    }

    #[test]
    fn a_hold_is_the_first_reason() {
        for (kind, words) in [
            (HoldKind::Site, "the mail servers of a.example"),
            (HoldKind::Domain, "the domain a.example"),
            (HoldKind::Email, "this email"),
            (HoldKind::Key, "the API key"),
            (HoldKind::Team, "the email of the team"),
            (HoldKind::Queue, "the whole queue"),
        ] {
            let held = GroupFacts { hold: Some(kind), scheduled_ms: Some(NOW_MS + 5), ..facts(5) };

            let reason = reason(&held, NOW_MS, DeliveryState::Held, || unreachable!("the lane is not read"));

            assert_eq!((reason.state, reason.until_ms), (WaitingState::Held, None));
            assert!(reason.text.contains(words), "{reason:?}");
        }
    }
}
