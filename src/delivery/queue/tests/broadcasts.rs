//! Claims, requeues and counts of the emails of broadcasts.

use std::time::Duration;

use serde_json::json;

use super::super::*;
use super::unreadable::remove;
use super::{ADA, TEAM, put_due};
use crate::base::address::EmailAddress;
use crate::base::id::{BroadcastId, ContactId, TopicId};
use crate::broadcast_rows::{self, BroadcastCountsRow, BroadcastRow, BroadcastStatus};
use crate::broadcasts;
use crate::contacts::{ContactChanges, ContactWriter, NewContact, TopicChoiceRow};
use crate::delivery::control::QueueControl;
use crate::delivery::rows::Class;
use crate::delivery::{QueueNotifier, QueueSelector};
use crate::emails::{NewBroadcastEmail, QueueDestination};
use crate::events::ChangeSource;
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::{BROADCAST_COUNTS, BROADCAST_EMAILS, CONTACTS, SET_ASIDE_ROWS, TOPIC_CHOICES, TOPICS};
use crate::topics::{Subscription, TopicRow};

const BROADCAST: BroadcastId = Id::from_bytes([2; 16]);
const TOPIC: TopicId = Id::from_bytes([3; 16]);

fn address(number: usize) -> EmailAddress {
    EmailAddress::parse(&format!("c{number}@example.com")).unwrap()
}

pub(super) async fn write<T: Send + 'static>(
    context: &Context,
    work: impl Fn(&WriteTx<'_>, &Context) -> Result<T, StoreError> + Send + 'static,
) -> T {
    let writing = context.clone();
    context.commit(move |tx| work(tx, &writing)).await
}

/// Stores a broadcast under a topic, with a contact and a queued email for each recipient.
pub(in crate::delivery) async fn queue(context: &Context, recipients: usize) -> Vec<(DueKey, ContactId)> {
    write(context, move |tx, context| {
        let row: BroadcastRow = serde_json::from_value(json!({
            "created_ms": 0, "name": "June", "from": "a@example.net", "subject": "Hi {{{NAME}}}", "fields": ["NAME"],
            "status": "queued", "audience": recipients, "is_queued_whole": true, "topic": TOPIC,
        }))
        .unwrap();
        broadcast_rows::put(tx, TEAM, BROADCAST, &row)?;
        let topic: TopicRow = serde_json::from_value(json!({
            "name": "News", "default_subscription": "opt_in", "visibility": "public", "created_ms": 0,
        }))
        .unwrap();
        tx.put(&TOPICS, &(TEAM, TOPIC), &topic)?;
        let mut writer = ContactWriter::new(tx, context, TEAM, ChangeSource::Api);
        let mut queued = Vec::new();
        for number in 0..recipients {
            let email = address(number);
            let new = NewContact { email: email.clone(), changes: ContactChanges::default() };
            let contact = writer.create(&new, &email.identity_hash())?;
            let values = vec![format!("N{number}")];
            let new = NewBroadcastEmail { contact, address: email, values, due_ms: context.now_ms() };
            let due = emails::queue_broadcast_email(tx, context, TEAM, BROADCAST, &row, new)?.unwrap();
            queued.push((due.key, contact));
        }
        writer.finish()?;
        Ok(queued)
    })
    .await
}

/// Claims groups. Returns their number.
async fn claimed(context: &Context, keys: &[DueKey]) -> usize {
    let keys = keys.to_vec();
    write(context, move |tx, context| Ok(claim(tx, context, &keys)?.len())).await
}

pub(super) fn row(context: &Context, id: EmailId) -> EmailRow {
    context.read(|tx| emails::find_row(tx, TEAM, id)).unwrap()
}

pub(super) fn counts(context: &Context) -> BroadcastCountsRow {
    context.read(|tx| broadcast_rows::read_counts(tx, BROADCAST))
}

pub(super) fn status(context: &Context) -> BroadcastStatus {
    let row = context.read(|tx| broadcast_rows::find(tx, TEAM, BROADCAST));
    row.unwrap().status
}

/// Changes a contact, its address, its topic choice or the suppression list between the fan-out and the claim.
async fn leave(context: &Context, contact: ContactId, number: usize, way: usize) {
    write(context, move |tx, context| {
        let mut row = tx.get(&CONTACTS, &(TEAM, contact))?.unwrap();
        match way {
            0 => return tx.delete(&CONTACTS, &(TEAM, contact)).map(|_| ()),
            1 => row.unsubscribed_ms = Some(1),
            2 => row.email = EmailAddress::parse("other@example.com").unwrap(),
            3 => {
                let choice = TopicChoiceRow { subscription: Subscription::OptOut };
                return tx.put(&TOPIC_CHOICES, &(TEAM, contact, TOPIC), &choice);
            }
            _ => {
                let cause = SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::Api);
                return suppressions::add(tx, context, TEAM, &address(number), cause).map(|_| ());
            }
        }
        tx.put(&CONTACTS, &(TEAM, contact), &row)
    })
    .await;
}

