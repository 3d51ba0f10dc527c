//! Due times of messages under the sending limits, and the stored slots that they use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::planner::{SLOT_MS, SendCapacity, SendSlot, SendSlots, SlotNumber, WINDOW_SLOTS, slot_of};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::SEND_SLOTS;

/// Longest time from the current time to the due time of an email that is queued.
const PLACED_AHEAD_MS: i64 = 60 * DAY_MS;
/// Number of old slots that one transaction deletes.
const DELETED_MAX: usize = 100;

/// Messages of 15 minutes, of all teams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendSlotRow {
    /// Messages of broadcasts that are due in the slot or have been sent in it.
    #[serde(default)]
    pub messages: u32,
    /// First free position of a message, as in [`SendSlot`].
    #[serde(default)]
    pub position: u32,
    /// Transactional messages that were sent.
    #[serde(default)]
    pub transactional: u64,
}
impl Row for SendSlotRow {}

impl SendSlotRow {
    /// Returns the messages of broadcasts.
    pub const fn slot(&self) -> SendSlot {
        SendSlot { messages: self.messages, position: self.position }
    }
}

/// Due times of messages, and the slots that they are in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlacedMessages {
    pub(super) due_times: Vec<TimestampMs>,
    pub(super) changes: Vec<SlotChange>,
}

/// A slot that a placement has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotChange {
    slot: SlotNumber,
    before: SendSlot,
    after: SendSlot,
}

impl PlacedMessages {
    /// Places messages that are due at `from_ms` or later; `None` if the limits have no room in the next 60 days.
    pub(super) fn of(
        mut slots: SendSlots,
        capacity: &SendCapacity,
        now_ms: TimestampMs,
        from_ms: TimestampMs,
        messages: usize,
    ) -> Option<Self> {
        let before = slots.clone();
        let mut runs = Vec::new();
        let until_ms = now_ms + PLACED_AHEAD_MS;
        if slots.place(capacity, from_ms, until_ms, messages as u64, |run| runs.push(run)) > 0 {
            return None;
        }
        let change = |slot| SlotChange { slot, before: before.get(slot), after: slots.get(slot) };
        let changes = runs.iter().map(|run| change(run.slot)).collect();
        Some(Self { due_times: runs.iter().flat_map(|run| run.due_times()).collect(), changes })
    }
}

/// Returns whether the stored slots are as they were before the changes.
pub(super) fn are_unchanged(tx: &impl Reads, changes: &[SlotChange]) -> Result<bool, StoreError> {
    for change in changes {
        let stored = tx.get_valid(&SEND_SLOTS, &(change.slot,))?.unwrap_or_default();
        if stored.slot() != change.before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores changed slots.
pub(super) fn put_changes(tx: &WriteTx<'_>, changes: &[SlotChange], now_ms: TimestampMs) -> Result<(), StoreError> {
    for change in changes {
        let key = (change.slot,);
        let SendSlot { messages, position } = change.after;
        let row = tx.get_valid(&SEND_SLOTS, &key)?.unwrap_or_default();
        tx.put(&SEND_SLOTS, &key, &SendSlotRow { messages, position, ..row })?;
    }
    if changes.is_empty() { Ok(()) } else { delete_old(tx, now_ms) }
}

/// Gives back the room of messages that were due at these times and are not sent then.
pub(super) fn give_back(tx: &WriteTx<'_>, due_times: impl Iterator<Item = TimestampMs>) -> Result<(), StoreError> {
    let mut by_slot = BTreeMap::<SlotNumber, u32>::new();
    for due_ms in due_times {
        *by_slot.entry(slot_of(due_ms)).or_default() += 1;
    }
    for (slot, messages) in by_slot {
        let Some(mut row) = tx.get_valid(&SEND_SLOTS, &(slot,))? else { continue };
        row.messages = row.messages.saturating_sub(messages);
        if row.messages == 0 {
            row.position = 0;
        }
        tx.put(&SEND_SLOTS, &(slot,), &row)?;
    }
    Ok(())
}

/// Deletes some slots that no plan needs.
pub(super) fn delete_old(tx: &WriteTx<'_>, now_ms: TimestampMs) -> Result<(), StoreError> {
    let last = slot_of(now_ms - SLOT_MS).saturating_sub(WINDOW_SLOTS + 1);
    tx.delete_range(&SEND_SLOTS, &(0,), &(last,), DELETED_MAX)?;
    Ok(())
}
