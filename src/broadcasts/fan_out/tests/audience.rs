//! The recipients of a broadcast, and the values of its merge fields.

use serde_json::json;

use super::*;
use crate::base::id::{SegmentId, TopicId};
use crate::base::patch::Patch;
use crate::contact_properties::ContactPropertyRow;
use crate::contacts::{OptIns, PropertyChange, Resubscribe};
use crate::segments::SegmentRow;
use crate::store::Encoded;
use crate::suppressions::{SuppressionOrigin, Suppressions};
use crate::tables::{CONTACT_PROPERTIES, SEGMENTS, TOPICS};
use crate::topics::{Subscription, TopicRow, TopicVisibility};

#[tokio::test]
async fn contacts_that_come_late_or_leave_are_not_queued() {
    let instance = Instance::new();
    let contacts = instance.add(0, 600, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.store_page(id).await;

    instance.add(600, 610, ContactChanges::default()).await;
    let (left, removed) = (contacts[550], contacts[551]);
    instance
        .write(move |tx, context| {
            let mut writer = ContactWriter::new(tx, context, TEAM, ChangeSource::Api);
            let opted_out = ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() };
            let row = crate::contacts::find(tx, TEAM, left)?.unwrap();
            writer.update(left, &row, &opted_out, Resubscribe::Never, OptIns::Allowed)?;
            let row = crate::contacts::find(tx, TEAM, removed)?.unwrap();
            writer.remove(removed, &row)?;
            writer.finish()
        })
        .await;
    let suppressions = Suppressions::new(instance.context.clone());
    for (number, origin) in [(552, SuppressionOrigin::Manual), (553, SuppressionOrigin::Unsubscribe)] {
        let address = EmailAddress::parse(&address(number)).unwrap();
        suppressions.add(TEAM, address, origin, ChangeSource::Api).await.unwrap();
    }
    instance.worker().work().await.unwrap();

    assert_eq!(instance.addresses(id), sorted((0..550).chain(554..600)));
}

#[tokio::test]
async fn a_topic_and_a_segment_select_the_contacts() {
    let instance = Instance::new();
    let segment: SegmentId = instance.context.id();
    let topics = [instance.context.id(), instance.context.id()];
    instance
        .write(move |tx, _| {
            for (topic, default_subscription) in topics.into_iter().zip(Subscription::ALL) {
                let row = TopicRow {
                    name: "News".into(),
                    description: None,
                    default_subscription,
                    visibility: TopicVisibility::Public,
                    created_ms: 0,
                };
                tx.put(&TOPICS, &(TEAM, topic), &row)?;
            }
            tx.put(&SEGMENTS, &(TEAM, segment), &SegmentRow { name: "S".into(), filter: None, created_ms: 0 })
        })
        .await;
    let chosen = |subscription| ContactChanges {
        topics: topics.map(|topic| (topic, subscription)).into(),
        segments: vec![segment],
        ..ContactChanges::default()
    };
    instance.add(0, 10, ContactChanges::default()).await;
    instance.add(10, 20, chosen(Subscription::OptIn)).await;
    instance.add(20, 30, chosen(Subscription::OptOut)).await;
    instance.add(30, 40, ContactChanges { segments: vec![segment], ..ContactChanges::default() }).await;

    let [opt_in, opt_out] = topics;
    for (fields, numbers) in [
        (json!({}), (0..40).collect::<Vec<_>>()),
        (json!({ "segment": segment }), (10..40).collect()),
        (json!({ "topic": opt_in }), (0..20).chain(30..40).collect()),
        (json!({ "topic": opt_out }), (10..20).collect()),
        (json!({ "topic": opt_in, "segment": segment }), (10..20).chain(30..40).collect()),
    ] {
        let id = instance.send(instance.context.now_ms(), fields.clone()).await;
        instance.worker().work().await.unwrap();

        assert_eq!(instance.addresses(id), sorted(numbers), "{fields}");
    }
}

#[tokio::test]
async fn a_recipient_has_the_values_of_the_fields_in_the_content() {
    let instance = Instance::new();
    let property = json!({ "key": "plan", "kind": "string", "fallback": "free", "created_ms": 0 });
    let property: ContactPropertyRow = serde_json::from_value(property).unwrap();
    instance.write(move |tx, context| tx.put(&CONTACT_PROPERTIES, &(TEAM, context.id()), &property)).await;
    let with_plan = ContactChanges {
        first_name: Patch::Set("Ada".into()),
        properties: vec![("plan".into(), PropertyChange::Set("pro".into()))],
        ..ContactChanges::default()
    };
    instance.add(0, 1, with_plan).await;
    instance.add(1, 2, ContactChanges::default()).await;

    let fields = json!({ "fields": ["FIRST_NAME", "LAST_NAME", "Plan", "plan", "plan|"] });
    let id = instance.send(instance.context.now_ms(), fields).await;
    instance.worker().work().await.unwrap();

    let values: Vec<_> = instance.emails(id).into_values().map(|(_, row)| row.values).collect();
    assert_eq!(values, [["Ada", "", "", "pro", "pro"], ["", "", "", "free", ""]]);
    let used = instance.context.read(|tx| crate::usage::total(tx, TEAM));
    assert_eq!(used, 2, "the emails of a broadcast are a part of the usage");
}

