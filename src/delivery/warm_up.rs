//! The warm-up plan of a new source address: how many messages a large provider gets on a day. No I/O.
//!
//! Providers distrust an address that sends much mail at once. The plan starts small and grows with each day on which
//! the provider got at least half of its allowance and refused little.

use super::rows::{Class, WarmUpRow};
use crate::base::clock::{DAY_MS, TimestampMs, utc_day};

/// Number of days whose counts determine the allowance: enough for a plan with one mailing a week.
pub(super) const DAYS: u32 = 365;
/// Number of days without a message after which the plan starts again, because the provider has forgotten the address.
const IDLE_DAYS: u32 = 60;
/// Part of the allowance that bulk mail can use, in percent. The rest is for transactional mail later on the day.
const BULK_PERCENT: u64 = 80;
/// Highest part of the messages of a day, in a thousand, with which the plan grows.
const DEFERRED_PER_MILLE: u64 = 100;
const BOUNCED_PER_MILLE: u64 = 20;
const COMPLAINED_PER_MILLE: u64 = 1;

/// A warm-up plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUpPlan {
    /// Messages on the first day.
    pub start: u32,
    /// Growth after a day, in percent of its allowance: 150 is one and a half times.
    pub growth_percent: u32,
    /// Allowance at which the plan ends.
    pub target: u32,
}

impl WarmUpPlan {
    /// Returns the allowance of the day `today`. `days` are the earlier days with messages, each with its number, oldest
    /// first. `None` if the plan has ended.
    pub(super) fn allowance(&self, days: impl IntoIterator<Item = (u32, WarmUpRow)>, today: u32) -> Option<u32> {
        let (start, target) = (u64::from(self.start), u64::from(self.target));
        let (mut allowance, mut last) = (start, None);
        for (day, row) in days {
            if is_idle(last.replace(day), day) {
                allowance = start;
            }
            if allowance < target && 2 * u64::from(row.sent) >= allowance && row.is_healthy() {
                let grown = (allowance * u64::from(self.growth_percent) / 100).max(allowance + 1);
                allowance = grown.min(target);
            }
        }
        if is_idle(last, today) {
            allowance = start;
        }
        u32::try_from(allowance).ok().filter(|_| allowance < target)
    }
}

/// Returns whether too many days without a message precede a day.
fn is_idle(last: Option<u32>, day: u32) -> bool {
    last.is_some_and(|last| day.saturating_sub(last) > IDLE_DAYS)
}

impl WarmUpRow {
    /// Returns whether the provider refused so little that it can get more messages on the next day.
    fn is_healthy(&self) -> bool {
        let is_at_most = |part: u32, per_mille: u64| u64::from(part) * 1_000 <= u64::from(self.sent) * per_mille;
        is_at_most(self.deferred, DEFERRED_PER_MILLE)
            && is_at_most(self.bounced, BOUNCED_PER_MILLE)
            && is_at_most(self.complained, COMPLAINED_PER_MILLE)
    }

    /// Adds the counts of messages.
    pub(super) fn add(&mut self, more: Self) {
        self.sent = self.sent.saturating_add(more.sent);
        self.deferred = self.deferred.saturating_add(more.deferred);
        self.bounced = self.bounced.saturating_add(more.bounced);
        self.complained = self.complained.saturating_add(more.complained);
    }
}

/// The messages that a site can get on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Days since the epoch, UTC.
    day: u32,
    /// `None` if the plan has ended.
    pub(super) messages_max: Option<u32>,
    used: u32,
}

impl Allowance {
    pub(super) fn new(day: u32, messages_max: Option<u32>, used: u32) -> Self {
        Self { day, messages_max, used }
    }

    /// Returns the number of messages of a class that can be sent now. On a later day than that of the allowance, which
    /// lasts until the next lookup, the allowance does not grow.
    pub(super) fn left(&self, class: Class, now_ms: TimestampMs) -> usize {
        let Some(max) = self.messages_max else { return usize::MAX };
        let percent = match class {
            Class::Transactional => 100,
            Class::Broadcast => BULK_PERCENT,
        };
        let limit = u64::from(max) * percent / 100;
        usize::try_from(limit.saturating_sub(u64::from(self.used(now_ms)))).unwrap_or(usize::MAX)
    }

    /// Returns the number of messages of this day.
    pub(super) fn used(&self, now_ms: TimestampMs) -> u32 {
        if self.day == utc_day(now_ms) { self.used } else { 0 }
    }

