//! Rows of teams. An instance has few teams, so that a lookup by name reads all of them.

use serde::{Deserialize, Serialize};

use super::model::{self, RemovedTeam, Team, TeamNameError};
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind};
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TeamId};
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::{REMOVED_TEAMS, TEAMS};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TeamRow {
    name: String,
    created_ms: TimestampMs,
}
impl Row for TeamRow {}

/// A removed team on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovedTeamRow {
    removed_ms: TimestampMs,
}
impl Row for RemovedTeamRow {}

fn team(id: TeamId, row: TeamRow) -> Team {
    let TeamRow { name, created_ms } = row;
    Team { id, name, created_ms }
}

/// Returns all teams, oldest first. Skips corrupt rows.
pub fn list(tx: &impl Reads) -> Result<Vec<Team>, StoreError> {
    let all = ((Id::MIN,), (Id::MAX,));
    tx.collect(&TEAMS, all, Order::Ascending, |(id,), row| Ok(row.valid().map(|row| team(id, row))))
}

/// Returns the ids of all teams, oldest first. Skips corrupt rows.
pub fn ids(tx: &impl Reads) -> Result<Vec<TeamId>, StoreError> {
    Ok(list(tx)?.into_iter().map(|team| team.id).collect())
}

/// Returns up to `teams_max` teams, oldest first. Skips corrupt rows.
pub fn oldest(tx: &impl Reads, teams_max: usize) -> Result<Vec<Team>, StoreError> {
    let mut teams = Vec::new();
    tx.scan_valid(&TEAMS, &(Id::MIN,), &(Id::MAX,), Order::Ascending, |(id,), row| {
        if teams.len() == teams_max {
            return STOP;
        }
        teams.push(team(id, row));
        NEXT
    })?;
    Ok(teams)
}

/// Returns the team with an id.
pub fn find(tx: &impl Reads, id: TeamId) -> Result<Option<Team>, StoreError> {
    Ok(tx.get(&TEAMS, &(id,))?.map(|row| team(id, row)))
}

/// Returns the team with a name.
pub fn find_by_name(tx: &impl Reads, name: &str) -> Result<Option<Team>, StoreError> {
    Ok(list(tx)?.into_iter().find(|team| team.name == name))
}

/// Writes the row of a team.
pub(crate) fn put(tx: &WriteTx<'_>, team: &Team) -> Result<(), StoreError> {
    let Team { id, name, created_ms } = team;
    tx.put(&TEAMS, &(*id,), &TeamRow { name: name.clone(), created_ms: *created_ms })
}

/// Creates a team.
///
/// # Errors
/// [`TeamNameError`] if the name is invalid or in use; [`StoreError`].
pub async fn create(context: &Context, name: &str) -> Result<Result<Team, TeamNameError>, StoreError> {
    let name = match model::name(name) {
        Ok(name) => name,
        Err(error) => return Ok(Err(error)),
    };
    let audited = context.clone();
    context
        .store
        .write(move |tx| {
            if find_by_name(tx, &name)?.is_some() {
                return Ok(Err(TeamNameError::Taken));
            }
            let id: TeamId = audited.id();
            let new = Team { id, name: name.clone(), created_ms: id.created_ms() };
            put(tx, &new)?;
            let entry = entry(AuditAction::TeamCreated, id, &name);
            audit::record(tx, &audited, Actor::CommandLine.in_team(id), entry)?;
            Ok(Ok(new))
        })
        .await
}

/// Renames a team; `None` if it does not exist.
///
/// # Errors
/// [`TeamNameError`] if the name is invalid or another team has it; [`StoreError`].
pub async fn rename(
    context: &Context,
    id: TeamId,
    name: &str,
) -> Result<Result<Option<Team>, TeamNameError>, StoreError> {
    let (name, audited) = (name.to_owned(), context.clone());
    let rename = move |tx: &WriteTx<'_>| {
        let before = find(tx, id)?;
        let renamed = rename_in(tx, id, &name)?;
        if let (Ok(Some(team)), Some(before)) = (&renamed, before)
            && team.name != before.name
        {
            let entry = entry(AuditAction::TeamRenamed, id, &before.name).with("name", team.name.as_str());
            audit::record(tx, &audited, Actor::CommandLine.in_team(id), entry)?;
        }
        Ok(renamed)
    };
    context.store.write(rename).await
}

fn entry(action: AuditAction, id: TeamId, name: &str) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::Team, id).named(name)
}

/// Does the same as [`rename`], in a transaction of the caller.
///
/// # Errors
/// As [`rename`]; nothing is written.
pub(crate) fn rename_in(
    tx: &WriteTx<'_>,
    id: TeamId,
    name: &str,
) -> Result<Result<Option<Team>, TeamNameError>, StoreError> {
    let name = match model::name(name) {
        Ok(name) => name,
        Err(error) => return Ok(Err(error)),
    };
    if find_by_name(tx, &name)?.is_some_and(|other| other.id != id) {
        return Ok(Err(TeamNameError::Taken));
    }
    let Some(team) = find(tx, id)? else { return Ok(Ok(None)) };
    let renamed = Team { name, ..team };
    put(tx, &renamed)?;
    Ok(Ok(Some(renamed)))
}

/// Deletes the row of a team, and records that its data must be deleted.
pub(crate) fn remove(tx: &WriteTx<'_>, id: TeamId, now_ms: TimestampMs) -> Result<(), StoreError> {
    tx.delete(&TEAMS, &(id,))?;
    tx.put(&REMOVED_TEAMS, &(id,), &RemovedTeamRow { removed_ms: now_ms })
}

/// Returns whether a team is removed and has data left.
pub(crate) fn is_removed(tx: &impl Reads, id: TeamId) -> Result<bool, StoreError> {
    tx.contains(&REMOVED_TEAMS, &(id,))
}

/// Returns the removed teams whose data is not deleted yet.
pub(crate) fn removed(tx: &impl Reads) -> Result<Vec<RemovedTeam>, StoreError> {
    tx.collect(&REMOVED_TEAMS, ((Id::MIN,), (Id::MAX,)), Order::Ascending, |(id,), row| {
        // The rest of a corrupt row is not needed: the team is removed.
        Ok(Some(RemovedTeam { id, removed_ms: row.valid().map_or(0, |row| row.removed_ms) }))
    })
}

/// Deletes the record of a removed team, after its data.
pub(crate) fn forget_removed(tx: &WriteTx<'_>, id: TeamId) -> Result<(), StoreError> {
    tx.delete(&REMOVED_TEAMS, &(id,)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_teams_are_returned_up_to_the_limit() {
        let (_directory, context) = Context::temporary();
        for name in ["One", "Two", "Three"] {
            context.clock.advance(std::time::Duration::from_millis(1));
            create(&context, name).await.unwrap().unwrap();
        }

        let all = ["One", "Two", "Three"];
        for (teams_max, names) in [(0, &all[..0]), (2, &all[..2]), (3, &all), (9, &all)] {
            let teams = context.read(|tx| oldest(tx, teams_max));

            let found: Vec<&str> = teams.iter().map(|team| team.name.as_str()).collect();
            assert_eq!(found, names, "{teams_max}");
        }
    }
}
