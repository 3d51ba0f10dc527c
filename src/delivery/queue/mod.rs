//! The queue table: reading due groups, leasing them, requeueing them, and recovery after a restart.
//!
//! A recipient group has exactly one of three states: a row in the queue, a lease, or settled
//! recipients in the row of its email. Each change of state is one transaction.

use super::rows::{Class, DueRow, LeaseRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::emails::{self, EmailRow, LastEvent, RecipientKind, RecipientRow, RecipientState};
use crate::events::{Detail, EmailEventKind, Event};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{DUE, EMAILS, LEASES};
use crate::teams;

/// Maximum number of leases that one transaction recovers.
const RECOVER_ROWS: usize = 500;

/// Key of a recipient group in the queue, ordered by due time and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DueKey {
    pub(crate) due_ms: TimestampMs,
    pub(crate) class: Class,
    pub(crate) email: EmailId,
    pub(crate) group: u16,
}

impl DueKey {
    /// Returns the key in the table.
    pub(crate) fn parts(self) -> (u64, u8, EmailId, u16) {
        (u64::try_from(self.due_ms).unwrap_or(0), self.class.number(), self.email, self.group)
    }

    fn from_parts((due_ms, class, email, group): (u64, u8, EmailId, u16)) -> Self {
        let due_ms = i64::try_from(due_ms).unwrap_or(i64::MAX);
        Self { due_ms, class: Class::from_number(class), email, group }
    }

    /// Returns the lowest key due at `due_ms`.
    fn first_at(due_ms: TimestampMs) -> Self {
        Self { due_ms, class: Class::Transactional, email: Id::MIN, group: 0 }
    }
}

/// The fields of a queued recipient group that the dispatcher and the lanes need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) key: DueKey,
    /// The recipients' domain.
    pub(crate) destination: String,
    /// Start of the retry period.
    pub(crate) first_due_ms: TimestampMs,
    /// Whether the destination was missing at the last attempt. The next lookup bypasses the cache.
    pub(crate) vanished: bool,
}

impl Due {
    /// Returns the group with this key and row.
    pub(crate) fn new(key: DueKey, row: &DueRow) -> Self {
        let (destination, vanished) = (row.destination.clone(), row.vanished_ms.is_some());
        Self { key, destination, first_due_ms: row.first_due_ms, vanished }
    }
}

/// A page of due groups.
#[derive(Debug, Default)]
pub(super) struct DuePage {
    /// Due groups in the order of their keys.
    pub(super) rows: Vec<Due>,
    /// Whether more due groups follow the page.
    pub(super) more: bool,
    /// Due time of the first group that is not due yet; `None` if no such group exists or the page is full.
    pub(super) next_due_ms: Option<TimestampMs>,
}

/// Returns up to `rows_max` groups that are due at `now_ms`, after the key `after`.
///
/// # Errors
/// [`StoreError`], also if a row is corrupt.
pub(super) fn read_due(
    tx: &impl Reads,
    after: Option<DueKey>,
    now_ms: TimestampMs,
    rows_max: usize,
) -> Result<DuePage, StoreError> {
    let from = after.unwrap_or_else(|| DueKey::first_at(0)).parts();
    let to = (u64::MAX, u8::MAX, Id::MAX, u16::MAX);
    let mut page = DuePage::default();
    tx.scan(&DUE, &from, &to, Order::Ascending, |key, row| {
        let key = DueKey::from_parts(key);
        if Some(key) == after {
            return NEXT;
        }
        if key.due_ms > now_ms {
            page.next_due_ms = Some(key.due_ms);
            return STOP;
        }
        if page.rows.len() == rows_max {
            page.more = true;
            return STOP;
        }
        page.rows.push(Due::new(key, &row.decode()?));
        NEXT
    })?;
    Ok(page)
}

