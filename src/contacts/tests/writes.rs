//! Tests of writes to one contact.

use super::*;

#[test]
fn a_contact_created_with_an_opt_out_emits_only_the_created_event() {
    let audience = Audience::new();
    let changes = ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() };

    let id = audience.add(NewContact { changes, ..new("Ada@Example.com") });

    let row = audience.row(id).unwrap();
    assert_eq!(row.email.to_string(), "Ada@example.com");
    assert!(row.unsubscribed());
    assert_eq!(audience.kinds_after(0), ["contact.created"]);
    assert_eq!(audience.audience(), AudienceRow { contacts: 1, revision: 1 });
}

#[test]
fn a_write_without_an_effective_change_writes_nothing() {
    let audience = Audience::new();
    let (topic, segment) = (audience.topic(Subscription::OptIn), audience.segment());
    let mut changes = ContactChanges {
        first_name: Patch::Set("Ada".into()),
        unsubscribed: Some(true),
        properties: vec![set("plan", "pro")],
        segments: vec![segment],
        ..ContactChanges::default()
    };
    changes.choose(topic, Subscription::OptOut);
    let id = audience.add(NewContact { changes: changes.clone(), ..new("ada@example.com") });
    let (row, state, events) = (audience.row(id), audience.audience(), audience.events());

    let written = audience.update(id, changes, Resubscribe::Allowed, OptIns::Allowed);

    assert_eq!(written, WriteResult::Unchanged);
    assert_eq!((audience.row(id), audience.audience(), audience.events()), (row, state, events));
}

#[test]
fn only_an_explicit_write_clears_an_opt_out() {
    let audience = Audience::new();
    let id = audience.add(new("ada@example.com"));
    let set = |unsubscribed| ContactChanges { unsubscribed: Some(unsubscribed), ..ContactChanges::default() };

    assert_eq!(audience.update(id, set(true), Resubscribe::Never, OptIns::Allowed), WriteResult::Changed);
    assert_eq!(audience.kinds_after(1), ["contact.updated", "contact.unsubscribed"]);
    assert_eq!(audience.update(id, set(false), Resubscribe::Never, OptIns::Allowed), WriteResult::Unchanged);
    assert!(audience.row(id).unwrap().unsubscribed());
    assert_eq!(audience.update(id, set(false), Resubscribe::Allowed, OptIns::Allowed), WriteResult::Changed);
    assert!(!audience.row(id).unwrap().unsubscribed());
    assert_eq!(audience.kinds_after(3), ["contact.updated", "contact.resubscribed"]);
}

#[test]
fn a_choice_emits_an_event_only_if_the_subscription_changes() {
    let audience = Audience::new();
    let (news, offers) = (audience.topic(Subscription::OptIn), audience.topic(Subscription::OptOut));
    let id = audience.add(new("ada@example.com"));
    let steps: [(TopicId, Subscription, OptIns, &[&str]); 6] = [
        (news, Subscription::OptIn, OptIns::Allowed, &[]),
        (news, Subscription::OptOut, OptIns::Allowed, &["contact.topic_opt_out"]),
        (news, Subscription::OptIn, OptIns::KeepOptOuts, &[]),
        (news, Subscription::OptIn, OptIns::Allowed, &["contact.topic_opt_in"]),
        (offers, Subscription::OptOut, OptIns::Allowed, &[]),
        (offers, Subscription::OptIn, OptIns::Allowed, &["contact.topic_opt_in"]),
    ];
    for (topic, subscription, opt_ins, events) in steps {
        let before = audience.events().len();
        let changes = ContactChanges { topics: vec![(topic, subscription)], ..ContactChanges::default() };

        audience.update(id, changes, Resubscribe::Allowed, opt_ins);

        assert_eq!(audience.kinds_after(before), events, "{subscription:?} {opt_ins:?}");
    }
}

