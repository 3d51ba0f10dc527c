//! Pages of recipients, kills and cancellations.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::*;
use crate::base::clock::DAY_MS;
use crate::base::confirmed_clock::CONFIRM_MS;
use crate::emails::{LastEvent, delete_broadcast_emails_of_team};

#[tokio::test]
async fn each_contact_is_queued_once_by_one_worker_and_by_two() {
    for workers in [1, 2] {
        let instance = Instance::new();
        instance.add(0, 1_700, ContactChanges::default()).await;
        let id = instance.send_now().await;

        let (first, second) = (instance.worker(), instance.worker());
        if workers == 1 {
            first.work().await.unwrap();
        } else {
            let (one, two) = tokio::join!(first.work(), second.work());
            one.unwrap();
            two.unwrap();
        }

        assert_eq!(instance.addresses(id), sorted(0..1_700));
        assert_eq!(instance.queued_groups(), 1_700);
        let (row, counts, fan_out) = instance.row(id);
        assert_eq!((row.status, row.is_queued_whole, fan_out), (BroadcastStatus::Queued, true, None));
        assert_eq!((counts.queued, row.started_ms), (1_700, Some(instance.context.now_ms())));
    }
}

#[tokio::test]
async fn a_fan_out_continues_after_a_kill() {
    let instance = Instance::new();
    instance.add(0, 1_700, ContactChanges::default()).await;
    let id = instance.send_now().await;
    for _ in 0..2 {
        assert!(matches!(instance.store_page(id).await, PageResult::Stored { .. }));
        // Read and never stored.
        drop(instance.read_page(id));
    }
    assert_eq!(instance.addresses(id).len(), 2 * PAGE_RECIPIENTS);

    instance.worker().work().await.unwrap();

    assert_eq!(instance.addresses(id), sorted(0..1_700));
    assert!(instance.row(id).0.is_queued_whole);
}

