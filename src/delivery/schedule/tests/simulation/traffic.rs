//! The emails of the simulation.

use super::health::fault;
use super::world::World;
use super::*;

/// Number of emails to all providers together on the first day.
const PROVIDER_EMAILS: usize = 1_200;
/// Number of emails to each site during its fault.
const FAULT_EMAILS: usize = 8;

impl World {
    /// Plans the first day: most emails to single sites, some to the providers, some to sites with a fault, a burst of
    /// bulk mail, and one of a team.
    pub(super) fn plan_first_day(&mut self) {
        for number in 0..self.run.emails + PROVIDER_EMAILS {
            let site = if number < PROVIDER_EMAILS { self.below(3) } else { self.below(self.run.sites) };
            self.plan_between(0, 20 * HOUR_MS, site);
        }
        self.plan_accepted(6 * HOUR_MS, 0, BULK_STREAM, BULK_EMAILS);
        self.plan_accepted(3 * HOUR_MS, 1, 3, 200);
        for stream in [1, 2] {
            self.plan_accepted(3 * HOUR_MS + 20_000, 1, stream, 1);
        }
        for site in 0..self.run.sites {
            let Some(fault) = fault(self.run.seed, site) else { continue };
            for _ in 0..FAULT_EMAILS {
                self.plan_between(fault.from_ms, fault.until_ms, site);
            }
            if site == BACKLOG_SITE {
                self.plan_accepted(fault.until_ms - 25 * MINUTE_MS, site, 1, 100);
                for minute in 1..=5 {
                    for stream in [2, 3] {
                        self.plan_accepted(fault.until_ms - minute * MINUTE_MS, site, stream, 1);
                    }
                }
            }
        }
    }

    /// Plans a later day: emails to the providers only, with one burst of bulk mail and one of a team.
    pub(super) fn plan_later_day(&mut self, day: i64) {
        let start_ms = day * DAY_MS;
        for number in 0..PROVIDER_EMAILS {
            self.plan_between(start_ms, start_ms + 20 * HOUR_MS, u64::try_from(number % 3).unwrap());
        }
        self.plan_accepted(start_ms + 6 * HOUR_MS, 0, BULK_STREAM, BULK_EMAILS);
        if day == 1 {
            self.plan_accepted(start_ms + 12 * HOUR_MS, 2, 1, 1_000);
        }
    }

    /// Plans one email of a random stream at a random time.
    fn plan_between(&mut self, from_ms: i64, until_ms: i64, site: u64) {
        let at_ms = from_ms + i64::try_from(self.below(u64::try_from(until_ms - from_ms).unwrap())).unwrap();
        let stream = u8::try_from(1 + self.below(3)).unwrap();
        self.plan_accepted(at_ms, site, stream, 1);
    }
}
