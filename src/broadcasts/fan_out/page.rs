//! A page of recipients: read and encoded outside of the writer thread, stored in one transaction, or in several while
//! requests wait or are expected.

use std::time::Duration;

use super::walk::{Walk, WalkRecipient, WalkRules};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, TeamId};
use crate::broadcasts::counts::{finish, read_counts};
use crate::broadcasts::estimates::SendEstimates;
use crate::broadcasts::placement::{PlacedMessages, SlotChange, are_unchanged, put_changes};
use crate::broadcasts::planner::delivered_ms;
use crate::broadcasts::rows::{BroadcastStatus, FanOutRow};
use crate::broadcasts::store;
use crate::context::Context;
use crate::delivery::{DeliverOnly, Due};
use crate::emails::{NewBroadcastEmail, PreparedBroadcastEmails, prepare_broadcast_emails};
use crate::segments::{ScanLimit, scan_contacts};
use crate::store::{NEXT, ReadTx, Reads, STOP, StoreError, WriteTx};
use crate::tables::{BROADCAST_FAN_OUTS, BROADCASTS};

/// Number of recipients of a page. A transaction of this size takes some milliseconds.
pub(super) const PAGE_RECIPIENTS: usize = 512;
/// Number of recipients of a part of a page, after which a transaction can end. A recipient of another domain changes pages
/// of its own, which the commit writes. With `benches/run broadcast`, the p99 of a request beside a fan-out is 1.1 and 1.3
/// times the idle one in two runs; with 16 in turn, it is 2.7 and 3.7 times.
pub(super) const PART_RECIPIENTS: usize = 4;
/// Number of recipients of a transaction for each request that waits for it. Commits of many requests take longer, so that
/// more recipients do not delay them: with four recipients whatever waits, 64 requests in flight slow a fan-out down to 473
/// recipients a second, fewer than the delivery takes, and their p99 is that with 16.
const RECIPIENTS_PER_REQUEST: usize = 2;
/// Bounds of the contacts that are read for a page.
pub(super) const PAGE_SCAN: ScanLimit = ScanLimit { rows_max: 20_000, time_max: Duration::from_millis(20) };
/// Size of the rows of a page after which no further recipient is added, for recipients with long values.
const PAGE_BYTES: usize = 256 << 10;
/// Approximate size of the stored rows of a recipient, without the values of its fields.
const RECIPIENT_BYTES: usize = 400;

/// The parts of the instance that a page needs.
#[derive(Clone, Debug)]
pub(super) struct PageSource {
    pub(super) context: Context,
    pub(super) estimates: SendEstimates,
    pub(super) deliver_only: DeliverOnly,
    /// [`PAGE_SCAN`].
    pub(super) scan_limit: ScanLimit,
}

/// A page of recipients of one broadcast.
pub(super) struct FanOutPage {
    pub(super) id: BroadcastId,
    team: TeamId,
    /// Position from which the page was read.
    from: Option<ContactId>,
    /// Position after the page.
    pub(super) to: Option<ContactId>,
    /// Whether no contact is left.
    pub(super) is_last: bool,
    /// At least one part.
    parts: Vec<PagePart>,
    /// Slots of the planner in which the emails are due.
    changes: Vec<SlotChange>,
    /// Number of erasures before the page was read.
    erasures: u32,
    /// Approximate size of the rows.
    pub(super) bytes: usize,
    /// Due time of the last email that is queued so far.
    pub(super) planned_ms: Option<TimestampMs>,
    now_ms: TimestampMs,
}

/// Consecutive recipients of a page.
struct PagePart {
    emails: PreparedBroadcastEmails,
    /// Position after the part.
    to: Option<ContactId>,
}

/// The end of the contacts of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedFanOut {
    pub(super) recipients: u64,
    /// Time since the start.
    pub(super) duration_ms: i64,
}

/// Result of a page.
#[derive(Debug)]
pub(super) enum PageResult {
    /// The emails of the parts before `next` are queued. `next` is `None` after the last part.
    Queued { due: Vec<Due>, next: Option<usize>, finished: Option<FinishedFanOut> },
    /// The page is not current any more: the broadcast was canceled, another process has read on, or contacts were erased.
    Moved,
}

