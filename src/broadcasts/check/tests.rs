//! Tests of the audience over a temporary store.

use super::audience::{AudienceCount, AudienceWalk};
use super::model::AudienceFunnel;
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, Id, SegmentId, TeamId, TopicId};
use crate::base::patch::Patch;
use crate::broadcast_rows::BroadcastRow;
use crate::contact_properties::PropertyDefinitions;
use crate::contacts::{ContactChanges, ContactWriter, NewContact, PropertyChange};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::segments::SegmentRow;
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::{SEGMENTS, TOPICS};
use crate::topics::{Subscription, TopicRow, TopicVisibility};

const TEAM: TeamId = Id::MIN;

fn draft(segment: Option<SegmentId>, topic: Option<TopicId>) -> BroadcastRow {
    BroadcastRow { segment, topic, ..BroadcastRow::draft("news@example.com".into(), "Hi".into()) }
}

/// Stores a segment without a filter, and a topic that contacts receive unless they leave it.
async fn targets(context: &Context) -> (SegmentId, TopicId) {
    let (segment, topic): (SegmentId, TopicId) = (context.id(), context.id());
    let write = move |tx: &crate::store::WriteTx<'_>| {
        tx.put(&SEGMENTS, &(TEAM, segment), &SegmentRow { name: "Some".into(), filter: None, created_ms: 0 })?;
        let row = TopicRow {
            name: "News".into(),
            description: None,
            default_subscription: Subscription::OptIn,
            visibility: TopicVisibility::Public,
            created_ms: 0,
        };
        tx.put(&TOPICS, &(TEAM, topic), &row)
    };
    context.commit(write).await;
    (segment, topic)
}

async fn add(context: &Context, contacts: Vec<(&'static str, ContactChanges)>) -> Vec<ContactId> {
    let of = context.clone();
    let write = move |tx: &crate::store::WriteTx<'_>| {
        let mut writer = ContactWriter::new(tx, &of, TEAM, ChangeSource::Api);
        let mut ids = Vec::new();
        for (local, changes) in &contacts {
            let email = EmailAddress::parse(&format!("{local}@example.net")).unwrap();
            let hash = email.identity_hash();
            ids.push(writer.create(&NewContact { email, changes: changes.clone() }, &hash)?);
        }
        writer.finish()?;
        Ok(ids)
    };
    context.commit(write).await
}

async fn count(context: &Context, row: BroadcastRow, names: &[&str]) -> Option<AudienceCount> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let walk = context.read(|tx| AudienceWalk::of(tx, TEAM, &row, names, PropertyDefinitions::default()))?;
    Some(walk.count(context).await.unwrap())
}

#[tokio::test]
async fn each_contact_is_counted_once_at_its_first_reason() {
    let (_directory, context) = Context::temporary();
    let (segment, topic) = targets(&context).await;
    let member = || ContactChanges { segments: vec![segment], ..ContactChanges::default() };
    let left = vec![(topic, Subscription::OptOut)];
    let named = |name: &str| ContactChanges { first_name: Patch::Set(name.to_owned()), ..member() };
    let city = vec![("city".to_owned(), PropertyChange::Set("Oslo".to_owned()))];
    add(
        &context,
        vec![
            ("outside", ContactChanges::default()),
            ("gone", ContactChanges { unsubscribed: Some(true), topics: left.clone(), ..member() }),
            ("left", ContactChanges { topics: left, ..member() }),
            ("listed", member()),
            ("ada", ContactChanges { properties: city, ..named("Ada") }),
            ("bob", member()),
        ],
    )
    .await;
    let of = context.clone();
    let suppress = move |tx: &crate::store::WriteTx<'_>| {
        for local in ["listed", "left"] {
            let address = EmailAddress::parse(&format!("{local}@example.net")).unwrap();
            let cause = SuppressionCause::listed(SuppressionOrigin::Bounce, ChangeSource::Api);
            suppressions::add(tx, &of, TEAM, &address, cause)?;
        }
        Ok(())
    };
    context.commit(suppress).await;

    let both = count(&context, draft(Some(segment), Some(topic)), &["FIRST_NAME", "city"]).await.unwrap();
    let everyone = count(&context, draft(None, None), &[]).await.unwrap();

    assert_eq!(
        both.funnel,
        AudienceFunnel { total: 5, unsubscribed: 1, opted_out: 1, suppressed: 1, will_receive: 2, is_complete: true }
    );
    let missing: Vec<_> = both.without_value.iter().map(|(name, contacts)| (name.as_str(), *contacts)).collect();
    assert_eq!(missing, [("FIRST_NAME", 1), ("city", 1)]);
    assert_eq!(
        everyone.funnel,
        AudienceFunnel { total: 6, unsubscribed: 1, opted_out: 0, suppressed: 2, will_receive: 3, is_complete: true }
    );
}

#[tokio::test]
async fn a_walk_of_many_transactions_counts_each_contact_once() {
    let (_directory, context) = Context::temporary();
    let locals: Vec<&'static str> = (0..4_500).map(|number| &*format!("c{number}").leak()).collect();
    add(&context, locals.iter().map(|local| (*local, ContactChanges::default())).collect()).await;

    let count = count(&context, draft(None, None), &["LAST_NAME"]).await.unwrap();

    assert_eq!((count.funnel.total, count.funnel.will_receive, count.funnel.is_complete), (4_500, 4_500, true));
    assert_eq!(count.without_value["LAST_NAME"], 4_500);
}

#[tokio::test]
async fn a_deleted_segment_or_topic_has_no_audience() {
    let (_directory, context) = Context::temporary();

    assert!(count(&context, draft(Some(context.id()), None), &[]).await.is_none());
    assert!(count(&context, draft(None, Some(context.id())), &[]).await.is_none());
}
