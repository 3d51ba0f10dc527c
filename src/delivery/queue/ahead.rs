//! Groups whose due time is wrong because of a step of the clock.
//!
//! After a step back, groups are due too far in the future. After a step forward, scheduled groups are due too early.

use super::holds::move_group;
use super::key::{DueKey, QUEUE_END, QueueKey};
use super::stored_rows::{read_row, with_times};
use crate::base::clock::{CLOCK_STEP_MS, TimestampMs};
use crate::context::Context;
use crate::delivery::rows::DueRow;
use crate::emails::{self, EmailRow, RecipientState};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::DUE;

/// Number of rows that one transaction reads.
const PAGE_ROWS: usize = 500;

/// Groups of one page that may be due too far in the future.
#[derive(Debug)]
pub(in crate::delivery) struct AheadPage {
    pub(in crate::delivery) keys: Vec<DueKey>,
    /// Key at which the next page starts; `None` at the end.
    pub(in crate::delivery) next: Option<QueueKey>,
}

/// Reads the next groups that are due later than their wait allows, from the key `from` on.
pub(in crate::delivery) fn read_ahead(
    tx: &impl Reads,
    mut from: QueueKey,
    now_ms: TimestampMs,
) -> Result<AheadPage, StoreError> {
    let mut keys = Vec::new();
    let mut rows = 0;
    while rows < PAGE_ROWS {
        let first = tx.first_key(&DUE, (from, QUEUE_END), Order::Ascending)?.map(DueKey::from_parts);
        let Some(first) = first else { return Ok(AheadPage { keys, next: None }) };
        let later = first.lane.from(now_ms + CLOCK_STEP_MS + 1).max(from);
        from = first.lane.last();
        rows += 1;
        tx.scan_valid(&DUE, &later, &first.lane.last(), Order::Ascending, |key, row| {
            let due = DueKey::from_parts(key);
            if is_ahead(due, &with_times(due, row), now_ms) {
                keys.push(due);
            }
            rows += 1;
            if rows < PAGE_ROWS {
                return NEXT;
            }
            from = key;
            STOP
        })?;
    }
    Ok(AheadPage { keys, next: Some(from) })
}

/// Returns whether a group is due later than its wait allows. A scheduled group that was accepted before a step
/// can be among them.
fn is_ahead(key: DueKey, row: &DueRow, now_ms: TimestampMs) -> bool {
    let accepted_ms = key.email.created_ms();
    let latest_ms = now_ms + row.wait_ms.unwrap_or(0);
    // Without a step, only a scheduled group has a first due time in the future.
    let is_scheduled = key.due_ms == row.first_due_ms && accepted_ms <= now_ms + CLOCK_STEP_MS;
    key.due_ms > latest_ms + CLOCK_STEP_MS && !is_scheduled
}

/// Requeues a scheduled group that only a step of the clock has made due. The caller has deleted its queue row. The group is
/// due again at its time, or when a step forward has lasted long enough. Returns whether a step has made it due.
pub(super) fn postpone_early(
    tx: &WriteTx<'_>,
    context: &Context,
    key: DueKey,
    due: &mut DueRow,
    row: &mut EmailRow,
) -> Result<bool, StoreError> {
    let Some(scheduled_ms) = row.scheduled_ms.filter(|_| due.attempts == 0) else { return Ok(false) };
    let time = context.confirmed_time();
    if scheduled_ms <= time.now_ms {
        return Ok(false);
    }
    let (now_ms, left_ms) = (context.now_ms(), scheduled_ms - time.now_ms);
    // Without a step forward, the clock was set back after the group had left the queue for the first time.
    let wait_ms = if time.pending_ms > 0 { left_ms.min(time.pending_ms) } else { left_ms };
    due.wait_ms = Some(wait_ms);
    move_group(tx, key, now_ms + wait_ms, due, row)?;
    emails::put_row(tx, due.team, key.email, row, now_ms)?;
    Ok(true)
}