#[test]
fn an_event_names_the_oldest_hundred_segments() {
    let audience = Audience::new();
    let topic = audience.topic(Subscription::OptIn);
    let segments: Vec<SegmentId> = (0..150).map(|_| audience.segment()).collect();
    let changes = ContactChanges { segments: segments.clone(), ..ContactChanges::default() };
    let id = audience.add(NewContact { changes, ..new("ada@example.com") });

    let mut changes = ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() };
    changes.choose(topic, Subscription::OptOut);
    audience.update(id, changes, Resubscribe::Never, OptIns::Allowed);
    audience.write(move |tx, context| {
        let row = find(tx, TEAM, id).unwrap().unwrap();
        let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
        writer.remove(id, &row).unwrap();
        assert!(crate::segments::of_contact(tx, TEAM, id).unwrap().is_empty(), "the contact has left all segments");
        writer.finish().unwrap();
    });

    let kinds =
        ["created", "updated", "unsubscribed", "topic_opt_out", "deleted"].map(|kind| format!("contact.{kind}"));
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(audience.kinds_after(0)[..5], kinds);
    for event in &audience.events()[..5] {
        let AudienceSubject::Contact { contact, .. } = &event.subject else { panic!("{event:?}") };
        assert_eq!(contact.segments, segments[..100], "{:?}", event.kind);
    }
}

#[test]
fn a_choice_for_a_deleted_topic_is_stored_and_scheduled_for_deletion() {
    let audience = Audience::new();
    let id = audience.add(new("ada@example.com"));
    let deleted: TopicId = audience.write(|_, context| context.id());

    let written = audience.write(move |tx, context| {
        let choice = [(deleted, Subscription::OptOut)];
        set_topics(tx, context, TEAM, id, &choice, crate::events::ChangeSource::OneClick).unwrap()
    });

    assert_eq!(written, WriteResult::Changed);
    assert_eq!(audience.kinds_after(1), [] as [&str; 0]);
    audience.write(move |tx, context| {
        assert_eq!(choices_of(tx, TEAM, id).unwrap(), [(deleted, Subscription::OptOut)]);
        let later_ms = context.now_ms() + 41 * crate::base::clock::DAY_MS;
        let (team, expired) = crate::topics::expired(tx, later_ms, 10).unwrap().expect("the deleted topic has a row");
        let expired: Vec<TopicId> = expired.iter().map(|topic| topic.id).collect();
        assert_eq!((team, expired), (TEAM, vec![deleted]));
    });
}

#[test]
fn properties_are_merged_by_key() {
    let audience = Audience::new();
    let changes =
        ContactChanges { properties: vec![set("plan", "pro"), set("seats", "4")], ..ContactChanges::default() };
    let id = audience.add(NewContact { changes, ..new("ada@example.com") });

    let changes = ContactChanges {
        properties: vec![set("plan", "team"), ("seats".into(), PropertyChange::Remove), set("city", "Paris")],
        ..ContactChanges::default()
    };
    audience.update(id, changes, Resubscribe::Never, OptIns::Allowed);

    let properties = audience.row(id).unwrap().properties;
    assert_eq!(properties, [("city".into(), "Paris".into()), ("plan".into(), "team".into())].into());
}

#[test]
fn a_removed_contact_that_opted_out_is_suppressed() {
    for (everything, one_topic, suppressed) in [(false, false, false), (true, false, true), (false, true, true)] {
        let audience = Audience::new();
        let (topic, segment) = (audience.topic(Subscription::OptIn), audience.segment());
        let mut changes = ContactChanges { segments: vec![segment], ..ContactChanges::default() };
        changes.unsubscribed = Some(everything);
        changes.choose(topic, if one_topic { Subscription::OptOut } else { Subscription::OptIn });
        let id = audience.add(NewContact { changes, ..new("ada@example.com") });

        let origin = audience.write(move |tx, context| {
            let row = find(tx, TEAM, id).unwrap().unwrap();
            let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
            writer.remove(id, &row).unwrap();
            writer.finish().unwrap();
            assert!(choices_of(tx, TEAM, id).unwrap().is_empty());
            assert!(crate::segments::of_contact(tx, TEAM, id).unwrap().is_empty());
            let hash = EmailAddress::parse("ada@example.com").unwrap().identity_hash();
            suppressions::origin(tx, TEAM, &hash).unwrap()
        });

        assert_eq!(audience.row(id), None);
        assert_eq!(
            origin,
            suppressed.then_some(suppressions::SuppressionOrigin::Unsubscribe),
            "{everything} {one_topic}"
        );
        assert_eq!(audience.audience().contacts, 0);
        assert!(audience.kinds_after(1).contains(&"contact.deleted"));
    }
}