impl PageSource {
    /// Reads the next page of a broadcast. Returns `None` if the sending limits have no room in the next 60 days.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn read(&self, tx: &ReadTx, walk: &Walk) -> Result<Option<FanOutPage>, StoreError> {
        let (rules, now_ms) = (&walk.rules, self.context.now_ms());
        let erasures = tx.get_valid(&BROADCAST_FAN_OUTS, &(rules.id,))?.map_or(0, |fan_out| fan_out.erasures);
        let mut recipients: Vec<WalkRecipient> = Vec::with_capacity(PAGE_RECIPIENTS);
        let (mut to, mut is_last, mut bytes) = (walk.after, true, 0);
        if let Some(range) = walk.rest() {
            let mut stopped = None;
            let limited =
                scan_contacts(tx, rules.team, rules.segment.as_ref(), range, self.scan_limit, |contact, view| {
                    if let Some(recipient) = rules.recipient(tx, contact, view)? {
                        bytes += RECIPIENT_BYTES + recipient.values.iter().map(String::len).sum::<usize>();
                        recipients.push(recipient);
                    }
                    if recipients.len() < PAGE_RECIPIENTS && bytes < PAGE_BYTES {
                        return NEXT;
                    }
                    stopped = Some(contact);
                    STOP
                })?;
            let reached = stopped.or(limited);
            is_last = reached.is_none_or(|reached| range.beyond(reached).is_none());
            to = reached.or(to);
        }
        let Some(placed) = self.place(tx, walk, recipients.len(), now_ms)? else { return Ok(None) };
        let PlacedMessages { due_times, changes } = placed;
        let planned_ms = due_times.last().copied().max(walk.planned_ms);
        let new = recipients.into_iter().zip(due_times).map(|(recipient, due_ms)| {
            let WalkRecipient { contact, address, values } = recipient;
            NewBroadcastEmail { contact, address, values, due_ms }
        });
        // The slots of a page change together.
        let part_recipients = if changes.is_empty() { PART_RECIPIENTS } else { PAGE_RECIPIENTS };
        let parts = self.parts(rules, new.collect(), part_recipients, to);
        let (id, team, from) = (rules.id, rules.team, walk.after);
        Ok(Some(FanOutPage { id, team, from, to, is_last, parts, changes, erasures, bytes, planned_ms, now_ms }))
    }

    /// Encodes the emails of a page. `to` is the position after it.
    fn parts(
        &self,
        rules: &WalkRules,
        mut new: Vec<NewBroadcastEmail>,
        part_recipients: usize,
        to: Option<ContactId>,
    ) -> Vec<PagePart> {
        let mut parts = Vec::with_capacity(new.len() / part_recipients + 1);
        loop {
            let rest = new.split_off(new.len().min(part_recipients));
            let to = if rest.is_empty() { to } else { new.last().map(|email| email.contact) };
            let emails = prepare_broadcast_emails(&self.context, rules.team, rules.id, &self.deliver_only, new);
            parts.push(PagePart { emails, to });
            if rest.is_empty() {
                return parts;
            }
            new = rest;
        }
    }

    /// Returns the due times of a page. Without limits, all are the current time.
    fn place(
        &self,
        tx: &ReadTx,
        walk: &Walk,
        recipients: usize,
        now_ms: TimestampMs,
    ) -> Result<Option<PlacedMessages>, StoreError> {
        let from_ms = walk.planned_ms.map_or(now_ms, |planned_ms| planned_ms.max(now_ms));
        let (slots, Some(capacity)) = self.estimates.room(tx, now_ms, from_ms)? else {
            return Ok(Some(PlacedMessages { due_times: vec![now_ms; recipients], changes: Vec::new() }));
        };
        Ok(PlacedMessages::of(slots, &capacity, now_ms, from_ms, recipients))
    }
}

impl FanOutPage {
    /// Stores the parts from `first` on together with the position after them, if the broadcast is still at the position
    /// before them. Ends after a part if that [is enough](is_enough) beside the requests that wait.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn store(&self, tx: &WriteTx<'_>, first: usize) -> Result<PageResult, StoreError> {
        let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(self.id,))? else { return Ok(PageResult::Moved) };
        let from = first.checked_sub(1).map_or(self.from, |stored| self.parts[stored].to);
        let is_current = fan_out.after == from && fan_out.erasures == self.erasures && !fan_out.is_canceled;
        if !is_current || !are_unchanged(tx, &self.changes)? {
            return Ok(PageResult::Moved);
        }
        let row = tx.get_valid(&BROADCASTS, &(self.team, self.id))?;
        let Some(mut row) = row.filter(|row| row.status == BroadcastStatus::Queued) else {
            return Ok(PageResult::Moved);
        };
        let (mut due, mut after, mut stored) = (Vec::new(), from, first);
        for part in &self.parts[first..] {
            due.extend(part.emails.put(tx)?);
            (after, stored) = (part.to, stored + 1);
            if is_enough((stored - first) * PART_RECIPIENTS, tx.awaited()) {
                break;
            }
        }
        let next = Some(stored).filter(|stored| *stored < self.parts.len());
        put_changes(tx, &self.changes, self.now_ms)?;
        let mut finished = None;
        if self.is_last && next.is_none() {
            let duration_ms = self.now_ms - row.started_ms.unwrap_or(self.now_ms);
            finished = Some(FinishedFanOut { recipients: read_counts(tx, self.id)?.total(), duration_ms });
            row.is_queued_whole = true;
            row.finishes_ms = self.planned_ms.map(delivered_ms).or(row.finishes_ms);
            store::put(tx, self.team, self.id, &row)?;
            tx.delete(&BROADCAST_FAN_OUTS, &(self.id,))?;
            finish(tx, self.team, self.id, self.now_ms)?;
        } else {
            // A later hold is another one, of which the owners are notified again.
            let row = FanOutRow { after, planned_ms: self.planned_ms, is_held: false, ..fan_out };
            tx.put(&BROADCAST_FAN_OUTS, &(self.id,), &row)?;
        }
        Ok(PageResult::Queued { due, next, finished })
    }
}

/// Returns whether a transaction with so many recipients ends. `awaited` is the number of requests that wait for it.
pub(super) const fn is_enough(recipients: usize, awaited: usize) -> bool {
    awaited > 0 && recipients >= RECIPIENTS_PER_REQUEST * awaited
}
