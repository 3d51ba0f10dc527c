//! The queue rows of stored emails.

use super::*;
use crate::base::clock::{Clock, DAY_MS};
use crate::base::id::IdSource;
use crate::delivery::{QueueControl, WaitingState};
use crate::emails::{LastEvent, enqueue_broadcast_page};
use crate::store::Encoded;
use crate::tables::BROADCAST_COUNTS;

impl Instance {
    /// Stores all recipients of a new broadcast. Only some have a queue row.
    async fn stored(&self, recipients: usize) -> BroadcastId {
        self.add(0, recipients, ContactChanges::default()).await;
        let id = self.send_now().await;
        while !self.row(id).0.is_queued_whole {
            assert!(matches!(self.store_page(id).await, PageResult::Stored { .. }));
        }
        assert_eq!(self.row(id).1.queued, recipients as u64);
        assert!(self.queued_groups() < recipients);
        id
    }
}

#[tokio::test]
async fn the_first_page_already_has_emails_in_the_queue() {
    let instance = Instance::new();
    instance.add(0, 1_700, ContactChanges::default()).await;
    let id = instance.send_now().await;

    let PageResult::Stored { due, .. } = instance.store_page(id).await else { panic!("the page was not stored") };

    assert_eq!((due.len(), instance.queued_groups()), (PAGE_QUEUE_ROWS, PAGE_QUEUE_ROWS));
}

#[tokio::test]
async fn the_queue_rows_continue_after_a_kill() {
    let instance = Instance::new();
    let id = instance.stored(1_100).await;
    let now_ms = instance.context.now_ms();
    // A process that is killed after one page of queue rows.
    let before = instance.queued_groups();
    let page = instance.write(move |tx, _| enqueue_page(tx, id, 100, now_ms)).await;
    assert_eq!((page.due.len(), page.has_more), (100, true));
    assert_eq!(instance.queued_groups(), before + 100);

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (1_100, None));
    let again = instance.write(move |tx, _| enqueue_page(tx, id, 100, now_ms)).await;
    assert!(again.due.is_empty() && !again.has_more);
}

#[tokio::test]
async fn a_page_after_the_last_one_is_not_stored() {
    let instance = Instance::new();
    let id = instance.stored(10 + PAGE_RECIPIENTS).await;
    let page = instance.read_page(id);

    assert!(matches!(instance.store(page).await, PageResult::Moved));
}

#[tokio::test]
async fn an_email_with_a_lower_id_than_the_ones_before_gets_one_queue_row() {
    let instance = Instance::new();
    instance.add(0, 1_700, ContactChanges::default()).await;
    let id = instance.send_now().await;
    // The clock of the second process is an hour behind.
    let behind = IdSource::new(Clock::manual(instance.context.now_ms() - 3_600_000));
    let other = Context { ids: behind, ..instance.context.clone() };
    for context in [&instance.context, &other, &instance.context, &other] {
        instance.store_page_in(context.clone(), id).await;
    }
    assert_eq!(instance.row(id).1.queued, 1_700);

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (1_700, None));
    assert_eq!(instance.addresses(id), sorted(0..1_700));
}

#[tokio::test]
async fn an_email_in_the_queue_stays_as_it_is() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    instance.worker().work().await.unwrap();
    let now_ms = instance.context.now_ms();

    let page = instance
        .write(move |tx, _| enqueue_broadcast_page(tx, TEAM, id, (EmailId::MIN, EmailId::MAX), 1_000, now_ms))
        .await;

    assert_eq!((page.due.len(), page.next), (0, None));
    assert_eq!(instance.queued_groups(), 700);
}

#[tokio::test]
async fn a_broadcast_canceled_before_its_queue_rows_leaves_none() {
    let instance = Instance::new();
    let id = instance.stored(700).await;

    instance.cancel(id).await;
    let now_ms = instance.context.now_ms();
    assert!(instance.write(move |tx, _| enqueue_page(tx, id, 100, now_ms)).await.due.is_empty());
    instance.worker().work().await.unwrap();

    let (_, counts, fan_out) = instance.row(id);
    assert_eq!((counts.queued, counts.canceled, fan_out), (0, 700, None));
    assert_eq!(instance.queued_groups(), 0);
}

#[tokio::test]
async fn emails_that_were_stored_before_the_clock_was_set_back_are_due_at_once() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let before = instance.queued_groups();
    instance.context.clock.step(-DAY_MS);

    instance.worker().work().await.unwrap();

    let now_ms = instance.context.now_ms();
    assert_eq!(instance.queued_groups(), 700);
    let due_now = instance.due_times(id).into_iter().filter(|due_ms| *due_ms <= now_ms).count();
    assert_eq!(due_now, 700 - before, "the scan of the queue finds the others");
}

#[tokio::test]
async fn a_page_that_was_read_before_the_clock_was_set_back_is_due_at_once() {
    let instance = Instance::new();
    instance.add(0, 10, ContactChanges::default()).await;
    let (id, now_ms) = (instance.send_now().await, instance.context.now_ms());
    instance.write(move |tx, _| start::start(tx, id, now_ms, &NeverPaused)).await;
    let page = instance.read_page(id);
    instance.context.clock.step(-DAY_MS);

    instance.store(page).await;

    let now_ms = instance.context.now_ms();
    assert_eq!(instance.queued_groups(), 10);
    assert!(instance.due_times(id).into_iter().all(|due_ms| due_ms <= now_ms));
}

