//! Joining a team, changing a role, leaving.

use super::model::{Member, Role, User};
use super::store::{self, MembershipRow};
use crate::base::address::EmailAddress;
use crate::base::id::{Id, TeamId, UserId};
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::MEMBERSHIPS;
use crate::teams;

/// Why an address cannot join a team.
#[derive(Debug)]
pub enum AddError {
    /// There is no such team.
    TeamNotFound,
    /// It belongs to the team already, in this role.
    AlreadyMember(Role),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for AddError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a membership stays as it is.
#[derive(Debug)]
pub enum MembershipError {
    /// The address belongs to no member of the team.
    NotMember,
    /// The team would be left without an owner.
    LastOwner,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for MembershipError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Adds an address to a team, as a new user or as the one that has the address already. Without a
/// role it becomes the owner of a team that has none, and a member of any other.
///
/// # Errors
/// [`AddError`]; nothing is stored.
pub async fn add(
    context: &Context,
    team: TeamId,
    address: EmailAddress,
    role: Option<Role>,
) -> Result<Member, AddError> {
    let (id, now): (UserId, _) = (context.id(), context.now_ms());
    context
        .store
        .write(move |tx| {
            if teams::find(tx, team)?.is_none() {
                return Err(AddError::TeamNotFound);
            }
            let known = store::find_by_address(tx, &address)?;
            if let Some(user) = &known
                && let Some(row) = tx.get(&MEMBERSHIPS, &(team, user.id))?
            {
                return Err(AddError::AlreadyMember(row.role));
            }
            let role = match role {
                Some(role) => role,
                None if has_owner_beside(tx, team, None)? => Role::Member,
                None => Role::Owner,
            };
            let user = match known {
                Some(user) => user,
                None => {
                    let user = User { id, email: address.to_string(), created_ms: now };
                    store::put(tx, &address, &user)?;
                    user
                }
            };
            tx.put(&MEMBERSHIPS, &(team, user.id), &MembershipRow { role, created_ms: now })?;
            Ok(Member { user, role, since_ms: now })
        })
        .await
}

/// Gives a member of the team another role.
///
/// # Errors
/// [`MembershipError`]; nothing is stored.
pub async fn change_role(
    context: &Context,
    team: TeamId,
    address: EmailAddress,
    role: Role,
) -> Result<Member, MembershipError> {
    context
        .store
        .write(move |tx| {
            let member = member(tx, team, &address)?;
            if member.role == Role::Owner && role != Role::Owner {
                keep_an_owner(tx, team, member.user.id)?;
            }
            let row = MembershipRow { role, created_ms: member.since_ms };
            tx.put(&MEMBERSHIPS, &(team, member.user.id), &row)?;
            Ok(Member { role, ..member })
        })
        .await
}

/// Takes an address out of a team; a user without a team is gone.
///
/// # Errors
/// [`MembershipError`]; nothing is stored.
pub async fn remove(context: &Context, team: TeamId, address: EmailAddress) -> Result<Member, MembershipError> {
    context
        .store
        .write(move |tx| {
            let member = member(tx, team, &address)?;
            let user = member.user.id;
            if member.role == Role::Owner {
                keep_an_owner(tx, team, user)?;
            }
            tx.delete(&MEMBERSHIPS, &(team, user))?;
            if !belongs_anywhere(tx, user)? {
                store::delete(tx, &address, user)?;
            }
            Ok(member)
        })
        .await
}

/// Returns a page of the team's members, the latest user first.
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

/// Returns the owners of a team, those that have been users for longest first, `owners_max` at most.
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

fn keep_an_owner(tx: &WriteTx<'_>, team: TeamId, leaving: UserId) -> Result<(), MembershipError> {
    if has_owner_beside(tx, team, Some(leaving))? { Ok(()) } else { Err(MembershipError::LastOwner) }
}

fn has_owner_beside(tx: &impl Reads, team: TeamId, leaving: Option<UserId>) -> Result<bool, StoreError> {
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

fn belongs_anywhere(tx: &impl Reads, user: UserId) -> Result<bool, StoreError> {
    for team in teams::list(tx)? {
        if tx.contains(&MEMBERSHIPS, &(team.id, user))? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::page::Cursor;

    struct Place {
        context: Context,
        team: TeamId,
        _directory: tempfile::TempDir,
    }

    async fn place() -> Place {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "One").await.unwrap().unwrap().id;
        Place { context, team, _directory: directory }
    }

    fn address(text: &str) -> EmailAddress {
        EmailAddress::parse(text).unwrap()
    }

    impl Place {
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
    async fn the_first_of_a_team_owns_it_and_the_next_are_members() {
        let place = place().await;

        place.add("First@Example.com", None).await.unwrap();
        place.add("second@example.com", None).await.unwrap();
        place.add("third@example.com", Some(Role::Admin)).await.unwrap();

        let expected = [("third", Role::Admin), ("second", Role::Member), ("First", Role::Owner)];
        let expected: Vec<_> = expected.into_iter().map(|(name, role)| (format!("{name}@example.com"), role)).collect();
        assert_eq!(place.members().await, expected);
    }

    #[tokio::test]
    async fn an_address_joins_a_team_once_in_any_letter_case() {
        let place = place().await;
        place.add("first@example.com", None).await.unwrap();

        let again = place.add("FIRST@example.com", Some(Role::Member)).await;

        assert!(matches!(again, Err(AddError::AlreadyMember(Role::Owner))));
    }

    #[tokio::test]
    async fn the_last_owner_stays_owner() {
        let place = place().await;
        place.add("first@example.com", None).await.unwrap();
        place.add("second@example.com", None).await.unwrap();
        let first = || address("first@example.com");

        let demoted = change_role(&place.context, place.team, first(), Role::Member).await;
        let removed = remove(&place.context, place.team, first()).await;
        assert!(matches!(demoted, Err(MembershipError::LastOwner)));
        assert!(matches!(removed, Err(MembershipError::LastOwner)));

        change_role(&place.context, place.team, address("second@example.com"), Role::Owner).await.unwrap();
        remove(&place.context, place.team, first()).await.unwrap();

        assert_eq!(place.members().await, [("second@example.com".to_owned(), Role::Owner)]);
    }

    #[tokio::test]
    async fn a_user_of_two_teams_is_one_user_and_goes_with_its_last_membership() {
        let place = place().await;
        let other = teams::create(&place.context, "Two").await.unwrap().unwrap().id;
        place.add("owner@example.com", None).await.unwrap();
        let here = place.add("both@example.com", None).await.unwrap();
        let there = add(&place.context, other, address("both@example.com"), Some(Role::Member)).await.unwrap();
        assert_eq!(here.user, there.user);

        remove(&place.context, place.team, address("both@example.com")).await.unwrap();
        let back = place.add("both@example.com", None).await.unwrap();
        assert_eq!(back.user, here.user);

        remove(&place.context, place.team, address("both@example.com")).await.unwrap();
        remove(&place.context, other, address("both@example.com")).await.unwrap();
        let anew = place.add("both@example.com", None).await.unwrap();
        assert_ne!(anew.user.id, here.user.id);
    }

    #[tokio::test]
    async fn nobody_joins_a_team_that_does_not_exist_or_leaves_one_they_are_not_in() {
        let place = place().await;
        let stranger = || address("stranger@example.com");

        let added = add(&place.context, TeamId::MIN, stranger(), None).await;
        let changed = change_role(&place.context, place.team, stranger(), Role::Owner).await;
        let removed = remove(&place.context, place.team, stranger()).await;

        assert!(matches!(added, Err(AddError::TeamNotFound)));
        assert!(matches!(changed, Err(MembershipError::NotMember)));
        assert!(matches!(removed, Err(MembershipError::NotMember)));
    }
}