/// Returns whether a group of a team is queued or in flight. Scans the queue.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn has_groups_of(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    let mut found = false;
    let to = (u64::MAX, u8::MAX, Id::MAX, u16::MAX);
    tx.scan(&DUE, &(0, 0, Id::MIN, 0), &to, Order::Ascending, |(.., email, group), row| {
        let row = skip_corrupt(row.decode(), format_args!("queue row of email {email}, group {group}"))?;
        found = row.is_some_and(|row| row.team == team);
        if found { STOP } else { NEXT }
    })?;
    if found {
        return Ok(true);
    }
    tx.scan(&LEASES, &(Id::MIN, 0), &(Id::MAX, u16::MAX), Order::Ascending, |(email, group), row| {
        let row = skip_corrupt(row.decode(), format_args!("lease of email {email}, group {group}"))?;
        found = row.is_some_and(|row| row.due.team == team);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// A leased group with its email.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) key: DueKey,
    pub(super) due: DueRow,
    pub(super) row: EmailRow,
    /// Indexes of the group's recipients in `row`.
    pub(super) recipients: Vec<usize>,
}

impl Claimed {
    /// Returns the bare addresses of the group's recipients.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.recipients.iter().map(|index| self.row.recipients[*index].mailbox.bare()).collect()
    }
}

/// Moves groups from the queue to leases of this boot epoch. Records `email.sent` for recipients
/// that are leased for the first time.
///
/// Omits groups that are not in the queue any more, and deletes those of a removed team. Settles recipients that were
/// suppressed or opted out after the email was accepted.
pub(super) fn claim(tx: &WriteTx<'_>, context: &Context, keys: &[DueKey]) -> Result<Vec<Claimed>, StoreError> {
    let now_ms = context.now_ms();
    let mut claimed = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(due) = tx.get(&DUE, &key.parts())? else { continue };
        tx.delete(&DUE, &key.parts())?;
        // The worker of the removal deletes the email.
        if teams::is_removed(tx, due.team)? {
            continue;
        }
        let Some(mut row) = tx.get(&EMAILS, &(due.team, key.email))? else { continue };
        let waiting = RecipientState::Waiting { due_ms: key.due_ms };
        let mut recipients: Vec<usize> = (0..row.recipients.len())
            .filter(|index| row.recipients[*index].group == key.group && row.recipients[*index].state == waiting)
            .collect();
        // The address can have been suppressed, or have opted out, since the email was accepted.
        drop_suppressed(tx, &due, &mut row, &mut recipients)?;
        if recipients.is_empty() {
            emails::put_settled(tx, due.team, key.email, &row)?;
            continue;
        }
        let mut newly_sent = Vec::new();
        for index in &recipients {
            let recipient = &mut row.recipients[*index];
            recipient.state = RecipientState::InFlight;
            if recipient.last_event < LastEvent::Sent {
                recipient.last_event = LastEvent::Sent;
                newly_sent.push(recipient.mailbox.bare());
            }
        }
        row.last_event.advance(LastEvent::Sent);
        if !newly_sent.is_empty() {
            let event =
                Event { kind: EmailEventKind::Sent, at_ms: now_ms, recipients: newly_sent, detail: Detail::None };
            emails::record(tx, context, due.team, key.email, &row, event)?;
        }
        let lease = LeaseRow { due, class: key.class, epoch: context.store.epoch(), leased_ms: now_ms };
        tx.put(&LEASES, &(key.email, key.group), &lease)?;
        tx.put(&EMAILS, &(lease.due.team, key.email), &row)?;
        claimed.push(Claimed { key: *key, due: lease.due, row, recipients });
    }
    Ok(claimed)
}

/// Settles the recipients that are suppressed or have opted out, and removes them from `recipients`.
///
/// If no recipient in `to` remains, settles all waiting recipients of the email as suppressed. The
/// acceptance of an email applies the same rule.
fn drop_suppressed(
    tx: &WriteTx<'_>,
    due: &DueRow,
    row: &mut EmailRow,
    recipients: &mut Vec<usize>,
) -> Result<(), StoreError> {
    let deliverable = emails::still_deliverable(tx, due.team, row, recipients)?;
    recipients.retain(|index| !deliverable.contains(index));
    suppress(row, recipients);
    *recipients = deliverable;
    let is_to = recipients.iter().any(|index| row.recipients[*index].kind == RecipientKind::To);
    if !is_to && !has_to_recipient(tx, due.team, row)? {
        // The other groups stay in the queue. `claim` finds that they have no recipients.
        suppress(row, &waiting(row, |_| true));
        recipients.clear();
    }
    Ok(())
}

