//! Tests of batches.

use super::*;

fn options(on_conflict: OnConflict, validation: Validation) -> BatchOptions {
    BatchOptions { on_conflict, validation, opt_ins: OptIns::Allowed, source: crate::events::ChangeSource::Api }
}

fn named(email: &str, first_name: &str) -> NewContact {
    let changes = ContactChanges { first_name: Patch::Set(first_name.into()), ..ContactChanges::default() };
    NewContact { changes, ..new(email) }
}

impl Audience {
    fn batch(&self, items: Vec<NewContact>, options: BatchOptions) -> Result<BatchOutcome, ContactBatchError> {
        let batch = ContactBatch::new(items.into_iter().enumerate().collect(), options);
        let dry_run = self.context.store.read_now(|tx| batch.dry_run(tx, TEAM));
        let written = self.write(move |tx, context| batch.apply(tx, context, TEAM));
        match (&dry_run, &written) {
            (Ok(dry_run), Ok(written)) => {
                let statuses = |outcome: &BatchOutcome| -> Vec<_> {
                    outcome.items.iter().map(|item| (item.index, item.status)).collect()
                };
                assert_eq!((statuses(dry_run), &dry_run.failed), (statuses(written), &written.failed));
            }
            (Err(_), Err(_)) => {}
            _ => panic!("the dry run has {dry_run:?}, the write has {written:?}"),
        }
        written
    }

    fn names(&self, outcome: &BatchOutcome) -> Vec<(ItemStatus, String)> {
        let name = |item: &BatchItem| self.row(item.id.unwrap()).unwrap().first_name.unwrap_or_default();
        outcome.items.iter().map(|item| (item.status, name(item))).collect()
    }
}

#[test]
fn an_item_of_an_existing_contact_is_skipped_or_merged() {
    use ItemStatus::{Created, Skipped, Updated};

    for (on_conflict, statuses, name) in
        [(OnConflict::Skip, [Skipped, Created], "Ada"), (OnConflict::Upsert, [Updated, Created], "Countess")]
    {
        let audience = Audience::new();
        let existing_id = audience.add(named("ada@example.com", "Ada"));

        let items = vec![named("ADA@example.com", "Countess"), named("bob@example.com", "Bob")];
        let outcome = audience.batch(items, options(on_conflict, Validation::Strict)).unwrap();

        assert_eq!(outcome.items.iter().map(|item| item.status).collect::<Vec<_>>(), statuses);
        assert_eq!(outcome.items[0].id, Some(existing_id));
        assert_eq!(audience.row(existing_id).unwrap().first_name.as_deref(), Some(name));
        assert_eq!(audience.audience().contacts, 2);
    }
}

#[test]
fn the_estimated_bytes_of_a_batch_include_choices_and_memberships() {
    let bytes = |changes| {
        let item = NewContact { changes, ..new("ada@example.com") };
        ContactBatch::new(vec![(0, item)], options(OnConflict::Upsert, Validation::Strict)).bytes()
    };
    let plain = bytes(ContactChanges::default());
    let topics = (0..500).map(|number| (Id::from_bytes([number as u8; 16]), Subscription::OptOut)).collect();
    let segments = vec![Id::MAX; 500];

    assert!(bytes(ContactChanges { topics, ..ContactChanges::default() }) > 100 * plain);
    assert!(bytes(ContactChanges { segments, ..ContactChanges::default() }) > 50 * plain);
}

#[test]
fn a_strict_batch_with_an_existing_contact_writes_nothing() {
    let audience = Audience::new();
    audience.add(new("ada@example.com"));
    let state = audience.audience();

    let items = vec![new("bob@example.com"), new("ada@example.com")];
    let error = audience.batch(items, options(OnConflict::Error, Validation::Strict)).unwrap_err();

    assert!(matches!(error, ContactBatchError::Item { index: 1, error: ItemError::Exists }), "{error:?}");
    assert_eq!(audience.audience(), state);
}