#[tokio::test]
async fn contacts_who_left_are_not_claimed_and_the_broadcast_ends() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 6).await;
    for (number, (_, contact)) in queued.iter().enumerate().take(5) {
        leave(&context, *contact, number, number).await;
    }
    let keys: Vec<DueKey> = queued.iter().map(|(key, _)| *key).collect();

    assert_eq!(claimed(&context, &keys[..5]).await, 0);
    assert_eq!(status(&context), BroadcastStatus::Queued);
    assert_eq!(claimed(&context, &keys).await, 1);

    let events: Vec<LastEvent> = keys.iter().map(|key| row(&context, key.email).last_event).collect();
    assert_eq!(events[..5], [LastEvent::Suppressed; 5]);
    assert_eq!(events[5], LastEvent::Sent);
    let counts = counts(&context);
    assert_eq!((counts.suppressed, counts.skipped, counts.attempted, counts.total()), (5, 5, 1, 6));
    assert_eq!(status(&context), BroadcastStatus::Sent);
}

#[tokio::test]
async fn no_email_of_a_canceled_broadcast_is_claimed_except_retries() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 2).await;
    let (first, second) = (queued[0].0, queued[1].0);
    assert_eq!(claimed(&context, &[first]).await, 1);
    let retry = write(&context, move |tx, context| {
        let lease = tx.get(&LEASES, &(first.email, 0))?.unwrap();
        tx.delete(&LEASES, &(first.email, 0))?;
        let mut row = emails::find_row(tx, TEAM, first.email)?.unwrap();
        let due = requeue(tx, &mut row, first.email, 0, context.now_ms(), &lease.due)?;
        emails::put_row(tx, TEAM, first.email, &row, context.now_ms())?;
        let mut broadcast = broadcast_rows::find(tx, TEAM, BROADCAST)?.unwrap();
        broadcast.status = BroadcastStatus::Canceled;
        broadcast_rows::put(tx, TEAM, BROADCAST, &broadcast)?;
        Ok(due)
    })
    .await;

    assert_eq!((retry.key.lane.class, retry.key.lane.stream), (Class::Broadcast, BROADCAST.cast()));
    assert_eq!(claimed(&context, &[second]).await, 0);
    assert_eq!(claimed(&context, &[retry.key]).await, 1);

    assert_eq!(row(&context, second.email).last_event, LastEvent::Canceled);
    let counts = counts(&context);
    assert_eq!((counts.canceled_before(), counts.attempted, counts.sent, counts.queued), (1, 1, 1, 0));
}

#[tokio::test]
async fn a_released_message_of_a_canceled_broadcast_is_claimed() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 1).await;
    let key = queued[0].0;
    assert_eq!(claimed(&context, &[key]).await, 1);
    write(&context, move |tx, context| {
        tx.delete(&LEASES, &(key.email, 0))?;
        let mut row = emails::find_row(tx, TEAM, key.email)?.unwrap();
        let recipient = &mut row.recipients[0];
        recipient.destination = QueueDestination::Release;
        recipient.state = RecipientState::Waiting { due_ms: key.due_ms };
        recipient.last_event = LastEvent::Queued;
        emails::put_row(tx, TEAM, key.email, &row, context.now_ms())?;
        tx.put(&DUE, &key.parts(), &DueRow::fresh(TEAM, "example.com".into(), key.due_ms))?;
        let canceled = broadcast_rows::find(tx, TEAM, BROADCAST)?.unwrap();
        broadcast_rows::put(tx, TEAM, BROADCAST, &BroadcastRow { status: BroadcastStatus::Canceled, ..canceled })
    })
    .await;

    assert_eq!(claimed(&context, &[key]).await, 1);
    assert_eq!(row(&context, key.email).last_event, LastEvent::Sent);
}

