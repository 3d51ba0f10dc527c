//! The queue table: reading due groups, leasing them, requeueing them, and recovery after a restart.
//!
//! Files:
//! - `key.rs`: lanes and groups;
//! - `lanes.rs`, `count.rs`: reading and counting;
//! - `selector.rs` and `holds.rs`: holds of the operator;
//! - `slowed.rs`: teams whose broadcasts are slowed down;
//! - `stored_rows.rs`: rows with the fields that they do not store, and those that cannot be read;
//! - this file: changes of state;
//! - `corrupt_leases.rs`: recovery of corrupt leases;
//! - `set_aside.rs`: rows that were removed because they cannot be read;
//! - `ahead.rs`: groups whose due time is wrong because of a step of the clock.
//!
//! A recipient group has exactly one of three states: a row in the queue, a lease, or settled recipients in the row of its
//! email. Each change of state is one transaction. A new email of a broadcast has none of them until its fan-out puts it
//! into the queue.

mod ahead;
mod corrupt_leases;
mod count;
mod holds;
mod key;
mod lanes;
mod selector;
mod set_aside;
mod slowed;
mod stored_rows;

pub(super) use ahead::{make_due, read_ahead};
pub(super) use corrupt_leases::{find_email, recover_corrupt};
pub(super) use count::{LaneCount, count_page};
pub(crate) use holds::forget_holds_of_team;
pub(super) use holds::{
    HeldLanes, HoldKinds, add_hold, forget_holds_of_deleted_emails, is_queue_held, move_group, read_holds, remove_hold,
    report_held, waiting_recipients,
};
pub(super) use key::destination_hash;
pub(crate) use key::{DestinationHash, Due, DueKey, LaneKey, QUEUE_END, QUEUE_START, QueueKey};
#[cfg(test)]
pub(super) use lanes::READY_COUNTED_MAX;
pub(crate) use lanes::has_groups_of;
pub(super) use lanes::{LanePage, LaneRest, read_head, read_lanes, read_rows, scan_lanes};
pub(crate) use selector::HoldKey;
pub use selector::{Hold, HoldKind, QueueSelector};
pub(crate) use set_aside::count_set_aside;
pub(super) use set_aside::purge_set_aside;
pub(super) use slowed::{LanePace, SLOWED_INTERVAL_MS, read_pace};
pub(crate) use slowed::{is_slowed, set_slowed};
pub(super) use stored_rows::{forget_corrupt, read_row, remove_unreadable};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use set_aside::set_aside_with_email;
use stored_rows::{drop_unreadable, take_row};

