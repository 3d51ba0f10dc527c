//! Memory budget of large responses, the number of reads at once, and the limits of each memory holder.
//!
//! A holder is a team, or the client of a request without an API key. It holds at most a quarter of the budget, and one
//! oversized response in addition. Oversized responses together hold at most half of the budget. If one holder holds
//! all that it can, a quarter is left for the others. A read holds its turn while its result has no part of the budget.
//! One holder has a quarter of the turns, and of the places of requests that wait for a turn or for memory.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use salvo::{Depot, Request};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::address_limit::client_of;
use crate::api_keys::Caller;
use crate::base::id::TeamId;
use crate::base::keyed::{KeyedValues, SharedValue};

/// Maximum number of reads whose result is in memory without a part of the budget.
const READS_MAX: usize = 16;
/// Maximum number of these reads of one holder. A list of 100 long rows needs some MiB until it is rendered.
pub(super) const READS_OF_HOLDER_MAX: usize = READS_MAX / 4;
/// Maximum number of requests that wait for a read or for memory. Each of them uses about 45 KiB.
const WAITING_MAX: usize = 1_024;
/// Maximum number of these requests of one holder.
const WAITING_OF_HOLDER_MAX: usize = WAITING_MAX / 4;

/// Holder of memory of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryHolder {
    /// Team of the API key.
    Team(TeamId),
    /// Client of a request without an API key.
    Client(IpAddr),
}

impl MemoryHolder {
    /// Returns the holder of the response to a request.
    pub(super) fn of(req: &Request, depot: &Depot) -> Self {
        if let Ok(caller) = depot.get_typed::<Caller>() {
            return Self::Team(caller.team);
        }
        let address = req.remote_addr().clone().into_std().map(|address| address.ip().to_canonical());
        Self::Client(client_of(address.unwrap_or(Ipv4Addr::UNSPECIFIED.into())))
    }
}

/// Memory budget of large responses.
#[derive(Debug)]
pub(super) struct ResponseMemory {
    /// Budget, one permit a byte.
    in_flight: Arc<Semaphore>,
    /// Bytes of all oversized responses, one permit a byte.
    oversized: Arc<Semaphore>,
    oversized_bytes_max: usize,
    /// Maximum size of a response that is not oversized, and the bytes of all these responses of one holder.
    part_bytes: usize,
    /// Reads at once, one permit each.
    reads: Arc<Semaphore>,
    /// Requests that wait, one permit each.
    waiting: Arc<Semaphore>,
    /// Limits of the holders that hold or wait for memory.
    holders: KeyedValues<MemoryHolder, HolderLimits>,
}

#[derive(Debug)]
struct HolderLimits {
    /// Bytes of the responses that are not oversized, one permit a byte.
    part: Arc<Semaphore>,
    /// The one permit of an oversized response.
    oversized: Arc<Semaphore>,
    /// Reads of the holder at once, one permit each.
    reads: Arc<Semaphore>,
    /// Requests of the holder that wait, one permit each.
    waiting: Arc<Semaphore>,
}

impl HolderLimits {
    fn new(part_bytes: usize) -> Self {
        Self {
            part: Arc::new(Semaphore::new(part_bytes)),
            oversized: Arc::new(Semaphore::new(1)),
            reads: Arc::new(Semaphore::new(READS_OF_HOLDER_MAX)),
            waiting: Arc::new(Semaphore::new(WAITING_OF_HOLDER_MAX)),
        }
    }
}

/// Part of the budget that a body has reserved, released on drop.
#[derive(Debug)]
pub struct ResponsePermit {
    in_flight: OwnedSemaphorePermit,
    of_holder: HolderPermit,
    part_bytes: usize,
    // The last field: the entry of the holder is deleted after its permits are released.
    holder: SharedValue<MemoryHolder, HolderLimits>,
}

