//! Figures of the dispatcher, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use super::settle::{DeliveryDisposition, DeliveryOutcome};

/// Outcomes of an attempt.
const OUTCOMES: [&str; 3] = ["delivered", "refused", "failed"];

/// Number of attempts since the start, by outcome.
#[derive(Debug, Default)]
pub(super) struct WebhookAttemptCounts([AtomicU64; OUTCOMES.len()]);

impl WebhookAttemptCounts {
    /// Counts an attempt.
    pub(super) fn record(&self, outcome: &DeliveryOutcome) {
        let index = match &outcome.disposition {
            DeliveryDisposition::Attempted { info, .. } if info.is_success() => 0,
            DeliveryDisposition::Attempted { info, .. } if info.status.is_some() => 1,
            DeliveryDisposition::Attempted { .. } | DeliveryDisposition::NotSent { .. } => 2,
            DeliveryDisposition::GivenUp(_) | DeliveryDisposition::Retracted | DeliveryDisposition::Orphaned => return,
        };
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of attempts by outcome.
    pub(super) fn read(&self) -> [(&'static str, u64); OUTCOMES.len()] {
        std::array::from_fn(|index| (OUTCOMES[index], self.0[index].load(Ordering::Relaxed)))
    }
}

/// Figures of the dispatcher at one time.
#[derive(Clone, Debug)]
pub struct WebhookFigures {
    /// Attempts since the start: `delivered` (status 2xx), `refused` (another status) and `failed` (no response).
    pub attempts: [(&'static str, u64); OUTCOMES.len()],
    /// Requests in flight.
    pub requests: usize,
    /// Endpoints with queued deliveries at the last scan, once a minute.
    pub queues: usize,
    /// The queued deliveries at the last count; `None` before the first one.
    pub queued: Option<QueuedDeliveryFigures>,
}

/// Queued deliveries at the last count.
#[derive(Clone, Copy, Debug)]
pub struct QueuedDeliveryFigures {
    /// Number of deliveries: `due` and `later`.
    pub deliveries: [(&'static str, u64); 2],
    /// Time since the oldest due delivery became due.
    pub oldest_due_ms: i64,
    /// Time since the count.
    pub age_ms: i64,
}
