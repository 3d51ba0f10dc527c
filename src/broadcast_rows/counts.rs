//! Number of recipients of a broadcast by the state of their email, and the end of the broadcast.
//!
//! The counts change in the transaction that changes the email, so that they always add up to the queued recipients.

use serde::{Deserialize, Serialize};

use super::by_domain::count_domain;
use super::outcome::BroadcastOutcome;
use super::rows::{BroadcastCountsRow, BroadcastStatus};
use super::store;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::BROADCAST_COUNTS;

/// Recipients by the state of their email, as the dashboard and the command line show them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BroadcastCounts {
    pub queued: u64,
    pub sent: u64,
    pub delivered: u64,
    pub bounced: u64,
    pub complained: u64,
    pub suppressed: u64,
    pub failed: u64,
    pub canceled: u64,
    /// Emails whose delivery has started, whatever their outcome.
    pub attempted: u64,
    /// Recipients who opened their email. Software does not count.
    pub opened: u64,
    /// Recipients who followed a link.
    pub clicked: u64,
    /// Opt-outs with the link of an email.
    pub unsubscribed: u64,
}

impl From<BroadcastCountsRow> for BroadcastCounts {
    fn from(row: BroadcastCountsRow) -> Self {
        let BroadcastCountsRow {
            queued,
            sent,
            delivered,
            bounced,
            complained,
            suppressed,
            failed,
            canceled,
            attempted,
            skipped: _,
            simulated: _,
            unsubscribed,
            opened,
            clicked,
            opened_by_software: _,
            clicked_by_software: _,
            domains: _,
            range: _,
            last_attempted: _,
        } = row;
        Self {
            queued,
            sent,
            delivered,
            bounced,
            complained,
            suppressed,
            failed,
            canceled,
            attempted,
            opened,
            clicked,
            unsubscribed,
        }
    }
}

/// Change of the email of one recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecipientChange<'a> {
    pub(crate) email: EmailId,
    /// The domain of the address; `None` if it is not known any more.
    pub(crate) domain: Option<&'a str>,
    pub(crate) from: BroadcastOutcome,
    pub(crate) to: BroadcastOutcome,
    /// Whether the delivery engine had claimed the email before the change.
    pub(crate) was_attempted: bool,
    /// Whether it has claimed the email now.
    pub(crate) is_attempted: bool,
    /// Whether the recipient is simulated.
    pub(crate) is_simulated: bool,
}

/// Whether a person and whether software opened an email, or followed a link of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngagedBy {
    pub(crate) is_by_person: bool,
    pub(crate) is_by_software: bool,
}

impl EngagedBy {
    const fn is_only_by_software(self) -> bool {
        self.is_by_software && !self.is_by_person
    }
}

/// Whether the email of a recipient was opened, and whether a link of it was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecipientEngagement {
    pub(crate) open: EngagedBy,
    pub(crate) click: EngagedBy,
}

/// Change of the recipients whose email was opened, or who followed a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngagementChange {
    opened: i64,
    clicked: i64,
    opened_by_software: i64,
    clicked_by_software: i64,
}

impl EngagementChange {
    /// Returns the change by one recipient.
    pub(crate) fn between(before: RecipientEngagement, after: RecipientEngagement) -> Self {
        let change = |of: fn(&RecipientEngagement) -> bool| i64::from(of(&after)) - i64::from(of(&before));
        Self {
            opened: change(|engagement| engagement.open.is_by_person),
            clicked: change(|engagement| engagement.click.is_by_person),
            opened_by_software: change(|engagement| engagement.open.is_only_by_software()),
            clicked_by_software: change(|engagement| engagement.click.is_only_by_software()),
        }
    }
}

/// Counts the opens and clicks of a recipient, or takes them back.
pub(crate) fn count_engagement(
    tx: &WriteTx<'_>,
    broadcast: BroadcastId,
    change: EngagementChange,
) -> Result<(), StoreError> {
    // The broadcast of a removed team has no counts any more.
    if change == EngagementChange::default() || !tx.contains(&BROADCAST_COUNTS, &(broadcast,))? {
        return Ok(());
    }
    let mut counts = read_counts(tx, broadcast)?;
    counts.opened = counts.opened.saturating_add_signed(change.opened);
    counts.clicked = counts.clicked.saturating_add_signed(change.clicked);
    counts.opened_by_software = counts.opened_by_software.saturating_add_signed(change.opened_by_software);
    counts.clicked_by_software = counts.clicked_by_software.saturating_add_signed(change.clicked_by_software);
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
}

/// Returns the counts of a broadcast. All are 0 before its first recipient is queued.
pub(crate) fn read_counts(tx: &impl Reads, broadcast: BroadcastId) -> Result<BroadcastCountsRow, StoreError> {
    Ok(tx.get_valid(&BROADCAST_COUNTS, &(broadcast,))?.unwrap_or_default())
}

/// Counts recipients that have been queued. `range` are the first and the last of their emails.
pub(crate) fn count_queued(
    tx: &WriteTx<'_>,
    broadcast: BroadcastId,
    recipients: u64,
    range: (EmailId, EmailId),
) -> Result<(), StoreError> {
    let mut counts = read_counts(tx, broadcast)?;
    counts.queued += recipients;
    let (first, last) = counts.range.unwrap_or(range);
    counts.range = Some((first.min(range.0), last.max(range.1)));
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
}