#[test]
fn a_permissive_batch_writes_the_valid_items_and_lists_the_others() {
    let audience = Audience::new();
    audience.add(new("ada@example.com"));
    let unknown_segment = ContactChanges { segments: vec![Id::MAX], ..ContactChanges::default() };
    let unknown_topic = ContactChanges { topics: vec![(Id::MAX, Subscription::OptIn)], ..ContactChanges::default() };

    let items = vec![
        new("ada@example.com"),
        new("bob@example.com"),
        new("BOB@example.com"),
        NewContact { changes: unknown_segment, ..new("c@example.com") },
        NewContact { changes: unknown_topic, ..new("d@example.com") },
    ];
    let outcome = audience.batch(items, options(OnConflict::Error, Validation::Permissive)).unwrap();

    assert_eq!(outcome.items.iter().map(|item| item.index).collect::<Vec<_>>(), [1]);
    let failed = [
        (0, ItemError::Exists),
        (2, ItemError::Repeats(1)),
        (3, ItemError::SegmentNotFound(Id::MAX)),
        (4, ItemError::TopicNotFound(Id::MAX)),
    ];
    assert_eq!(outcome.failed, failed);
    assert_eq!(audience.audience().contacts, 2);
}

#[test]
fn items_with_one_address_are_skipped_or_merged() {
    use ItemStatus::{Created, Skipped, Updated};

    for (on_conflict, expected) in [
        (OnConflict::Skip, [(Created, "First"), (Skipped, "First")]),
        (OnConflict::Upsert, [(Created, "Second"), (Updated, "Second")]),
    ] {
        let audience = Audience::new();

        let items = vec![named("ada@example.com", "First"), named("Ada@example.com", "Second")];
        let outcome = audience.batch(items, options(on_conflict, Validation::Strict)).unwrap();

        let expected: Vec<_> = expected.iter().map(|(status, name)| (*status, (*name).to_owned())).collect();
        assert_eq!(audience.names(&outcome), expected);
        assert_eq!(audience.kinds_after(0), ["contact.created"]);
    }
}

#[test]
fn items_with_one_address_unite_their_fields() {
    let audience = Audience::new();
    let (one, two, topic) = (audience.segment(), audience.segment(), audience.topic(Subscription::OptIn));
    let item = |unsubscribed, segment, key: &str, choice| NewContact {
        changes: ContactChanges {
            unsubscribed: Some(unsubscribed),
            segments: vec![segment],
            properties: vec![set(key, "x"), set("both", key)],
            topics: vec![(topic, choice)],
            ..ContactChanges::default()
        },
        ..new("ada@example.com")
    };

    let items = vec![item(true, one, "a", Subscription::OptIn), item(false, two, "b", Subscription::OptOut)];
    let outcome = audience.batch(items, options(OnConflict::Upsert, Validation::Strict)).unwrap();

    let id = outcome.items[0].id.unwrap();
    let row = audience.row(id).unwrap();
    assert!(row.unsubscribed(), "an opt-out in any item applies");
    let properties = [("a", "x"), ("b", "x"), ("both", "b")].map(|(key, text)| (key.to_owned(), text.to_owned()));
    assert_eq!(row.properties, properties.into());
    audience.write(move |tx, _| {
        assert_eq!(crate::segments::of_contact(tx, TEAM, id).unwrap(), [one, two]);
        assert_eq!(choices_of(tx, TEAM, id).unwrap(), [(topic, Subscription::OptOut)]);
    });
}

#[test]
fn a_batch_never_subscribes_a_contact_again() {
    let audience = Audience::new();
    let opted_out = ContactChanges { unsubscribed: Some(true), ..ContactChanges::default() };
    let id = audience.add(NewContact { changes: opted_out, ..new("ada@example.com") });
    let events = audience.events();

    let changes = ContactChanges { unsubscribed: Some(false), ..ContactChanges::default() };
    let items = vec![NewContact { changes, ..new("ada@example.com") }];
    audience.batch(items, options(OnConflict::Upsert, Validation::Strict)).unwrap();

    assert!(audience.row(id).unwrap().unsubscribed());
    assert_eq!(audience.events(), events);
}

#[test]
fn a_repeated_batch_changes_nothing_and_emits_no_event() {
    let audience = Audience::new();
    let items = || (0..50).map(|number| named(&format!("c{number}@example.com"), "Ada")).collect();
    audience.batch(items(), options(OnConflict::Upsert, Validation::Strict)).unwrap();
    let (state, events) = (audience.audience(), audience.events());

    let outcome = audience.batch(items(), options(OnConflict::Upsert, Validation::Strict)).unwrap();

    assert!(outcome.items.iter().all(|item| item.status == ItemStatus::Updated));
    assert_eq!((audience.audience(), audience.events()), (state, events));
}
