//! Whom a segment holds: counts and pages against what a look at everybody says.

use proptest::prelude::*;

use super::*;
use crate::segments::counter::CountSettings;

/// Steps so small that every walk is cut into many.
const SMALL: CountSettings = CountSettings { near_rows: 3, chunk_rows: 4, ..CountSettings::USUAL };

#[tokio::test]
async fn a_segment_holds_those_who_match_and_those_added_by_hand_each_once() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone());
    let people = add(&context, TEAM, vec![("Ada", "pro"), ("Bea", "free"), ("Cay", "pro"), ("Dan", "free")]).await;
    let both = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    join(&context, TEAM, both.id, vec![people[0], people[3]]).await;

    assert_eq!(count(&segments, TEAM, &both).await, 3);
    assert_eq!(listed(&segments, TEAM, both.id, 2).await, [people[3], people[2], people[0]]);
}

#[tokio::test]
async fn no_filter_matches_nobody_and_an_empty_one_everybody() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone());
    let people = add(&context, TEAM, vec![("Ada", "pro"); 5]).await;
    add(&context, OTHER, vec![("Eve", "pro"); 3]).await;
    let nobody = segment(&segments, TEAM, None).await;
    let all = segment(&segments, TEAM, Some(Filter::parse(Match::Any, vec![]).unwrap())).await;

    assert_eq!((count(&segments, TEAM, &nobody).await, listed(&segments, TEAM, nobody.id, 2).await), (0, vec![]));
    join(&context, TEAM, nobody.id, vec![people[1]]).await;
    assert_eq!(
        (count(&segments, TEAM, &nobody).await, listed(&segments, TEAM, nobody.id, 2).await),
        (1, vec![people[1]])
    );
    assert_eq!(count(&segments, TEAM, &all).await, 5);
    let newest_first: Vec<_> = people.into_iter().rev().collect();
    assert_eq!(listed(&segments, TEAM, all.id, 2).await, newest_first);
}

#[tokio::test]
async fn a_filter_never_reaches_another_team() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::stepping(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 9]).await;
    let theirs = add(&context, OTHER, vec![("Eve", "pro"); 7]).await;
    let either = ["pro", "free"].map(|plan| ConditionText {
        field: "property:plan".into(),
        op: "not_equals".into(),
        value: Some(plan.into()),
    });
    let filter = Filter::parse(Match::Any, either.to_vec()).unwrap();
    let mine = segment(&segments, TEAM, Some(filter)).await;

    assert_eq!(count(&segments, TEAM, &mine).await, 9);
    let listed = listed(&segments, TEAM, mine.id, 4).await;
    assert!(listed.len() == 9 && listed.iter().all(|contact| !theirs.contains(contact)));
    let foreign = segments.contacts(OTHER, mine.id, PageQuery { limit: 4, cursor: Cursor::Newest }).await;
    assert!(matches!(foreign, Err(SegmentPageError::NotFound)));
    assert_eq!(segments.find(OTHER, mine.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_count_follows_every_change() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::stepping(context.clone(), SMALL);
    let people = add(&context, TEAM, vec![("Ada", "pro"); 10]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    assert_eq!(count(&segments, TEAM, &made).await, 10);
    assert_eq!(count(&segments, TEAM, &made).await, 10);

    let leaving = people[4];
    change(&context, TEAM, move |writer, tx| {
        let row = crate::contacts::find(tx, TEAM, leaving)?.unwrap();
        writer.remove(leaving, &row)
    })
    .await;
    assert_eq!(count(&segments, TEAM, &made).await, 9);

    let other = SegmentChanges { filter: Patch::Set(plan_is("free")), ..SegmentChanges::default() };
    let changed = segments.update(TEAM, made.id, other).await.unwrap();
    assert_eq!(count(&segments, TEAM, &changed).await, 0);

    join(&context, TEAM, made.id, vec![people[0]]).await;
    assert_eq!(count(&segments, TEAM, &changed).await, 1);
    change(&context, TEAM, {
        let (contact, segment) = (people[0], made.id);
        move |writer, _| writer.leave_segment(contact, segment)
    })
    .await;
    assert_eq!(count(&segments, TEAM, &changed).await, 0);
}

#[tokio::test]
async fn a_contact_outside_the_segment_is_no_cursor() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone());
    let people = add(&context, TEAM, vec![("Ada", "pro"), ("Bea", "free")]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;

    for (cursor, is_known) in [(people[0], true), (people[1], false), (Id::MIN, false), (Id::MAX, false)] {
        for cursor in [Cursor::After(cursor), Cursor::Before(cursor)] {
            let page = segments.contacts(TEAM, made.id, PageQuery { limit: 4, cursor }).await;

            assert_eq!(page.is_ok(), is_known, "{cursor:?}");
            assert!(is_known || matches!(page, Err(SegmentPageError::UnknownCursor)));
        }
    }
}

#[tokio::test]
async fn counts_asked_for_at_once_agree() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::stepping(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 50]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;

    let one = || count(&segments, TEAM, &made);
    assert_eq!(tokio::join!(one(), one(), one(), one()), (50, 50, 50, 50));
}

