//! Tests of memberships.

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
async fn beside_a_corrupt_membership_no_user_becomes_the_owner_by_default() {
    let fixture = fixture().await;
    let first = fixture.add("first@example.com", None).await.unwrap();
    fixture.context.corrupt(&MEMBERSHIPS, (fixture.team, first.user.id)).await;

    let second = fixture.add("second@example.com", None).await;

    assert!(matches!(second, Err(AddError::Store(StoreError::Corrupt(_)))), "{second:?}");
}

#[tokio::test]
async fn an_address_is_a_member_only_once_in_any_case() {
    let fixture = fixture().await;
    fixture.add("first@example.com", None).await.unwrap();

    let again = fixture.add("FIRST@example.com", Some(Role::Member)).await;

    assert!(matches!(again, Err(AddError::AlreadyMember(Role::Owner))));
}

#[tokio::test]
async fn addresses_are_members_only_of_their_teams() {
    let fixture = fixture().await;
    let other = teams::create(&fixture.context, "Two").await.unwrap().unwrap().id;
    fixture.add("one@example.com", None).await.unwrap();
    fixture.add("two@example.com", None).await.unwrap();

    for (team, addresses, expected) in [
        (fixture.team, vec!["one@example.com", "TWO@example.com"], true),
        (fixture.team, vec!["one@example.com", "stranger@example.com"], false),
        (other, vec!["one@example.com"], false),
    ] {
        let addresses: Vec<EmailAddress> = addresses.into_iter().map(address).collect();
        let found = fixture.context.read(|tx| are_members(tx, team, &addresses));
        assert_eq!(found, expected, "{addresses:?}");
    }
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
async fn a_removed_member_stays_a_cursor_of_the_list() {
    let fixture = fixture().await;
    for name in ["first", "second", "third"] {
        fixture.add(&format!("{name}@example.com"), None).await.unwrap();
    }
    let removed = remove(&fixture.context, fixture.team, address("second@example.com")).await.unwrap().user.id;
    let names = async |cursor| {
        let team = fixture.team;
        let page = fixture.context.store.read(move |tx| list(tx, team, PageQuery { limit: 100, cursor })).await;
        page.map(|page| page.rows.into_iter().map(|member| member.user.email).collect::<Vec<_>>())
    };

    assert_eq!(names(Cursor::After(removed)).await.unwrap(), ["first@example.com"]);
    assert_eq!(names(Cursor::Before(removed)).await.unwrap(), ["third@example.com"]);
    let never_listed = fixture.context.id();
    assert!(matches!(names(Cursor::After(never_listed)).await, Err(PageError::UnknownCursor)));
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
