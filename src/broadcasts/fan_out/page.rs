//! A page of recipients: read and encoded outside of the writer thread, stored in one transaction, or in several while
//! requests wait or are expected. Each transaction also puts some of the stored emails into the queue.

use super::enqueue::{enqueue, put_position, reads_contacts};
use super::rows::FanOutRow;
use super::walk::{Walk, WalkRecipient};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, EmailId, TeamId};
use crate::broadcast_rows::{self, finish, read_counts};
use crate::broadcasts::estimates::SendEstimates;
use crate::broadcasts::placement::{PlacedMessages, SlotChange, are_unchanged, put_changes};
use crate::broadcasts::planner::delivered_ms;
use crate::context::Context;
use crate::delivery::{DeliverOnly, Due};
use crate::emails::{NewBroadcastEmail, PreparedBroadcastEmails, prepare_broadcast_emails};
use crate::segments::scan_contacts;
use crate::store::{NEXT, ReadTx, Reads, STOP, ScanLimit, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// Number of recipients of a page. A transaction of this size takes some milliseconds.
pub(super) const PAGE_RECIPIENTS: usize = 512;
/// Number of recipients after which a transaction checks for requests that wait.
pub(super) const STEP_RECIPIENTS: usize = 64;
/// Number of queue rows of a transaction that stores recipients.
pub(super) const PAGE_QUEUE_ROWS: usize = 64;
/// The same beside requests.
pub(super) const PAGE_AWAITED_QUEUE_ROWS: usize = 2;
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
    /// Limit of the contacts that are read for a page.
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
    emails: PreparedBroadcastEmails,
    /// Contacts of the emails.
    contacts: Vec<ContactId>,
    /// Slots of the planner in which the emails are due.
    changes: Vec<SlotChange>,
    /// Number of erasures before the page was read.
    erasures: u32,
    /// Approximate size of the rows.
    pub(super) bytes: usize,
    /// Due time of the last email that is queued so far.
    pub(super) planned_ms: Option<TimestampMs>,
    context: Context,
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
    /// The emails before `next` are stored. `next` is `None` after the last one. `due` are the groups that the transaction put
    /// into the queue.
    Stored { due: Vec<Due>, next: Option<usize>, finished: Option<FinishedFanOut> },
    /// The page is not current any more: the broadcast was canceled, another process has read on, or contacts were erased.
    Moved,
}

impl PageSource {
    /// Reads the next page of a broadcast. Returns `None` if the sending limits have no room in the next 60 days.
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
        let contacts = recipients.iter().map(|recipient| recipient.contact).collect();
        let new = recipients.into_iter().zip(due_times).map(|(recipient, due_ms)| {
            let WalkRecipient { contact, address, values } = recipient;
            NewBroadcastEmail { contact, address, values, due_ms }
        });
        let emails = prepare_broadcast_emails(&self.context, rules.team, rules.id, &self.deliver_only, new);
        let (id, team, from) = (rules.id, rules.team, walk.after);
        let context = self.context.clone();
        let page =
            FanOutPage { id, team, from, to, is_last, emails, contacts, changes, erasures, bytes, planned_ms, context };
        Ok(Some(page))
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
    /// Stores recipients from `first` on together with the position after them, if the broadcast is still at the position
    /// before them. Beside requests, these are fewer recipients than the page has, unless sending limits apply.
    /// Puts stored emails of the broadcast into the queue, so that their delivery does not wait for the last contact.
    pub(super) fn store(&self, tx: &WriteTx<'_>, first: usize) -> Result<PageResult, StoreError> {
        let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(self.id,))? else { return Ok(PageResult::Moved) };
        let from = first.checked_sub(1).map_or(self.from, |before| Some(self.contacts[before]));
        let is_current = fan_out.after == from && fan_out.erasures == self.erasures && !fan_out.is_canceled;
        if !is_current || !are_unchanged(tx, &self.changes)? {
            return Ok(PageResult::Moved);
        }
        let row = broadcast_rows::find_valid(tx, self.team, self.id)?;
        let Some(mut row) = row.filter(reads_contacts) else { return Ok(PageResult::Moved) };
        // The clock may have been set back since the page was read.
        let now_ms = self.context.now_ms();
        let (email, stored) = self.put_recipients(tx, first)?;
        let next = Some(stored).filter(|stored| *stored < self.emails.len());
        let after = next.map_or(self.to, |next| Some(self.contacts[next - 1]));
        put_changes(tx, &self.changes, now_ms)?;
        // A later hold is another one, of which the owners are notified again.
        let mut fan_out = FanOutRow { after, planned_ms: self.planned_ms, is_held: false, ..fan_out };
        // Another process, or a start after the clock was set back, can give an email a lower id than those before it have.
        fan_out.to_enqueue = fan_out.to_enqueue.into_iter().chain(email).min();
        let queue_rows = if tx.waiting_requests() == 0 { PAGE_QUEUE_ROWS } else { PAGE_AWAITED_QUEUE_ROWS };
        let due = enqueue(tx, self.id, &mut fan_out, queue_rows, now_ms)?;
        let mut finished = None;
        if self.is_last && next.is_none() {
            let duration_ms = (now_ms - row.started_ms.unwrap_or(now_ms)).max(0);
            let recipients = read_counts(tx, self.id)?.total();
            finished = Some(FinishedFanOut { recipients, duration_ms });
            row.is_queued_whole = true;
            // Before, it is the number at the time of the request, which is an estimate for many contacts.
            row.audience = recipients;
            row.finishes_ms = self.planned_ms.map(delivered_ms).or(row.finishes_ms);
            broadcast_rows::put(tx, self.team, self.id, &row)?;
            finish(tx, self.team, self.id, now_ms)?;
        }
        put_position(tx, self.id, &fan_out, row.is_queued_whole)?;
        Ok(PageResult::Stored { due, next, finished })
    }

    /// Stores recipients from `first` on: some, or all of the page if no request waits. Returns the first email, and the number
    /// of the first recipient that is not stored.
    fn put_recipients(&self, tx: &WriteTx<'_>, first: usize) -> Result<(Option<EmailId>, usize), StoreError> {
        let len = self.emails.len();
        // The slots of a page change together.
        let step = if self.changes.is_empty() { STEP_RECIPIENTS } else { len };
        let mut end = len.min(first + step);
        let email = self.emails.put(tx, first..end)?;
        while end < len && tx.waiting_requests() == 0 {
            let next = len.min(end + step);
            self.emails.put(tx, end..next)?;
            end = next;
        }
        Ok((email, end))
    }
}
