//! One contact at a time.

use super::*;

#[test]
fn a_contact_that_opts_out_at_once_is_created_and_nothing_else() {
    let audience = Audience::new();
    let changes = ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() };

    let id = audience.add(NewContact { changes, ..new("Ada@Example.com") });

    let row = audience.row(id).unwrap();
    assert_eq!(row.email, "Ada@example.com");
    assert!(row.unsubscribed());
    assert_eq!(audience.kinds_after(0), ["contact.created"]);
    assert_eq!(audience.audience(), AudienceRow { contacts: 1, revision: 1 });
}

#[test]
fn a_write_that_restates_what_is_stored_leaves_no_trace() {
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
fn only_an_explicit_word_lifts_an_opt_out() {
    let audience = Audience::new();
    let id = audience.add(new("ada@example.com"));
    let say = |unsubscribed| ContactChanges { unsubscribed: Some(unsubscribed), ..ContactChanges::default() };

    assert_eq!(audience.update(id, say(true), Resubscribe::Never, OptIns::Allowed), WriteResult::Changed);
    assert_eq!(audience.kinds_after(1), ["contact.updated", "contact.unsubscribed"]);
    assert_eq!(audience.update(id, say(false), Resubscribe::Never, OptIns::Allowed), WriteResult::Unchanged);
    assert!(audience.row(id).unwrap().unsubscribed());
    assert_eq!(audience.update(id, say(false), Resubscribe::Allowed, OptIns::Allowed), WriteResult::Changed);
    assert!(!audience.row(id).unwrap().unsubscribed());
    assert_eq!(audience.kinds_after(3), ["contact.updated", "contact.resubscribed"]);
}

#[test]
fn a_choice_is_told_only_when_it_turns_what_is_received() {
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
    for (topic, subscription, opt_ins, told) in steps {
        let before = audience.events().len();
        let changes = ContactChanges { topics: vec![(topic, subscription)], ..ContactChanges::default() };

        audience.update(id, changes, Resubscribe::Allowed, opt_ins);

        assert_eq!(audience.kinds_after(before), told, "{subscription:?} {opt_ins:?}");
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
        assert!(crate::segments::of_contact(tx, TEAM, id).unwrap().is_empty(), "it left all of them");
        writer.finish().unwrap();
    });

    let told = ["created", "updated", "unsubscribed", "topic_opt_out", "deleted"].map(|what| format!("contact.{what}"));
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    assert_eq!(audience.kinds_after(0)[..5], told);
    for event in &audience.events()[..5] {
        let AudienceSubject::Contact { contact, .. } = &event.subject else { panic!("{event:?}") };
        assert_eq!(contact.segments, segments[..100], "{:?}", event.kind);
    }
}

#[test]
fn a_choice_about_a_deleted_topic_is_kept_and_noted_for_forgetting() {
    let audience = Audience::new();
    let id = audience.add(new("ada@example.com"));
    let gone: TopicId = audience.write(|_, context| context.id());

    let written = audience.write(move |tx, context| {
        let choice = [(gone, Subscription::OptOut)];
        set_topics(tx, context, TEAM, id, &choice, crate::events::ChangeSource::OneClick).unwrap()
    });

    assert_eq!(written, WriteResult::Changed);
    assert_eq!(audience.kinds_after(1), [] as [&str; 0]);
    audience.write(move |tx, context| {
        assert_eq!(choices_of(tx, TEAM, id).unwrap(), [(gone, Subscription::OptOut)]);
        let later_ms = context.now_ms() + 41 * crate::base::clock::DAY_MS;
        let (team, forgotten) = crate::topics::expired(tx, later_ms, 10).unwrap().expect("it is noted");
        let forgotten: Vec<TopicId> = forgotten.iter().map(|topic| topic.id).collect();
        assert_eq!((team, forgotten), (TEAM, vec![gone]));
    });
}

#[test]
fn properties_merge_key_by_key() {
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
fn what_a_removed_contact_opted_out_of_stays_said() {
    for (everything, one_topic, listed) in [(false, false, false), (true, false, true), (false, true, true)] {
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
        assert_eq!(origin, listed.then_some(suppressions::Origin::Unsubscribe), "{everything} {one_topic}");
        assert_eq!(audience.audience().contacts, 0);
        assert!(audience.kinds_after(1).contains(&"contact.deleted"));
    }
}
