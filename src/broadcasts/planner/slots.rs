//! The slots of a plan, and the placement of messages.

use super::capacity::SendCapacity;
use super::{SLOT_MS, WINDOW_SLOTS};
use crate::base::clock::TimestampMs;

/// Number of a slot: its start in milliseconds since the Unix epoch, divided by the length of a slot.
pub type SlotNumber = u32;

/// Returns the slot of a time.
pub fn slot_of(at_ms: TimestampMs) -> SlotNumber {
    u32::try_from(at_ms.div_euclid(SLOT_MS).max(0)).unwrap_or(u32::MAX)
}

fn start_ms(slot: SlotNumber) -> TimestampMs {
    i64::from(slot) * SLOT_MS
}

/// The messages of broadcasts in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendSlot {
    /// Messages that are due in the slot or have been sent in it.
    pub messages: u32,
    /// First position that is free, as a multiple of the interval between two messages. Canceled messages free no
    /// position, so that it can be higher than their number.
    pub position: u32,
}

/// Consecutive messages in one slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedRun {
    pub slot: SlotNumber,
    /// Position of the first message.
    pub first: u32,
    pub messages: u32,
    /// Time before which none of them is due.
    from_ms: TimestampMs,
    interval_ms: f64,
}

impl PlacedRun {
    /// Returns the due times, in order.
    pub fn due_times(self) -> impl Iterator<Item = TimestampMs> {
        (0..self.messages).map(move |message| self.due_ms(message))
    }

    /// Returns the due time of the last message.
    pub fn last_ms(self) -> TimestampMs {
        self.due_ms(self.messages.saturating_sub(1))
    }

    fn due_ms(self, message: u32) -> TimestampMs {
        let offset_ms = f64::from(self.first.saturating_add(message)) * self.interval_ms;
        (start_ms(self.slot) + offset_ms.ceil() as i64).max(self.from_ms)
    }
}

/// Consecutive slots. Slots outside of them have no messages.
#[derive(Clone, Debug, Default)]
pub struct SendSlots {
    first: SlotNumber,
    slots: Vec<SendSlot>,
}

impl SendSlots {
    /// Returns slots that start at `first`, all without messages. Slots before it cannot be used.
    pub fn starting_at(first: SlotNumber) -> Self {
        Self { first, slots: Vec::new() }
    }

    /// Sets the stored state of a slot. Ignores a slot before the first one.
    pub fn set(&mut self, slot: SlotNumber, state: SendSlot) {
        if let Some(stored) = self.get_mut(slot) {
            *stored = state;
        }
    }

    /// Returns the state of a slot.
    pub fn get(&self, slot: SlotNumber) -> SendSlot {
        let index = slot.checked_sub(self.first).map(|index| index as usize);
        index.and_then(|index| self.slots.get(index)).copied().unwrap_or_default()
    }

    fn get_mut(&mut self, slot: SlotNumber) -> Option<&mut SendSlot> {
        let index = slot.checked_sub(self.first)? as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, SendSlot::default());
        }
        self.slots.get_mut(index)
    }

    /// Returns the number of messages in the slots from `from` up to and including `to`.
    pub fn messages(&self, from: SlotNumber, to: SlotNumber) -> u64 {
        let (from, to) = (from.saturating_sub(self.first) as usize, (to + 1).saturating_sub(self.first) as usize);
        let to = to.min(self.slots.len());
        self.slots.get(from..to).unwrap_or_default().iter().map(|slot| u64::from(slot.messages)).sum()
    }

    /// Places up to `messages` messages that are due at `from_ms` or later and before `until_ms`, as early as the
    /// capacity allows. Calls `visit` with each run, in order. Returns the number of messages without a place.
    ///
    /// The cost grows with the number of slots up to `until_ms` that are full, not with the number of messages.
    pub fn place(
        &mut self,
        capacity: &SendCapacity,
        from_ms: TimestampMs,
        until_ms: TimestampMs,
        messages: u64,
        mut visit: impl FnMut(PlacedRun),
    ) -> u64 {
        let positions_max = capacity.slot_messages_max();
        let mut left = messages;
        let mut slot = slot_of(from_ms).max(self.first);
        while left > 0 && start_ms(slot) < until_ms && slot < u32::MAX {
            // Less one millisecond: due times are whole milliseconds, and the position behind one must not count as passed.
            let passed_ms = (from_ms - start_ms(slot) - 1).max(0);
            let passed = match capacity.interval_ms > 0.0 {
                true => (passed_ms as f64 / capacity.interval_ms) as u32,
                false => 0,
            };
            let first = self.get(slot).position.max(passed);
            let room = u64::from(positions_max.saturating_sub(first)).min(self.room_of(slot, capacity)).min(left);
            let placed = u32::try_from(room).unwrap_or(u32::MAX);
            if placed > 0
                && let Some(state) = self.get_mut(slot)
            {
                state.messages = state.messages.saturating_add(placed);
                state.position = first.saturating_add(placed);
                left -= u64::from(placed);
                visit(PlacedRun { slot, first, messages: placed, from_ms, interval_ms: capacity.interval_ms });
            }
            slot += 1;
        }
        left
    }

    /// Returns the number of messages that the share allows in a slot in addition. Each window of 24 hours that
    /// contains the slot must have room, also the windows that end later.
    fn room_of(&self, slot: SlotNumber, capacity: &SendCapacity) -> u64 {
        let Some(share) = capacity.share else { return u64::MAX };
        let mut window = self.messages(slot.saturating_sub(WINDOW_SLOTS), slot);
        let mut highest = window;
        let end = self.first.saturating_add(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        for last in slot + 1..=(slot + WINDOW_SLOTS).min(end) {
            window += u64::from(self.get(last).messages);
            let gone = (last - 1).checked_sub(WINDOW_SLOTS).map_or(0, |gone| self.get(gone).messages);
            window -= u64::from(gone);
            highest = highest.max(window);
        }
        share.saturating_sub(highest)
    }

    /// Removes messages that were due in a slot and are not sent, so that other messages can use the quota.
    pub fn remove(&mut self, slot: SlotNumber, messages: u32) {
        if let Some(state) = self.get_mut(slot) {
            state.messages = state.messages.saturating_sub(messages);
        }
    }
}
