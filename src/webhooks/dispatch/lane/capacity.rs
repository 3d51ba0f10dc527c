//! Free capacity of the lanes, which limits the fan-out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::machine::HELD_MAX;
use crate::base::id::WebhookId;
use crate::base::sync;
use crate::base::wakeup::Wakeup;

/// Free capacity of the lanes: the number of deliveries that each can still load, at most [`HELD_MAX`]. Cheap to
/// clone.
#[derive(Clone, Debug, Default)]
pub(in crate::webhooks::dispatch) struct LaneCapacity(Arc<CapacityInner>);

#[derive(Debug, Default)]
struct CapacityInner {
    /// Free capacity of each lane. An endpoint without a lane has all of it.
    free: Mutex<HashMap<WebhookId, Arc<AtomicUsize>>>,
    freed: Wakeup,
}

impl LaneCapacity {
    /// Adds the lane of an endpoint, until the guard is dropped. An endpoint has one lane at a time.
    pub(in crate::webhooks::dispatch) fn register(&self, webhook: WebhookId) -> CapacityGuard {
        let free = Arc::new(AtomicUsize::new(HELD_MAX));
        self.lanes().insert(webhook, Arc::clone(&free));
        CapacityGuard { capacity: self.clone(), webhook, free }
    }

    /// Returns the free capacity of endpoints together.
    pub(in crate::webhooks::dispatch) fn free<'w>(&self, webhooks: impl IntoIterator<Item = &'w WebhookId>) -> usize {
        let lanes = self.lanes();
        let free = |webhook| lanes.get(webhook).map_or(HELD_MAX, |free| free.load(Ordering::SeqCst));
        webhooks.into_iter().map(free).sum()
    }

    /// Returns the wake-up that is notified when a saturated lane gets free capacity.
    pub(in crate::webhooks::dispatch) fn freed(&self) -> &Wakeup {
        &self.0.freed
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<WebhookId, Arc<AtomicUsize>>> {
        sync::lock(&self.0.free)
    }
}

/// The capacity of one lane. Removes it on drop.
#[derive(Debug)]
pub(in crate::webhooks::dispatch) struct CapacityGuard {
    capacity: LaneCapacity,
    webhook: WebhookId,
    free: Arc<AtomicUsize>,
}

impl CapacityGuard {
    /// Sets the free capacity of the lane; 0 if it is saturated.
    pub(in crate::webhooks::dispatch) fn set(&self, free: usize) {
        if self.free.swap(free, Ordering::SeqCst) == 0 && free > 0 {
            self.capacity.0.freed.notify();
        }
    }
}

impl Drop for CapacityGuard {
    fn drop(&mut self) {
        // A lane that ends late must not remove the capacity of its successor.
        let mut lanes = self.capacity.lanes();
        if lanes.get(&self.webhook).is_some_and(|free| Arc::ptr_eq(free, &self.free)) {
            lanes.remove(&self.webhook);
        }
        drop(lanes);
        self.set(HELD_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;

    async fn freed(capacity: &LaneCapacity) {
        assert!(capacity.freed().notified_within(Duration::from_secs(20)).await);
    }

    #[tokio::test]
    async fn free_capacity_is_the_sum_of_the_lanes_and_a_saturated_lane_notifies_when_it_gets_some() {
        let capacity = LaneCapacity::default();
        let (one, other): (WebhookId, WebhookId) = (Id::MIN, Id::MAX);
        let (first, second) = (capacity.register(one), capacity.register(other));
        assert_eq!(capacity.free(&[one, other]), 2 * HELD_MAX);

        first.set(0);
        second.set(7);
        assert_eq!((capacity.free(&[one]), capacity.free(&[one, other])), (0, 7));
        second.set(0);
        assert_eq!(capacity.free(&[one, other]), 0);

        second.set(1);
        freed(&capacity).await;
        assert_eq!(capacity.free(&[one, other]), 1);
        drop(first);
        freed(&capacity).await;
        assert_eq!(capacity.free(&[one]), HELD_MAX);
    }
}
