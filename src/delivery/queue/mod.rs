//! The durable queue: which recipient groups are due, who holds a lease, what comes back.
//!
//! A group is in exactly one place: a row in the queue, a lease of this boot, or settled in its
//! email's row. Each move is one transaction, so a kill leaves it where it was before or after.

use super::rows::{Class, DueRow, LeaseRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::emails::{self, EmailRow, LastEvent, RecipientKind, RecipientRow, RecipientState, bare};
use crate::events::{Detail, EmailEventKind, Event};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{DUE, EMAILS, LEASES};

/// Leases of an earlier boot put back in one transaction.
const RECOVER_ROWS: usize = 500;

/// The place of a recipient group in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DueKey {
    pub(crate) due_ms: TimestampMs,
    pub(crate) class: Class,
    pub(crate) email: EmailId,
    pub(crate) group: u16,
}

impl DueKey {
    /// Returns the key of the table.
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

/// A recipient group that is in the queue, as far as choosing its lane needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) key: DueKey,
    /// The recipients' domain.
    pub(crate) destination: String,
    /// What its expiry counts from.
    pub(crate) first_due_ms: TimestampMs,
    /// Its destination's name did not exist at the last look: ask the name servers, not the cache.
    pub(crate) vanished: bool,
}

impl Due {
    /// Names a group by its place and its row.
    pub(crate) fn new(key: DueKey, row: &DueRow) -> Self {
        let (destination, vanished) = (row.destination.clone(), row.vanished_ms.is_some());
        Self { key, destination, first_due_ms: row.first_due_ms, vanished }
    }
}

/// A stretch of the queue.
#[derive(Debug, Default)]
pub(super) struct DuePage {
    /// What is due, in order.
    pub(super) rows: Vec<Due>,
    /// There may be more that is due.
    pub(super) more: bool,
    /// When the first group that is not due yet will be.
    pub(super) next_due_ms: Option<TimestampMs>,
}

/// Reads up to `rows_max` groups due at `now_ms`, from after `after`.
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

/// A group under lease, with what its delivery needs.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) key: DueKey,
    pub(super) due: DueRow,
    pub(super) row: EmailRow,
    /// Indexes into the row's recipients.
    pub(super) recipients: Vec<usize>,
}

impl Claimed {
    /// Returns the bare addresses of the group's recipients.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.recipients.iter().map(|index| bare(&self.row.recipients[*index].mailbox).to_owned()).collect()
    }
}

/// Takes groups out of the queue and leases them to this boot. The first time an email is taken
/// up, `email.sent` is recorded. A group that has left the queue meanwhile is left out, and so is
/// a recipient who was suppressed or opted out while the email waited.
pub(super) fn claim(tx: &WriteTx<'_>, context: &Context, keys: &[DueKey]) -> Result<Vec<Claimed>, StoreError> {
    let now_ms = context.now_ms();
    let mut claimed = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(due) = tx.get(&DUE, &key.parts())? else { continue };
        tx.delete(&DUE, &key.parts())?;
        let Some(mut row) = tx.get(&EMAILS, &(due.team, key.email))? else { continue };
        let waiting = RecipientState::Waiting { due_ms: key.due_ms };
        let mut recipients: Vec<usize> = (0..row.recipients.len())
            .filter(|index| row.recipients[*index].group == key.group && row.recipients[*index].state == waiting)
            .collect();
        // A bounce or an opt-out can have overtaken the email since it was accepted, at once or later.
        drop_unwanted(tx, &due, &mut row, &mut recipients)?;
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
                newly_sent.push(bare(&recipient.mailbox).to_owned());
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

/// Settles the recipients who may not be written to any more. Where that leaves nobody in `to`, nobody
/// else is written to either, as when an email is accepted.
fn drop_unwanted(
    tx: &WriteTx<'_>,
    due: &DueRow,
    row: &mut EmailRow,
    recipients: &mut Vec<usize>,
) -> Result<(), StoreError> {
    let wanted = emails::still_deliverable(tx, due.team, row, recipients)?;
    recipients.retain(|index| !wanted.contains(index));
    suppress(row, recipients);
    *recipients = wanted;
    let is_to = recipients.iter().any(|index| row.recipients[*index].kind == RecipientKind::To);
    if !is_to && !reaches_anybody(tx, due.team, row)? {
        // The groups of the others are still in the queue; they are found empty when they are claimed.
        suppress(row, &waiting(row, |_| true));
        recipients.clear();
    }
    Ok(())
}

/// Returns whether an email has reached, is on its way to, or may still go to somebody in `to`.
fn reaches_anybody(tx: &WriteTx<'_>, team: TeamId, row: &EmailRow) -> Result<bool, StoreError> {
    let is_to = |recipient: &RecipientRow| recipient.kind == RecipientKind::To;
    let has_gone_out =
        |recipient: &RecipientRow| !is_waiting(recipient) && recipient.last_event != LastEvent::Suppressed;
    if row.recipients.iter().any(|recipient| is_to(recipient) && has_gone_out(recipient)) {
        return Ok(true);
    }
    Ok(!emails::still_deliverable(tx, team, row, &waiting(row, is_to))?.is_empty())
}

fn is_waiting(recipient: &RecipientRow) -> bool {
    matches!(recipient.state, RecipientState::Waiting { .. })
}

/// Returns the recipients who wait and are meant.
fn waiting(row: &EmailRow, is_meant: impl Fn(&RecipientRow) -> bool) -> Vec<usize> {
    let recipients = row.recipients.iter().enumerate();
    recipients.filter(|(_, recipient)| is_waiting(recipient) && is_meant(recipient)).map(|(index, _)| index).collect()
}

/// Settles recipients who are not written to.
fn suppress(row: &mut EmailRow, recipients: &[usize]) {
    for index in recipients {
        let recipient = &mut row.recipients[*index];
        recipient.state = RecipientState::Settled;
        recipient.last_event.advance(LastEvent::Suppressed);
        row.last_event.advance(LastEvent::Suppressed);
    }
}

/// Puts what an earlier boot held back into the queue, due at once and marked as a possible
/// duplicate: its conversation may have ended well before the stop. Returns how many groups.
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

/// Returns whether another system has told what became of a recipient while the delivery was under way.
/// Nobody who is leased has come further than a delay otherwise.
pub(super) fn has_reported_outcome(recipient: &RecipientRow) -> bool {
    recipient.state == RecipientState::InFlight && recipient.last_event > LastEvent::DeliveryDelayed
}

/// Puts the recipients of a group that are in flight back into the queue, except for whose outcome is
/// known: that ends here. The caller stores the row.
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
            let is_over = has_reported_outcome(recipient);
            recipient.state = if is_over { RecipientState::Settled } else { RecipientState::Waiting { due_ms } };
        }
    }
    let key = DueKey { due_ms, class, email, group };
    tx.put(&DUE, &key.parts(), due)?;
    Ok(Due::new(key, due))
}

#[cfg(test)]
pub(super) mod tests;
