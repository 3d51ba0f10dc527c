//! Pauses of sending: broadcasts that wait.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::base::id::DomainId;
use crate::base::sync;
use crate::emails::{RegionPause, SendingPause};
use crate::store::ReadTx;

/// Guard whose state a test sets. It counts notices.
#[derive(Default)]
pub(super) struct SetGuard {
    is_paused: Mutex<bool>,
    is_held: Mutex<bool>,
    notices: Mutex<usize>,
}

impl SetGuard {
    pub(super) fn notices(&self) -> usize {
        *sync::lock(&self.notices)
    }

    pub(super) fn set_held(&self, is_held: bool) {
        *sync::lock(&self.is_held) = is_held;
    }
}

impl SendingGuard for SetGuard {
    fn sending_pause(&self, _tx: &WriteTx<'_>, _team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        Ok(sync::lock(&self.is_paused).then(SendingPause::example))
    }

    fn region_pause(
        &self,
        _tx: &WriteTx<'_>,
        _team: TeamId,
        _domain: DomainId,
    ) -> Result<Option<RegionPause>, StoreError> {
        Ok(None)
    }

    fn is_fan_out_held(&self, _tx: &ReadTx, _team: TeamId, _domain: Option<DomainId>) -> Result<bool, StoreError> {
        Ok(*sync::lock(&self.is_held))
    }

    fn broadcast_held(&self, _tx: &WriteTx<'_>, _team: TeamId, _broadcast: BroadcastId) -> Result<(), StoreError> {
        *sync::lock(&self.notices) += 1;
        Ok(())
    }
}

#[tokio::test]
async fn a_due_broadcast_waits_for_the_end_of_a_pause_and_the_owners_are_notified_once() {
    let instance = Instance::new();
    instance.add(0, 3, ContactChanges::default()).await;
    let id = instance.send(instance.context.now_ms(), json!({ "status": "scheduled" })).await;
    let guard = Arc::new(SetGuard::default());
    let worker = instance.worker_with(guard.clone());
    *sync::lock(&guard.is_paused) = true;

    for _ in 0..3 {
        let next_ms = worker.work().await.unwrap();
        assert_eq!(next_ms, Some(instance.context.now_ms() + 15 * 60_000));
        assert_eq!(instance.row(id).0.status, BroadcastStatus::Scheduled);
        assert!(instance.emails(id).is_empty());
        instance.context.clock.advance(Duration::from_secs(15 * 60));
    }
    assert_eq!(guard.notices(), 1);

    *sync::lock(&guard.is_paused) = false;
    worker.work().await.unwrap();
    assert_eq!(instance.emails(id).len(), 3);
    assert_eq!(instance.row(id).2, None, "all recipients are queued");
}

#[tokio::test]
async fn a_held_broadcast_in_progress_queues_no_recipients_until_it_continues() {
    let instance = Instance::new();
    instance.add(0, 700, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.store_page(id).await;
    let queued = instance.emails(id).len();
    let guard = Arc::new(SetGuard::default());
    let worker = instance.worker_with(guard.clone());
    guard.set_held(true);

    worker.work().await.unwrap();
    worker.work().await.unwrap();
    assert_eq!(instance.emails(id).len(), queued);
    assert_eq!(guard.notices(), 1);

    guard.set_held(false);
    worker.work().await.unwrap();
    assert_eq!(instance.emails(id).len(), 700);
}

#[tokio::test]
async fn the_owners_are_notified_again_of_a_second_hold() {
    let instance = Instance::new();
    instance.add(0, 1_700, ContactChanges::default()).await;
    let id = instance.send_now().await;
    let guard = Arc::new(SetGuard::default());
    let worker = instance.worker_with(guard.clone());
    guard.set_held(true);

    for hold in 1..=2 {
        // A page of another process, before the hold.
        assert!(matches!(instance.store_page(id).await, PageResult::Stored { .. }));
        worker.work().await.unwrap();
        worker.work().await.unwrap();
        assert_eq!(guard.notices(), hold);
    }
}

/// Guard that holds the broadcasts of all teams except [`TEAM`].
struct OtherTeamsHeld;

impl SendingGuard for OtherTeamsHeld {
    fn is_fan_out_held(&self, _tx: &ReadTx, team: TeamId, _domain: Option<DomainId>) -> Result<bool, StoreError> {
        Ok(team != TEAM)
    }
}

#[tokio::test]
async fn held_broadcasts_do_not_delay_newer_ones() {
    let instance = Instance::new();
    instance.add(0, 3, ContactChanges::default()).await;
    instance
        .write(|tx, context| {
            let team = TeamId::from_bytes([7; 16]);
            let row =
                json!({ "created_ms": 0, "name": "", "from": "a@example.com", "subject": "", "status": "queued" });
            let row: BroadcastRow = serde_json::from_value(row).unwrap();
            for _ in 0..2 * jobs::JOBS_MAX {
                let id: BroadcastId = context.id();
                put(tx, team, id, &row)?;
                let fan_out = FanOutRow { last: Some(Id::MAX), ..FanOutRow::due(team, 0) };
                tx.put(&BROADCAST_FAN_OUTS, &(id,), &fan_out)?;
            }
            Ok(())
        })
        .await;
    let (sent, canceled) = (instance.send_now().await, instance.send_now().await);
    instance.cancel(canceled).await;

    instance.worker_with(Arc::new(OtherTeamsHeld)).work().await.unwrap();

    assert_eq!(instance.emails(sent).len(), 3);
    assert_eq!(instance.row(canceled).2, None, "the cancellation is complete");
}
