//! Pages of the audit log, newest first.

use std::collections::BinaryHeap;

use serde_json::{Map, Value as Json};

use super::model::{Actor, AuditAction, AuditTarget};
use super::store::AuditRow;
use crate::base::id::{AuditId, Id, TeamId};
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::AUDIT_LOG;

/// Entries that one page examines. A page with a filter can end earlier than its limit.
const EXAMINED_MAX: usize = 10_000;
/// Teams whose entries one page of all teams merges: the ones with the lowest ids.
const TEAMS_MAX: usize = 10_000;

/// Selection of entries. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Start of the name of the action, such as `api_key.` or `domain.created`.
    pub action: Option<String>,
    /// Type of the actor, such as `user`.
    pub actor: Option<String>,
}

impl AuditFilter {
    fn selects(&self, row: &AuditRow) -> bool {
        self.action.as_ref().is_none_or(|prefix| row.action.as_str().starts_with(prefix.as_str()))
            && self.actor.as_ref().is_none_or(|kind| row.actor.kind() == kind)
    }
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAction {
    pub id: AuditId,
    pub team: TeamId,
    pub actor: Actor,
    /// Address of the user or name of the key at the time of the action.
    pub actor_name: Option<String>,
    pub action: AuditAction,
    pub target: Option<AuditTarget>,
    pub detail: Map<String, Json>,
}

impl RecordedAction {
    fn of(team: TeamId, id: AuditId, row: AuditRow) -> Self {
        let AuditRow { actor, actor_name, action, target, detail } = row;
        Self { id, team, actor, actor_name, action, target, detail }
    }
}

/// A page of entries, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPage {
    pub rows: Vec<RecordedAction>,
    /// Id after which the next page starts; `None` if there is no older entry.
    pub next: Option<AuditId>,
}

/// The audit logs of the teams and of the server.
pub struct AuditLog {
    context: Context,
}

impl AuditLog {
    /// Returns the logs in the store of `context`.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Returns up to `limit` entries of a team that are older than `after`. The team may be removed; its entries stay
    /// for their retention period. Examines at most 10,000 entries, and skips corrupt ones.
    pub async fn list(
        &self,
        team: TeamId,
        filter: AuditFilter,
        after: Option<AuditId>,
        limit: usize,
    ) -> Result<AuditPage, StoreError> {
        self.context.store.read(move |tx| page_of(tx, team, &filter, after, limit)).await
    }

    /// Does the same as [`AuditLog::list`], for the entries of the server, of all teams and of removed teams.
    pub async fn list_all(&self, after: Option<AuditId>, limit: usize) -> Result<AuditPage, StoreError> {
        self.context.store.read(move |tx| page_of_all(tx, after, limit)).await
    }

    /// Returns whether the log of a team has an entry.
    pub async fn has_entries(&self, team: TeamId) -> Result<bool, StoreError> {
        self.context.store.read(move |tx| Ok(newest(tx, team, None)?.is_some())).await
    }
}

fn page_of(
    tx: &impl Reads,
    team: TeamId,
    filter: &AuditFilter,
    after: Option<AuditId>,
    limit: usize,
) -> Result<AuditPage, StoreError> {
    let (mut rows, mut examined, mut last, mut has_more) = (Vec::new(), 0, None, false);
    tx.scan(&AUDIT_LOG, &(team, Id::MIN), &(team, after.unwrap_or(Id::MAX)), Order::Descending, |(_, id), row| {
        if Some(id) == after {
            return NEXT;
        }
        if rows.len() == limit || examined == EXAMINED_MAX {
            has_more = true;
            return STOP;
        }
        examined += 1;
        last = Some(id);
        // A later version may have stored other actions, which are no error.
        if let Ok(row) = row.decode()
            && filter.selects(&row)
        {
            rows.push(RecordedAction::of(team, id, row));
        }
        NEXT
    })?;
    Ok(AuditPage { rows, next: last.filter(|_| has_more) })
}

fn page_of_all(tx: &impl Reads, after: Option<AuditId>, limit: usize) -> Result<AuditPage, StoreError> {
    let (mut heads, mut team, mut teams) = (BinaryHeap::new(), None, 0);
    while teams < TEAMS_MAX
        && let Some(next) = next_team(tx, team)?
    {
        heads.extend(newest(tx, next, after)?.map(|id| (id, next)));
        (team, teams) = (Some(next), teams + 1);
    }
    let (mut rows, mut last) = (Vec::new(), None);
    while rows.len() < limit
        && let Some((id, team)) = heads.pop()
    {
        if let Some(row) = tx.get_valid(&AUDIT_LOG, &(team, id))? {
            rows.push(RecordedAction::of(team, id, row));
        }
        last = Some(id);
        heads.extend(newest(tx, team, Some(id))?.map(|id| (id, team)));
    }
    Ok(AuditPage { rows, next: last.filter(|_| !heads.is_empty()) })
}

/// Returns the newest entry of a team that is older than `before`.
pub(super) fn newest(tx: &impl Reads, team: TeamId, before: Option<AuditId>) -> Result<Option<AuditId>, StoreError> {
    let mut found = None;
    tx.scan(&AUDIT_LOG, &(team, Id::MIN), &(team, before.unwrap_or(Id::MAX)), Order::Descending, |(_, id), _| {
        if Some(id) == before {
            return NEXT;
        }
        found = Some(id);
        STOP
    })?;
    Ok(found)
}

/// Returns the first team with entries whose id is higher than that of `after`. Removed teams are among them, and
/// [`TeamActor::SERVER`](super::TeamActor::SERVER) is the first.
pub(super) fn next_team(tx: &impl Reads, after: Option<TeamId>) -> Result<Option<TeamId>, StoreError> {
    // No entry has the highest id.
    let from = after.map_or((Id::MIN, Id::MIN), |team| (team, Id::MAX));
    Ok(tx.first_key(&AUDIT_LOG, (from, (Id::MAX, Id::MAX)), Order::Ascending)?.map(|(team, _)| team))
}
