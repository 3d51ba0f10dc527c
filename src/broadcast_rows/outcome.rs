//! State of one recipient of a broadcast. Pure.

use super::rows::BroadcastCountsRow;

/// State of the email of a recipient, in the counts of its broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BroadcastOutcome {
    /// Without an attempt: in the queue, or before it.
    Queued,
    /// Claimed by the delivery engine, without a final outcome.
    Sent,
    Delivered,
    Bounced,
    Complained,
    /// Not sent, because the contact had left the audience.
    Suppressed,
    Failed,
    /// Not sent, because the broadcast or the email was canceled.
    Canceled,
}

impl BroadcastOutcome {
    /// The outcomes whose emails are listed in an index.
    pub const RARE: [Self; 4] = [Self::Bounced, Self::Complained, Self::Suppressed, Self::Failed];

    /// Returns the number in stored keys, which never changes.
    pub const fn number(self) -> u8 {
        match self {
            Self::Queued => 0,
            Self::Sent => 1,
            Self::Delivered => 2,
            Self::Bounced => 3,
            Self::Complained => 4,
            Self::Suppressed => 5,
            Self::Failed => 6,
            Self::Canceled => 7,
        }
    }

    /// Returns whether only an attempt leads to the outcome. An email that is dropped from the queue fails without one.
    pub const fn is_attempted(self) -> bool {
        matches!(self, Self::Sent | Self::Delivered | Self::Bounced | Self::Complained)
    }

    /// Returns whether the emails with the outcome are listed in an index.
    pub fn is_rare(self) -> bool {
        Self::RARE.contains(&self)
    }

    /// Returns the number of recipients with the outcome.
    pub const fn count(self, counts: &BroadcastCountsRow) -> u64 {
        match self {
            Self::Queued => counts.queued,
            Self::Sent => counts.sent,
            Self::Delivered => counts.delivered,
            Self::Bounced => counts.bounced,
            Self::Complained => counts.complained,
            Self::Suppressed => counts.suppressed,
            Self::Failed => counts.failed,
            Self::Canceled => counts.canceled,
        }
    }

    pub(super) const fn count_mut(self, counts: &mut BroadcastCountsRow) -> &mut u64 {
        match self {
            Self::Queued => &mut counts.queued,
            Self::Sent => &mut counts.sent,
            Self::Delivered => &mut counts.delivered,
            Self::Bounced => &mut counts.bounced,
            Self::Complained => &mut counts.complained,
            Self::Suppressed => &mut counts.suppressed,
            Self::Failed => &mut counts.failed,
            Self::Canceled => &mut counts.canceled,
        }
    }
}
