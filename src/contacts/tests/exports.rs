//! Tests of exports.

use super::*;
use crate::contacts::export::{ExportError, ExportedContact, page};
use crate::store::Encoded;
use crate::tables::{CONTACT_PROPERTIES, CONTACTS};

impl Audience {
    /// Adds numbered contacts. Each contact whose number is a multiple of `every` is a member of
    /// `segment`.
    fn add_many(&self, count: usize, segment: SegmentId, every: usize) -> Vec<ContactId> {
        self.write(move |tx, context| {
            let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
            let ids = (0..count).map(|number| {
                let mut item = new(&format!("{number}@example.com"));
                if number.is_multiple_of(every) {
                    item.changes.segments.push(segment);
                }
                writer.create(&item, &item.email.identity_hash()).unwrap()
            });
            let ids = ids.collect();
            writer.finish().unwrap();
            ids
        })
    }

    /// Returns all pages of an export.
    fn pages(&self, segment: Option<SegmentId>) -> Vec<Vec<ExportedContact>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let page = runtime.block_on(page(&self.context, TEAM, segment, after)).unwrap();
            pages.push(page.data);
            after = page.next;
            if after.is_none() {
                return pages;
            }
        }
    }
}

fn ids(pages: &[Vec<ExportedContact>]) -> Vec<ContactId> {
    pages.iter().flatten().map(|contact| contact.id).collect()
}

#[test]
fn pages_contain_every_contact_once_and_oldest_first() {
    let audience = Audience::new();
    let segment = audience.segment();
    let added = audience.add_many(1_001, segment, 400);

    let pages = audience.pages(None);
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 1]);
    assert_eq!(ids(&pages), added);
    assert_eq!(ids(&audience.pages(Some(segment))), [added[0], added[400], added[800]]);

    assert_eq!(Audience::new().pages(None), [[]]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let other_team = runtime.block_on(page(&audience.context, Id::MAX, Some(segment), None));
    assert!(matches!(other_team, Err(ExportError::SegmentNotFound(id)) if id == segment));
    let other_team = runtime.block_on(page(&audience.context, Id::MAX, None, None)).unwrap();
    assert_eq!((other_team.data.len(), other_team.next), (0, None));
}

#[test]
fn an_export_continues_after_a_removed_contact() {
    let audience = Audience::new();
    let segment = audience.segment();
    let added = audience.add_many(3, segment, 1);
    audience.write({
        let removed = added[1];
        move |tx, context| {
            let row = find(tx, TEAM, removed).unwrap().unwrap();
            let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
            writer.remove(removed, &row).unwrap();
            writer.finish().unwrap();
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    for segment in [None, Some(segment)] {
        let rest = runtime.block_on(page(&audience.context, TEAM, segment, Some(added[1]))).unwrap();
        assert_eq!(ids(&[rest.data]), [added[2]]);
        let rest = runtime.block_on(page(&audience.context, TEAM, segment, Some(Id::MAX))).unwrap();
        assert_eq!((rest.data.len(), rest.next), (0, None));
    }
}

#[test]
fn choices_and_memberships_of_deleted_topics_and_segments_are_not_exported() {
    let audience = Audience::new();
    let (segment, deleted_segment) = (audience.segment(), audience.segment());
    let (news, offers, deleted_topic) = (
        audience.topic(Subscription::OptIn),
        audience.topic(Subscription::OptOut),
        audience.topic(Subscription::OptIn),
    );
    let mut changes = ContactChanges { segments: vec![segment, deleted_segment], ..ContactChanges::default() };
    changes.topics =
        vec![(news, Subscription::OptOut), (offers, Subscription::OptIn), (deleted_topic, Subscription::OptOut)];
    audience.add(NewContact { changes, ..new("ada@example.com") });
    audience.add(new("bob@example.com"));
    audience.write(move |tx, _| {
        tx.delete(&SEGMENTS, &(TEAM, deleted_segment)).unwrap();
        tx.delete(&TOPICS, &(TEAM, deleted_topic)).unwrap();
    });

    for segments in [None, Some(segment)] {
        let ada = audience.pages(segments)[0][0].clone();
        assert_eq!((ada.segments, ada.opt_ins, ada.opt_outs), (vec![segment], vec![offers], vec![news]));
    }
    let bob = audience.pages(None)[0][1].clone();
    assert_eq!((bob.segments, bob.opt_ins, bob.opt_outs), (vec![], vec![], vec![]));
}

#[test]
fn pages_of_large_contacts_are_short_and_undefined_properties_are_not_exported() {
    let audience = Audience::new();
    let segment = audience.segment();
    let added = audience.add_many(3, segment, 1);
    let large = added.clone();
    audience.write(move |tx, context| {
        let property: crate::contact_properties::ContactPropertyRow =
            serde_json::from_str(r#"{"key": "Plan", "kind": "string", "created_ms": 0}"#).unwrap();
        tx.put(&CONTACT_PROPERTIES, &(TEAM, context.id()), &property).unwrap();
        for id in &large {
            let mut row = find(tx, TEAM, *id).unwrap().unwrap();
            row.properties.insert("plan".into(), "x".repeat(200_000));
            row.properties.insert("secret".into(), "y".into());
            tx.put(&CONTACTS, &(TEAM, *id), &row).unwrap();
        }
    });

    for segment in [None, Some(segment)] {
        let pages = audience.pages(segment);
        assert_eq!(ids(&pages), added);
        assert_eq!(pages.len(), 2);
        for contact in pages.iter().flatten() {
            assert_eq!(contact.properties.keys().collect::<Vec<_>>(), ["plan"]);
        }
    }
}

#[test]
fn a_corrupt_contact_is_skipped_and_the_others_are_exported() {
    let audience = Audience::new();
    let segment = audience.segment();
    let added = audience.add_many(3, segment, 1);
    let corrupt = added[1];
    audience.write(move |tx, _| tx.put_encoded(&CONTACTS, &(TEAM, corrupt), &Encoded::unreadable()).unwrap());

    for segment in [None, Some(segment)] {
        assert_eq!(ids(&audience.pages(segment)), [added[0], added[2]]);
    }
}
