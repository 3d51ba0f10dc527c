//! Tests of the contacts of a segment: counts and pages agree with a check of every contact.

use proptest::prelude::*;

use super::*;
use crate::segments::scan::containing;
use crate::store::ScanLimit;
use crate::tables::CONTACTS;

/// A step so small that every scan takes many.
const SMALL: ScanLimit = ScanLimit { rows_max: 4, ..ScanLimit::STEP };

#[tokio::test]
async fn a_segment_contains_matching_contacts_and_members_each_once() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"), ("Bea", "free"), ("Cay", "pro"), ("Dan", "free")]).await;
    let both = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    join(&context, TEAM, both.id, vec![contacts[0], contacts[3]]).await;

    assert_eq!(count(&segments, TEAM, &both).await, 3);
    assert_eq!(listed(&segments, TEAM, both.id, 2).await, [contacts[3], contacts[2], contacts[0]]);
}

#[tokio::test]
async fn no_filter_matches_no_contact_and_an_empty_one_matches_all() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"); 5]).await;
    add(&context, OTHER, vec![("Eve", "pro"); 3]).await;
    let members_only = segment(&segments, TEAM, None).await;
    let all = segment(&segments, TEAM, Some(Filter::parse(Match::Any, vec![]).unwrap())).await;

    assert_eq!(
        (count(&segments, TEAM, &members_only).await, listed(&segments, TEAM, members_only.id, 2).await),
        (0, vec![])
    );
    join(&context, TEAM, members_only.id, vec![contacts[1]]).await;
    assert_eq!(
        (count(&segments, TEAM, &members_only).await, listed(&segments, TEAM, members_only.id, 2).await),
        (1, vec![contacts[1]])
    );
    assert_eq!(count(&segments, TEAM, &all).await, 5);
    let newest_first: Vec<_> = contacts.into_iter().rev().collect();
    assert_eq!(listed(&segments, TEAM, all.id, 2).await, newest_first);
}

#[tokio::test]
async fn a_filter_never_matches_a_contact_of_another_team() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::with_step(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 9]).await;
    let foreign_contacts = add(&context, OTHER, vec![("Eve", "pro"); 7]).await;
    let either = ["pro", "free"].map(|plan| ConditionText {
        field: "property:plan".into(),
        op: "not_equals".into(),
        value: Some(plan.into()),
    });
    let filter = Filter::parse(Match::Any, either.to_vec()).unwrap();
    let made = segment(&segments, TEAM, Some(filter)).await;

    assert_eq!(count(&segments, TEAM, &made).await, 9);
    let listed = listed(&segments, TEAM, made.id, 4).await;
    assert!(listed.len() == 9 && listed.iter().all(|contact| !foreign_contacts.contains(contact)));
    let foreign = segments.contacts(OTHER, made.id, PageQuery { limit: 4, cursor: Cursor::Newest }).await;
    assert!(matches!(foreign, Err(SegmentPageError::NotFound)));
    assert_eq!(segments.find(OTHER, made.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_count_is_exact_after_every_change() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::with_step(context.clone(), SMALL);
    let contacts = add(&context, TEAM, vec![("Ada", "pro"); 10]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    assert_eq!(count(&segments, TEAM, &made).await, 10);
    assert_eq!(count(&segments, TEAM, &made).await, 10);

    let leaving = contacts[4];
    change(&context, TEAM, move |writer, tx| {
        let row = crate::contacts::find(tx, TEAM, leaving)?.unwrap();
        writer.remove(leaving, &row)
    })
    .await;
    assert_eq!(count(&segments, TEAM, &made).await, 9);

    let other = SegmentChanges { filter: Patch::Set(plan_is("free")), ..SegmentChanges::default() };
    let changed = segments.update(TEAM, made.id, other).await.unwrap();
    assert_eq!(count(&segments, TEAM, &changed).await, 0);

    join(&context, TEAM, made.id, vec![contacts[0]]).await;
    assert_eq!(count(&segments, TEAM, &changed).await, 1);
    change(&context, TEAM, {
        let (contact, segment) = (contacts[0], made.id);
        move |writer, _| writer.leave_segment(contact, segment)
    })
    .await;
    assert_eq!(count(&segments, TEAM, &changed).await, 0);
}

#[tokio::test]
async fn a_contact_outside_of_the_segment_is_not_a_cursor() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"), ("Bea", "free")]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;

    for (cursor, is_known) in [(contacts[0], true), (contacts[1], false), (Id::MIN, false), (Id::MAX, false)] {
        for cursor in [Cursor::After(cursor), Cursor::Before(cursor)] {
            let page = segments.contacts(TEAM, made.id, PageQuery { limit: 4, cursor }).await;

            assert_eq!(page.is_ok(), is_known, "{cursor:?}");
            assert!(is_known || matches!(page, Err(SegmentPageError::UnknownCursor)));
        }
    }
    // A contact that the filter matched until its last change.
    change(&context, TEAM, {
        let contact = contacts[0];
        let (resubscribe, opt_ins) = (crate::contacts::Resubscribe::Never, crate::contacts::OptIns::Allowed);
        let changes = ContactChanges {
            properties: vec![("plan".into(), PropertyChange::Set("free".into()))],
            ..ContactChanges::default()
        };
        move |writer, tx| {
            let row = crate::contacts::find(tx, TEAM, contact)?.unwrap();
            writer.update(contact, &row, &changes, resubscribe, opt_ins).map(drop)
        }
    })
    .await;
    let page = segments.contacts(TEAM, made.id, PageQuery { limit: 4, cursor: Cursor::After(contacts[0]) }).await;
    assert!(page.unwrap().rows.is_empty());
}

#[tokio::test]
async fn a_corrupt_contact_is_skipped_and_the_others_are_counted_and_listed() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"); 3]).await;
    let matching = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    let members_only = segment(&segments, TEAM, None).await;
    join(&context, TEAM, matching.id, vec![contacts[1]]).await;
    join(&context, TEAM, members_only.id, contacts.clone()).await;
    context.corrupt(&CONTACTS, (TEAM, contacts[1])).await;

    assert_eq!(count(&segments, TEAM, &matching).await, 2);
    for id in [matching.id, members_only.id] {
        assert_eq!(listed(&segments, TEAM, id, 1).await, [contacts[2], contacts[0]]);
        let query = PageQuery { limit: 1, cursor: Cursor::After(contacts[1]) };
        let page = segments.contacts(TEAM, id, query).await.unwrap();
        assert_eq!(page.rows.iter().map(|(contact, _)| *contact).collect::<Vec<_>>(), [contacts[0]]);
    }
}

