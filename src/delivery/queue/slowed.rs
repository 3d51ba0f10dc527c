//! Teams whose broadcasts are slowed down: all broadcasts of such a team together send one message a second.
//!
//! Another module decides which teams these are, and each has a row. A claim reads the row and takes the next message
//! of the team in its own transaction. The pace is therefore right with several processes, whichever lanes the messages
//! are in. A claim that is too early changes nothing: the groups stay in their lane, without an attempt. Their waits do
//! not count for the retry period.

use super::key::{DueKey, LaneKey};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId};
use crate::delivery::rows::{Class, DueRow, SlowedTeamRow};
use crate::store::{Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{DUE, SLOWED_TEAMS};

/// Time between two messages of a slowed team.
pub(in crate::delivery) const SLOWED_INTERVAL_MS: i64 = 1_000;
/// Maximum delay of a claim that the next message makes up for.
const LATE_MS_MAX: i64 = 500;
/// Longest wait of a due group for its site. After a day, the group of a paused site reports the delay, and is due again.
const SITE_WAIT_MS_MAX: i64 = DAY_MS;

/// Pace of the groups of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) enum LanePace {
    /// No group was read, so that the team of the lane is not known.
    #[default]
    Unknown,
    /// The pace of the site.
    Full,
    /// One message a second of the whole team. `next_ms` is the earliest time of the next one.
    Slowed { team: TeamId, next_ms: TimestampMs },
}

impl LanePace {
    pub(in crate::delivery) const fn is_slowed(self) -> bool {
        matches!(self, Self::Slowed { .. })
    }

    /// Returns the maximum number of groups that a claim of `groups_max` groups takes.
    pub(super) fn groups_max(self, groups_max: usize, now_ms: TimestampMs) -> usize {
        match self {
            Self::Slowed { next_ms, .. } => groups_max.min(usize::from(following_ms(next_ms, now_ms).is_some())),
            Self::Unknown | Self::Full => groups_max,
        }
    }
}

/// Returns the time of the message after the next one, which is due at `next_ms`; `None` if it is not due yet.
fn following_ms(next_ms: TimestampMs, now_ms: TimestampMs) -> Option<TimestampMs> {
    if next_ms <= now_ms {
        return Some(next_ms.max(now_ms - LATE_MS_MAX) + SLOWED_INTERVAL_MS);
    }
    // Such a time was stored before the clock was set back.
    (next_ms > now_ms + SLOWED_INTERVAL_MS).then_some(now_ms + SLOWED_INTERVAL_MS)
}

/// Slows the broadcasts of a team down, or ends this. Has no effect if the state is the same.
pub(crate) fn set_slowed(
    tx: &WriteTx<'_>,
    team: TeamId,
    is_slowed_now: bool,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    if !is_slowed_now {
        return tx.delete(&SLOWED_TEAMS, &(team,)).map(drop);
    }
    if is_slowed(tx, team)? {
        return Ok(());
    }
    tx.put(&SLOWED_TEAMS, &(team,), &SlowedTeamRow { next_ms: now_ms })
}

/// Returns whether the broadcasts of a team are slowed down.
pub(crate) fn is_slowed(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    Ok(tx.get_valid(&SLOWED_TEAMS, &(team,))?.is_some())
}

/// Returns the pace of a lane. Reads one row if no team is slowed.
pub(in crate::delivery) fn read_pace(tx: &impl Reads, lane: LaneKey) -> Result<LanePace, StoreError> {
    if lane.class == Class::Transactional || !has_slowed_teams(tx)? {
        return Ok(LanePace::Full);
    }
    // The key of a broadcast does not name the team. All groups of the lane have the same one.
    let mut team = None;
    tx.scan_valid(&DUE, &lane.from(0), &lane.last(), Order::Ascending, |_, row| {
        team = Some(row.team);
        STOP
    })?;
    let Some(team) = team else { return Ok(LanePace::Unknown) };
    let row = tx.get_valid(&SLOWED_TEAMS, &(team,))?;
    Ok(row.map_or(LanePace::Full, |row| LanePace::Slowed { team, next_ms: row.next_ms }))
}

fn has_slowed_teams(tx: &impl Reads) -> Result<bool, StoreError> {
    Ok(tx.first_key(&SLOWED_TEAMS, ((Id::MIN,), (Id::MAX,)), Order::Ascending)?.is_some())
}

/// Takes the next message of a slowed team for a claimed group. Returns the pace after it.
pub(super) fn take_message(tx: &WriteTx<'_>, pace: LanePace, now_ms: TimestampMs) -> Result<LanePace, StoreError> {
    let LanePace::Slowed { team, next_ms } = pace else { return Ok(pace) };
    let Some(next_ms) = following_ms(next_ms, now_ms) else { return Ok(pace) };
    if !is_slowed(tx, team)? {
        return Ok(pace);
    }
    tx.put(&SLOWED_TEAMS, &(team,), &SlowedTeamRow { next_ms })?;
    Ok(LanePace::Slowed { team, next_ms })
}

