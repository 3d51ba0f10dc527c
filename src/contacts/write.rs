//! The one way a contact changes: the row, what it is found by, its segments, its choices and the
//! events that tell of it, in one transaction.

use super::model::{ContactChanges, NewContact, OptIns, PropertyChange, Resubscribe};
use super::store::{self, AudienceRow, ContactRow, TopicChoiceRow};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::context::Context;
use crate::events::{self, AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, ContactSnapshot, TopicSnapshot};
use crate::segments;
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::suppressions::{self, Origin, SuppressionCause};
use crate::tables::{AUDIENCES, AddressHash, CONTACTS, TOPIC_CHOICES};
use crate::topics::{self, Subscription};

/// Segments that an event about a contact names: a batch may tell of ten thousand choices.
const EVENT_SEGMENTS_MAX: usize = 100;

/// The segments of one contact as its events name them, read when the first event asks.
type EventSegments = Option<Vec<SegmentId>>;

/// Changes to the contacts of one team by one source, within a transaction. What they add up to is
/// written by [`ContactWriter::finish`].
pub struct ContactWriter<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    team: TeamId,
    source: ChangeSource,
    now_ms: TimestampMs,
    added: u64,
    removed: u64,
    changed: bool,
}

/// What a change of a contact came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// Something of the contact, its segments or its choices is other than before.
    Changed,
    /// Everything was so already; nothing was written.
    Unchanged,
}

impl<'a, 't> ContactWriter<'a, 't> {
    /// Begins the changes of `source` to the contacts of `team`.
    pub fn new(tx: &'a WriteTx<'t>, context: &'a Context, team: TeamId, source: ChangeSource) -> Self {
        let now_ms = context.now_ms();
        Self { tx, context, team, source, now_ms, added: 0, removed: 0, changed: false }
    }

    /// Adds a contact whose address has none. Its segments and topics are the team's: the caller has
    /// looked.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(&mut self, new: &NewContact, hash: &AddressHash) -> Result<ContactId, StoreError> {
        let id: ContactId = self.context.id();
        let mut row = ContactRow::named(new.email.to_string());
        apply(&mut row, &new.changes, Resubscribe::Never, self.now_ms);
        store::insert(self.tx, self.team, id, hash, &row)?;
        for segment in &new.changes.segments {
            segments::add_member(self.tx, self.team, *segment, id)?;
        }
        for (topic, subscription) in &new.changes.topics {
            self.tx.put(&TOPIC_CHOICES, &(self.team, id, *topic), &TopicChoiceRow { subscription: *subscription })?;
        }
        self.added += 1;
        self.changed = true;
        // As they read back, without reading them.
        let mut segments = new.changes.segments.clone();
        segments.sort_unstable();
        segments.dedup();
        segments.truncate(EVENT_SEGMENTS_MAX);
        self.record(AudienceKind::ContactCreated, id, &row, &mut Some(segments), None)?;
        Ok(id)
    }

    /// Changes a contact. Its new segments and topics are the team's: the caller has looked.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn update(
        &mut self,
        id: ContactId,
        row: &ContactRow,
        changes: &ContactChanges,
        resubscribe: Resubscribe,
        opt_ins: OptIns,
    ) -> Result<WriteResult, StoreError> {
        let mut joined = false;
        let mut told = None;
        for segment in &changes.segments {
            joined |= segments::add_member(self.tx, self.team, *segment, id)?;
        }
        self.changed |= joined;
        let mut new = row.clone();
        apply(&mut new, changes, resubscribe, self.now_ms);
        let rewritten = new != *row;
        if rewritten {
            new.updated_ms = Some(self.now_ms);
            self.tx.put(&CONTACTS, &(self.team, id), &new)?;
            self.changed = true;
            self.record(AudienceKind::ContactUpdated, id, &new, &mut told, None)?;
            match (row.unsubscribed(), new.unsubscribed()) {
                (false, true) => self.record(AudienceKind::ContactUnsubscribed, id, &new, &mut told, None)?,
                (true, false) => self.record(AudienceKind::ContactResubscribed, id, &new, &mut told, None)?,
                _ => {}
            }
        }
        let chosen = self.choose(id, &new, &changes.topics, opt_ins, &mut told)?;
        Ok(if joined || rewritten || chosen { WriteResult::Changed } else { WriteResult::Unchanged })
    }

    /// Writes explicit choices down, and records those that turn what the contact receives. Returns
    /// whether any choice is other than before. A choice about a topic that has been deleted counts
    /// for the mail that was accepted under it, and is told to nobody.
    ///
    /// # Errors
    /// [`StoreError`].
    fn choose(
        &self,
        id: ContactId,
        row: &ContactRow,
        choices: &[(TopicId, Subscription)],
        opt_ins: OptIns,
        told: &mut EventSegments,
    ) -> Result<bool, StoreError> {
        let mut chosen = false;
        for (topic, subscription) in choices {
            let key = (self.team, id, *topic);
            let stored = self.tx.get(&TOPIC_CHOICES, &key)?.map(|choice| choice.subscription);
            let keeps = opt_ins == OptIns::KeepOptOuts && stored == Some(Subscription::OptOut);
            if stored == Some(*subscription) || keeps {
                continue;
            }
            self.tx.put(&TOPIC_CHOICES, &key, &TopicChoiceRow { subscription: *subscription })?;
            chosen = true;
            let Some(topic_row) = topics::find(self.tx, self.team, *topic)? else {
                topics::record_deleted(self.tx, self.team, *topic, self.now_ms)?;
                continue;
            };
            if stored.unwrap_or(topic_row.default_subscription) != *subscription {
                let kind = match subscription {
                    Subscription::OptIn => AudienceKind::TopicOptIn,
                    Subscription::OptOut => AudienceKind::TopicOptOut,
                };
                self.record(kind, id, row, told, Some(TopicSnapshot { id: *topic, name: topic_row.name }))?;
            }
        }
        Ok(chosen)
    }

    /// Takes a contact out of a segment it was added to by hand; returns whether it was in it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn leave_segment(&mut self, id: ContactId, segment: SegmentId) -> Result<bool, StoreError> {
        let left = segments::remove_member(self.tx, self.team, segment, id)?;
        self.changed |= left;
        Ok(left)
    }

    /// Removes a contact. What it opted out of outlives it as an entry of the suppression list.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove(&mut self, id: ContactId, row: &ContactRow) -> Result<(), StoreError> {
        // The address was read when the contact was added; it reads again.
        let address = EmailAddress::parse(&row.email)
            .map_err(|_| StoreError::Corrupt("the address of a contact does not read".into()))?;
        let opted_out = row.unsubscribed() || self.has_opted_out_of_a_topic(id)?;
        let segments = segments::of_contact(self.tx, self.team, id)?;
        let mut told = Some(segments.iter().copied().take(EVENT_SEGMENTS_MAX).collect());
        self.record(AudienceKind::ContactDeleted, id, row, &mut told, None)?;
        for segment in segments {
            segments::remove_member(self.tx, self.team, segment, id)?;
        }
        store::remove(self.tx, self.team, id, &address.identity_hash())?;
        if opted_out {
            let cause = SuppressionCause::listed(Origin::Unsubscribe, self.source);
            suppressions::add(self.tx, self.context, self.team, &address, cause)?;
        }
        self.removed += 1;
        self.changed = true;
        Ok(())
    }

    /// Returns whether the contact opted out of a topic: of a deleted one too, which mail that was
    /// accepted under it must go on obeying.
    fn has_opted_out_of_a_topic(&self, id: ContactId) -> Result<bool, StoreError> {
        let choices = store::choices_of(self.tx, self.team, id)?;
        Ok(choices.iter().any(|(_, subscription)| *subscription == Subscription::OptOut))
    }

    /// Writes what the changes add up to: how many contacts there are, and that they changed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(self) -> Result<(), StoreError> {
        if !self.changed {
            return Ok(());
        }
        let AudienceRow { contacts, revision } = store::audience(self.tx, self.team)?;
        let contacts = (contacts + self.added).saturating_sub(self.removed);
        self.tx.put(&AUDIENCES, &(self.team,), &AudienceRow { contacts, revision: revision + 1 })
    }

    pub(super) fn record(
        &self,
        kind: AudienceKind,
        id: ContactId,
        row: &ContactRow,
        told: &mut EventSegments,
        topic: Option<TopicSnapshot>,
    ) -> Result<(), StoreError> {
        let segments = match told {
            Some(segments) => segments.clone(),
            None => told.insert(segments::oldest_of_contact(self.tx, self.team, id, EVENT_SEGMENTS_MAX)?).clone(),
        };
        let contact = ContactSnapshot {
            id,
            email: row.email.clone(),
            first_name: row.first_name.clone(),
            last_name: row.last_name.clone(),
            unsubscribed: row.unsubscribed(),
            updated_ms: row.updated_ms.unwrap_or_else(|| id.created_ms()),
            segments,
        };
        let subject = AudienceSubject::Contact { contact, source: self.source, topic };
        let event = AudienceEvent { kind, at_ms: self.now_ms, subject };
        events::record_audience(self.tx, self.context, self.team, &event)
    }
}

