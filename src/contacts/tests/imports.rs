//! Tests of import batches over the store.

use super::*;
use crate::contacts::import::{
    ExistingContacts, ImportDefaults, ImportError, ImportItem, ImportOutcome, RunMode, WriteOptions, begin, write_batch,
};
use crate::events::AudienceSubject;

fn item(email: &str) -> ImportItem {
    serde_json::from_value(serde_json::json!({ "email": email, "first_name": "Ada" })).unwrap()
}

impl Audience {
    fn import(
        &self,
        existing: ExistingContacts,
        run: RunMode,
        defaults: ImportDefaults,
        items: Vec<ImportItem>,
    ) -> Result<Vec<ImportOutcome>, ImportError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(write_batch(&self.context, TEAM, WriteOptions { existing, run, defaults }, items))
    }
}

#[test]
fn a_repeated_import_writes_nothing_and_emits_no_event() {
    use ImportOutcome::{Created, Updated};

    let audience = Audience::new();
    let items = vec![item("ada@example.com"), item("bob@example.com")];

    let first =
        audience.import(ExistingContacts::Upsert, RunMode::Write, ImportDefaults::default(), items.clone()).unwrap();
    let state = audience.audience();
    let again = audience.import(ExistingContacts::Upsert, RunMode::Write, ImportDefaults::default(), items).unwrap();

    assert_eq!((first, again), (vec![Created, Created], vec![Updated, Updated]));
    assert_eq!(audience.kinds_after(0), ["contact.created", "contact.created"]);
    assert_eq!(audience.audience(), state);
    for event in audience.events() {
        let AudienceSubject::Contact { source, .. } = event.subject else { panic!("{event:?}") };
        assert_eq!(source, crate::events::ChangeSource::Dashboard);
    }
}

#[test]
fn a_check_has_the_outcomes_of_a_write_and_writes_nothing() {
    let audience = Audience::new();
    let existing_id = audience.add(new("ada@example.com"));
    let state = audience.audience();
    let unknown_segment = ImportItem { segments: vec![Id::MAX], ..item("carl@example.com") };
    let items = vec![item("ADA@example.com"), item("bob@example.com"), unknown_segment, item("bob@example.com")];

    for existing in [ExistingContacts::Skip, ExistingContacts::Upsert] {
        let checked = audience.import(existing, RunMode::Check, ImportDefaults::default(), items.clone()).unwrap();
        assert_eq!(audience.audience(), state);
        assert_eq!(audience.row(existing_id).unwrap().first_name, None);

        let others = Audience::new();
        others.add(new("ada@example.com"));
        let written = others.import(existing, RunMode::Write, ImportDefaults::default(), items.clone()).unwrap();
        assert_eq!(checked, written);
        assert!(matches!(&written[2], ImportOutcome::Failed(message) if message.contains("no segment")), "{written:?}");
    }
}

#[test]
fn an_import_does_not_clear_an_opt_out() {
    let audience = Audience::new();
    let (topic, segment) = (audience.topic(Subscription::OptOut), audience.segment());
    let opted_out = ContactChanges {
        unsubscribed: Some(true),
        topics: vec![(topic, Subscription::OptOut)],
        ..ContactChanges::default()
    };
    let existing_id = audience.add(NewContact { changes: opted_out, ..new("ada@example.com") });
    let defaults = ImportDefaults { segments: vec![segment], topics: vec![topic] };
    let again = ImportItem { unsubscribed: Some(false), opt_ins: vec![topic], ..item("ada@example.com") };

    audience.import(ExistingContacts::Upsert, RunMode::Write, defaults, vec![again, item("bob@example.com")]).unwrap();

    let (existing_choices, bob_choices, segments) = audience.context.read(|tx| {
        let (bob, _) = find_by_address(tx, TEAM, &new("bob@example.com").email.identity_hash())?.unwrap();
        let segments = crate::segments::of_contact(tx, TEAM, existing_id)?;
        Ok((choices_of(tx, TEAM, existing_id)?, choices_of(tx, TEAM, bob)?, segments))
    });
    assert!(audience.row(existing_id).unwrap().unsubscribed());
    assert_eq!(existing_choices, [(topic, Subscription::OptOut)]);
    assert_eq!(bob_choices, [(topic, Subscription::OptIn)]);
    assert_eq!(segments, [segment]);
}

#[test]
fn an_opt_out_of_a_topic_precedes_every_opt_in_of_the_import() {
    let audience = Audience::new();
    let topic = audience.topic(Subscription::OptIn);
    let defaults = ImportDefaults { topics: vec![topic], ..ImportDefaults::default() };
    let out = |email| ImportItem { opt_outs: vec![topic], ..item(email) };
    let into = |email| ImportItem { opt_ins: vec![topic], ..item(email) };
    let both = ImportItem { opt_ins: vec![topic], ..out("both@example.com") };
    let rows = vec![
        out("first@example.com"),
        into("first@example.com"),
        into("last@example.com"),
        out("last@example.com"),
        both,
        into("in@example.com"),
    ];

    audience.import(ExistingContacts::Upsert, RunMode::Write, defaults.clone(), rows.clone()).unwrap();
    audience.import(ExistingContacts::Upsert, RunMode::Write, defaults, vec![into("first@example.com")]).unwrap();

    for (email, expected) in [
        ("first@example.com", Subscription::OptOut),
        ("last@example.com", Subscription::OptOut),
        ("both@example.com", Subscription::OptOut),
        ("in@example.com", Subscription::OptIn),
    ] {
        let choices = audience.context.read(|tx| {
            let (id, _) = find_by_address(tx, TEAM, &new(email).email.identity_hash())?.unwrap();
            choices_of(tx, TEAM, id)
        });
        assert_eq!(choices, [(topic, expected)], "{email}");
    }
}

#[test]
fn an_import_requires_its_default_topics_and_segments_and_bounds_its_items() {
    let audience = Audience::new();
    let (topic, segment) = (audience.topic(Subscription::OptIn), audience.segment());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let begin = |team, defaults| runtime.block_on(begin(&audience.context, team, defaults));
    let defaults = ImportDefaults { segments: vec![segment], topics: vec![topic] };

    assert_eq!(begin(TEAM, defaults.clone()).unwrap(), []);
    assert!(matches!(begin(Id::MAX, defaults), Err(ImportError::SegmentNotFound(id)) if id == segment));
    let defaults = ImportDefaults { topics: vec![topic], ..ImportDefaults::default() };
    assert!(matches!(begin(Id::MAX, defaults), Err(ImportError::TopicNotFound(id)) if id == topic));
    let defaults = ImportDefaults { topics: vec![topic; 101], ..ImportDefaults::default() };
    assert!(matches!(begin(TEAM, defaults), Err(ImportError::TooMany)));
    let many = vec![item("ada@example.com"); 1_001];
    let rejected = audience.import(ExistingContacts::Skip, RunMode::Write, ImportDefaults::default(), many);
    assert!(matches!(rejected, Err(ImportError::TooMany)));
}