/// Sets the retry period of a claimed group of a broadcast before an attempt. The period begins with the first attempt,
/// because an email can wait for days without a failure. Later waits for the pace do not count, also those that ended with
/// the recovery of the team.
pub(super) fn set_period(due: &mut DueRow, key: DueKey, is_first: bool, pace: LanePace, now_ms: TimestampMs) {
    if key.lane.class == Class::Transactional {
        return;
    }
    let waited_ms = now_ms - key.due_ms;
    if is_first {
        due.first_due_ms = now_ms;
    } else if pace.is_slowed() || waited_ms > SITE_WAIT_MS_MAX {
        due.exclude_wait(waited_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_due_each_second_and_a_late_one_is_made_up_for() {
        for (next_ms, now_ms, following) in [
            (10_000, 9_999, None),
            (10_000, 10_000, Some(11_000)),
            (10_000, 10_300, Some(11_000)),
            (10_000, 10_500, Some(11_000)),
            (10_000, 10_700, Some(11_200)),
            (10_000, 90_000, Some(90_500)),
            // The clock was set back.
            (10_000, 9_000, None),
            (10_000, 8_999, Some(9_999)),
        ] {
            assert_eq!(following_ms(next_ms, now_ms), following, "next {next_ms}, now {now_ms}");
        }
    }

    #[test]
    fn the_messages_of_an_hour_are_at_most_one_a_second() {
        for step_ms in [1, 7, 333, 900, 1_100, 4_000] {
            let (mut next_ms, mut sent) = (0, 0);
            for now_ms in (0..3_600_000).step_by(step_ms) {
                if let Some(following) = following_ms(next_ms, now_ms) {
                    (next_ms, sent) = (following, sent + 1);
                }
            }
            // Each message follows the one before after a second, at the next claim.
            let sent_min = 3_600_000 / (1_000 + step_ms);
            assert!((sent_min..=3_601).contains(&sent), "{sent} messages, a claim each {step_ms} ms");
        }
    }

    #[test]
    fn the_retry_period_begins_with_the_first_attempt_and_does_not_include_waits_for_the_pace() {
        let slowed = LanePace::Slowed { team: Id::MIN, next_ms: 0 };
        for (class, is_first, pace, waited_ms, first_due_ms, date_ms) in [
            (Class::Broadcast, true, slowed, 3 * DAY_MS, 10_000 + 3 * DAY_MS, None),
            (Class::Broadcast, true, LanePace::Full, 70_000, 80_000, None),
            (Class::Broadcast, false, slowed, 3 * DAY_MS, 4_000 + 3 * DAY_MS, Some(4_000)),
            (Class::Broadcast, false, slowed, 0, 4_000, None),
            (Class::Broadcast, false, LanePace::Full, DAY_MS, 4_000, None),
            // The team has recovered.
            (Class::Broadcast, false, LanePace::Full, DAY_MS + 1, 4_001 + DAY_MS, Some(4_000)),
            (Class::Transactional, true, LanePace::Full, 3 * DAY_MS, 4_000, None),
            (Class::Transactional, false, LanePace::Full, 3 * DAY_MS, 4_000, None),
        ] {
            let lane = LaneKey::new("a.example", class, Id::MIN);
            let key = DueKey { lane, due_ms: 10_000, email: Id::MIN, group: 0 };
            let mut due = DueRow::fresh(Id::MIN, "a.example".into(), 4_000);

            set_period(&mut due, key, is_first, pace, 10_000 + waited_ms);

            assert_eq!(
                (due.first_due_ms, due.date_ms),
                (first_due_ms, date_ms),
                "{class:?} {is_first} {pace:?} {waited_ms}"
            );
        }
    }

    #[test]
    fn the_date_of_the_message_is_the_same_after_several_waits() {
        let mut due = DueRow::fresh(Id::MIN, "a.example".into(), 4_000);

        due.exclude_wait(1_000);
        due.exclude_wait(2_000);

        assert_eq!((due.first_due_ms, due.date_ms), (7_000, Some(4_000)));
    }

    #[test]
    fn a_claim_takes_one_group_of_a_slowed_team_at_its_time() {
        let slowed = LanePace::Slowed { team: Id::MIN, next_ms: 1_000 };
        for (pace, groups_max, now_ms, taken) in [
            (LanePace::Unknown, 8, 0, 8),
            (LanePace::Full, 8, 0, 8),
            (slowed, 8, 999, 0),
            (slowed, 8, 1_000, 1),
            (slowed, 0, 1_000, 0),
        ] {
            assert_eq!(pace.groups_max(groups_max, now_ms), taken, "{pace:?} at {now_ms}");
        }
    }
}
