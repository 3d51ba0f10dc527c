//! Depth and age of the queue, by site and class.
//!
//! The table is the queue, so that the depth is counted there, page by page. A count reads the key of each queued group.
//! It rests after each page, so that it uses at most a twentieth of one core, however long the queue is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::engine::{Engine, Flow};
use super::pattern::domain_of;
use super::queue::{LaneCount, count_page};
use super::rows::Class;
use super::schedule::{Now, SiteStatus};
use crate::base::clock::monotonic;
use crate::base::sync;
use crate::store::StoreError;
use crate::workers::rest_after;

/// Time between two counts.
pub const COUNT_EVERY: Duration = Duration::from_secs(60);
/// Number of sites that are shown with their own depth.
const SITES_SHOWN: usize = 20;
/// Maximum number of sites in memory during a count. Beyond it, the shortest ones become part of the others.
const SITES_MAX: usize = 10_000;
/// Number of rows of a page.
const PAGE_ROWS: usize = 2_000;
/// Classes in the order of their depths.
const CLASSES: [Class; 2] = [Class::Transactional, Class::Broadcast];

/// Depth and age of the queued groups of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassDepth {
    /// Number of groups that are due.
    pub due: u64,
    /// Number of groups that are not due yet.
    pub later: u64,
    /// Time since the oldest due group became due.
    pub oldest_due_ms: i64,
}