/// Makes groups due now, or begins their wait again. Scheduled groups are due at their time. Returns their number. A kill
/// before the commit changes nothing: the next start reads the queue again.
pub(in crate::delivery) fn make_due(
    tx: &WriteTx<'_>,
    keys: &[DueKey],
    now_ms: TimestampMs,
) -> Result<usize, StoreError> {
    let mut changed = 0;
    for key in keys {
        let Some(mut row) = read_row(tx, *key)? else { continue };
        let Some(mut email) = emails::find_valid_row(tx, row.team, key.email)? else { continue };
        if email.scheduled_ms == Some(key.due_ms) || !is_ahead(*key, &row, now_ms) {
            continue;
        }
        // A step forward that did not last can have moved a scheduled group.
        let scheduled_ms = email.scheduled_ms.filter(|scheduled_ms| row.attempts == 0 && *scheduled_ms > now_ms);
        let due_ms = scheduled_ms.unwrap_or_else(|| now_ms + row.wait_ms.unwrap_or(0));
        let waiting = RecipientState::Waiting { due_ms: key.due_ms };
        for recipient in &mut email.recipients {
            if recipient.group == key.group && recipient.state == waiting {
                recipient.state = RecipientState::Waiting { due_ms };
            }
        }
        row.first_due_ms = scheduled_ms.unwrap_or_else(|| row.first_due_ms.min(now_ms));
        row.date_ms = row.date_ms.map(|date_ms| date_ms.min(now_ms));
        row.vanished_ms = row.vanished_ms.map(|since_ms| since_ms.min(now_ms));
        tx.delete(&DUE, &key.parts())?;
        tx.put(&DUE, &DueKey { due_ms, ..*key }.parts(), &row)?;
        emails::put_row(tx, row.team, key.email, &email, now_ms)?;
        changed += 1;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::base::confirmed_clock::CONFIRM_MS;
    use crate::base::id::EmailId;
    use crate::delivery::queue::tests::{ADA, TEAM, put_due, row};
    use crate::delivery::queue::{LaneKey, QUEUE_START, claim};
    use crate::delivery::rows::Class;
    use crate::emails::RecipientKind;
    use crate::tables::EMAILS;

    const MINUTE_MS: i64 = 60_000;

    /// Stores an email whose group is due at `due_ms`, after a wait if it was requeued.
    async fn put(context: &Context, due_ms: i64, wait_ms: Option<i64>, scheduled: bool) -> EmailId {
        let (id, keys) = put_due(context, &[(RecipientKind::To, ADA)]).await;
        let change = move |tx: &WriteTx<'_>| {
            let (mut due, mut email) =
                (tx.get(&DUE, &keys[0].parts())?.unwrap(), tx.get(&EMAILS, &(TEAM, id))?.unwrap());
            tx.delete(&DUE, &keys[0].parts())?;
            due.wait_ms = wait_ms;
            if scheduled {
                (email.scheduled_ms, due.first_due_ms) = (Some(due_ms), due_ms);
            }
            email.recipients[0].state = RecipientState::Waiting { due_ms };
            tx.put(&DUE, &DueKey { due_ms, ..keys[0] }.parts(), &due)?;
            tx.put(&EMAILS, &(TEAM, id), &email)
        };
        context.commit(change).await;
        id
    }

    /// Makes the groups due that are due too far in the future at `now_ms`, with one read per page.
    async fn release(context: &Context, now_ms: i64) -> usize {
        let (mut from, mut released) = (Some(QUEUE_START), 0);
        while let Some(start) = from {
            let page = context.read(|tx| read_ahead(tx, start, now_ms));
            released += context.commit(move |tx| make_due(tx, &page.keys, now_ms)).await;
            from = page.next;
        }
        released
    }

    fn due_ms(context: &Context, id: EmailId) -> i64 {
        match row(context, id).recipients[0].state {
            RecipientState::Waiting { due_ms } => due_ms,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_clock_set_back_makes_retries_and_new_mail_due_and_scheduled_mail_keeps_its_time() {
        let (_directory, context) = Context::temporary();
        let before_ms = context.now_ms();
        let fresh = put(&context, before_ms, None, false).await;
        let retry = put(&context, before_ms + MINUTE_MS, Some(MINUTE_MS), false).await;
        let scheduled = put(&context, before_ms + MINUTE_MS, None, true).await;
        let now_ms = before_ms - DAY_MS;

        assert_eq!(release(&context, now_ms).await, 2);

        assert_eq!([due_ms(&context, fresh), due_ms(&context, retry)], [now_ms, now_ms + MINUTE_MS]);
        assert_eq!(due_ms(&context, scheduled), before_ms + MINUTE_MS);
        let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
        let keys = [fresh, retry].map(|email| DueKey { lane, due_ms: due_ms(&context, email), email, group: 0 });
        let claiming = context.clone();
        assert_eq!(context.commit(move |tx| Ok(claim(tx, &claiming, &keys)?.len())).await, 2);
    }

    #[tokio::test]
    async fn a_scheduled_group_waits_until_a_step_forward_has_lasted_and_keeps_its_time_after_a_step_back() {
        let (_directory, context) = Context::temporary();
        let scheduled_ms = context.now_ms() + DAY_MS / 2;
        let scheduled = put(&context, scheduled_ms, None, true).await;
        let fresh = put(&context, context.now_ms(), None, false).await;
        let retry = put(&context, context.now_ms() + MINUTE_MS, Some(MINUTE_MS), false).await;
        let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
        let claim = async |emails: &[EmailId]| {
            let keys: Vec<DueKey> = emails
                .iter()
                .map(|email| DueKey { lane, due_ms: due_ms(&context, *email), email: *email, group: 0 })
                .collect();
            let claiming = context.clone();
            context.commit(move |tx| Ok(claim(tx, &claiming, &keys)?.len())).await
        };

        context.clock.step(DAY_MS);

        assert_eq!(claim(&[scheduled, fresh, retry]).await, 2);
        assert_eq!(due_ms(&context, scheduled), context.now_ms() + CONFIRM_MS);
        context.clock.step(-DAY_MS);
        assert_eq!(release(&context, context.now_ms()).await, 1);
        assert_eq!(due_ms(&context, scheduled), scheduled_ms);
        context.clock.step(DAY_MS);
        assert_eq!(claim(&[scheduled]).await, 0);
        context.clock.advance(Duration::from_millis(CONFIRM_MS.unsigned_abs()));
        assert_eq!(claim(&[scheduled]).await, 1);
    }

    #[tokio::test]
    async fn a_scheduled_group_is_due_at_its_time_if_that_is_before_the_end_of_a_step_or_after_one_back() {
        for step_ms in [DAY_MS, -DAY_MS] {
            let (_directory, context) = Context::temporary();
            let id = put(&context, context.now_ms() + MINUTE_MS, None, true).await;
            let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
            // A claim that was not used has made it due.
            let key = DueKey { lane, due_ms: due_ms(&context, id), email: id, group: 0 };
            let release = move |tx: &WriteTx<'_>| {
                let (due, mut email) = (tx.get(&DUE, &key.parts())?.unwrap(), tx.get(&EMAILS, &(TEAM, id))?.unwrap());
                tx.delete(&DUE, &key.parts())?;
                let key = move_group(tx, key, key.due_ms - MINUTE_MS, &due, &mut email)?;
                tx.put(&EMAILS, &(TEAM, id), &email)?;
                Ok(key)
            };
            let key = context.commit(release).await;
            context.clock.step(step_ms);

            let claiming = context.clone();
            let claimed = context.commit(move |tx| Ok(claim(tx, &claiming, &[key])?.len())).await;

            let left_ms = if step_ms > 0 { MINUTE_MS } else { MINUTE_MS + DAY_MS };
            assert_eq!((claimed, due_ms(&context, id)), (0, context.now_ms() + left_ms));
        }
    }

    #[tokio::test]
    async fn without_a_step_no_group_becomes_due_early() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        put(&context, now_ms + MINUTE_MS, Some(MINUTE_MS), false).await;
        put(&context, now_ms + 4 * 60 * MINUTE_MS, Some(4 * 60 * MINUTE_MS), false).await;
        put(&context, now_ms + 40 * DAY_MS, None, true).await;

        assert_eq!(release(&context, now_ms).await, 0);
        assert_eq!(release(&context, now_ms + DAY_MS).await, 0);
    }

    #[tokio::test]
    async fn a_wait_is_not_longer_after_a_small_step_and_not_shorter() {
        let (_directory, context) = Context::temporary();
        let before_ms = context.now_ms();
        let first = put(&context, before_ms + MINUTE_MS, Some(MINUTE_MS), false).await;
        let named = put(&context, before_ms + 60 * MINUTE_MS, Some(60 * MINUTE_MS), false).await;

        let now_ms = before_ms - 10 * MINUTE_MS;
        assert_eq!(release(&context, now_ms).await, 2);

        assert_eq!(due_ms(&context, first), now_ms + MINUTE_MS);
        assert_eq!(due_ms(&context, named), now_ms + 60 * MINUTE_MS);
    }

    #[tokio::test]
    async fn all_pages_are_read() {
        let (_directory, context) = Context::temporary();
        let before_ms = context.now_ms();
        for _ in 0..PAGE_ROWS + 20 {
            put_due(&context, &[(RecipientKind::To, ADA)]).await;
        }

        assert_eq!(release(&context, before_ms - DAY_MS).await, PAGE_ROWS + 20);
    }
}
