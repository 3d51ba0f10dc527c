//! Use cases of memberships: add, change the role, remove, list.

use super::model::{Member, Role, TeamMembership, User};
use super::sessions;
use super::store::{self, MembershipRow};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, IdSource, TeamId, UserId};
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, from_store_error, match_keys};
use crate::tables::MEMBERSHIPS;
use crate::teams;

/// Error of [`add`].
#[derive(Debug)]
pub enum AddError {
    /// The team does not exist.
    TeamNotFound,
    /// The address is a member already, with this role.
    AlreadyMember(Role),
    Store(StoreError),
}

from_store_error!(AddError);

/// Error of [`change_role`] and [`remove`].
#[derive(Debug)]
pub enum MembershipError {
    /// The address is not a member of the team.
    NotMember,
    /// The change would leave the team without an owner.
    LastOwner,
    Store(StoreError),
}

from_store_error!(MembershipError);

/// Adds a user to a team. Creates the user if the address is new. The default role is owner if the team
/// has no owner, and member otherwise.
///
/// # Errors
/// [`AddError`]; nothing is stored.
pub async fn add(
    context: &Context,
    by: impl Into<TeamActor>,
    address: EmailAddress,
    role: Option<Role>,
) -> Result<Member, AddError> {
    let (by, audited, now_ms) = (by.into(), context.clone(), context.now_ms());
    let add = move |tx: &WriteTx<'_>| {
        let member = add_in(tx, &audited.ids, by.team, &address, role, now_ms)?;
        let entry = entry(AuditAction::MemberAdded, &member.user).with("role", member.role.as_str());
        audit::record(tx, &audited, by, entry)?;
        Ok(member)
    };
    context.store.write(add).await
}

/// Returns an entry about a user of the dashboard.
pub(super) fn entry(action: AuditAction, user: &User) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::User, user.id).named(&user.email)
}

/// Does the same as [`add`], in a transaction of the caller.
///
/// # Errors
/// As [`add`].
pub(super) fn add_in(
    tx: &WriteTx<'_>,
    ids: &IdSource,
    team: TeamId,
    address: &EmailAddress,
    role: Option<Role>,
    now_ms: TimestampMs,
) -> Result<Member, AddError> {
    if teams::find(tx, team)?.is_none() {
        return Err(AddError::TeamNotFound);
    }
    let existing = store::find_by_address(tx, address)?;
    if let Some(user) = &existing
        && let Some(row) = tx.get(&MEMBERSHIPS, &(team, user.id))?
    {
        return Err(AddError::AlreadyMember(row.role));
    }
    let role = match role {
        Some(role) => role,
        None if has_other_owner(tx, team, None)? => Role::Member,
        None => Role::Owner,
    };
    let user = match existing {
        Some(user) => user,
        None => {
            let id: UserId = ids.draw();
            let user = User { id, email: address.to_string(), created_ms: id.created_ms() };
            store::put(tx, address, &user)?;
            user
        }
    };
    tx.put(&MEMBERSHIPS, &(team, user.id), &MembershipRow { role, created_ms: now_ms })?;
    Ok(Member { user, role, since_ms: now_ms })
}

/// Changes the role of a member.
///
/// # Errors
/// [`MembershipError`]; nothing is stored.
pub async fn change_role(
    context: &Context,
    by: impl Into<TeamActor>,
    address: EmailAddress,
    role: Role,
) -> Result<Member, MembershipError> {
    let (by, audited) = (by.into(), context.clone());
    let change = move |tx: &WriteTx<'_>| {
        let before = member(tx, by.team, &address)?.role;
        let member = change_role_in(tx, by.team, &address, role)?;
        if before != role {
            let entry = entry(AuditAction::MemberRoleChanged, &member.user).with("role", role.as_str());
            audit::record(tx, &audited, by, entry)?;
        }
        Ok(member)
    };
    context.store.write(change).await
}

/// Does the same as [`change_role`], in a transaction of the caller.
///
/// # Errors
/// As [`change_role`].
pub(super) fn change_role_in(
    tx: &WriteTx<'_>,
    team: TeamId,
    address: &EmailAddress,
    role: Role,
) -> Result<Member, MembershipError> {
    let member = member(tx, team, address)?;
    if member.role == Role::Owner && role != Role::Owner {
        require_other_owner(tx, team, member.user.id)?;
    }
    let row = MembershipRow { role, created_ms: member.since_ms };
    tx.put(&MEMBERSHIPS, &(team, member.user.id), &row)?;
    Ok(Member { role, ..member })
}