/// Depth and age of the queue of one site, for transactional and bulk email.
pub type SiteDepth = [(&'static str, ClassDepth); 2];

/// Result of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDepth {
    /// The sites with the most groups, by name. The domain of a destination without known servers counts as a site.
    pub sites: Vec<(String, SiteDepth)>,
    /// All other sites together.
    pub other: SiteDepth,
    /// Longest time that a due transactional group waits without a known cause, such as a site that fails.
    pub waiting_ms: i64,
    /// End of the count on the monotonic clock.
    pub counted_ms: i64,
}

impl Engine {
    /// Returns the result of the last count; `None` before the first one.
    pub fn queue_depth(&self) -> Option<Arc<QueueDepth>> {
        sync::lock(&self.queue_depth).clone()
    }

    /// Returns the time since the last count; `None` before the first one.
    pub fn queue_depth_age(&self) -> Option<Duration> {
        let counted_ms = self.queue_depth()?.counted_ms;
        Some(Duration::from_millis(u64::try_from(self.now().elapsed_ms - counted_ms).unwrap_or(0)))
    }

    /// Counts the queued groups.
    ///
    /// # Errors
    /// [`StoreError`] if the queue cannot be read.
    pub async fn count_queue(&self) -> Result<(), StoreError> {
        let mut tally = Tally::default();
        let mut after = None;
        loop {
            let (started, now) = (monotonic(), self.now());
            let page = self.context.store.read(move |tx| count_page(tx, after, now.wall_ms, PAGE_ROWS)).await?;
            let statuses: Vec<SiteStatus> = {
                let schedule = self.schedule();
                page.lanes.iter().map(|count| schedule.site_status(count.lane, now)).collect()
            };
            for (count, status) in page.lanes.into_iter().zip(statuses) {
                // Mail that waited for this process to start, or for its site, waits for the delivery since then.
                let since_ms = status.failed_ms.unwrap_or(0).max(self.started_ms);
                let can_wait = self.settings.flow == Flow::Open && !status.is_paused;
                tally.add(count, status.site, now, can_wait.then_some(now.elapsed_ms - since_ms));
            }
            let Some(last) = page.last else { break };
            after = Some(last);
            rest_after(started).await;
        }
        *sync::lock(&self.queue_depth) = Some(Arc::new(tally.finish(self.now().elapsed_ms)));
        Ok(())
    }
}

type Depths = [ClassDepth; CLASSES.len()];

/// A count in progress.
#[derive(Debug, Default)]
struct Tally {
    sites: HashMap<String, Depths>,
    other: Depths,
    waiting_ms: i64,
}

impl Tally {
    /// Adds groups of a lane. `wait_max_ms` is the longest time that they can have waited; `None` if they cannot be
    /// delivered.
    fn add(&mut self, count: LaneCount, site: Option<String>, now: Now, wait_max_ms: Option<i64>) {
        let LaneCount { lane, destination, due, later, first_due_ms } = count;
        let oldest_due_ms = if due > 0 { now.wall_ms - first_due_ms } else { 0 };
        if let Some(wait_max_ms) = wait_max_ms.filter(|_| lane.class == Class::Transactional) {
            self.waiting_ms = self.waiting_ms.max(oldest_due_ms.min(wait_max_ms));
        }
        // A destination can be an address, which monitoring must not show.
        let domain = || destination.map(|destination| domain_of(&destination).to_owned());
        let depths = match site.or_else(domain) {
            Some(site) => self.sites.entry(site).or_default(),
            None => &mut self.other,
        };
        let class = CLASSES.iter().position(|class| *class == lane.class).unwrap_or(0);
        merge(&mut depths[class], ClassDepth { due, later, oldest_due_ms });
        if self.sites.len() > SITES_MAX {
            self.keep_longest(SITES_MAX / 2);
        }
    }

    /// Moves all but the sites with the most groups to the others.
    fn keep_longest(&mut self, sites_max: usize) {
        let mut sites: Vec<(String, Depths)> = self.sites.drain().collect();
        sites.sort_unstable_by(|(name, one), (other_name, other)| {
            groups(other).cmp(&groups(one)).then_with(|| name.cmp(other_name))
        });
        for (_, depths) in sites.drain(sites_max.min(sites.len())..) {
            for (into, depth) in self.other.iter_mut().zip(depths) {
                merge(into, depth);
            }
        }
        self.sites = sites.into_iter().collect();
    }

    fn finish(mut self, counted_ms: i64) -> QueueDepth {
        self.keep_longest(SITES_SHOWN);
        let mut sites: Vec<_> = self.sites.into_iter().map(|(name, depths)| (name, named(depths))).collect();
        sites.sort_by(|(one, _), (other, _)| one.cmp(other));
        QueueDepth { sites, other: named(self.other), waiting_ms: self.waiting_ms, counted_ms }
    }
}

fn groups(depths: &Depths) -> u64 {
    depths.iter().map(|depth| depth.due + depth.later).sum()
}

fn named([transactional, bulk]: Depths) -> SiteDepth {
    [("transactional", transactional), ("bulk", bulk)]
}

fn merge(into: &mut ClassDepth, depth: ClassDepth) {
    into.due += depth.due;
    into.later += depth.later;
    into.oldest_due_ms = into.oldest_due_ms.max(depth.oldest_due_ms);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::queue::LaneKey;

    const NOW: Now = Now { wall_ms: 1_000_000, elapsed_ms: 500_000 };

    fn lane(destination: &str, class: Class, due: u64, later: u64, first_due_ms: i64) -> LaneCount {
        let lane = LaneKey::new(destination, class, Id::MIN);
        LaneCount { lane, destination: Some(destination.to_owned()), due, later, first_due_ms }
    }

    #[test]
    fn the_sites_with_the_most_groups_are_shown_and_the_others_are_one() {
        let mut tally = Tally::default();
        for site in 0..100_u64 {
            let count = lane(&format!("{site:03}.example"), Class::Transactional, site, 0, NOW.wall_ms - 1_000);
            tally.add(count, None, NOW, None);
        }

        let depth = tally.finish(0);

        let names: Vec<&str> = depth.sites.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names.len(), names[0], names[19]), (SITES_SHOWN, "080.example", "099.example"));
        let (class, other) = depth.other[0];
        assert_eq!((class, other.due), ("transactional", (0..80).sum()));
    }

    #[test]
    fn a_destination_without_known_servers_is_shown_by_its_domain() {
        let mut tally = Tally::default();
        for destination in ["a.example", "ada@a.example", "release:a.example"] {
            tally.add(lane(destination, Class::Transactional, 1, 0, NOW.wall_ms), None, NOW, None);
        }

        let depth = tally.finish(0);

        let sites: Vec<(&str, u64)> =
            depth.sites.iter().map(|(name, classes)| (name.as_str(), classes[0].1.due)).collect();
        assert_eq!(sites, [("a.example", 3)]);
    }

    #[test]
    fn more_sites_than_fit_in_memory_lose_no_group() {
        let mut tally = Tally::default();
        let sites = 3 * u64::try_from(SITES_MAX).unwrap();
        for site in 0..sites {
            tally.add(lane(&format!("{site}.example"), Class::Broadcast, 0, 1, NOW.wall_ms + 1), None, NOW, None);
            assert!(tally.sites.len() <= SITES_MAX);
        }

        let depth = tally.finish(0);

        let shown: u64 = depth.sites.iter().map(|(_, depths)| depths[1].1.later).sum();
        assert_eq!(shown + depth.other[1].1.later, sites);
    }

    #[test]
    fn lanes_of_one_site_add_up_and_the_oldest_due_group_counts() {
        let mut tally = Tally::default();
        let site = || Some("mx.example".to_owned());
        tally.add(lane("a.example", Class::Transactional, 2, 1, NOW.wall_ms - 5_000), site(), NOW, Some(3_000));
        tally.add(lane("b.example", Class::Transactional, 1, 0, NOW.wall_ms - 9_000), site(), NOW, None);
        tally.add(lane("b.example", Class::Broadcast, 1, 0, NOW.wall_ms - 99_000), site(), NOW, Some(90_000));
        tally.add(lane("c.example", Class::Transactional, 0, 4, NOW.wall_ms + 1), site(), NOW, Some(90_000));

        let depth = tally.finish(7);

        let transactional = ClassDepth { due: 3, later: 5, oldest_due_ms: 9_000 };
        let bulk = ClassDepth { due: 1, later: 0, oldest_due_ms: 99_000 };
        assert_eq!(depth.sites, [("mx.example".to_owned(), [("transactional", transactional), ("bulk", bulk)])]);
        // The group of a failing site and bulk email do not wait for the delivery.
        assert_eq!((depth.waiting_ms, depth.counted_ms), (3_000, 7));
    }
}