#[tokio::test]
async fn a_held_broadcast_gets_no_queue_rows_until_it_continues() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let before = instance.queued_groups();
    let guard = Arc::new(holding::SetGuard::default());
    let worker = instance.worker_with(guard.clone());

    guard.set_held(true);
    worker.work().await.unwrap();
    assert_eq!(instance.queued_groups(), before);

    guard.set_held(false);
    worker.work().await.unwrap();
    assert_eq!((instance.queued_groups(), instance.row(id).2), (700, None));
}

#[tokio::test]
async fn an_email_that_is_tried_again_keeps_its_queue_row_if_the_clock_is_set_back() {
    let instance = Instance::new();
    instance.add(0, 1_100, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.store_page(id).await;
    let rows = instance.queue_rows();
    let attempts = rows.len();
    let attempted = move |tx: &WriteTx<'_>, _: &Context| {
        rows.iter().try_for_each(|(key, row)| tx.put(&DUE, key, &DueRow { attempts: 3, ..row.clone() }))
    };
    instance.write(attempted).await;
    instance.context.clock.step(-3_600_000);
    // A new process draws lower ids.
    let started = Context { ids: IdSource::new(instance.context.clock.clone()), ..instance.context.clone() };
    instance.store_page_in(started, id).await;

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (1_100, None));
    let kept = instance.queue_rows().iter().filter(|(_, row)| row.attempts == 3).count();
    assert_eq!((kept, attempts), (PAGE_QUEUE_ROWS, PAGE_QUEUE_ROWS));
}

#[tokio::test]
async fn corrupt_counts_leave_no_email_out_of_the_queue() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    instance.write(move |tx, _| tx.put_encoded(&BROADCAST_COUNTS, &(id,), &Encoded::unreadable())).await;

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (700, None));
}

#[tokio::test]
async fn a_broadcast_that_has_ended_leaves_no_email_out_of_the_queue() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    instance
        .write(move |tx, _| {
            let row = find(tx, TEAM, id)?.unwrap();
            put(tx, TEAM, id, &BroadcastRow { status: BroadcastStatus::Sent, ..row })
        })
        .await;

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (700, None));
}

#[tokio::test]
async fn a_corrupt_email_counts_as_failed() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let last = instance.emails(id).into_values().map(|(email, _)| email).max().unwrap();
    instance.write(move |tx, _| tx.put_encoded(&BROADCAST_EMAILS, &(TEAM, last), &Encoded::unreadable())).await;

    instance.worker().work().await.unwrap();

    let (_, counts, fan_out) = instance.row(id);
    assert_eq!((instance.queued_groups(), counts.queued, counts.failed, fan_out), (699, 699, 1, None));
}

#[tokio::test]
async fn an_email_that_does_not_wait_any_more_gets_no_queue_row() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let (last, row) = instance.emails(id).into_values().max_by_key(|(email, _)| *email).unwrap();
    // As an erasure and a deletion leave it.
    let canceled = BroadcastEmailRow { wait_ms: None, last_event: LastEvent::Canceled, ..row };
    instance.write(move |tx, _| tx.put(&BROADCAST_EMAILS, &(TEAM, last), &canceled)).await;

    instance.worker().work().await.unwrap();

    assert_eq!((instance.queued_groups(), instance.row(id).2), (699, None));
}

#[tokio::test]
async fn emails_of_other_broadcasts_are_left_to_them() {
    let instance = Instance::new();
    let (first, second) = (instance.stored(700).await, instance.send_now().await);
    let now_ms = instance.context.now_ms();
    while !instance.row(second).0.is_queued_whole {
        instance.store_page(second).await;
    }
    let before = instance.queued_groups();

    let range = (EmailId::MIN, EmailId::MAX);
    let page = instance.write(move |tx, _| enqueue_broadcast_page(tx, TEAM, first, range, 10_000, now_ms)).await;
    assert_eq!((page.next, instance.queued_groups()), (None, before + page.due.len()));
    instance.worker().work().await.unwrap();

    assert_eq!(instance.queued_groups(), 1_400);
}

#[tokio::test]
async fn the_owners_are_notified_again_of_a_hold_after_the_last_contact() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let guard = Arc::new(holding::SetGuard::default());
    let worker = instance.worker_with(guard.clone());

    for hold in 1..=2 {
        guard.set_held(true);
        worker.work().await.unwrap();
        assert_eq!(guard.notices(), hold);
        let now_ms = instance.context.now_ms();
        instance.write(move |tx, _| enqueue_page(tx, id, 10, now_ms)).await;
    }
}

#[tokio::test]
async fn an_email_without_a_queue_row_waits_for_its_fan_out() {
    let instance = Instance::new();
    let id = instance.stored(700).await;
    let control = QueueControl::new(instance.context.clone(), QueueNotifier::default(), None);
    let ids: Vec<EmailId> = instance.emails(id).into_values().map(|(email, _)| email).collect();
    let (first, last) = (*ids.iter().min().unwrap(), *ids.iter().max().unwrap());
    let states = async |email| {
        control.waiting(TEAM, email).await.unwrap().into_iter().map(|group| group.state).collect::<Vec<_>>()
    };

    assert_eq!(states(first).await, [WaitingState::Stopped]);
    assert_eq!(states(last).await, [WaitingState::FanOut]);
    let group = control.waiting(TEAM, last).await.unwrap().remove(0);
    assert_eq!((group.recipients, group.domain.as_str()), (vec![address(699)], "a.example"));
    instance.cancel(id).await;
    assert_eq!(states(last).await, []);
}
