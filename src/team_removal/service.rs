//! The removal of a team, and the reasons to refuse it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::api_keys::ApiKeys;
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{ReadTx, StoreError, WriteTx, from_store_error};
use crate::webhooks::Webhooks;
use crate::{broadcast_rows, delivery, teams, usage};

/// Treatment of accepted emails that are queued or in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsentEmails {
    /// The removal is refused.
    Refuse,
    /// They are canceled.
    Cancel,
}

/// Refusal of a removal.
#[derive(Debug, thiserror::Error)]
pub enum RemoveTeamError {
    /// The team does not exist.
    #[error("the team has just been removed")]
    NotFound,
    #[error("an instance needs a team; create another one first with `ringmail team create NAME`")]
    OnlyTeam,
    /// Emails of the team are queued or in flight, or a broadcast is scheduled or queued.
    #[error(
        "emails of the team are queued, scheduled or in flight; wait until they are sent, or cancel them and \
         remove the team with --force"
    )]
    HasUnsentEmails,
    #[error("{0}")]
    Store(StoreError),
}

from_store_error!(RemoveTeamError);

/// The unsent emails of a team at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueScan {
    has_unsent: bool,
    /// Number of emails that the team has ever accepted.
    accepted: u64,
}

/// The removals of teams of the instance.
pub struct TeamRemovals {
    pub(super) context: Context,
    pub(super) api_keys: Arc<ApiKeys>,
    pub(super) webhooks: Arc<Webhooks>,
    /// Removed teams without data, until the last pass. A process that starts repeats a pass.
    pub(super) empty: Mutex<BTreeSet<TeamId>>,
}

impl TeamRemovals {
    /// Creates the removals of the instance of `context`.
    pub fn new(context: Context, api_keys: Arc<ApiKeys>, webhooks: Arc<Webhooks>) -> Self {
        Self { context, api_keys, webhooks, empty: Mutex::default() }
    }

    /// Removes a team. Its keys stop working immediately, and the worker deletes its data.
    ///
    /// # Errors
    /// [`RemoveTeamError`]; nothing is changed.
    pub async fn remove(&self, team: TeamId, unsent: UnsentEmails) -> Result<(), RemoveTeamError> {
        // The scan of the queue is too long for a transaction that others wait for.
        let scan = self.scan(team).await?;
        self.remove_scanned(team, unsent, scan).await
    }

    /// Reads the queue and the number of accepted emails of a team in one snapshot.
    pub(super) async fn scan(&self, team: TeamId) -> Result<QueueScan, StoreError> {
        let read = move |tx: &ReadTx| {
            let (has_unsent, accepted) = (delivery::has_groups_of(tx, team)?, usage::total(tx, team)?);
            Ok(QueueScan { has_unsent, accepted })
        };
        self.context.store.read(read).await
    }

    /// Removes a team, unless the scan or an email that was accepted after it forbids that.
    pub(super) async fn remove_scanned(
        &self,
        team: TeamId,
        unsent: UnsentEmails,
        scan: QueueScan,
    ) -> Result<(), RemoveTeamError> {
        if unsent == UnsentEmails::Refuse && scan.has_unsent {
            return Err(RemoveTeamError::HasUnsentEmails);
        }
        let (context, webhooks) = (self.context.clone(), Arc::clone(&self.webhooks));
        let store = context.store.clone();
        let remove = move |tx: &WriteTx<'_>| {
            let Some(removed) = teams::find(tx, team)? else { return Err(RemoveTeamError::NotFound) };
            if teams::oldest(tx, 2)?.len() < 2 {
                return Err(RemoveTeamError::OnlyTeam);
            }
            let has_unsent = || {
                Ok::<_, StoreError>(usage::total(tx, team)? != scan.accepted || broadcast_rows::has_started(tx, team)?)
            };
            if unsent == UnsentEmails::Refuse && has_unsent()? {
                return Err(RemoveTeamError::HasUnsentEmails);
            }
            teams::remove(tx, team, context.now_ms())?;
            // An email in flight can still have an outcome. No endpoint receives it.
            webhooks.delete_endpoints(tx, team)?;
            let entry = AuditEntry::new(AuditAction::TeamRemoved).of(AuditTargetKind::Team, team).named(&removed.name);
            audit::record(tx, &context, Actor::CommandLine.in_team(team), entry)?;
            Ok(())
        };
        self.api_keys.revoke_of_team(team, async move { store.write(remove).await }).await
    }
}
