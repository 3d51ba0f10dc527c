//! Measurement of sent messages, for the planner.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::estimates::SendEstimates;
use crate::base::clock::monotonic;
use crate::base::sync;
use crate::context::Context;
use crate::delivery::{Class, Engine};
use crate::store::StoreError;

/// Counts of the delivery engine at the last measurement.
#[derive(Clone, Copy, Debug)]
struct SentCounts {
    transactional: u64,
    broadcast: u64,
    at: Instant,
}

/// Records the number of messages that the delivery engine of this process sends.
pub struct SendFigures {
    context: Context,
    engine: Arc<Engine>,
    estimates: SendEstimates,
    last: Mutex<SentCounts>,
}

impl SendFigures {
    /// Returns the figures of an engine.
    pub fn new(context: Context, engine: Arc<Engine>, estimates: SendEstimates) -> Self {
        let last = Mutex::new(SentCounts::read(&engine));
        Self { context, engine, estimates, last }
    }

    /// Records the messages since the last call. If the process ends, the messages of the last interval are not counted.
    pub async fn record(&self) -> Result<(), StoreError> {
        let current = SentCounts::read(&self.engine);
        let before = std::mem::replace(&mut *sync::lock(&self.last), current);
        self.estimates.record_rate(current.broadcast - before.broadcast, current.at - before.at);
        let messages = current.transactional - before.transactional;
        if messages == 0 || !self.estimates.is_limited() {
            return Ok(());
        }
        let (estimates, now_ms) = (self.estimates.clone(), self.context.now_ms());
        self.context.store.write_bulk(move |tx| estimates.count_transactional(tx, now_ms, messages)).await
    }
}

impl SentCounts {
    fn read(engine: &Engine) -> Self {
        let [transactional, broadcast] =
            [Class::Transactional, Class::Broadcast].map(|class| engine.attempts_of(class));
        Self { transactional, broadcast, at: monotonic() }
    }
}
