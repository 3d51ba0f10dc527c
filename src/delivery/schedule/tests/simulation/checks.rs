//! The checks after a run. Each message names the seed.

use super::health::{Fault, Health, always_works, constant, fault};
use super::world::World;
use super::*;
use crate::delivery::schedule::health::PAUSE_MAX_MS;

/// A message that was delivered, and its waiting time.
pub(super) struct Delivered {
    pub(super) site: u64,
    pub(super) stream: u8,
    pub(super) accepted_ms: i64,
    /// Time from which the message could be sent: after a failure, that of its next attempt.
    pub(super) due_ms: i64,
    pub(super) wait_ms: i64,
}

impl Delivered {
    fn at_ms(&self) -> i64 {
        self.accepted_ms + self.wait_ms
    }
}

impl World {
    /// Returns the waiting times of messages, the shortest first.
    fn waits(&self, selects: impl Fn(&Delivered) -> bool) -> Vec<i64> {
        let mut waits: Vec<i64> = self.delivered.iter().filter(|it| selects(it)).map(|it| it.wait_ms).collect();
        waits.sort_unstable();
        waits
    }

    /// Returns the messages that were accepted during the fault of their site, each with that fault.
    fn during_fault(&self, health: Health) -> impl Iterator<Item = (&Delivered, Fault)> {
        let during = move |it: &Delivered| {
            let fault = fault(self.run.seed, it.site).filter(|fault| fault.health == health)?;
            (fault.from_ms..fault.until_ms).contains(&it.accepted_ms).then_some(fault)
        };
        self.delivered.iter().filter_map(move |it| Some((it, during(it)?)))
    }

    /// Checks everything.
    pub(super) fn check(&self) {
        self.check_limits();
        self.check_waits();
        self.check_returns();
        self.check_warm_up();
        self.check_losses();
    }

    /// Checks that no limit is exceeded.
    fn check_limits(&self) {
        let seed = self.run.seed;
        assert!(self.sessions_most <= SESSIONS_MAX, "seed {seed:#x}: {}", self.sessions_most);
        assert!((3..=SESSIONS_MAX / 3).contains(&self.failing_most), "seed {seed:#x}: {}", self.failing_most);
        for (site, times) in &self.messages {
            check_rate(times, 2, 120, &format!("seed {seed:#x}: messages of site {site}"));
        }
        for (site, times) in &self.connections {
            check_rate(times, 5, 30, &format!("seed {seed:#x}: connections of site {site}"));
        }
    }

    /// Checks that sites which always work get their mail within seconds, and that no stream waits behind the backlog
    /// of another.
    fn check_waits(&self) {
        let Run { seed, emails, .. } = self.run;
        let healthy = self.waits(|it| it.site >= 3 && always_works(seed, it.site));
        assert!(
            healthy.len() > emails * 3 / 4 && healthy[healthy.len() - 1] < 3_000,
            "seed {seed:#x}: {:?}",
            healthy.last()
        );
        let beside_bulk = self.waits(|it| {
            it.site == 0 && it.stream != BULK_STREAM && (0..10 * MINUTE_MS).contains(&(it.accepted_ms - 6 * HOUR_MS))
        });
        assert!(beside_bulk.last().is_some_and(|wait_ms| *wait_ms < 15_000), "seed {seed:#x}: {beside_bulk:?}");
        let beside_burst =
            self.waits(|it| it.site == 1 && it.stream < 3 && (0..60_000).contains(&(it.accepted_ms - 3 * HOUR_MS)));
        assert!(
            beside_burst.len() >= 2 && beside_burst.iter().all(|wait_ms| *wait_ms < 15_000),
            "seed {seed:#x}: {beside_burst:?}"
        );
        let burst = self.waits(|it| it.site == 1 && it.accepted_ms == 3 * HOUR_MS);
        assert!(
            burst.len() == 200 && burst[199] > 60_000,
            "seed {seed:#x}: the burst takes its time: {:?}",
            burst.last()
        );
    }

    /// Checks that a site which works again gets its mail within the longest pause, and its streams in turn. A slow site
    /// gets its mail although it is slow.
    fn check_returns(&self) {
        let seed = self.run.seed;
        // A site that refuses for reputation gets one message a minute.
        for (health, pause_ms) in
            [(Health::Down, PAUSE_MAX_MS), (Health::Refuses, PAUSE_MS), (Health::Slow, PAUSE_MAX_MS)]
        {
            let is_slow = health == Health::Slow;
            let waited = self
                .during_fault(health)
                .filter(|(it, fault)| if is_slow { it.wait_ms > 8_000 } else { it.at_ms() >= fault.until_ms });
            let late = waited.map(|(it, fault)| {
                let from_ms = if is_slow { it.due_ms } else { fault.until_ms.max(it.due_ms) };
                it.at_ms() - from_ms
            });
            let mut late_ms: Vec<i64> = late.collect();
            late_ms.sort_unstable();
            assert!(
                late_ms.len() > 10 && late_ms[late_ms.len() - 1] < pause_ms + RETURN_MARGIN_MS,
                "seed {seed:#x}: {health:?}: {late_ms:?}"
            );
        }
        let backlog: Vec<&Delivered> =
            self.during_fault(Health::Down).map(|(it, _)| it).filter(|it| it.site == BACKLOG_SITE).collect();
        let first_ms = backlog.iter().map(|it| it.at_ms()).min().unwrap();
        let after_first = |stream: u8| {
            let of_stream = backlog.iter().filter(move |it| it.stream == stream && it.due_ms <= first_ms);
            of_stream.map(|it| it.at_ms() - first_ms)
        };
        assert!(after_first(1).max().unwrap() > 40_000, "seed {seed:#x}: the backlog takes its time");
        for stream in [2, 3] {
            let first = after_first(stream).min();
            assert!(first.is_some_and(|wait_ms| wait_ms < 15_000), "seed {seed:#x}: stream {stream}: {first:?}");
        }
    }

