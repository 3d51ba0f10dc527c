//! The stored facts about a queued group that explain why it waits.

use super::QueueControl;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id};
use crate::delivery::queue::{DueKey, HoldKind, HoldKinds, is_slowed, read_row};
use crate::delivery::rows::{Class, DueRow, SmtpAttemptRow};
use crate::emails;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::ATTEMPTS;

/// Maximum number of attempts of an email that are read for the last one of a group.
const ATTEMPTS_READ_MAX: usize = 50;
/// Maximum length of a reply in a reason, in characters.
const REPLY_CHARS_MAX: usize = 300;

/// A queued group with its email, its last attempt and its hold.
#[derive(Clone, Debug)]
pub(super) struct GroupFacts {
    pub(super) key: DueKey,
    pub(super) due: DueRow,
    /// Addresses of the recipients.
    pub(super) recipients: Vec<String>,
    /// Their domain. Simulated recipients share a destination that is not their domain.
    pub(super) domain: String,
    /// Requested time of a scheduled email.
    pub(super) scheduled_ms: Option<TimestampMs>,
    /// Result of the last attempt: why recipients returned to the queue, or else the summary.
    pub(super) last_result: Option<String>,
    /// Kind of its hold; `None` if it is not held.
    pub(super) hold: Option<HoldKind>,
    /// Whether it is of a broadcast, and the broadcasts of its team are slowed down.
    pub(super) is_slowed: bool,
}

impl QueueControl {
    /// Returns the facts about a queued group; `None` if it is not in the queue any more or its rows are corrupt.
    pub(super) fn facts(&self, tx: &impl Reads, key: DueKey) -> Result<Option<GroupFacts>, StoreError> {
        let Some(due) = read_row(tx, key)? else { return Ok(None) };
        let Some(row) = emails::find_valid_row(tx, due.team, key.email)? else { return Ok(None) };
        let of_group = || row.recipients.iter().filter(|recipient| recipient.group == key.group);
        let recipients = of_group().map(|recipient| recipient.mailbox.bare()).collect();
        let domain = of_group().next().and_then(|recipient| recipient.mailbox.domain());
        let domain = domain.unwrap_or(&due.destination).to_owned();
        let holds = HoldKinds::read(tx)?;
        let hold = match holds.of_lane(tx, key.lane, self.site_of_group(tx, key)?.as_deref())? {
            Some(kind) => Some(kind),
            None => holds.of_email(tx, due.team, key.email, row.key)?,
        };
        let last_result = last_attempt(tx, key.email, key.group)?.as_ref().map(result_of);
        let (scheduled_ms, team) = (row.scheduled_ms, due.team);
        let is_slowed = key.lane.class == Class::Broadcast && is_slowed(tx, team)?;
        Ok(Some(GroupFacts { key, due, recipients, domain, scheduled_ms, last_result, hold, is_slowed }))
    }
}

/// Returns the last attempt of a group; `None` if it has no stored attempt.
pub(super) fn last_attempt(tx: &impl Reads, email: EmailId, group: u16) -> Result<Option<SmtpAttemptRow>, StoreError> {
    let (mut last, mut read) = (None, 0);
    tx.scan_valid(&ATTEMPTS, &(email, Id::MIN), &(email, Id::MAX), Order::Descending, |_, attempt| {
        read += 1;
        if attempt.group == group {
            last = Some(attempt);
        }
        if last.is_some() || read == ATTEMPTS_READ_MAX { STOP } else { NEXT }
    })?;
    Ok(last)
}

fn result_of(attempt: &SmtpAttemptRow) -> String {
    attempt.deferral_reason.as_ref().unwrap_or(&attempt.summary).chars().take(REPLY_CHARS_MAX).collect()
}