/// Removes a user from a team. Deletes the user if it has no other team.
///
/// # Errors
/// [`MembershipError`]; nothing is stored.
pub async fn remove(
    context: &Context,
    by: impl Into<TeamActor>,
    address: EmailAddress,
) -> Result<Member, MembershipError> {
    let (by, audited, now_ms) = (by.into(), context.clone(), context.now_ms());
    let team = by.team;
    context
        .store
        .write(move |tx| {
            let member = member(tx, team, &address)?;
            let user = member.user.id;
            if member.role == Role::Owner {
                require_other_owner(tx, team, user)?;
            }
            audit::record(tx, &audited, by, entry(AuditAction::MemberRemoved, &member.user))?;
            tx.delete_listed(&MEMBERSHIPS, &(team, user), now_ms)?;
            sessions::delete_of_team(tx, user, team)?;
            if !has_membership(tx, user)? {
                store::delete(tx, &address, user)?;
            }
            Ok(member)
        })
        .await
}

/// Removes up to `members_max` members of a removed team; returns their number. Deletes users without another
/// team.
pub(crate) fn remove_team(tx: &WriteTx<'_>, team: TeamId, members_max: usize) -> Result<usize, StoreError> {
    let users = match_keys(tx, &MEMBERSHIPS, (team, Id::MIN), (team, Id::MAX), members_max, |_| true)?.hits;
    for (_, user) in &users {
        tx.delete(&MEMBERSHIPS, &(team, *user))?;
        sessions::delete_of_team(tx, *user, team)?;
        if has_membership(tx, *user)? {
            continue;
        }
        if let Some(User { email, .. }) = store::find(tx, *user)?
            && let Ok(address) = EmailAddress::parse(&email)
        {
            store::delete(tx, &address, *user)?;
        }
    }
    Ok(users.len())
}

/// Returns a page of the members of a team, newest user first.
pub fn list(tx: &impl Reads, team: TeamId, query: PageQuery<UserId>) -> Result<Page<Member>, PageError> {
    page(tx, &MEMBERSHIPS, team, query, |id, row| {
        let MembershipRow { role, created_ms } = row;
        let user = store::find(tx, id)?;
        Ok(user.map(|user| Member { user, role, since_ms: created_ms }))
    })
}

/// Returns up to `owners_max` owners of a team, oldest user first.
pub fn owners(tx: &impl Reads, team: TeamId, owners_max: usize) -> Result<Vec<User>, StoreError> {
    let mut ids: Vec<UserId> = Vec::new();
    tx.scan_valid(&MEMBERSHIPS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, user), row| {
        if ids.len() == owners_max {
            return STOP;
        }
        if row.role == Role::Owner {
            ids.push(user);
        }
        NEXT
    })?;
    let mut owners = Vec::with_capacity(ids.len());
    for id in ids {
        owners.extend(store::find(tx, id)?);
    }
    Ok(owners)
}

/// Returns whether each address is that of a member of a team.
pub fn are_members(tx: &impl Reads, team: TeamId, addresses: &[EmailAddress]) -> Result<bool, StoreError> {
    for address in addresses {
        match store::find_by_address(tx, address)? {
            Some(user) if tx.contains(&MEMBERSHIPS, &(team, user.id))? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn member(tx: &impl Reads, team: TeamId, address: &EmailAddress) -> Result<Member, MembershipError> {
    let user = store::find_by_address(tx, address)?.ok_or(MembershipError::NotMember)?;
    let row = tx.get(&MEMBERSHIPS, &(team, user.id))?.ok_or(MembershipError::NotMember)?;
    let MembershipRow { role, created_ms } = row;
    Ok(Member { user, role, since_ms: created_ms })
}

fn require_other_owner(tx: &WriteTx<'_>, team: TeamId, leaving: UserId) -> Result<(), MembershipError> {
    if has_other_owner(tx, team, Some(leaving))? { Ok(()) } else { Err(MembershipError::LastOwner) }
}

/// Fails at a corrupt membership: its user can be the only owner.
fn has_other_owner(tx: &impl Reads, team: TeamId, leaving: Option<UserId>) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan(&MEMBERSHIPS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, user), row| {
        if Some(user) != leaving && row.decode()?.role == Role::Owner {
            found = true;
            return STOP;
        }
        NEXT
    })?;
    Ok(found)
}

fn has_membership(tx: &impl Reads, user: UserId) -> Result<bool, StoreError> {
    for team in teams::list(tx)? {
        if tx.contains(&MEMBERSHIPS, &(team.id, user))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the role of a user in a team; `None` if the user is not a member, or if the team is removed.
pub(super) fn role_in(tx: &impl Reads, team: TeamId, user: UserId) -> Result<Option<Role>, StoreError> {
    if teams::find(tx, team)?.is_none() {
        return Ok(None);
    }
    Ok(tx.get(&MEMBERSHIPS, &(team, user))?.map(|row| row.role))
}

/// Returns the teams of a user, oldest team first. An instance has few teams.
pub(super) fn teams_of(tx: &impl Reads, user: UserId) -> Result<Vec<TeamMembership>, StoreError> {
    let mut found = Vec::new();
    for team in teams::list(tx)? {
        if let Some(MembershipRow { role, .. }) = tx.get(&MEMBERSHIPS, &(team.id, user))? {
            found.push(TeamMembership { team: team.id, team_name: team.name, role });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
