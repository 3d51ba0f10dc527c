//! The queued groups of an email, with the reasons why they wait.

use super::QueueControl;
use super::facts::GroupFacts;
use super::reason::{Reason, reason};
use super::waiting_state::WaitingState;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::emails::{self, EmailRow};
use crate::store::{Reads as _, StoreError};
use crate::tables::DUE;

/// A queued recipient group of an email, with the reason why it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingGroup {
    /// Addresses of the recipients.
    pub recipients: Vec<String>,
    /// Their domain.
    pub domain: String,
    /// Number of attempts that counted.
    pub attempts: u16,
    pub state: WaitingState,
    /// Expected time of the next attempt or test; `None` if it is not known.
    pub until_ms: Option<TimestampMs>,
    /// A sentence.
    pub reason: String,
}

impl QueueControl {
    /// Returns the queued groups of an email with the reasons why they wait; no group if the team has no such email.
    pub async fn waiting(&self, team: TeamId, email: EmailId) -> Result<Vec<WaitingGroup>, StoreError> {
        let control = self.clone();
        let read = move |tx: &crate::store::ReadTx| {
            let row = emails::find_valid_row(tx, team, email)?;
            let Some(row) = row.filter(|row| !row.hidden) else { return Ok((Vec::new(), None)) };
            let keys = emails::queued_groups(team, email, &row);
            let mut groups = Vec::with_capacity(keys.len());
            for key in &keys {
                groups.extend(control.facts(tx, *key)?);
            }
            let is_sending = row.broadcast.as_ref().is_some_and(|send| !send.is_canceled);
            let fan_out = match keys.first() {
                Some(key) if is_sending && !tx.contains(&DUE, &key.parts())? => Some(of_fan_out(&row)),
                _ => None,
            };
            Ok::<_, StoreError>((groups, fan_out))
        };
        let (groups, fan_out) = self.context.store.read(read).await?;
        Ok(groups.into_iter().map(|facts| self.waiting_group(facts)).chain(fan_out).collect())
    }

    fn waiting_group(&self, facts: GroupFacts) -> WaitingGroup {
        let Reason { state, until_ms, text: reason } = self.reason(&facts);
        let GroupFacts { due, recipients, domain, .. } = facts;
        WaitingGroup { recipients, domain, attempts: due.attempts, state, until_ms, reason }
    }

    /// Returns the current reason of the wait of a group.
    pub(super) fn reason(&self, facts: &GroupFacts) -> Reason {
        reason(facts, self.context.now_ms(), self.state(), || self.explain(facts.key.lane))
    }
}

/// Returns the group of an email of a broadcast that has no queue row yet.
fn of_fan_out(row: &EmailRow) -> WaitingGroup {
    let recipient = row.recipients.first();
    WaitingGroup {
        recipients: recipient.map(|recipient| recipient.mailbox.bare()).into_iter().collect(),
        domain: recipient.and_then(|recipient| recipient.mailbox.domain()).unwrap_or_default().to_owned(),
        attempts: 0,
        state: WaitingState::FanOut,
        until_ms: None,
        reason: "The emails of its broadcast are being put into the queue, and this one follows.".into(),
    }
}
