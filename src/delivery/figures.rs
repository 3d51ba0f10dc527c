//! Figures of the engine, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Engine, MESSAGE_MEMORY_KIB};
use super::outcome::RecipientDisposition;
use super::rows::Class;
use super::settle::Settlement;

/// Outcomes of an attempt for one recipient.
const OUTCOMES: [&str; 5] = ["delivered", "relayed", "deferred", "bounced", "failed"];

/// Number of attempts since the start.
#[derive(Debug, Default)]
pub(super) struct SmtpAttemptCounts {
    by_outcome: [AtomicU64; OUTCOMES.len()],
    /// By the number of the class.
    by_class: [AtomicU64; 2],
}

impl SmtpAttemptCounts {
    /// Counts an attempt once for each recipient. A settlement without an attempt is not counted.
    pub(super) fn record(&self, settlement: &Settlement) {
        if settlement.attempt.is_none() {
            return;
        }
        let class = usize::from(settlement.claimed.key.lane.class.number());
        self.by_class[class].fetch_add(settlement.dispositions.len() as u64, Ordering::Relaxed);
        for disposition in &settlement.dispositions {
            let outcome = match disposition {
                RecipientDisposition::Delivered { .. } => 0,
                RecipientDisposition::Relayed => 1,
                RecipientDisposition::Deferred(_) => 2,
                RecipientDisposition::Bounced { .. } => 3,
                RecipientDisposition::Failed { .. } => 4,
            };
            self.by_outcome[outcome].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Encryption of sessions. `failed` is a failed STARTTLS: the session is in clear text, or could not be opened.
const ENCRYPTIONS: [&str; 4] = ["encrypted", "clear", "downgraded", "failed"];
/// Positions of `encrypted` and `failed`.
const ENCRYPTED: usize = 0;
const FAILED: usize = 3;

/// Number of sessions since the start.
#[derive(Debug, Default)]
pub(super) struct OpeningCounts {
    by_encryption: [AtomicU64; ENCRYPTIONS.len()],
    /// Sessions with the mail servers of recipients: with TLS, and without.
    direct: [AtomicU64; 2],
}

impl OpeningCounts {
    /// Counts a session. `has_fallen_back` is whether it is in clear text because STARTTLS failed.
    pub(super) fn opened(&self, has_tls: bool, has_fallen_back: bool, is_downgraded: bool) {
        let encryption = match (has_tls, has_fallen_back, is_downgraded) {
            (true, _, _) => ENCRYPTED,
            (false, true, _) => FAILED,
            (false, false, true) => 2,
            (false, false, false) => 1,
        };
        self.by_encryption[encryption].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session with a mail server of recipients.
    pub(super) fn opened_directly(&self, has_tls: bool) {
        self.direct[usize::from(!has_tls)].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that requires TLS and could not get it.
    pub(super) fn tls_failed(&self) {
        self.by_encryption[FAILED].fetch_add(1, Ordering::Relaxed);
    }
}

/// Figures of the engine at one time.
#[derive(Clone, Debug)]
pub struct DeliveryFigures {
    /// Attempts since the start, counted once for each recipient, by outcome.
    pub attempts: [(&'static str, u64); OUTCOMES.len()],
    /// Sessions since the start, by their encryption.
    pub openings: [(&'static str, u64); ENCRYPTIONS.len()],
    /// Sessions with the mail servers of recipients since the start: with TLS, and without.
    pub direct_openings: [u64; 2],
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
        let free_kib = self.message_memory.available_permits();
        DeliveryFigures {
            attempts: named(OUTCOMES, &self.attempt_counts.by_outcome),
            openings: named(ENCRYPTIONS, &self.opening_counts.by_encryption),
            direct_openings: self.opening_counts.direct.each_ref().map(|count| count.load(Ordering::Relaxed)),
            sessions: self.schedule().session_counts(),
            leased: self.leases.count(),
            message_bytes: MESSAGE_MEMORY_KIB.saturating_sub(free_kib) << 10,
        }
    }
    /// Returns the number of attempts of a class since the start, counted once for each recipient.
    pub fn attempts_of(&self, class: Class) -> u64 {
        self.attempt_counts.by_class[usize::from(class.number())].load(Ordering::Relaxed)
    }
}

/// Returns the value of each counter with its name.
fn named<const N: usize>(names: [&'static str; N], counts: &[AtomicU64; N]) -> [(&'static str, u64); N] {
    std::array::from_fn(|number| (names[number], counts[number].load(Ordering::Relaxed)))
}