#[tokio::test]
async fn a_page_is_not_stored_twice() {
    let instance = Instance::new();
    instance.add(0, 1_100, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.store_page(id).await;
    let [one, two] = [instance.read_page(id), instance.read_page(id)];

    assert!(matches!(instance.store(one).await, PageResult::Stored { .. }));
    assert!(matches!(instance.store(two).await, PageResult::Moved));

    assert_eq!(instance.addresses(id).len(), 2 * PAGE_RECIPIENTS);
}

#[tokio::test]
async fn a_page_ends_early_while_a_request_waits_and_continues() {
    let instance = Instance::new();
    instance.add(0, 400, ContactChanges::default()).await;
    let id = instance.send_now().await;
    let now_ms = instance.context.now_ms();
    instance.write(move |tx, _| start::start(tx, id, now_ms, &NeverPaused)).await;
    let page = Arc::new(instance.read_page(id));
    let store = |first| {
        let page = Arc::clone(&page);
        // A command of a request: it waits for itself.
        instance.context.commit(move |tx| page.store(tx, first))
    };

    let PageResult::Stored { due, next: Some(next), finished: None } = store(0).await else {
        panic!("the whole page was stored")
    };
    assert_eq!((instance.addresses(id).len(), due.len()), (STEP_RECIPIENTS, PAGE_AWAITED_QUEUE_ROWS));
    assert!(matches!(store(0).await, PageResult::Moved), "a recipient is stored once");
    let ((entered, has_entered), (open, opened)) = (mpsc::channel(), mpsc::channel::<()>());
    let blocked = instance.context.store.write_bulk::<_, StoreError>(move |_| {
        entered.send(()).unwrap();
        // If a failing test drops the sender, `recv` returns as well.
        let _ = opened.recv();
        Ok(())
    });
    let request = || instance.context.commit(|_| Ok(()));
    let has_begun = async { has_entered.recv().unwrap() };
    let all_wait = async { open.send(()).unwrap() };
    let (_, _, stored, ..) =
        tokio::join!(blocked, has_begun, store(next), request(), request(), request(), request(), all_wait);
    assert!(matches!(stored, PageResult::Stored { next: Some(_), finished: None, .. }));
    assert_eq!(instance.addresses(id).len(), 2 * STEP_RECIPIENTS);
    // Another process continues after a kill.
    instance.worker().work().await.unwrap();

    assert_eq!((instance.addresses(id).len(), instance.row(id).1.queued), (400, 400));
    assert_eq!(instance.queued_groups(), 400);
}

#[test]
fn a_transaction_has_more_queue_rows_beside_more_requests() {
    assert_eq!([0, 1, 2, 3, 64, 256].map(|requests| rows_beside(requests, 256)), [256, 4, 4, 6, 128, 256]);
    assert_eq!([0, 1, 64].map(|requests| rows_beside(requests, 2)), [2, 2, 2]);
}

#[tokio::test]
async fn broadcasts_get_pages_in_turn() {
    let instance = Instance::new();
    instance.add(0, 1_200, ContactChanges::default()).await;
    let (first, second) = (instance.send_now().await, instance.send_now().await);

    instance.worker().work().await.unwrap();

    let ids = |id| instance.emails(id).into_values().map(|(email, _)| email).collect::<Vec<_>>();
    let (of_first, of_second) = (ids(first), ids(second));
    assert_eq!((of_first.len(), of_second.len()), (1_200, 1_200));
    assert!(of_second.iter().min() < of_first.iter().max(), "the second waits for the end of the first");
}

#[tokio::test]
async fn a_canceled_broadcast_leaves_no_group_in_the_queue() {
    let instance = Instance::new();
    instance.add(0, 1_700, ContactChanges::default()).await;
    let (id, other) = (instance.send_now().await, instance.send_now().await);
    instance.store_page(id).await;
    instance.store_page(id).await;
    instance.store_page(other).await;
    let page = instance.read_page(id);

    instance.cancel(id).await;
    assert!(matches!(instance.write(move |tx, _| page.store(tx, 0)).await, PageResult::Moved));
    // A process that is killed after one page of cancellations.
    assert!(!instance.write(move |tx, _| cancel::cancel_page(tx, id)).await);
    assert_eq!(instance.row(id).1.queued, 2 * PAGE_RECIPIENTS as u64 - 500);
    instance.worker().work().await.unwrap();

    let (row, counts, fan_out) = instance.row(id);
    assert_eq!(
        (row.status, counts.queued, counts.canceled),
        (BroadcastStatus::Canceled, 0, 2 * PAGE_RECIPIENTS as u64)
    );
    assert_eq!(fan_out, None);
    let is_canceled =
        |(_, row): &(_, BroadcastEmailRow)| row.last_event == LastEvent::Canceled && row.wait_ms.is_none();
    assert!(instance.emails(id).values().all(is_canceled));
    assert_eq!((instance.queued_groups(), instance.addresses(other).len()), (1_700, 1_700));
}

#[tokio::test]
async fn pages_of_a_cancel_and_of_a_removed_team_are_smaller_beside_a_request() {
    let instance = Instance::new();
    instance.add(0, 100, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.store_page(id).await;
    instance.cancel(id).await;
    let context = &instance.context;

    context.commit(move |tx| cancel::cancel_page(tx, id)).await;
    assert_eq!(instance.row(id).1.queued, 100 - 63);
    let delete = move |tx: &WriteTx<'_>| delete_broadcast_emails_of_team(tx, TEAM, EmailId::MIN, 0);
    assert_eq!(context.commit(delete).await.found, 25);
}

#[tokio::test]
async fn a_broadcast_canceled_before_its_start_queues_nothing() {
    let instance = Instance::new();
    instance.add(0, 10, ContactChanges::default()).await;
    let id = instance.send(instance.context.now_ms() + DAY_MS, json!({ "status": "scheduled" })).await;

    instance.cancel(id).await;
    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (0, None));
}

#[tokio::test]
async fn a_scheduled_broadcast_starts_when_it_is_due() {
    let instance = Instance::new();
    instance.add(0, 10, ContactChanges::default()).await;
    let due_ms = instance.context.now_ms() + DAY_MS;
    let id = instance.send(due_ms, json!({ "status": "scheduled" })).await;
    let worker = instance.worker();

    assert_eq!(worker.work().await.unwrap(), Some(due_ms));
    assert_eq!(instance.row(id).0.status, BroadcastStatus::Scheduled);
    instance.context.clock.advance(Duration::from_secs(86_400));
    assert_eq!(worker.work().await.unwrap(), None);

    assert_eq!((instance.row(id).0.status, instance.addresses(id).len()), (BroadcastStatus::Queued, 10));
}

#[tokio::test]
async fn a_scheduled_broadcast_that_a_step_of_the_clock_makes_due_starts_when_the_step_has_lasted() {
    let instance = Instance::new();
    instance.add(0, 10, ContactChanges::default()).await;
    let due_ms = instance.context.now_ms() + DAY_MS / 2;
    let id = instance.send(due_ms, json!({ "status": "scheduled" })).await;
    let worker = instance.worker();

    instance.context.clock.step(DAY_MS);

    assert_eq!(worker.work().await.unwrap(), Some(due_ms));
    assert_eq!(instance.row(id).0.status, BroadcastStatus::Scheduled);
    instance.context.clock.advance(Duration::from_millis(CONFIRM_MS.unsigned_abs()));
    assert_eq!(worker.work().await.unwrap(), None);
    assert_eq!(instance.addresses(id).len(), 10);
}

#[tokio::test]
async fn a_broadcast_that_was_sent_at_once_starts_after_the_clock_was_set_back() {
    let instance = Instance::new();
    instance.add(0, 10, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.context.clock.step(-DAY_MS);

    instance.worker().work().await.unwrap();

    assert_eq!(instance.addresses(id).len(), 10);
}
