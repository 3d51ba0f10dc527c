//! Figures of the engine, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Engine, MESSAGE_MEMORY_KIB};
use super::outcome::RecipientDisposition;
use super::settle::Settlement;

/// Outcomes of an attempt for one recipient.
const OUTCOMES: [&str; 5] = ["delivered", "relayed", "deferred", "bounced", "failed"];

/// Number of attempts since the start, by outcome.
#[derive(Debug, Default)]
pub(super) struct SmtpAttemptCounts([AtomicU64; OUTCOMES.len()]);

impl SmtpAttemptCounts {
    /// Counts an attempt once for each recipient. A settlement without an attempt is not counted.
    pub(super) fn record(&self, settlement: &Settlement) {
        if settlement.attempt.is_none() {
            return;
        }
        for disposition in &settlement.dispositions {
            let outcome = match disposition {
                RecipientDisposition::Delivered { .. } => 0,
                RecipientDisposition::Relayed => 1,
                RecipientDisposition::Deferred(_) => 2,
                RecipientDisposition::Bounced { .. } => 3,
                RecipientDisposition::Failed { .. } => 4,
            };
            self.0[outcome].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Figures of the engine at one time.
#[derive(Clone, Debug)]
pub struct DeliveryFigures {
    /// Attempts since the start, counted once for each recipient, by outcome.
    pub attempts: [(&'static str, u64); OUTCOMES.len()],
    /// SMTP sessions by the kind of their site, including those that are being opened.
    pub sessions: [(&'static str, usize); 3],
    /// Recipient groups under a lease of this process.
    pub leased: usize,
    /// Memory that is reserved for messages.
    pub message_bytes: usize,
}

impl Engine {
    /// Returns the current figures.
    pub fn figures(&self) -> DeliveryFigures {
        let attempts =
            std::array::from_fn(|outcome| (OUTCOMES[outcome], self.attempt_counts.0[outcome].load(Ordering::Relaxed)));
        let free_kib = self.message_memory.available_permits();
        DeliveryFigures {
            attempts,
            sessions: self.schedule().session_counts(),
            leased: self.leases.count(),
            message_bytes: MESSAGE_MEMORY_KIB.saturating_sub(free_kib) << 10,
        }
    }
}