/// Counts the change of a recipient. After the last one has left the queue, the broadcast is sent.
pub(crate) fn change_counts(
    tx: &WriteTx<'_>,
    team: TeamId,
    broadcast: BroadcastId,
    change: RecipientChange<'_>,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    // The broadcast of a removed team has no counts any more.
    if !tx.contains(&BROADCAST_COUNTS, &(broadcast,))? {
        return Ok(());
    }
    let mut counts = read_counts(tx, broadcast)?;
    counts.apply(change);
    count_domain(tx, broadcast, &mut counts, &change)?;
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)?;
    if change.from == BroadcastOutcome::Queued && counts.queued == 0 {
        finish(tx, team, broadcast, now_ms)?;
    }
    Ok(())
}

/// Counts an opt-out with the link of an email. Does nothing if the broadcast is deleted.
pub(crate) fn count_unsubscribed(tx: &WriteTx<'_>, broadcast: BroadcastId) -> Result<(), StoreError> {
    let Some(mut counts) = tx.get_valid(&BROADCAST_COUNTS, &(broadcast,))? else { return Ok(()) };
    counts.unsubscribed += 1;
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
}

/// Reverses [`count_unsubscribed`].
pub(crate) fn take_back_unsubscribed(tx: &WriteTx<'_>, broadcast: BroadcastId) -> Result<(), StoreError> {
    let Some(mut counts) = tx.get_valid(&BROADCAST_COUNTS, &(broadcast,))? else { return Ok(()) };
    counts.unsubscribed = counts.unsubscribed.saturating_sub(1);
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
}

/// Counts queued recipients that were canceled without an attempt.
pub(crate) fn count_canceled(tx: &WriteTx<'_>, broadcast: BroadcastId, recipients: u64) -> Result<(), StoreError> {
    if recipients == 0 {
        return Ok(());
    }
    let mut counts = read_counts(tx, broadcast)?;
    counts.queued = counts.queued.saturating_sub(recipients);
    counts.canceled += recipients;
    tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
}

/// Sets the status of a broadcast to sent if all recipients have been queued and none of them waits for its first
/// attempt. The fan-out calls it after the last page. Returns whether the broadcast is sent now.
pub(crate) fn finish(
    tx: &WriteTx<'_>,
    team: TeamId,
    broadcast: BroadcastId,
    now_ms: TimestampMs,
) -> Result<bool, StoreError> {
    let Some(mut row) = store::find_valid(tx, team, broadcast)? else { return Ok(false) };
    let is_over =
        row.status == BroadcastStatus::Queued && row.is_queued_whole && read_counts(tx, broadcast)?.queued == 0;
    if is_over {
        row.status = BroadcastStatus::Sent;
        row.sent_ms = Some(now_ms);
        store::put(tx, team, broadcast, &row)?;
    }
    Ok(is_over)
}

impl BroadcastCountsRow {
    /// Returns the number of recipients that have ever been queued.
    pub const fn total(&self) -> u64 {
        let Self { queued, sent, delivered, bounced, complained, suppressed, failed, canceled, .. } = *self;
        queued + sent + delivered + bounced + complained + suppressed + failed + canceled
    }

    /// Returns the number of claimed emails to recipients that are not simulated.
    pub const fn attempted_real(&self) -> u64 {
        self.attempted.saturating_sub(self.simulated)
    }

    /// Returns the number of recipients that were canceled before their first attempt.
    pub const fn canceled_before(&self) -> u64 {
        self.total().saturating_sub(self.queued + self.attempted + self.skipped)
    }

    fn apply(&mut self, change: RecipientChange<'_>) {
        let RecipientChange { email, domain: _, from, to, was_attempted, is_attempted, is_simulated } = change;
        let left = from.count_mut(self);
        *left = left.saturating_sub(1);
        *to.count_mut(self) += 1;
        if is_attempted && !was_attempted {
            self.attempted += 1;
            self.simulated += u64::from(is_simulated);
            self.last_attempted = self.last_attempted.max(Some(email));
        }
        let is_skipped = |outcome, attempted: bool| u64::from(outcome == BroadcastOutcome::Suppressed && !attempted);
        self.skipped += is_skipped(to, is_attempted);
        self.skipped = self.skipped.saturating_sub(is_skipped(from, was_attempted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_email_to_a_simulated_recipient_is_counted_once() {
        let mut counts = BroadcastCountsRow { queued: 2, ..BroadcastCountsRow::default() };
        let claim = RecipientChange {
            email: EmailId::MIN,
            domain: None,
            from: BroadcastOutcome::Queued,
            to: BroadcastOutcome::Sent,
            was_attempted: false,
            is_attempted: true,
            is_simulated: true,
        };

        counts.apply(claim);
        counts.apply(RecipientChange { is_simulated: false, ..claim });
        let (from, to) = (BroadcastOutcome::Sent, BroadcastOutcome::Delivered);
        counts.apply(RecipientChange { from, to, was_attempted: true, ..claim });

        assert_eq!((counts.attempted, counts.simulated, counts.attempted_real()), (2, 1, 1));
    }
}