/// Returns whether a recipient in `to` has been sent to, is in flight, or can still be sent to.
fn has_to_recipient(tx: &WriteTx<'_>, team: TeamId, row: &EmailRow) -> Result<bool, StoreError> {
    let is_to = |recipient: &RecipientRow| recipient.kind == RecipientKind::To;
    let was_sent = |recipient: &RecipientRow| !is_waiting(recipient) && recipient.last_event != LastEvent::Suppressed;
    if row.recipients.iter().any(|recipient| is_to(recipient) && was_sent(recipient)) {
        return Ok(true);
    }
    Ok(!emails::still_deliverable(tx, team, row, &waiting(row, is_to))?.is_empty())
}

fn is_waiting(recipient: &RecipientRow) -> bool {
    matches!(recipient.state, RecipientState::Waiting { .. })
}

/// Returns the indexes of the waiting recipients that `includes` selects.
fn waiting(row: &EmailRow, includes: impl Fn(&RecipientRow) -> bool) -> Vec<usize> {
    let recipients = row.recipients.iter().enumerate();
    recipients.filter(|(_, recipient)| is_waiting(recipient) && includes(recipient)).map(|(index, _)| index).collect()
}

/// Settles recipients as suppressed.
fn suppress(row: &mut EmailRow, recipients: &[usize]) {
    for index in recipients {
        let recipient = &mut row.recipients[*index];
        recipient.state = RecipientState::Settled;
        recipient.last_event.advance(LastEvent::Suppressed);
        row.last_event.advance(LastEvent::Suppressed);
    }
}

/// Requeues the groups whose leases are from an earlier boot epoch, and returns their number.
///
/// The groups are due immediately and marked as possible duplicates: a server may have accepted the
/// message before the process ended. One transaction recovers up to [`RECOVER_ROWS`] leases.
pub(super) async fn recover(context: &Context) -> Result<usize, StoreError> {
    let mut recovered = 0;
    loop {
        let recovering = context.clone();
        let page = context.store.write_bulk(move |tx| recover_page(tx, &recovering)).await?;
        recovered += page;
        if page < RECOVER_ROWS {
            return Ok(recovered);
        }
    }
}

fn recover_page(tx: &WriteTx<'_>, context: &Context) -> Result<usize, StoreError> {
    let epoch = context.store.epoch();
    let mut stale = Vec::new();
    tx.scan(&LEASES, &(Id::MIN, 0), &(Id::MAX, u16::MAX), Order::Ascending, |key, lease| {
        let lease = lease.decode()?;
        if lease.epoch != epoch {
            stale.push((key, lease));
        }
        if stale.len() == RECOVER_ROWS { STOP } else { NEXT }
    })?;
    for ((email, group), lease) in &stale {
        tx.delete(&LEASES, &(*email, *group))?;
        let Some(mut row) = tx.get(&EMAILS, &(lease.due.team, *email))? else { continue };
        let due = DueRow { possible_duplicate: true, ..lease.due.clone() };
        requeue(tx, &mut row, *email, *group, lease.class, context.now_ms(), &due)?;
        tx.put(&EMAILS, &(lease.due.team, *email), &row)?;
    }
    Ok(stale.len())
}

/// Returns whether a delivery report has stored an outcome of a recipient in flight.
///
/// Without such a report, the last event of a recipient in flight is at most a delay.
pub(super) fn has_reported_outcome(recipient: &RecipientRow) -> bool {
    recipient.state == RecipientState::InFlight && recipient.last_event > LastEvent::DeliveryDelayed
}

/// Requeues the recipients of a group that are in flight, and returns the queued group. Settles the
/// recipients for which a delivery report has stored an outcome. The caller stores `row`.
pub(super) fn requeue(
    tx: &WriteTx<'_>,
    row: &mut EmailRow,
    email: EmailId,
    group: u16,
    class: Class,
    due_ms: TimestampMs,
    due: &DueRow,
) -> Result<Due, StoreError> {
    for recipient in &mut row.recipients {
        if recipient.group == group && recipient.state == RecipientState::InFlight {
            let is_settled = has_reported_outcome(recipient);
            recipient.state = if is_settled { RecipientState::Settled } else { RecipientState::Waiting { due_ms } };
        }
    }
    let key = DueKey { due_ms, class, email, group };
    tx.put(&DUE, &key.parts(), due)?;
    Ok(Due::new(key, due))
}

#[cfg(test)]
pub(super) mod tests;
