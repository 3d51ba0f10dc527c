//! The queued groups of an email, with the reasons why they wait.

use super::QueueControl;
use super::facts::GroupFacts;
use super::reason::{Reason, reason};
use super::waiting_state::WaitingState;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::emails;
use crate::store::StoreError;

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
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn waiting(&self, team: TeamId, email: EmailId) -> Result<Vec<WaitingGroup>, StoreError> {
        let control = self.clone();
        let read = move |tx: &crate::store::ReadTx| {
            let row = emails::find_valid_row(tx, team, email)?;
            let row = row.filter(|row| !row.hidden);
            let keys = row.map(|row| emails::queued_groups(team, email, &row)).unwrap_or_default();
            let mut groups = Vec::with_capacity(keys.len());
            for key in keys {
                groups.extend(control.facts(tx, key)?);
            }
            Ok::<_, StoreError>(groups)
        };
        let groups = self.context.store.read(read).await?;
        Ok(groups.into_iter().map(|facts| self.waiting_group(facts)).collect())
    }

    fn waiting_group(&self, facts: GroupFacts) -> WaitingGroup {
        let Reason { state, until_ms, text: reason } = self.reason(&facts);
        let GroupFacts { due, recipients, domain, .. } = facts;
        WaitingGroup { recipients, domain, attempts: due.attempts, state, until_ms, reason }
    }

    /// Returns why a group waits now.
    pub(super) fn reason(&self, facts: &GroupFacts) -> Reason {
        reason(facts, self.context.now_ms(), self.state(), || self.explain(facts.key.lane))
    }
}