use super::rows::{DueRow, LeaseRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::email_metrics::{self, CountedRecipients, EmailMetric};
use crate::emails::{self, EmailRow, LastEvent, RecipientKind, RecipientRow, RecipientState};
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{NEXT, NodeId, Order, ReadTx, Reads, STOP, StoreError, WriteTx, is_alive, renew};
use crate::tables::{DUE, LEASES};
use crate::teams;

/// Maximum number of groups of held emails that one claim moves to a later due time.
const POSTPONED_MAX: usize = 64;
/// Maximum number of leases that one transaction recovers.
const RECOVER_ROWS: usize = 500;

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

/// Result of a claim of the first groups of a lane.
#[derive(Debug, Default)]
pub(super) struct LaneClaim {
    /// The leased groups.
    pub(super) groups: Vec<Claimed>,
    /// The groups behind them.
    pub(super) rest: LaneRest,
    /// Pace of the lane after the claim.
    pub(super) pace: LanePace,
}

/// Leases the first due groups of a lane, at most `groups_max`. See [`claim`]. If the broadcasts of the team are slowed down,
/// leases one group at most. `site` is the site that the groups go to; `None` if they need no session.
pub(super) fn claim_lane(
    tx: &WriteTx<'_>,
    context: &Context,
    lane: LaneKey,
    site: Option<&str>,
    groups_max: usize,
) -> Result<LaneClaim, StoreError> {
    let holds = HoldKinds::read(tx)?;
    if holds.of_lane(tx, lane, site)?.is_some() {
        // The lane leaves the schedule. A scan finds it after the hold.
        return Ok(LaneClaim::default());
    }
    let (now_ms, pace) = (context.now_ms(), slowed::read_pace(tx, lane)?);
    let groups_max = pace.groups_max(groups_max, now_ms);
    let (mut claimed, mut postponed) = (Vec::new(), 0);
    loop {
        let head = read_head(tx, lane, now_ms, groups_max - claimed.len())?;
        let (groups, held) = claim_unless_held(tx, context, &head.keys, holds, Some(pace))?;
        claimed.extend(groups);
        postponed += held;
        if held == 0 || claimed.len() == groups_max || postponed >= POSTPONED_MAX {
            let pace = if claimed.is_empty() { pace } else { slowed::take_message(tx, pace, now_ms)? };
            return Ok(LaneClaim { groups: claimed, rest: head.rest, pace });
        }
    }
}

/// Moves groups from the queue to leases of this node. Records `email.sent` for recipients
/// that are leased for the first time.
///
/// Omits groups that are held or not in the queue any more, and deletes those of a removed team. Settles recipients that were
/// suppressed or opted out after the email was accepted.
pub(super) fn claim(tx: &WriteTx<'_>, context: &Context, keys: &[DueKey]) -> Result<Vec<Claimed>, StoreError> {
    let holds = HoldKinds::read(tx)?;
    let mut free = Vec::with_capacity(keys.len());
    for key in keys {
        if holds.of_lane(tx, key.lane, None)?.is_none() {
            free.push(*key);
        }
    }
    Ok(claim_unless_held(tx, context, &free, holds, None)?.0)
}

/// Does the same as [`claim`]. Also returns the number of groups that a hold of their email, or a step of the clock, has
/// moved to a later due time. `attempt` is the pace of the lane if an attempt follows.
fn claim_unless_held(
    tx: &WriteTx<'_>,
    context: &Context,
    keys: &[DueKey],
    holds: HoldKinds,
    attempt: Option<LanePace>,
) -> Result<(Vec<Claimed>, usize), StoreError> {
    let (now_ms, node) = (context.now_ms(), context.store.node());
    let (mut claimed, mut postponed) = (Vec::with_capacity(keys.len()), 0);
    for key in keys {
        let Some(mut due) = take_row(tx, context, *key)? else { continue };
        // The worker of the removal deletes the email.
        if teams::is_removed(tx, due.team)? {
            continue;
        }
        let Some(mut row) = emails::find_valid_row(tx, due.team, key.email)? else {
            drop_unreadable(tx, context, *key, &due)?;
            continue;
        };
        if holds.postpone(tx, context, *key, &mut due, &mut row)?
            || ahead::postpone_early(tx, context, *key, &mut due, &mut row)?
        {
            postponed += 1;
            continue;
        }
        (due.is_postponed, due.wait_ms) = (false, None);
        let waiting = RecipientState::Waiting { due_ms: key.due_ms };
        let mut recipients: Vec<usize> = (0..row.recipients.len())
            .filter(|index| row.recipients[*index].group == key.group && row.recipients[*index].state == waiting)
            .collect();
        // The address can have been suppressed, or have opted out, since the email was accepted.
        let was_suppressed = suppressed(&row);
        drop_suppressed(tx, &due, &mut row, &mut recipients)?;
        let source = row.metric_source(due.team);
        let newly_suppressed = CountedRecipients::Real(suppressed(&row).saturating_sub(was_suppressed));
        email_metrics::count(tx, source, now_ms, EmailMetric::Suppressed, newly_suppressed)?;
        if recipients.is_empty() {
            emails::put_settled(tx, due.team, key.email, &row, now_ms)?;
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
        if let Some(pace) = attempt {
            slowed::set_period(&mut due, *key, !newly_sent.is_empty(), pace, now_ms);
        }
        if !newly_sent.is_empty() {
            let event =
                Event { kind: EmailEventKind::Sent, at_ms: now_ms, recipients: newly_sent, detail: EventDetail::None };
            emails::record(tx, context, due.team, key.email, &row, event)?;
        }
        let lease = LeaseRow { due, class: key.lane.class, node, leased_ms: now_ms };
        tx.put(&LEASES, &(key.email, key.group), &lease)?;
        emails::put_row(tx, lease.due.team, key.email, &row, now_ms)?;
        claimed.push(Claimed { key: *key, due: lease.due, row, recipients });
    }
    if !claimed.is_empty() {
        renew(tx, node, now_ms)?;
    }
    Ok((claimed, postponed))
}

/// Settles the recipients that are suppressed or have opted out, and removes them from `recipients`.
///
/// If no recipient in `to` remains, settles all waiting recipients of the email as suppressed. The
/// acceptance of an email applies the same rule. The one recipient of an email of a broadcast is also settled if the
/// broadcast was canceled or the contact has left its audience.
fn drop_suppressed(
    tx: &WriteTx<'_>,
    due: &DueRow,
    row: &mut EmailRow,
    recipients: &mut Vec<usize>,
) -> Result<(), StoreError> {
    if row.broadcast.is_some() {
        if let Some(event) = emails::broadcast_refusal(tx, due.team, row)? {
            settle_as(row, recipients, event);
            recipients.clear();
        }
        return Ok(());
    }
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

/// Returns the number of recipients that are settled as suppressed.
fn suppressed(row: &EmailRow) -> u64 {
    row.recipients.iter().filter(|recipient| recipient.last_event == LastEvent::Suppressed).count() as u64
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
    settle_as(row, recipients, LastEvent::Suppressed);
}

fn settle_as(row: &mut EmailRow, recipients: &[usize], event: LastEvent) {
    for index in recipients {
        let recipient = &mut row.recipients[*index];
        recipient.state = RecipientState::Settled;
        recipient.last_event.advance(event);
        row.last_event.advance(event);
    }
}

/// Requeues the groups whose leases name a node that has ended, and returns their number. At start, these are the leases
/// of every earlier process.
///
/// The groups are due immediately and marked as possible duplicates: a server may have accepted the
/// message before the node ended. One transaction recovers up to [`RECOVER_ROWS`] leases.
pub(super) async fn recover(context: &Context) -> Result<usize, StoreError> {
    let mut recovered = 0;
    loop {
        let (node, now_ms) = (context.store.node(), context.now_ms());
        let read = move |tx: &ReadTx| Ok::<_, StoreError>(read_ended(tx, node, now_ms)?.is_empty());
        if context.store.read(read).await? {
            return Ok(recovered);
        }
        let recovering = context.clone();
        recovered += context.store.write_bulk(move |tx| recover_page(tx, &recovering)).await?;
    }
}

/// A lease with the email and the group of its key.
type StoredLease = ((EmailId, u16), LeaseRow);

/// Returns leases of nodes that have ended, at most [`RECOVER_ROWS`].
fn read_ended(tx: &impl Reads, own: NodeId, now_ms: TimestampMs) -> Result<Vec<StoredLease>, StoreError> {
    let mut alive = BTreeMap::from([(own, true)]);
    let mut ended = Vec::new();
    tx.scan_valid(&LEASES, &(Id::MIN, 0), &(Id::MAX, u16::MAX), Order::Ascending, |key, lease| {
        let is_node_alive = match alive.entry(lease.node) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => *unknown.insert(is_alive(tx, lease.node, now_ms)?),
        };
        if !is_node_alive {
            ended.push((key, lease));
        }
        if ended.len() == RECOVER_ROWS { STOP } else { NEXT }
    })?;
    Ok(ended)
}

fn recover_page(tx: &WriteTx<'_>, context: &Context) -> Result<usize, StoreError> {
    let ended = read_ended(tx, context.store.node(), context.now_ms())?;
    for ((email, group), lease) in &ended {
        tx.delete(&LEASES, &(*email, *group))?;
        let Some(mut row) = emails::find_valid_row(tx, lease.due.team, *email)? else {
            set_aside_with_email(tx, context, lease.due.team, *email, (&LEASES, &(*email, *group)), lease)?;
            continue;
        };
        let due = DueRow { possible_duplicate: true, ..lease.due.clone() };
        requeue(tx, &mut row, *email, *group, context.now_ms(), &due)?;
        emails::put_row(tx, lease.due.team, *email, &row, context.now_ms())?;
    }
    Ok(ended.len())
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
    due_ms: TimestampMs,
    due: &DueRow,
) -> Result<Due, StoreError> {
    for recipient in &mut row.recipients {
        if recipient.group == group && recipient.state == RecipientState::InFlight {
            let is_settled = has_reported_outcome(recipient);
            recipient.state = if is_settled { RecipientState::Settled } else { RecipientState::Waiting { due_ms } };
        }
    }
    let lane = emails::lane_of(due.team, row.broadcast.as_ref(), &due.destination);
    let key = DueKey { lane, due_ms, email, group };
    tx.put(&DUE, &key.parts(), due)?;
    Ok(Due::new(key, due))
}

#[cfg(test)]
pub(super) mod tests;
