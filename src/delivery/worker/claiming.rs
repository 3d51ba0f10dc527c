//! Leases of the next groups of a session.

use std::sync::Arc;

use tracing::error;

use super::super::queue::{Claimed, LaneClaim, claim_lane};
use super::super::schedule::TakenLane;
use super::super::transport::Servers;
use super::Worker;
use crate::base::sync;
use crate::store::{StoreError, WriteTx};

/// A leased group with the servers of its destination.
pub(super) struct LeasedGroup {
    pub(super) claimed: Arc<Claimed>,
    pub(super) servers: Arc<Servers>,
}

impl Worker<'_> {
    /// Returns the lanes of a claim, with `part` groups at most.
    pub(super) fn with_further_lanes(&self, first: TakenLane, part: usize) -> Vec<TakenLane> {
        let servers = Arc::clone(&first.servers);
        let mut lanes = vec![first];
        // A session that is not open yet will be with the servers of the first lane.
        let fits = |other: &Servers| if self.open.is_some() { self.fits(other) } else { *other == *servers };
        let (mut schedule, now) = (self.engine.schedule(), self.engine.now());
        schedule.take_further(&mut sync::lock(self.slot), now, fits, part, &mut lanes);
        lanes
    }

    /// Leases the first groups of lanes in one transaction, or each lane in its own one if a row of one lane makes the common
    /// one fail. `None` if all claims failed.
    pub(super) async fn lease(&self, lanes: Vec<TakenLane>) -> Option<Vec<LeasedGroup>> {
        match self.claim(&lanes).await {
            Ok(claims) => Some(self.record(lanes, claims)),
            Err(error) if error.is_outage() || lanes.len() == 1 => {
                self.claim_failed(&lanes, &error);
                None
            }
            Err(_) => {
                let mut leased: Option<Vec<_>> = None;
                for lane in lanes {
                    match self.claim(std::slice::from_ref(&lane)).await {
                        Ok(claims) => leased.get_or_insert_default().extend(self.record(vec![lane], claims)),
                        Err(error) => self.claim_failed(&[lane], &error),
                    }
                }
                leased
            }
        }
    }

    async fn claim(&self, lanes: &[TakenLane]) -> Result<Vec<LaneClaim>, StoreError> {
        let (context, site) = (self.engine.context.clone(), Arc::clone(&sync::lock(self.slot).site));
        let claims: Vec<_> = lanes.iter().map(|lane| (lane.taken.lane, lane.groups_max)).collect();
        let claiming = move |tx: &WriteTx<'_>| {
            claims.iter().map(|(lane, groups_max)| claim_lane(tx, &context, *lane, Some(&site), *groups_max)).collect()
        };
        self.engine.context.store.write_bulk(claiming).await
    }

    /// Records the leases of lanes, and returns their groups.
    fn record(&self, lanes: Vec<TakenLane>, claims: Vec<LaneClaim>) -> Vec<LeasedGroup> {
        let taken: usize = lanes.iter().map(|lane| lane.groups_max).sum();
        let (mut leased, mut rests) = (Vec::with_capacity(taken), Vec::with_capacity(lanes.len()));
        for (LaneClaim { groups, rest, pace }, TakenLane { taken, servers, .. }) in claims.into_iter().zip(lanes) {
            let group = |claimed| LeasedGroup { claimed: Arc::new(claimed), servers: Arc::clone(&servers) };
            leased.extend(groups.into_iter().map(group));
            rests.push((taken, rest, pace));
        }
        // First, so that a later panic leaves no lease without a record.
        self.engine.leases.record(self.number, leased.iter().map(|group| &group.claimed));
        for (taken, rest, pace) in rests {
            self.engine.claimed(&taken, rest, pace);
        }
        self.unsent(taken.saturating_sub(leased.len()));
        // The lanes may have groups for a further session.
        self.engine.notifier.wake();
        leased
    }

    fn claim_failed(&self, lanes: &[TakenLane], error: &StoreError) {
        // The store logs the failure of its disk once.
        if !error.is_outage() {
            error!(%error, "could not lease deliveries: {error}");
        }
        let (mut schedule, now) = (self.engine.schedule(), self.engine.now());
        lanes.iter().for_each(|lane| schedule.claim_failed(&lane.taken, now));
        drop(schedule);
        self.unsent(lanes.iter().map(|lane| lane.groups_max).sum());
    }
}