#[tokio::test]
async fn concurrent_counts_agree() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::with_step(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 50]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;

    let one = || count(&segments, TEAM, &made);
    assert_eq!(tokio::join!(one(), one(), one(), one()), (50, 50, 50, 50));
}

#[tokio::test]
async fn counts_and_pages_are_right_while_contacts_are_added() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::with_step(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 200]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let add_contacts = async {
        let mut number = 1_000;
        while !stop.is_cancelled() {
            number += 1;
            change(&context, TEAM, move |writer, _| {
                let new = new_contact(number, ("Bea", "free"));
                writer.create(&new, &new.email.identity_hash())
            })
            .await;
        }
    };
    let read = async {
        for _ in 0..3 {
            let one = || count(&segments, TEAM, &made);
            let counts = tokio::join!(one(), one(), one(), one(), one(), one());
            assert_eq!(counts, (200, 200, 200, 200, 200, 200));
            assert_eq!(listed(&segments, TEAM, made.id, 100).await.len(), 200);
        }
        stop.cancel();
    };

    tokio::join!(add_contacts, read);
}

/// At most 60 contacts of a team, each with whether it matches and whether it is a member.
fn team() -> impl Strategy<Value = Vec<(bool, bool)>> {
    // Few or many of either, so that matches are sparse or dense.
    let contact = |matching: f64, member: f64| (proptest::bool::weighted(matching), proptest::bool::weighted(member));
    let share = || proptest::sample::select(vec![0.02, 0.2, 0.9]);
    (share(), share())
        .prop_flat_map(move |(matching, member)| proptest::collection::vec(contact(matching, member), 0..60))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn counts_and_pages_agree_with_a_check_of_every_contact(
        team in team(), has_filter in any::<bool>(), limit in 1_usize..8,
        rows_max in 1_usize..8, counted_first in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (listed, backwards, counted, expected) = runtime.block_on(async {
            let (_directory, context) = Context::temporary();
            let segments = Segments::with_step(context.clone(), ScanLimit { rows_max, ..ScanLimit::STEP });
            let contacts = team.iter().map(|(matching, _)| ("Ada", if *matching { "pro" } else { "free" })).collect();
            let contacts = add(&context, TEAM, contacts).await;
            let made = segment(&segments, TEAM, has_filter.then(|| plan_is("pro"))).await;
            let members = contacts.iter().zip(&team).filter(|(_, (_, is_member))| *is_member).map(|(id, _)| *id).collect();
            join(&context, TEAM, made.id, members).await;
            if counted_first {
                count(&segments, TEAM, &made).await;
            }
            let mut expected: Vec<ContactId> = contacts.iter().zip(&team)
                .filter(|(_, (matching, is_member))| *is_member || has_filter && *matching)
                .map(|(id, _)| *id).collect();
            expected.reverse();
            let listed = listed(&segments, TEAM, made.id, limit).await;
            let mut backwards = Vec::new();
            if let Some(oldest) = expected.last() {
                let mut cursor = *oldest;
                backwards.push(cursor);
                loop {
                    let query = PageQuery { limit, cursor: Cursor::Before(cursor) };
                    let page = segments.contacts(TEAM, made.id, query).await.unwrap();
                    backwards.splice(0..0, page.rows.iter().map(|(id, _)| *id));
                    if !page.has_more {
                        break;
                    }
                    cursor = page.rows[0].0;
                }
            }
            for contact in contacts {
                let segment = made.clone();
                let is_contained = !context.read(move |tx| containing(tx, TEAM, vec![segment], contact)).is_empty();
                assert_eq!(is_contained, expected.contains(&contact));
            }
            (listed, backwards, count(&segments, TEAM, &made).await, expected)
        });

        prop_assert_eq!(counted, expected.len() as u64);
        prop_assert_eq!(&listed, &expected);
        prop_assert_eq!(&backwards, &expected);
    }
}