    /// Returns the numbers of all messages and of bulk messages that a provider got on a day.
    fn sent_on(&self, site: u64, day: i64) -> (usize, usize) {
        let on_day = || self.delivered.iter().filter(|it| it.site == site && it.at_ms() / DAY_MS == day);
        (on_day().count(), on_day().filter(|it| it.stream == BULK_STREAM).count())
    }

    /// Checks that each provider gets at most its allowance of each day, and that bulk mail leaves a part of it.
    fn check_warm_up(&self) {
        let seed = self.run.seed;
        for site in 0..3 {
            let mut allowed = usize::try_from(PLAN.start).unwrap();
            for day in 0..self.run.days {
                let (sent, bulk) = self.sent_on(site, day);
                let what = format!("seed {seed:#x}: {bulk} of {sent} messages of provider {site} on day {day}");
                assert!(sent <= allowed && bulk <= allowed * 80 / 100, "{what}, and {allowed} allowed");
                // Its bulk mail is more than its allowance.
                assert!(site > 0 || sent >= allowed * 80 / 100, "{what}, and {allowed} allowed");
                if day == 0 && site == 0 {
                    assert!(bulk > 300 && sent - bulk > 250 && sent > allowed * 95 / 100, "{what}");
                }
                if 2 * sent >= allowed {
                    allowed = allowed * 3 / 2;
                }
            }
        }
    }

    /// Checks that the allowance of a provider that gets much mail grows each day, and that of another one does not.
    pub(super) fn check_growth(&self) {
        let seed = self.run.seed;
        let busy = [0, 1, 2].map(|day| self.sent_on(0, day).0);
        assert!(busy[1] > 1_000 && busy[2] > 1_600, "seed {seed:#x}: {busy:?}");
        // Less than half of the first allowance was used, so that the burst of the second day fills the same one again.
        let quiet = [0, 1].map(|day| self.sent_on(2, day).0);
        assert!(quiet[0] < 450 && quiet[1] > 880, "seed {seed:#x}: {quiet:?}");
        // Bulk mail that waited for the second day leaves soon after midnight.
        let bulk = || self.delivered.iter().filter(|it| it.site == 0 && it.stream == BULK_STREAM);
        let first_ms = bulk().map(|it| it.at_ms() - DAY_MS).find(|after_midnight_ms| *after_midnight_ms >= 0);
        assert!(first_ms.is_some_and(|first_ms| first_ms < MINUTE_MS), "seed {seed:#x}: {first_ms:?}");
        // On the last day, transactional mail leaves at once although bulk mail waits for the next day.
        let transactional = self.waits(|it| it.site == 0 && it.stream != BULK_STREAM && it.accepted_ms >= 2 * DAY_MS);
        let waiting = self.table.get(&lane_of(0, BULK_STREAM)).map_or(0, BTreeSet::len);
        assert!(
            waiting > 100 && transactional.len() > 350 && transactional[transactional.len() - 1] < MINUTE_MS,
            "seed {seed:#x}: {waiting} bulk messages and {:?}",
            transactional.last()
        );
    }

    /// Checks that a site that blocks gets its mail after the block, and that nothing is lost.
    fn check_losses(&self) {
        let Run { seed, emails, .. } = self.run;
        let blocked = self.waits(|it| constant(it.site) == Health::Blocks);
        assert!(blocked.len() > emails / 135, "seed {seed:#x}: {}", blocked.len());
        for site in (0..self.run.sites).filter(|site| fault(seed, *site).is_some()) {
            let left = |stream| self.table.get(&lane_of(site, stream)).map_or(0, BTreeSet::len);
            assert_eq!((1..=3).map(left).sum::<usize>(), 0, "seed {seed:#x}: mail of site {site}");
        }
        let in_sessions: usize = self.sessions.values().map(|session| session.groups.len()).sum();
        let queued: usize = self.table.values().map(BTreeSet::len).sum();
        assert_eq!(self.delivered.len() + queued + in_sessions, self.accepted, "seed {seed:#x}");
    }
}

/// Checks that in each period of `times` at most `burst` and those of the rate occur.
fn check_rate(times: &[i64], burst: i64, per_minute: i64, what: &str) {
    for (first, start_ms) in times.iter().enumerate() {
        let left = i64::try_from(times.len() - first).unwrap();
        for (number, end_ms) in times[first..].iter().enumerate() {
            let allowed = burst + (end_ms - start_ms) * per_minute / 60_000;
            assert!(i64::try_from(number).unwrap() < allowed, "{what}: {number} from {start_ms} to {end_ms} ms");
            // No longer period can exceed its limit.
            if allowed > left {
                break;
            }
        }
    }
}