/// Turn of a read, released on drop.
#[derive(Debug)]
pub(super) struct ReadPermit {
    #[expect(dead_code, reason = "it acts on drop")]
    read: OwnedSemaphorePermit,
    #[expect(dead_code, reason = "it acts on drop")]
    of_holder: OwnedSemaphorePermit,
    // The last field: the entry of the holder is deleted after its permits are released.
    #[expect(dead_code, reason = "it acts on drop")]
    holder: SharedValue<MemoryHolder, HolderLimits>,
}

/// Place of a request that waits, released on drop.
#[derive(Debug)]
pub(super) struct WaitPermit {
    #[expect(dead_code, reason = "it acts on drop")]
    waiting: OwnedSemaphorePermit,
    #[expect(dead_code, reason = "it acts on drop")]
    of_holder: OwnedSemaphorePermit,
    // The last field: the entry of the holder is deleted after its permits are released.
    #[expect(dead_code, reason = "it acts on drop")]
    holder: SharedValue<MemoryHolder, HolderLimits>,
}

/// Permit of the limits of a holder.
#[derive(Debug)]
enum HolderPermit {
    Part(OwnedSemaphorePermit),
    Oversized {
        /// Bytes of all oversized responses.
        bytes: OwnedSemaphorePermit,
        #[expect(dead_code, reason = "it acts on drop")]
        response: OwnedSemaphorePermit,
    },
}

impl ResponseMemory {
    /// Returns a budget of `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        let oversized_bytes_max = bytes_max / 2;
        Self {
            in_flight: Arc::new(Semaphore::new(bytes_max)),
            oversized: Arc::new(Semaphore::new(oversized_bytes_max)),
            oversized_bytes_max,
            part_bytes: bytes_max / 4,
            reads: Arc::new(Semaphore::new(READS_MAX)),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            holders: KeyedValues::default(),
        }
    }

    /// Returns a place for a request that may have to wait; `None` if too many wait.
    pub(super) fn start_wait(&self, holder: MemoryHolder) -> Option<WaitPermit> {
        let holder = self.holder(holder);
        let of_holder = Arc::clone(&holder.waiting).try_acquire_owned().ok()?;
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().ok()?;
        Some(WaitPermit { waiting, of_holder, holder })
    }

    fn holder(&self, holder: MemoryHolder) -> SharedValue<MemoryHolder, HolderLimits> {
        self.holders.get_or_insert_with(holder, || HolderLimits::new(self.part_bytes))
    }

    /// Waits for the turn of a read.
    pub(super) async fn admit_read(&self, holder: MemoryHolder) -> Result<ReadPermit, AcquireError> {
        let holder = self.holder(holder);
        // The limit of the holder comes first, so that its waiting reads delay no others.
        let of_holder = Arc::clone(&holder.reads).acquire_owned().await?;
        let read = Arc::clone(&self.reads).acquire_owned().await?;
        Ok(ReadPermit { read, of_holder, holder })
    }

    /// Reserves `bytes`, or the maximum of oversized responses for a larger body. Waits until the bytes are free.
    pub(super) async fn reserve(&self, holder: MemoryHolder, bytes: usize) -> Result<ResponsePermit, AcquireError> {
        let part_bytes = self.part_bytes;
        let holder = self.holder(holder);
        let permits = u32::try_from(bytes.min(self.oversized_bytes_max)).unwrap_or(u32::MAX);
        // The limits of the holder come first: a request that waits for another one of its holder holds no memory that
        // other holders need.
        let of_holder = if bytes <= part_bytes {
            HolderPermit::Part(Arc::clone(&holder.part).acquire_many_owned(permits).await?)
        } else {
            let response = Arc::clone(&holder.oversized).acquire_owned().await?;
            HolderPermit::Oversized { bytes: Arc::clone(&self.oversized).acquire_many_owned(permits).await?, response }
        };
        let in_flight = Arc::clone(&self.in_flight).acquire_many_owned(permits).await?;
        Ok(ResponsePermit { in_flight, of_holder, part_bytes, holder })
    }

    /// Returns the number of bytes that are not reserved.
    #[cfg(test)]
    pub(super) fn free_bytes(&self) -> usize {
        self.in_flight.available_permits()
    }
}

