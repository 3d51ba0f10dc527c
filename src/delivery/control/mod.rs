//! The queue for the operator: why groups wait, and the verbs of `ringmail queue`.
//!
//! Data flow: a request names a part of the queue (a `QueueSelector`). `walk.rs` finds its groups in pages. Each page
//! is one read, and a page that changes groups is one further transaction. The caller repeats the request with the
//! position of the previous page. No verb therefore holds a transaction long, whatever the size of the queue.
//!
//! Files, in reading order:
//! - `walk.rs`: pages of groups;
//! - `sites.rs`: the sites of lanes;
//! - `facts.rs`: the stored facts of a group;
//! - `waiting_state.rs` and `reason.rs`: from these facts and the schedule to a reason;
//! - `waiting.rs`: the groups of an email;
//! - `read.rs`: lists;
//! - `change.rs`: holds, flush and drop.
//!
//! Invariants:
//! - A group in flight is not changed.
//! - A group leaves the queue in the transaction that stores its event.

mod change;
mod facts;
mod read;
mod reason;
mod sites;
#[cfg(test)]
pub(super) mod tests;
mod waiting;
mod waiting_state;
mod walk;

use std::sync::Arc;

use super::engine::{Engine, Flow};
use super::notifier::QueueNotifier;
use super::queue::{LaneKey, QueueKey};
use super::schedule::LaneWait;
use crate::context::Context;

pub use change::QueueChange;
pub use read::{DestinationPage, GroupPage, QueuedDestination, QueuedGroup};
pub use waiting::WaitingGroup;
pub use waiting_state::WaitingState;

/// Reads and changes the queue for the operator. Cheap to clone.
#[derive(Clone)]
pub struct QueueControl {
    context: Context,
    notifier: QueueNotifier,
    /// `None` if no server runs: then no schedule is known.
    engine: Option<Arc<Engine>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryState {
    Running,
    /// Mail is accepted and not delivered.
    Held,
    /// No server runs.
    Stopped,
}

impl QueueControl {
    /// Returns the control of a running engine, or of a store without one.
    pub fn new(context: Context, notifier: QueueNotifier, engine: Option<Arc<Engine>>) -> Self {
        Self { context, notifier, engine }
    }

    /// Returns the running engine; `None` if no server runs.
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    fn state(&self) -> DeliveryState {
        match &self.engine {
            None => DeliveryState::Stopped,
            Some(engine) => match engine.settings.flow {
                Flow::Open => DeliveryState::Running,
                Flow::Held => DeliveryState::Held,
            },
        }
    }

    fn explain(&self, lane: LaneKey) -> LaneWait {
        match &self.engine {
            Some(engine) => engine.schedule().explain(lane, engine.now()),
            None => LaneWait::Unloaded,
        }
    }
}

/// Position in the queue after a page.
pub type QueuePosition = QueueKey;
