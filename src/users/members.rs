//! Use cases of memberships: add, change the role, remove, list.

use super::model::{Member, Role, TeamMembership, User};
use super::sessions;
use super::store::{self, MembershipRow};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, IdSource, TeamId, UserId};
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, from_store_error};
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
    team: TeamId,
    address: EmailAddress,
    role: Option<Role>,
) -> Result<Member, AddError> {
    let (ids, now_ms) = (context.ids.clone(), context.now_ms());
    context.store.write(move |tx| add_in(tx, &ids, team, &address, role, now_ms)).await
}

/// As [`add`], in a transaction of the caller.
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
    team: TeamId,
    address: EmailAddress,
    role: Role,
) -> Result<Member, MembershipError> {
    context.store.write(move |tx| change_role_in(tx, team, &address, role)).await
}

/// As [`change_role`], in a transaction of the caller.
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
pub async fn remove(context: &Context, team: TeamId, address: EmailAddress) -> Result<Member, MembershipError> {
    let now_ms = context.now_ms();
    context
        .store
        .write(move |tx| {
            let member = member(tx, team, &address)?;
            let user = member.user.id;
            if member.role == Role::Owner {
                require_other_owner(tx, team, user)?;
            }
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
///
/// # Errors
/// [`StoreError`].
pub(crate) fn remove_team(tx: &WriteTx<'_>, team: TeamId, members_max: usize) -> Result<usize, StoreError> {
    let mut users = Vec::new();
    tx.scan(&MEMBERSHIPS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, user), _| {
        users.push(user);
        if users.len() == members_max { STOP } else { NEXT }
    })?;
    for user in &users {
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
///
/// # Errors
/// [`PageError`].
pub fn list(tx: &impl Reads, team: TeamId, query: PageQuery<UserId>) -> Result<Page<Member>, PageError> {
    page(tx, &MEMBERSHIPS, team, query, |id, row| {
        let MembershipRow { role, created_ms } = row.decode()?;
        let user = store::find(tx, id)?;
        Ok(user.map(|user| Member { user, role, since_ms: created_ms }))
    })
}

/// Returns up to `owners_max` owners of a team, oldest user first.
///
/// # Errors
/// [`StoreError`].
pub fn owners(tx: &impl Reads, team: TeamId, owners_max: usize) -> Result<Vec<User>, StoreError> {
    let mut ids: Vec<UserId> = Vec::new();
    tx.scan(&MEMBERSHIPS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, user), row| {
        if ids.len() == owners_max {
            return STOP;
        }
        if row.decode()?.role == Role::Owner {
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

fn member(tx: &impl Reads, team: TeamId, address: &EmailAddress) -> Result<Member, MembershipError> {
    let user = store::find_by_address(tx, address)?.ok_or(MembershipError::NotMember)?;
    let row = tx.get(&MEMBERSHIPS, &(team, user.id))?.ok_or(MembershipError::NotMember)?;
    let MembershipRow { role, created_ms } = row;
    Ok(Member { user, role, since_ms: created_ms })
}

fn require_other_owner(tx: &WriteTx<'_>, team: TeamId, leaving: UserId) -> Result<(), MembershipError> {
    if has_other_owner(tx, team, Some(leaving))? { Ok(()) } else { Err(MembershipError::LastOwner) }
}

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
mod tests {
    use super::*;
    use crate::store::page::Cursor;

    struct Fixture {
        context: Context,
        team: TeamId,
        _directory: tempfile::TempDir,
    }

    async fn fixture() -> Fixture {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "One").await.unwrap().unwrap().id;
        Fixture { context, team, _directory: directory }
    }

    fn address(text: &str) -> EmailAddress {
        EmailAddress::parse(text).unwrap()
    }

    impl Fixture {
        async fn add(&self, text: &str, role: Option<Role>) -> Result<Member, AddError> {
            add(&self.context, self.team, address(text), role).await
        }

        async fn members(&self) -> Vec<(String, Role)> {
            let team = self.team;
            let query = PageQuery { limit: 100, cursor: Cursor::Newest };
            let page = self.context.store.read(move |tx| list(tx, team, query)).await.unwrap();
            page.rows.into_iter().map(|member| (member.user.email, member.role)).collect()
        }
    }

    #[tokio::test]
    async fn the_first_user_of_a_team_is_its_owner_and_others_are_members() {
        let fixture = fixture().await;

        fixture.add("First@Example.com", None).await.unwrap();
        fixture.add("second@example.com", None).await.unwrap();
        fixture.add("third@example.com", Some(Role::Admin)).await.unwrap();

        let expected = [("third", Role::Admin), ("second", Role::Member), ("First", Role::Owner)];
        let expected: Vec<_> = expected.into_iter().map(|(name, role)| (format!("{name}@example.com"), role)).collect();
        assert_eq!(fixture.members().await, expected);
    }

    #[tokio::test]
    async fn an_address_is_a_member_only_once_in_any_case() {
        let fixture = fixture().await;
        fixture.add("first@example.com", None).await.unwrap();

        let again = fixture.add("FIRST@example.com", Some(Role::Member)).await;

        assert!(matches!(again, Err(AddError::AlreadyMember(Role::Owner))));
    }

    #[tokio::test]
    async fn the_last_owner_stays_owner() {
        let fixture = fixture().await;
        fixture.add("first@example.com", None).await.unwrap();
        fixture.add("second@example.com", None).await.unwrap();
        let first = || address("first@example.com");

        let demoted = change_role(&fixture.context, fixture.team, first(), Role::Member).await;
        let removed = remove(&fixture.context, fixture.team, first()).await;
        assert!(matches!(demoted, Err(MembershipError::LastOwner)));
        assert!(matches!(removed, Err(MembershipError::LastOwner)));

        change_role(&fixture.context, fixture.team, address("second@example.com"), Role::Owner).await.unwrap();
        remove(&fixture.context, fixture.team, first()).await.unwrap();

        assert_eq!(fixture.members().await, [("second@example.com".to_owned(), Role::Owner)]);
    }

    #[tokio::test]
    async fn a_user_of_two_teams_is_one_user_until_its_last_membership_ends() {
        let fixture = fixture().await;
        let other = teams::create(&fixture.context, "Two").await.unwrap().unwrap().id;
        fixture.add("owner@example.com", None).await.unwrap();
        let here = fixture.add("both@example.com", None).await.unwrap();
        let there = add(&fixture.context, other, address("both@example.com"), Some(Role::Member)).await.unwrap();
        assert_eq!(here.user, there.user);

        remove(&fixture.context, fixture.team, address("both@example.com")).await.unwrap();
        let back = fixture.add("both@example.com", None).await.unwrap();
        assert_eq!(back.user, here.user);

        remove(&fixture.context, fixture.team, address("both@example.com")).await.unwrap();
        remove(&fixture.context, other, address("both@example.com")).await.unwrap();
        let added_again = fixture.add("both@example.com", None).await.unwrap();
        assert_ne!(added_again.user.id, here.user.id);
    }

    #[tokio::test]
    async fn an_unknown_team_and_an_unknown_member_are_errors() {
        let fixture = fixture().await;
        let stranger = || address("stranger@example.com");

        let added = add(&fixture.context, TeamId::MIN, stranger(), None).await;
        let changed = change_role(&fixture.context, fixture.team, stranger(), Role::Owner).await;
        let removed = remove(&fixture.context, fixture.team, stranger()).await;

        assert!(matches!(added, Err(AddError::TeamNotFound)));
        assert!(matches!(changed, Err(MembershipError::NotMember)));
        assert!(matches!(removed, Err(MembershipError::NotMember)));
    }
}