#[tokio::test]
async fn a_dropped_email_counts_as_canceled_before_its_first_attempt() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 2).await;
    let control = QueueControl::new(context.clone(), QueueNotifier::default(), None);

    let page =
        control.drop_groups(TEAM, QueueSelector::Email { team: TEAM, id: queued[0].0.email }, None).await.unwrap();
    assert_eq!(page.groups, 1);
    assert_eq!(claimed(&context, &[queued[1].0]).await, 1);

    assert_eq!(row(&context, queued[0].0.email).last_event, LastEvent::Failed);
    let counts = counts(&context);
    assert_eq!((counts.failed, counts.attempted, counts.canceled_before(), counts.queued), (1, 1, 1, 0));
    assert_eq!(status(&context), BroadcastStatus::Sent);
}

/// Claims a group and requeues it without counting the attempt. Returns its key.
async fn retried(context: &Context, key: DueKey) -> DueKey {
    assert_eq!(claimed(context, &[key]).await, 1);
    write(context, move |tx, context| {
        let lease = tx.get(&LEASES, &(key.email, 0))?.unwrap();
        tx.delete(&LEASES, &(key.email, 0))?;
        let mut row = emails::find_row(tx, TEAM, key.email)?.unwrap();
        let due = requeue(tx, &mut row, key.email, 0, context.now_ms(), &lease.due)?;
        emails::put_row(tx, TEAM, key.email, &row, context.now_ms())?;
        Ok(due.key)
    })
    .await
}

#[tokio::test]
async fn an_email_whose_row_is_corrupt_counts_as_failed() {
    for is_claimed in [false, true] {
        let (_directory, context) = Context::temporary();
        let queued = queue(&context, 1).await;
        let mut key = queued[0].0;
        if is_claimed {
            key = retried(&context, key).await;
        }
        context.corrupt(&BROADCAST_EMAILS, (TEAM, key.email)).await;

        if is_claimed {
            // The operator drops a group, whatever its email is.
            let control = QueueControl::new(context.clone(), QueueNotifier::default(), None);
            let page = control.drop_groups(TEAM, QueueSelector::Queue, None).await.unwrap();
            assert_eq!(page.groups, 1);
        }
        assert_eq!(claimed(&context, &[key]).await, 0);

        let counts = counts(&context);
        assert_eq!((counts.failed, counts.queued, counts.sent), (1, 0, 0), "claimed: {is_claimed}");
        assert_eq!(counts.attempted, u64::from(is_claimed));
        assert_eq!(status(&context), BroadcastStatus::Sent);
    }
}

#[tokio::test]
async fn a_broadcast_ends_although_the_email_of_its_only_group_is_corrupt() {
    let (_directory, context) = Context::temporary();
    let key = queue(&context, 1).await[0].0;
    context.corrupt(&BROADCAST_EMAILS, (TEAM, key.email)).await;

    let page = context.read(|tx| scan_lanes(tx, None, 10));
    assert_eq!(page, LanePage { lanes: Vec::new(), unreadable: vec![key], is_end: true });
    remove(&context, &page.unreadable).await;

    assert_eq!((counts(&context).failed, status(&context)), (1, BroadcastStatus::Sent));
}

// The team is only in the queue row, so that the email was not counted.
#[tokio::test]
async fn an_email_whose_row_and_queue_row_are_corrupt_counts_as_failed() {
    for is_claimed in [false, true] {
        let (_directory, context) = Context::temporary();
        let queued = queue(&context, 2).await;
        let mut key = queued[0].0;
        if is_claimed {
            key = retried(&context, key).await;
        }
        context.commit(|tx| teams::put(tx, &teams::Team { id: TEAM, name: "one".into(), created_ms: 0 })).await;
        context.corrupt(&DUE, key.parts()).await;
        context.corrupt(&BROADCAST_EMAILS, (TEAM, key.email)).await;

        let page = context.read(|tx| scan_lanes(tx, None, 10));
        assert_eq!(page.unreadable, [key]);
        remove(&context, &page.unreadable).await;

        let counts = counts(&context);
        assert_eq!((counts.failed, counts.queued, counts.sent), (1, 1, 0), "attempted: {is_claimed}");
        assert_eq!(counts.attempted, u64::from(is_claimed));
        let teams: Vec<TeamId> = context.rows(&SET_ASIDE_ROWS).into_iter().map(|((team, _), _)| team).collect();
        assert_eq!(teams, [TEAM]);
        assert_eq!(status(&context), BroadcastStatus::Queued);
        assert_eq!(claimed(&context, &[queued[1].0]).await, 1);
        assert_eq!(status(&context), BroadcastStatus::Sent);
    }
}

