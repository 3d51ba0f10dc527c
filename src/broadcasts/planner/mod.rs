//! Planner of broadcasts: when each message is due under the sending limits of this server, and when the last one goes
//! out. Pure.
//!
//! Time is divided into slots of 15 minutes. A slot counts the messages that are due in it, of all broadcasts. The
//! fan-out worker places each page of recipients into the first slots with room. An estimate places the recipients of
//! the broadcasts that wait, and then its own, into a copy of the same slots.
//!
//! Reading order: `capacity.rs` (the room of a slot), `slots.rs` (the slots, and the placement of messages), `plan.rs`
//! (estimates and warnings).
//!
//! Invariants:
//! - The due times of the fan-out and the estimates are from the same placement.
//! - In any 24 hours, the messages of broadcasts are at most the share of the quota.
//! - Each uncertainty makes an estimate later, not earlier.

mod capacity;
mod plan;
mod slots;
#[cfg(test)]
mod tests;

pub use capacity::{SendCapacity, SendLimits};
pub use plan::{
    BroadcastTooLarge, PlanRequest, PlanWarning, PlanWarningCode, SendPlan, WaitingSend, delivered_ms, plan,
};
pub use slots::{PlacedRun, SendSlot, SendSlots, SlotNumber, slot_of};

/// Length of a slot.
pub const SLOT_MS: i64 = 15 * 60 * 1_000;
/// Number of slots before a slot whose messages can be less than 24 hours older than one of its own.
pub const WINDOW_SLOTS: u32 = 96;
