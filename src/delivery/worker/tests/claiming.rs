//! Claims of several lanes.

use super::*;
use crate::base::id::TeamId;
use crate::delivery::queue::{DueKey, LaneKey};
use crate::delivery::rows::{Class, DueRow};
use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::tables::{DUE, EVENT_SUBSCRIPTIONS};

/// The stored bytes of the subscriptions of teams, which every claim reads.
const SUBSCRIPTION_BYTES: Table<(TeamId,), Blob> = Table::new(EVENT_SUBSCRIPTIONS.name());
const DESTINATION: &str = "example.com";

fn team(number: u8) -> TeamId {
    Id::from_bytes([number; 16])
}

/// Queues an email of each of four teams, in a lane of its own.
async fn queue_of_teams(context: &Context) {
    for team in (1..=4).map(team) {
        let (id, due_ms) = (context.id(), context.now_ms());
        let recipient = RecipientRow::example(ADA, RecipientState::Waiting { due_ms }, LastEvent::Queued);
        let row = EmailRow { created_ms: due_ms, ..EmailRow::example(vec![recipient], LastEvent::Queued) };
        let lane = LaneKey::new(DESTINATION, Class::Transactional, team.cast());
        let key = DueKey { lane, due_ms, email: id, group: 0 };
        let put = move |tx: &WriteTx<'_>| {
            tx.put(&EMAILS, &(team, id), &row)?;
            tx.put(&DUE, &key.parts(), &DueRow::fresh(team, DESTINATION.into(), due_ms))
        };
        context.commit(put).await;
    }
}

/// The only session of a site with four lanes.
struct FourLanes {
    _disk: Disk,
    context: Context,
    engine: Arc<Engine>,
    slot: Mutex<Slot>,
}

impl FourLanes {
    async fn new() -> Self {
        let disk = Disk::default();
        let context = Context::on_disk(&disk);
        queue_of_teams(&context).await;
        let engine = engine(&context, &CancellationToken::new());
        let lanes = context.store.read_now::<_, StoreError>(|tx| read_lanes(tx, None, 10)).unwrap();
        let now = engine.now();
        lanes.iter().for_each(|first| engine.schedule().queued(first, now));
        let lookup = engine.schedule().next_lookup().unwrap();
        engine.schedule().routed(&lookup, Arc::new(servers(Vec::new())), &StoredSite::default(), now);
        let slot = Mutex::new(engine.schedule().reserve_sessions(now).remove(0));
        Self { _disk: disk, context, engine, slot }
    }

    /// Takes lanes and leases their groups. Before the lease, the subscriptions of the teams of the first `corrupt` lanes
    /// become corrupt. Returns the teams of the taken lanes, and those of the leased groups; `None` if all claims failed.
    async fn lease(&self, corrupt: usize) -> (Vec<TeamId>, Option<Vec<TeamId>>) {
        let number = self.engine.leases.start_worker();
        let worker =
            Worker { engine: &self.engine, slot: &self.slot, number, open: None, last_outcome: LastOutcome::default() };
        let now = self.engine.now();
        let take = self.engine.schedule().take(&mut sync::lock(&self.slot), now, None, |_| true);
        let Take::Groups { first, part } = take else { panic!("{take:?}") };
        let lanes = worker.with_further_lanes(first, part);
        let teams: Vec<TeamId> = lanes.iter().map(|lane| lane.taken.lane.stream.cast()).collect();
        for team in teams.iter().copied().take(corrupt) {
            self.context.commit(move |tx| tx.put(&SUBSCRIPTION_BYTES, &(team,), &Blob(vec![0xff]))).await;
        }
        let leased = worker.lease(lanes).await;
        (teams, leased.map(|groups| groups.iter().map(|group| group.claimed.due.team).collect()))
    }
}

#[tokio::test]
async fn one_claim_leases_the_groups_of_several_lanes() {
    let four = FourLanes::new().await;

    let (taken, leased) = four.lease(0).await;

    assert_eq!(taken.len(), 4);
    assert_eq!(leased.as_ref(), Some(&taken));
    assert_eq!(leases(&four.context), 4);
}

#[tokio::test]
async fn a_lane_that_cannot_be_claimed_does_not_stop_the_others() {
    let four = FourLanes::new().await;

    let (taken, leased) = four.lease(1).await;

    assert_eq!(leased.as_deref(), Some(&taken[1..]));
    assert_eq!(leases(&four.context), 3);
}

#[tokio::test]
async fn a_claim_fails_if_no_lane_can_be_claimed() {
    let four = FourLanes::new().await;

    let (taken, leased) = four.lease(4).await;

    assert_eq!((taken.len(), leased), (4, None));
    assert_eq!(leases(&four.context), 0);
}