#[tokio::test]
async fn the_counts_of_a_removed_broadcast_are_not_written_again() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 1).await;
    let id = queued[0].0.email;
    assert_eq!(claimed(&context, &[queued[0].0]).await, 1);
    write(&context, move |tx, _| {
        broadcasts::delete_page_of_team(tx, TEAM)?;
        let mut row = emails::find_row(tx, TEAM, id)?.unwrap();
        row.recipients[0].last_event.advance(LastEvent::Delivered);
        emails::put_row(tx, TEAM, id, &row, 1)
    })
    .await;

    let stored = context.read(|tx| tx.get(&BROADCAST_COUNTS, &(BROADCAST,)));
    assert_eq!(stored, None);
}

#[tokio::test]
async fn the_row_of_a_queued_email_is_small_and_its_group_is_found_again_after_a_restart() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 1).await;
    let key = queued[0].0;
    let stored = context.read(|tx| tx.get(&DUE, &key.parts())).unwrap();
    assert_eq!(stored, DueRow::of_broadcast(TEAM));

    let lanes = context.read(|tx| read_lanes(tx, None, 10));
    assert_eq!(lanes, [Due { key, team: TEAM, destination: "example.com".into(), vanished: false }]);
    assert_eq!(claimed(&context, &[key]).await, 1);
    let lease = context.read(|tx| tx.get(&LEASES, &(key.email, 0))).unwrap();
    assert_eq!((lease.due.destination.as_str(), lease.due.first_due_ms), ("example.com", key.due_ms));
    assert_eq!(row(&context, key.email).subject, "Hi N0");

    // The lease names a node that does not exist any more.
    write(&context, move |tx, _| {
        let ended = LeaseRow { node: NodeId::new(99), ..tx.get(&LEASES, &(key.email, 0))?.unwrap() };
        tx.put(&LEASES, &(key.email, 0), &ended)
    })
    .await;
    assert_eq!(recover(&context).await.unwrap(), 1);

    let lanes = context.read(|tx| read_lanes(tx, None, 10));
    assert_eq!((lanes.len(), lanes[0].key.lane), (1, key.lane));
    assert_eq!(claimed(&context, &[lanes[0].key]).await, 1);
}

#[tokio::test]
async fn a_slowed_team_claims_one_group_of_its_broadcasts_a_second_until_it_recovers() {
    let (_directory, context) = Context::temporary();
    let queued = queue(&context, 5).await;
    let (_, other) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let (lane, transactional) = (queued[0].0.lane, other[0].lane);
    let set = async |is_slow: bool| {
        write(&context, move |tx, context| set_slowed(tx, TEAM, is_slow, context.now_ms())).await;
    };
    let claim = async |lane: LaneKey| write(&context, move |tx, context| claim_lane(tx, context, lane, None, 8)).await;
    set(true).await;

    for left in [4, 3] {
        let (taken, early) = (claim(lane).await, claim(lane).await);
        let pace = LanePace::Slowed { team: TEAM, next_ms: context.now_ms() + 1_000 };
        assert_eq!((taken.groups.len(), taken.rest.ready, taken.pace), (1, left, pace));
        assert_eq!((early.groups.len(), early.rest.ready, early.pace), (0, left, pace));
        // The retry period starts with the first attempt.
        assert_eq!(taken.groups[0].due.first_due_ms, context.now_ms());
        context.clock.advance(Duration::from_secs(1));
    }
    let free = claim(transactional).await;
    assert_eq!((free.groups.len(), free.pace), (1, LanePace::Full));

    set(false).await;
    let rest = claim(lane).await;
    assert_eq!((rest.groups.len(), rest.pace), (3, LanePace::Full));
}

#[tokio::test]
async fn a_retry_that_waits_for_the_pace_of_its_team_keeps_the_rest_of_its_retry_period() {
    let (_directory, context) = Context::temporary();
    let lane = queue(&context, 1).await[0].0.lane;
    write(&context, |tx, context| set_slowed(tx, TEAM, true, context.now_ms())).await;
    let claim =
        async || write(&context, move |tx, context| claim_lane(tx, context, lane, None, 8)).await.groups.remove(0);
    let first_ms = context.now_ms();
    let first = claim().await;

    let (id, due) = (first.key.email, first.due);
    write(&context, move |tx, context| {
        let mut row = emails::find_row(tx, TEAM, id)?.unwrap();
        requeue(tx, &mut row, id, 0, context.now_ms() + 60_000, &due)?;
        tx.delete(&LEASES, &(id, 0))?;
        emails::put_row(tx, TEAM, id, &row, context.now_ms())
    })
    .await;
    context.clock.advance(Duration::from_secs(50 * 3_600));
    let second = claim().await;

    assert_eq!(second.due.first_due_ms, context.now_ms() - 60_000);
    assert_eq!(second.due.date_ms, Some(first_ms));
}
