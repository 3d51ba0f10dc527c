//! Tests of contacts over a temporary store.
//!
//! Files: `writes.rs` (single writes), `batches.rs` (batches), `reads.rs` (the size of responses),
//! `imports.rs` and `exports.rs` (imports and exports over the store).

mod batches;
mod exports;
mod imports;
mod reads;
mod writes;

use super::*;
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, Id, SegmentId, TeamId, TopicId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::events::{AudienceEvent, AudienceSubject};
use crate::segments::SegmentRow;
use crate::store::WriteTx;
use crate::suppressions;
use crate::tables::{AUDIENCE_EVENTS, SEGMENTS, TOPICS};
use crate::topics::{Subscription, TopicRow, TopicVisibility};

const TEAM: TeamId = Id::MIN;

/// The contacts of a team in a temporary store.
struct Audience {
    _directory: tempfile::TempDir,
    context: Context,
}

impl Audience {
    fn new() -> Self {
        let (directory, context) = Context::temporary();
        Self { _directory: directory, context }
    }

    /// Runs `work` in a write transaction and returns its result.
    fn write<T: Send + 'static>(&self, work: impl Fn(&WriteTx<'_>, &Context) -> T + Send + 'static) -> T {
        let context = self.context.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.context.commit(move |tx| Ok(work(tx, &context))))
    }

    fn add(&self, item: NewContact) -> ContactId {
        self.write(move |tx, context| {
            let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
            let id = writer.create(&item, &item.email.identity_hash()).unwrap();
            writer.finish().unwrap();
            id
        })
    }

    fn update(&self, id: ContactId, changes: ContactChanges, resubscribe: Resubscribe, opt_ins: OptIns) -> WriteResult {
        self.write(move |tx, context| {
            let row = find(tx, TEAM, id).unwrap().unwrap();
            let mut writer = ContactWriter::new(tx, context, TEAM, crate::events::ChangeSource::Api);
            let written = writer.update(id, &row, &changes, resubscribe, opt_ins).unwrap();
            writer.finish().unwrap();
            written
        })
    }

    fn topic(&self, default_subscription: Subscription) -> TopicId {
        let row = TopicRow {
            name: "News".into(),
            description: None,
            default_subscription,
            visibility: TopicVisibility::Public,
            created_ms: 0,
        };
        self.write(move |tx, context| {
            let id = context.id();
            tx.put(&TOPICS, &(TEAM, id), &row).unwrap();
            id
        })
    }

    fn segment(&self) -> SegmentId {
        self.write(|tx, context| {
            let id = context.id();
            let row: SegmentRow = serde_json::from_str(r#"{"name": "Everyone", "created_ms": 0}"#).unwrap();
            tx.put(&SEGMENTS, &(TEAM, id), &row).unwrap();
            id
        })
    }

    fn row(&self, id: ContactId) -> Option<ContactRow> {
        self.context.read(|tx| find(tx, TEAM, id))
    }

    fn audience(&self) -> AudienceRow {
        self.context.read(|tx| audience(tx, TEAM))
    }

    fn events(&self) -> Vec<AudienceEvent> {
        self.context.rows(&AUDIENCE_EVENTS).into_iter().map(|(_, event)| event).collect()
    }

    /// Returns the types of the events after the first `before` events.
    fn kinds_after(&self, before: usize) -> Vec<&'static str> {
        self.events().iter().skip(before).map(|event| event.kind.as_str()).collect()
    }
}

fn new(email: &str) -> NewContact {
    NewContact { email: EmailAddress::parse(email).unwrap(), changes: ContactChanges::default() }
}

fn set(key: &str, text: &str) -> (String, PropertyChange) {
    (key.to_owned(), PropertyChange::Set(text.to_owned()))
}