#[tokio::test]
async fn counts_of_an_audience_that_keeps_changing_are_made_together() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::stepping(context.clone(), SMALL);
    add(&context, TEAM, vec![("Ada", "pro"); 200]).await;
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let churn = async {
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
    let ask = async {
        for _ in 0..3 {
            let one = || count(&segments, TEAM, &made);
            let counts = tokio::join!(one(), one(), one(), one(), one(), one());
            assert_eq!(counts, (200, 200, 200, 200, 200, 200));
            assert_eq!(listed(&segments, TEAM, made.id, 100).await.len(), 200);
        }
        stop.cancel();
    };

    tokio::join!(churn, ask);
}

/// A team of at most 60: who matches and who is added by hand.
fn team() -> impl Strategy<Value = Vec<(bool, bool)>> {
    // Few or many of either, so that there are gaps and crowds.
    let person = |matching: f64, by_hand: f64| (proptest::bool::weighted(matching), proptest::bool::weighted(by_hand));
    let share = || proptest::sample::select(vec![0.02, 0.2, 0.9]);
    (share(), share())
        .prop_flat_map(move |(matching, by_hand)| proptest::collection::vec(person(matching, by_hand), 0..60))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn counts_and_pages_say_what_a_look_at_everybody_says(
        team in team(), has_filter in any::<bool>(), limit in 1_usize..8,
        near_rows in 1_usize..8, chunk_rows in 1_usize..8, counted_first in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (listed, backwards, counted, expected) = runtime.block_on(async {
            let (_directory, context) = Context::temporary();
            let segments = Segments::stepping(context.clone(), CountSettings { near_rows, chunk_rows, ..CountSettings::USUAL });
            let people = team.iter().map(|(matching, _)| ("Ada", if *matching { "pro" } else { "free" })).collect();
            let people = add(&context, TEAM, people).await;
            let made = segment(&segments, TEAM, has_filter.then(|| plan_is("pro"))).await;
            let by_hand = people.iter().zip(&team).filter(|(_, (_, by_hand))| *by_hand).map(|(id, _)| *id).collect();
            join(&context, TEAM, made.id, by_hand).await;
            if counted_first {
                count(&segments, TEAM, &made).await;
            }
            let mut expected: Vec<ContactId> = people.iter().zip(&team)
                .filter(|(_, (matching, by_hand))| *by_hand || has_filter && *matching)
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
            for person in &people {
                let (segment, contact) = (made.clone(), *person);
                let holding = move |tx: &crate::store::ReadTx| that_hold(tx, TEAM, vec![segment], contact);
                let is_held = !context.store.read_now::<_, StoreError>(holding).unwrap().is_empty();
                assert_eq!(is_held, expected.contains(person));
            }
            (listed, backwards, count(&segments, TEAM, &made).await, expected)
        });

        prop_assert_eq!(counted, expected.len() as u64);
        prop_assert_eq!(&listed, &expected);
        prop_assert_eq!(&backwards, &expected);
    }
}
