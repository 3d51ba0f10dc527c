//! Free space of the file system of the store, which a worker measures once a second.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::{debug, info, warn};

use super::Store;
use crate::base::disk::{FileSystemSpace, space_of};
use crate::base::{blocking, sync};

/// Maximum free space below which no message is sent. The outcomes of the messages that are being sent need less.
const OUTCOMES_BYTES_MAX: u64 = 64 << 20;

/// Largest automatic reserve: 500 MB.
const AUTOMATIC_RESERVE_MAX: u64 = 500_000_000;
/// Smallest automatic reserve. Half of it is for the outcomes of deliveries, and half for the delivery of accepted email.
const AUTOMATIC_RESERVE_MIN: u64 = 2 * OUTCOMES_BYTES_MAX;
/// Part of the file system that the automatic reserve is: 5 percent.
const AUTOMATIC_RESERVE_PERCENT: u64 = 5;

const MIB: u64 = 1 << 20;

/// Free space below which requests that add data are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskReserve {
    /// 5 percent of the file system, at least 128 MiB and at most 500 MB.
    Automatic,
    /// An amount; 0 is no limit.
    Bytes(u64),
}

impl DiskReserve {
    /// Returns the reserve of a file system of this size.
    pub fn bytes(self, total_bytes: u64) -> u64 {
        match self {
            Self::Automatic => {
                let part = total_bytes / 100 * AUTOMATIC_RESERVE_PERCENT;
                part.clamp(AUTOMATIC_RESERVE_MIN, AUTOMATIC_RESERVE_MAX)
            }
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Returns the limits of a file system of this size.
    fn limits(self, total_bytes: u64) -> SpaceLimits {
        let reserve_bytes = self.bytes(total_bytes);
        let outcome_bytes = match self {
            Self::Automatic => OUTCOMES_BYTES_MAX,
            Self::Bytes(bytes) => (bytes / 4).min(OUTCOMES_BYTES_MAX),
        };
        SpaceLimits { reserve_bytes, outcome_bytes }
    }
}

/// Free space below which requests are refused, and below which no message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpaceLimits {
    reserve_bytes: u64,
    outcome_bytes: u64,
}

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
#[derive(Debug)]
pub(super) struct DiskSpace {
    reserve: Mutex<DiskReserve>,
    /// Number of a [`Space`].
    level: AtomicU8,
}

impl Default for DiskSpace {
    /// Returns a disk without a reserve, before the first measurement.
    fn default() -> Self {
        Self { reserve: Mutex::new(DiskReserve::Bytes(0)), level: AtomicU8::new(0) }
    }
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
    fn update(&self, free: u64, limits: SpaceLimits) -> Option<Space> {
        let before = self.level();
        let now = level_of(free, limits, before);
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
fn level_of(free: u64, limits: SpaceLimits, before: Space) -> Space {
    let is_below = |limit: u64, was_below: bool| free < if was_below { limit + limit / 8 } else { limit };
    if is_below(limits.outcome_bytes, before == Space::Exhausted) {
        Space::Exhausted
    } else if is_below(limits.reserve_bytes, before != Space::Ample) {
        Space::Low
    } else {
        Space::Ample
    }
}

impl Store {
    /// Sets the free space below which requests that add data are refused, and measures the space.
    pub async fn set_disk_reserve(&self, reserve: DiskReserve) {
        *sync::lock(&self.0.space.reserve) = reserve;
        self.measure_space().await;
    }

    /// Returns the free space at the last measurement.
    pub fn space(&self) -> Space {
        self.0.space.level()
    }

    /// Measures the free space, and logs a change. Without a measurement, the last one stays.
    pub async fn measure_space(&self) {
        let directory = self.path().parent().unwrap_or(Path::new(".")).to_owned();
        let FileSystemSpace { total_bytes, free_bytes } = match blocking::run(move || space_of(&directory)).await {
            Ok(space) => space,
            Err(error) => {
                debug!(%error, "could not measure the free space of the disk: {error}");
                return;
            }
        };
        let limits = sync::lock(&self.0.space.reserve).limits(total_bytes);
        let reserve_mib = limits.reserve_bytes / MIB;
        let free_mib = free_bytes / MIB;
        match self.0.space.update(free_bytes, limits) {
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
        let limits = |reserve| DiskReserve::Bytes(reserve).limits(u64::MAX);
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
            assert_eq!(
                level_of(free_mib * MIB, limits(256 * MIB), before),
                expected,
                "{free_mib} MiB after {before:?}"
            );
        }
        assert_eq!(level_of(0, limits(0), Space::Ample), Space::Ample);
        assert_eq!(level_of(64 * MIB, limits(1 << 40), Space::Ample), Space::Low);
    }

    #[test]
    fn the_automatic_reserve_is_five_percent_up_to_500_mb_and_keeps_the_space_for_outcomes() {
        let gib = 1024 * MIB;
        for (total, reserve) in [
            (0, 128 * MIB),
            (gib, 128 * MIB),
            (5_000_000_000, 250_000_000),
            (10_000_000_000, 500_000_000),
            (10_000 * gib, 500_000_000),
            (u64::MAX, 500_000_000),
        ] {
            let limits = DiskReserve::Automatic.limits(total);

            assert_eq!(limits, SpaceLimits { reserve_bytes: reserve, outcome_bytes: 64 * MIB }, "{total}");
        }
        let small = DiskReserve::Automatic.limits(gib);
        assert_eq!(level_of(128 * MIB, small, Space::Ample), Space::Ample);
        assert_eq!(level_of(128 * MIB - 1, small, Space::Ample), Space::Low);
        assert_eq!(level_of(64 * MIB, small, Space::Ample), Space::Low);
        assert_eq!(level_of(64 * MIB - 1, small, Space::Ample), Space::Exhausted);
    }

    #[tokio::test]
    async fn a_disk_with_less_than_the_reserve_is_low() {
        let (_directory, context) = crate::context::Context::temporary();
        assert_eq!(context.store.space(), Space::Ample);

        context.store.set_disk_reserve(DiskReserve::Bytes(u64::MAX / 2)).await;
        assert_eq!(context.store.space(), Space::Low);
        context.store.set_disk_reserve(DiskReserve::Bytes(0)).await;

        assert_eq!(context.store.space(), Space::Ample);
    }
}
