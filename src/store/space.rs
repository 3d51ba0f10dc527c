//! Free space of the file system of the store, which a worker measures once a second.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tracing::{debug, info, warn};

use super::Store;
use crate::base::blocking;
use crate::base::disk::free_bytes;

/// Maximum free space below which no message is sent. The outcomes of the messages that are being sent need less.
const OUTCOMES_BYTES_MAX: u64 = 64 << 20;

const MIB: u64 = 1 << 20;

/// Free space, compared with the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// At least the reserve is free.
    Ample,
    /// Less than the reserve is free: requests that add data are refused.
    Low,
    /// The space for the outcomes of deliveries is being used up: no message is sent.
    Exhausted,
}

/// The reserve, and the last measurement.
#[derive(Debug, Default)]
pub(super) struct DiskSpace {
    reserve_bytes: AtomicU64,
    /// Number of a [`Space`].
    level: AtomicU8,
}

impl DiskSpace {
    fn level(&self) -> Space {
        match self.level.load(Ordering::SeqCst) {
            0 => Space::Ample,
            1 => Space::Low,
            _ => Space::Exhausted,
        }
    }

    /// Stores a measurement. Returns the new level if it changed.
    fn update(&self, free: u64) -> Option<Space> {
        let before = self.level();
        let now = level_of(free, self.reserve_bytes.load(Ordering::SeqCst), before);
        let number = match now {
            Space::Ample => 0,
            Space::Low => 1,
            Space::Exhausted => 2,
        };
        self.level.store(number, Ordering::SeqCst);
        (now != before).then_some(now)
    }
}

/// Returns the level of free space. A level ends an eighth above its limit, so that it does not change back and forth.
fn level_of(free: u64, reserve: u64, before: Space) -> Space {
    let outcomes = (reserve / 4).min(OUTCOMES_BYTES_MAX);
    let is_below = |limit: u64, was_below: bool| free < if was_below { limit + limit / 8 } else { limit };
    if is_below(outcomes, before == Space::Exhausted) {
        Space::Exhausted
    } else if is_below(reserve, before != Space::Ample) {
        Space::Low
    } else {
        Space::Ample
    }
}

impl Store {
    /// Sets the free space below which requests that add data are refused, and measures the space.
    pub async fn set_disk_reserve(&self, bytes: u64) {
        self.0.space.reserve_bytes.store(bytes, Ordering::SeqCst);
        self.measure_space().await;
    }

    /// Returns the free space at the last measurement.
    pub fn space(&self) -> Space {
        self.0.space.level()
    }

    /// Measures the free space, and logs a change. Without a measurement, the last one stays.
    pub async fn measure_space(&self) {
        let directory = self.path().parent().unwrap_or(Path::new(".")).to_owned();
        let free = match blocking::run(move || free_bytes(&directory)).await {
            Ok(free) => free,
            Err(error) => {
                debug!(%error, "could not measure the free space of the disk: {error}");
                return;
            }
        };
        let reserve_mib = self.0.space.reserve_bytes.load(Ordering::SeqCst) / MIB;
        let free_mib = free / MIB;
        match self.0.space.update(free) {
            Some(Space::Ample) => info!(free_mib, "the disk has enough free space again"),
            Some(Space::Low) => warn!(
                free_mib,
                reserve_mib,
                "the disk has less free space than --disk-reserve-mb: requests that add data are refused, and delivery \
                 continues; free some space"
            ),
            Some(Space::Exhausted) => warn!(
                free_mib,
                "the disk is almost full: requests that add data are refused, and no email is sent until there is space"
            ),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_follows_the_free_space_and_ends_an_eighth_above_its_limit() {
        let reserve = 256 * MIB;
        for (free_mib, before, expected) in [
            (256, Space::Ample, Space::Ample),
            (255, Space::Ample, Space::Low),
            (256, Space::Low, Space::Low),
            (288, Space::Low, Space::Ample),
            (64, Space::Low, Space::Low),
            (63, Space::Ample, Space::Exhausted),
            (71, Space::Exhausted, Space::Exhausted),
            (72, Space::Exhausted, Space::Low),
            (300, Space::Exhausted, Space::Ample),
        ] {
            assert_eq!(level_of(free_mib * MIB, reserve, before), expected, "{free_mib} MiB after {before:?}");
        }
        assert_eq!(level_of(0, 0, Space::Ample), Space::Ample);
        assert_eq!(level_of(64 * MIB, 1 << 40, Space::Ample), Space::Low);
    }

    #[tokio::test]
    async fn a_disk_with_less_than_the_reserve_is_low() {
        let (_directory, context) = crate::context::Context::temporary();
        assert_eq!(context.store.space(), Space::Ample);

        context.store.set_disk_reserve(u64::MAX / 2).await;
        assert_eq!(context.store.space(), Space::Low);
        context.store.set_disk_reserve(0).await;

        assert_eq!(context.store.space(), Space::Ample);
    }
}