    pub(super) fn take(&mut self, messages: usize, now_ms: TimestampMs) {
        (self.used, self.day) = (self.used(now_ms), utc_day(now_ms));
        self.used = self.used.saturating_add(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Returns messages that were not sent.
    pub(super) fn give_back(&mut self, messages: usize) {
        self.used = self.used.saturating_sub(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Replaces the allowance with the stored one. Messages in progress are counted here and not stored yet.
    pub(super) fn refresh(&mut self, stored: Self) {
        let used = if self.day == stored.day { self.used } else { 0 };
        *self = Self { used: stored.used.max(used), ..stored };
    }
}

/// Returns the time until the next day, UTC.
pub(super) fn until_tomorrow_ms(now_ms: TimestampMs) -> i64 {
    DAY_MS - now_ms.rem_euclid(DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: WarmUpPlan = WarmUpPlan { start: 200, growth_percent: 150, target: 1_000 };

    fn row(sent: u32, deferred: u32, bounced: u32, complained: u32) -> WarmUpRow {
        WarmUpRow { sent, deferred, bounced, complained }
    }

    fn allowance_after(plan: WarmUpPlan, days: &[WarmUpRow]) -> Option<u32> {
        let today = 20_000 + u32::try_from(days.len()).unwrap();
        plan.allowance((20_000..).zip(days.iter().copied()), today)
    }

    fn day_of_week(number: usize) -> u32 {
        20_000 + 7 * u32::try_from(number).unwrap()
    }

    #[test]
    fn the_allowance_grows_after_days_with_enough_messages_and_few_refusals() {
        let full = |sent| row(sent, 0, 0, 0);
        for (days, allowance) in [
            (vec![], Some(200)),
            (vec![full(200)], Some(300)),
            (vec![full(200), full(300)], Some(450)),
            (vec![full(100)], Some(300)),
            (vec![full(99)], Some(200)),
            (vec![full(200), full(149), full(150)], Some(450)),
            (vec![row(200, 20, 4, 0)], Some(300)),
            (vec![row(200, 21, 0, 0)], Some(200)),
            (vec![row(200, 0, 5, 0)], Some(200)),
            (vec![row(200, 0, 0, 1)], Some(200)),
            (vec![row(1_000, 0, 0, 1)], Some(300)),
            (vec![full(1_000); 3], Some(675)),
            (vec![full(1_000); 4], None),
            (vec![full(1_000), full(1_000), full(1_000), full(1_000), row(1_000, 900, 0, 0)], None),
        ] {
            assert_eq!(allowance_after(PLAN, &days), allowance, "{days:?}");
        }
        assert_eq!(allowance_after(WarmUpPlan { target: 200, ..PLAN }, &[]), None);
        assert_eq!(allowance_after(WarmUpPlan { start: 1, growth_percent: 101, ..PLAN }, &[full(1)]), Some(2));
    }

    #[test]
    fn one_mailing_a_week_reaches_the_target_and_a_long_break_starts_the_plan_again() {
        let plan = WarmUpPlan { start: 200, growth_percent: 150, target: 100_000 };
        let mut weeks: Vec<(u32, WarmUpRow)> = Vec::new();
        while let Some(allowance) = plan.allowance(weeks.iter().copied(), day_of_week(weeks.len())) {
            weeks.push((day_of_week(weeks.len()), row(allowance, 0, 0, 0)));
        }
        assert_eq!(weeks.len(), 16);
        assert!(day_of_week(weeks.len()) - weeks[0].0 < DAYS);

        let last = weeks[15].0;
        for (days, allowance) in [(60, None), (61, Some(200))] {
            assert_eq!(plan.allowance(weeks.iter().copied(), last + days), allowance);
        }
        weeks.push((last + 61, row(200, 0, 0, 0)));
        assert_eq!(plan.allowance(weeks, last + 62), Some(300));
    }

    #[test]
    fn bulk_mail_leaves_a_fifth_of_the_allowance_to_transactional_mail() {
        let noon_ms = 20_000 * DAY_MS + DAY_MS / 2;
        let mut allowance = Allowance::new(20_000, Some(10), 0);
        let left = |allowance: &Allowance, now_ms| {
            (allowance.left(Class::Transactional, now_ms), allowance.left(Class::Broadcast, now_ms))
        };
        assert_eq!(left(&allowance, noon_ms), (10, 8));
        allowance.take(8, noon_ms);
        assert_eq!(left(&allowance, noon_ms), (2, 0));
        allowance.take(3, noon_ms);
        assert_eq!(left(&allowance, noon_ms), (0, 0));
        allowance.give_back(4);
        assert_eq!(left(&allowance, noon_ms), (3, 1));

        // The next day, without a lookup.
        assert_eq!(left(&allowance, noon_ms + DAY_MS), (10, 8));
        allowance.take(1, noon_ms + DAY_MS);
        assert_eq!(left(&allowance, noon_ms + DAY_MS), (9, 7));
        assert_eq!(left(&Allowance::new(20_000, None, 7), noon_ms), (usize::MAX, usize::MAX));
        assert_eq!(until_tomorrow_ms(noon_ms), DAY_MS / 2);
    }

    #[test]
    fn a_stored_allowance_adds_the_messages_of_other_processes_and_keeps_those_in_progress() {
        for (known, stored, expected) in [
            ((5, Some(10), 7), (5, Some(10), 4), (5, Some(10), 7)),
            ((5, Some(10), 7), (5, Some(10), 9), (5, Some(10), 9)),
            ((5, Some(10), 7), (6, Some(15), 0), (6, Some(15), 0)),
            ((5, Some(10), 7), (6, None, 0), (6, None, 0)),
        ] {
            let of = |(day, messages_max, used)| Allowance::new(day, messages_max, used);
            let mut allowance = of(known);
            allowance.refresh(of(stored));
            assert_eq!(allowance, of(expected));
        }
    }
}
