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
    /// Result of the last attempt: the last refusal of the server, or else the summary.
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

/// Returns the last refusal in the transcript of an attempt, or else its summary.
fn result_of(attempt: &SmtpAttemptRow) -> String {
    let mut replies = attempt.transcript.lines().filter_map(|line| line.strip_prefix("S: "));
    let refusal = replies.rfind(|reply| reply.starts_with(['4', '5']));
    refusal.unwrap_or(&attempt.summary).chars().take(REPLY_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_result_of_an_attempt_is_the_last_refusal_or_the_summary() {
        for (transcript, expected) in [
            (
                "S: 220 mx\nC: RCPT TO:<a@b.example>\nS: 451 4.7.1 Greylisted\nC: RSET\nS: 250 Ok\n",
                "451 4.7.1 Greylisted",
            ),
            ("S: 450-one\nS: 450 two\n", "450 two"),
            ("S: 220 mx\nS: 250 Ok\n", "1 deferred"),
            ("", "1 deferred"),
        ] {
            let row = json!({ "at_ms": 0, "group": 0, "number": 1, "summary": "1 deferred" });
            let attempt = SmtpAttemptRow { transcript: transcript.to_owned(), ..serde_json::from_value(row).unwrap() };

            assert_eq!(result_of(&attempt), expected, "{transcript:?}");
        }
    }
}