/// Applies what a write says of the contact itself.
fn apply(row: &mut ContactRow, changes: &ContactChanges, resubscribe: Resubscribe, now_ms: TimestampMs) {
    changes.first_name.apply(&mut row.first_name);
    changes.last_name.apply(&mut row.last_name);
    match changes.unsubscribed {
        // The first opt-out counts; a repeat does not move it.
        Some(true) => row.unsubscribed_ms = row.unsubscribed_ms.or(Some(now_ms)),
        Some(false) if resubscribe == Resubscribe::Allowed => row.unsubscribed_ms = None,
        Some(false) | None => {}
    }
    for (key, change) in &changes.properties {
        match change {
            PropertyChange::Remove => row.properties.remove(key),
            PropertyChange::Set(text) => row.properties.insert(key.clone(), text.clone()),
        };
    }
}

/// Writes down what a contact chose about topics, deleted ones too. Repeats change nothing.
///
/// # Errors
/// [`StoreError`].
pub fn set_topics(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    contact: ContactId,
    choices: &[(TopicId, Subscription)],
    source: ChangeSource,
) -> Result<WriteResult, StoreError> {
    let Some(row) = store::find(tx, team, contact)? else { return Ok(WriteResult::Unchanged) };
    let writer = ContactWriter::new(tx, context, team, source);
    let chosen = writer.choose(contact, &row, choices, OptIns::Allowed, &mut None)?;
    Ok(if chosen { WriteResult::Changed } else { WriteResult::Unchanged })
}

/// Opts a contact out of all marketing email, or subscribes it again. Repeats change nothing.
///
/// # Errors
/// [`StoreError`].
pub fn set_subscription(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    contact: ContactId,
    subscription: Subscription,
    source: ChangeSource,
) -> Result<WriteResult, StoreError> {
    let Some(row) = store::find(tx, team, contact)? else { return Ok(WriteResult::Unchanged) };
    let unsubscribed = subscription == Subscription::OptOut;
    let changes = ContactChanges { unsubscribed: Some(unsubscribed), ..ContactChanges::default() };
    let mut writer = ContactWriter::new(tx, context, team, source);
    let written = writer.update(contact, &row, &changes, Resubscribe::Allowed, OptIns::Allowed)?;
    writer.finish()?;
    Ok(written)
}
