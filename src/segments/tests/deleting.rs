//! Tests of creating, changing and deleting segments.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::tables::{CONTACT_SEGMENTS, SEGMENT_MEMBERS, SEGMENTS};

/// Counts the rows of both membership tables.
fn memberships(context: &Context) -> (usize, usize) {
    (context.keys(&SEGMENT_MEMBERS).len(), context.keys(&CONTACT_SEGMENTS).len())
}

#[tokio::test]
async fn an_update_changes_only_the_given_fields() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context, |_, _, _| Ok(false));
    let made = segment(&segments, TEAM, Some(plan_is("pro"))).await;
    let name = SegmentName::parse("Other");

    for (changes, expected) in [
        (SegmentChanges::default(), made.clone()),
        (SegmentChanges { name, ..SegmentChanges::default() }, Segment { name: "Other".into(), ..made.clone() }),
        (
            SegmentChanges { filter: Patch::Set(plan_is("free")), ..SegmentChanges::default() },
            Segment { name: "Other".into(), filter: Some(plan_is("free")), ..made.clone() },
        ),
        (
            SegmentChanges { filter: Patch::Clear, ..SegmentChanges::default() },
            Segment { name: "Other".into(), filter: None, ..made.clone() },
        ),
    ] {
        let updated = segments.update(TEAM, made.id, changes).await.unwrap();

        assert_eq!(updated, expected);
        assert_eq!(segments.find(TEAM, made.id).await.unwrap(), Some(expected));
    }
    let foreign = segments.update(OTHER, made.id, SegmentChanges::default()).await;
    assert!(matches!(foreign, Err(UpdateSegmentError::NotFound)));
}

#[tokio::test]
async fn a_team_has_at_most_1000_segments_whatever_other_teams_have() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let last = segment(&segments, TEAM, None).await;
    let ids: Vec<SegmentId> = (1..SEGMENTS_MAX).map(|_| context.id()).collect();
    let row = SegmentRow { name: "Filler".into(), filter: None, created_ms: 1 };
    context.commit(move |tx| ids.iter().try_for_each(|id| tx.put(&SEGMENTS, &(TEAM, *id), &row))).await;
    let new = || NewSegment { name: SegmentName::parse("One more").unwrap(), filter: None };

    assert!(matches!(segments.create(TEAM, new()).await, Err(CreateSegmentError::TooMany)));
    segments.create(OTHER, new()).await.unwrap();
    segments.delete(TEAM, last.id).await.unwrap();
    segments.create(TEAM, new()).await.unwrap();
}

#[tokio::test]
async fn deleting_a_segment_keeps_its_contacts_and_other_segments() {
    let (_directory, context) = Context::temporary();
    let segments = Segments::new(context.clone(), |_, _, _| Ok(false));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"); 3]).await;
    let (deleted, other) = (segment(&segments, TEAM, None).await, segment(&segments, TEAM, None).await);
    join(&context, TEAM, deleted.id, contacts.clone()).await;
    join(&context, TEAM, other.id, contacts.clone()).await;

    segments.delete(OTHER, deleted.id).await.unwrap();
    assert_eq!(memberships(&context), (6, 6), "another team deletes nothing");
    segments.delete(TEAM, deleted.id).await.unwrap();
    segments.delete(TEAM, deleted.id).await.unwrap();

    assert_eq!(memberships(&context), (3, 3));
    assert_eq!(segments.find(TEAM, deleted.id).await.unwrap(), None);
    assert_eq!(listed(&segments, TEAM, other.id, 2).await.len(), 3);
    let of_one = context.read(|tx| of_contact(tx, TEAM, contacts[0]));
    assert_eq!(of_one, [other.id]);
}

#[tokio::test]
async fn members_beyond_one_commit_are_hidden_and_then_deleted() {
    let (_directory, context) = Context::temporary();
    let segments = Arc::new(Segments::new(context.clone(), |_, _, _| Ok(false)));
    let contacts = add(&context, TEAM, vec![("Ada", "pro"); 2_500]).await;
    let (remaining, deleted) = (segment(&segments, TEAM, None).await, segment(&segments, TEAM, None).await);
    let other = segment(&segments, OTHER, None).await;
    join(&context, TEAM, remaining.id, contacts[..3].to_vec()).await;
    join(&context, TEAM, deleted.id, contacts.clone()).await;

    segments.delete(TEAM, deleted.id).await.unwrap();

    assert_eq!(memberships(&context), (1_503, 1_503));
    let of_last = context.read(|tx| of_contact(tx, TEAM, contacts[2_499]));
    assert_eq!(of_last, []);
    let page = segments.contacts(TEAM, deleted.id, PageQuery { limit: 1, cursor: Cursor::Newest }).await;
    assert!(matches!(page, Err(SegmentPageError::NotFound)));

    let stop = CancellationToken::new();
    let wait = async {
        while memberships(&context) != (3, 3) {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (result, ()) = tokio::join!(Arc::clone(&segments).run(stop.clone()), wait);
    result.unwrap();
    assert_eq!(segments.find(OTHER, other.id).await.unwrap(), Some(other));
}