impl ResponsePermit {
    /// Returns the reserved size in bytes.
    pub fn bytes(&self) -> usize {
        self.in_flight.num_permits()
    }

    /// Releases the bytes above `bytes`. A response that is no longer oversized becomes a part of the holder's quarter if
    /// the quarter has these bytes left.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let released = self.bytes().saturating_sub(bytes);
        drop(self.in_flight.split(released));
        match &mut self.of_holder {
            HolderPermit::Part(part) => drop(part.split(released)),
            HolderPermit::Oversized { bytes: oversized, .. } if bytes > self.part_bytes => {
                drop(oversized.split(released));
            }
            HolderPermit::Oversized { bytes: oversized, .. } => {
                drop(oversized.split(oversized.num_permits()));
                let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
                if let Ok(part) = Arc::clone(&self.holder.part).try_acquire_many_owned(permits) {
                    self.of_holder = HolderPermit::Part(part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use super::*;
    use crate::api_keys::{CallerKind, Permission};
    use crate::base::id::Id;

    const ONE: MemoryHolder = MemoryHolder::Team(Id::MIN);
    const OTHER: MemoryHolder = MemoryHolder::Client(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// Reserves `bytes`; `None` if they are not free now.
    async fn reserve(budget: &ResponseMemory, holder: MemoryHolder, bytes: usize) -> Option<ResponsePermit> {
        tokio::time::timeout(Duration::ZERO, budget.reserve(holder, bytes)).await.ok().map(Result::unwrap)
    }

    #[test]
    fn a_response_is_counted_for_the_team_or_else_for_the_client() {
        let (mut req, mut depot) = (Request::new(), Depot::new());
        *req.remote_addr_mut() = SocketAddr::new("2001:db8:0:1::7".parse().unwrap(), 4_000).into();
        assert_eq!(MemoryHolder::of(&req, &depot), MemoryHolder::Client("2001:db8:0:1::".parse().unwrap()));

        depot.insert_typed(Caller {
            kind: CallerKind::Key,
            key: Id::MAX,
            team: Id::MIN,
            permission: Permission::SendingAccess,
            domain: None,
        });

        assert_eq!(MemoryHolder::of(&req, &depot), ONE);
    }

    #[tokio::test]
    async fn a_holder_that_holds_all_it_can_leaves_a_quarter_to_others() {
        let budget = ResponseMemory::new(400);
        let held = [reserve(&budget, ONE, 60).await, reserve(&budget, ONE, 40).await, reserve(&budget, ONE, 900).await];
        assert!(held.iter().all(Option::is_some));

        assert!(reserve(&budget, ONE, 1).await.is_none());
        assert!(reserve(&budget, ONE, 101).await.is_none());
        let quarter = reserve(&budget, OTHER, 100).await;
        assert_eq!(quarter.unwrap().bytes(), 100);
        assert!(reserve(&budget, OTHER, 101).await.is_none());

        drop(held);
        assert_eq!(reserve(&budget, OTHER, 101).await.unwrap().bytes(), 101);
        assert_eq!(budget.free_bytes(), 400);
    }

    #[tokio::test]
    async fn a_rendered_response_of_the_size_of_a_part_is_no_longer_oversized() {
        let budget = ResponseMemory::new(400);
        let mut held = Vec::new();
        for _ in 0..2 {
            let mut permit = reserve(&budget, ONE, 200).await.unwrap();
            permit.shrink(60);
            held.push(permit);
        }

        // The first one is in the quarter, and the second one remains the oversized response of its holder.
        assert_eq!(budget.free_bytes(), 400 - 2 * 60);
        assert!(reserve(&budget, ONE, 200).await.is_none());
        assert_eq!(reserve(&budget, OTHER, 200).await.unwrap().bytes(), 200);
        assert!(reserve(&budget, ONE, 40).await.is_some());
        assert!(reserve(&budget, ONE, 41).await.is_none());
    }

    #[tokio::test]
    async fn a_smaller_oversized_response_releases_the_rest() {
        let budget = ResponseMemory::new(400);
        let mut held = reserve(&budget, ONE, 200).await.unwrap();

        held.shrink(150);

        assert_eq!((held.bytes(), budget.free_bytes()), (150, 250));
        assert!(reserve(&budget, OTHER, 101).await.is_none());
        drop(held);
        assert!(reserve(&budget, OTHER, 200).await.is_some());
    }

    #[tokio::test]
    async fn a_request_that_waits_for_its_own_team_delays_no_other() {
        let budget = ResponseMemory::new(400);
        let held = reserve(&budget, ONE, 100).await.unwrap();
        let waits = budget.reserve(ONE, 100);
        tokio::pin!(waits);
        assert!(tokio::time::timeout(Duration::ZERO, &mut waits).await.is_err());

        assert!(reserve(&budget, OTHER, 100).await.is_some());

        drop(held);
        assert_eq!(waits.await.unwrap().bytes(), 100);
    }

    #[tokio::test]
    async fn no_entry_is_kept_of_a_holder_without_responses() {
        let budget = ResponseMemory::new(400);
        let (first, second) = (reserve(&budget, ONE, 10).await, reserve(&budget, ONE, 10).await);
        assert!(reserve(&budget, ONE, 81).await.is_none());

        drop(first);
        assert_eq!(budget.holders.len(), 1);
        drop(second);

        assert_eq!(budget.holders.len(), 0);
    }

    /// Admits a read; `None` if it must wait.
    async fn admit(budget: &ResponseMemory, holder: MemoryHolder) -> Option<ReadPermit> {
        tokio::time::timeout(Duration::ZERO, budget.admit_read(holder)).await.ok().map(Result::unwrap)
    }

    #[tokio::test]
    async fn the_reads_of_a_holder_leave_turns_to_others() {
        let budget = ResponseMemory::new(400);
        let mut turns = Vec::new();
        for _ in 0..READS_OF_HOLDER_MAX {
            turns.push(admit(&budget, ONE).await.unwrap());
        }

        assert!(admit(&budget, ONE).await.is_none());
        let others = (READS_MAX - READS_OF_HOLDER_MAX) / READS_OF_HOLDER_MAX;
        for other in 0..others {
            let holder = MemoryHolder::Client(Ipv4Addr::from_bits(u32::try_from(other).unwrap()).into());
            for _ in 0..READS_OF_HOLDER_MAX {
                turns.push(admit(&budget, holder).await.unwrap());
            }
        }
        assert!(admit(&budget, OTHER).await.is_none());

        turns.remove(0);
        assert!(admit(&budget, OTHER).await.is_some());
        assert!(admit(&budget, ONE).await.is_some());
        turns.clear();
        assert_eq!(budget.holders.len(), 0);
    }

    #[tokio::test]
    async fn the_waiting_requests_of_a_holder_leave_places_to_others() {
        let budget = ResponseMemory::new(400);
        let wait = |holder| budget.start_wait(holder);
        let mut places: Vec<_> = (0..WAITING_OF_HOLDER_MAX).map(|_| wait(ONE).unwrap()).collect();

        assert!(wait(ONE).is_none());
        for other in 1..WAITING_MAX / WAITING_OF_HOLDER_MAX {
            let holder = MemoryHolder::Client(Ipv4Addr::from_bits(u32::try_from(other).unwrap()).into());
            places.extend((0..WAITING_OF_HOLDER_MAX).map(|_| wait(holder).unwrap()));
        }
        assert!(wait(OTHER).is_none());

        places.remove(0);
        assert!(wait(OTHER).is_some());
        assert!(wait(ONE).is_some());
        places.clear();
        assert_eq!(budget.holders.len(), 0);
    }
}