#[tokio::test]
async fn a_broadcast_without_recipients_is_sent_at_once() {
    let instance = Instance::new();
    let without_contacts = instance.send_now().await;
    instance.worker().work().await.unwrap();
    instance.add(0, 3, ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() }).await;
    let unsubscribed = instance.send_now().await;
    instance.worker().work().await.unwrap();

    for id in [without_contacts, unsubscribed] {
        let (row, counts, fan_out) = instance.row(id);
        assert_eq!((row.status, counts.total(), fan_out), (BroadcastStatus::Sent, 0, None));
    }
}

#[tokio::test]
async fn a_broadcast_fails_without_its_domain_segment_or_topic() {
    let instance = Instance::new();
    instance.add(0, 1_200, ContactChanges::default()).await;
    for part in ["domain", "segment", "topic"] {
        let missing: SegmentId = instance.context.id();
        let id = instance.send(instance.context.now_ms(), json!({ part: missing })).await;
        instance.worker().work().await.unwrap();

        assert_eq!(instance.row(id).0.status, BroadcastStatus::Failed, "{part}");
    }
    // The domain is deleted in the middle.
    let id = instance.send_now().await;
    instance.store_page(id).await;
    let domain = Some(instance.context.id());
    instance.write(move |tx, _| put(tx, TEAM, id, &BroadcastRow { domain, ..find(tx, TEAM, id)?.unwrap() })).await;
    instance.worker().work().await.unwrap();

    let (row, counts, fan_out) = instance.row(id);
    assert_eq!((row.status, counts.queued, counts.canceled), (BroadcastStatus::Failed, 0, PAGE_RECIPIENTS as u64));
    assert_eq!((instance.queued_groups(), fan_out), (0, None));
}

#[tokio::test]
async fn a_page_that_was_read_before_an_erasure_is_read_again() {
    let instance = Instance::new();
    let contacts = instance.add(0, 20, ContactChanges::default()).await;
    let id = instance.send_now().await;
    let now_ms = instance.context.now_ms();
    instance.write(move |tx, _| start::start(tx, id, now_ms, &NeverPaused)).await;
    let page = instance.read_page(id);
    let erased = contacts[7];
    instance
        .write(move |tx, context| {
            let mut writer = ContactWriter::new(tx, context, TEAM, ChangeSource::Api);
            let row = crate::contacts::find(tx, TEAM, erased)?.unwrap();
            writer.remove(erased, &row)?;
            writer.finish()?;
            crate::erasure::request(tx, context, TEAM, vec![row.email])
        })
        .await;

    let stored = instance.write(move |tx, _| page.store(tx, 0)).await;
    assert!(matches!(stored, PageResult::Moved));
    assert_eq!(instance.queued_groups(), 0);
    instance.worker().work().await.unwrap();

    assert_eq!(instance.addresses(id), sorted((0..7).chain(8..20)));
}

#[tokio::test]
async fn a_page_of_recipients_with_long_values_has_fewer_of_them() {
    let instance = Instance::new();
    let property = json!({ "key": "note", "kind": "string", "created_ms": 0 });
    let property: ContactPropertyRow = serde_json::from_value(property).unwrap();
    instance.write(move |tx, context| tx.put(&CONTACT_PROPERTIES, &(TEAM, context.id()), &property)).await;
    let with_note = ContactChanges {
        properties: vec![("note".into(), PropertyChange::Set("x".repeat(60_000)))],
        ..ContactChanges::default()
    };
    instance.add(0, 12, with_note).await;
    let fields = json!({ "fields": ["note"] });
    let id = instance.send(instance.context.now_ms(), fields).await;
    instance.store_page(id).await;

    assert_eq!(instance.addresses(id).len(), 5);
    instance.worker().work().await.unwrap();
    assert_eq!(instance.addresses(id).len(), 12);
}

#[tokio::test]
async fn a_broadcast_with_a_corrupt_topic_fails_and_others_are_queued() {
    let instance = Instance::new();
    instance.add(0, 3, ContactChanges::default()).await;
    let topic: TopicId = instance.context.id();
    instance.write(move |tx, _| tx.put_encoded(&TOPICS, &(TEAM, topic), &Encoded::unreadable())).await;
    let corrupt = instance.send(instance.context.now_ms(), json!({ "topic": topic })).await;
    let other = instance.send_now().await;

    instance.worker().work().await.unwrap();

    assert_eq!(instance.row(corrupt).0.status, BroadcastStatus::Failed);
    assert_eq!((instance.addresses(corrupt), instance.addresses(other)), (Vec::new(), sorted(0..3)));
}

#[tokio::test]
async fn the_audience_is_the_number_of_recipients_after_the_last_contact() {
    for contacts in [0, 700] {
        let instance = Instance::new();
        instance.add(0, contacts, ContactChanges::default()).await;
        let id = instance.send_now().await;
        // As the request has estimated it, days ago.
        instance
            .write(move |tx, _| {
                let row = find(tx, TEAM, id)?.unwrap();
                put(tx, TEAM, id, &BroadcastRow { audience: 900, ..row })
            })
            .await;

        instance.worker().work().await.unwrap();

        let (row, counts, _) = instance.row(id);
        let expected = contacts as u64;
        assert_eq!((row.audience, counts.total(), row.unsent(&counts)), (expected, expected, expected));
    }
}
