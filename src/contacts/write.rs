//! Creation, change and removal of contacts. One transaction writes the row, the address index, the
//! memberships, the topic choices and the events.

use std::cell::OnceCell;

use super::model::{ContactChanges, NewContact, OptIns, PropertyChange, Resubscribe};
use super::store::{self, AudienceRow, ContactRow, TopicChoiceRow};
use crate::base::address::ERASED;
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::contact_properties::{self, PropertyDefinitions};
use crate::context::Context;
use crate::events::{
    self, AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, ContactSnapshot, EventIdentity, TopicSnapshot,
};
use crate::segments;
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::{AUDIENCES, AddressHash, CONTACTS, TOPIC_CHOICES};
use crate::topics::{self, Subscription};

/// Maximum number of segments in an event about a contact. Bounds the size of a transaction: a batch
/// can record ten thousand events about topic choices.
const EVENT_SEGMENTS_MAX: usize = 100;

/// The segments in the events about one contact; `None` until the first event reads them.
type EventSegments = Option<Vec<SegmentId>>;

/// Writes changes to the contacts of one team from one source, within a transaction. Call
/// [`ContactWriter::finish`] after the last change: it updates the counters of the team.
pub struct ContactWriter<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    team: TeamId,
    source: ChangeSource,
    now_ms: TimestampMs,
    /// The property definitions of the team, read when they are first needed.
    definitions: OnceCell<PropertyDefinitions>,
    identity: EventIdentity,
    added: u64,
    removed: u64,
    changed: bool,
}

/// Result of a write to a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// The contact, its memberships or its topic choices changed.
    Changed,
    /// The contact had these values already. Nothing was written.
    Unchanged,
}

impl<'a, 't> ContactWriter<'a, 't> {
    /// Returns a writer for changes by `source` to the contacts of `team`.
    pub fn new(tx: &'a WriteTx<'t>, context: &'a Context, team: TeamId, source: ChangeSource) -> Self {
        let now_ms = context.now_ms();
        Self {
            tx,
            context,
            team,
            source,
            now_ms,
            definitions: OnceCell::new(),
            identity: EventIdentity::Shown,
            added: 0,
            removed: 0,
            changed: false,
        }
    }

    /// Returns a writer whose events show the contact in this form.
    #[must_use]
    pub fn with_identity(self, identity: EventIdentity) -> Self {
        Self { identity, ..self }
    }

    /// Creates a contact and records its event. The caller has checked that the team has no contact
    /// with the address, and that the segments and topics exist.
    pub fn create(&mut self, new: &NewContact, hash: &AddressHash) -> Result<ContactId, StoreError> {
        let id: ContactId = self.context.id();
        let mut row = ContactRow::new(new.email.clone());
        self.apply(&mut row, &new.changes, Resubscribe::Never)?;
        store::insert(self.tx, self.team, id, hash, &row)?;
        for segment in &new.changes.segments {
            segments::add_member(self.tx, self.team, *segment, id)?;
        }
        for (topic, subscription) in &new.changes.topics {
            self.tx.put(&TOPIC_CHOICES, &(self.team, id, *topic), &TopicChoiceRow { subscription: *subscription })?;
        }
        self.added += 1;
        self.changed = true;
        // Equal to the segments that a read would return: oldest first, without repeats.
        let mut segments = new.changes.segments.clone();
        segments.sort_unstable();
        segments.dedup();
        segments.truncate(EVENT_SEGMENTS_MAX);
        self.record(AudienceKind::ContactCreated, id, &row, &mut Some(segments), None)?;
        Ok(id)
    }

    /// Changes a contact and records the events. `row` is its stored row. The caller has checked that
    /// the segments and topics exist.
    pub fn update(
        &mut self,
        id: ContactId,
        row: &ContactRow,
        changes: &ContactChanges,
        resubscribe: Resubscribe,
        opt_ins: OptIns,
    ) -> Result<WriteResult, StoreError> {
        let mut joined = false;
        let mut event_segments = None;
        for segment in &changes.segments {
            joined |= segments::add_member(self.tx, self.team, *segment, id)?;
        }
        self.changed |= joined;
        let mut new = row.clone();
        self.apply(&mut new, changes, resubscribe)?;
        let rewritten = new != *row;
        if rewritten {
            new.updated_ms = Some(self.now_ms);
            self.tx.put(&CONTACTS, &(self.team, id), &new)?;
            self.changed = true;
            let segments = &mut event_segments;
            self.record(AudienceKind::ContactUpdated, id, &new, segments, None)?;
            match (row.unsubscribed(), new.unsubscribed()) {
                (false, true) => self.record(AudienceKind::ContactUnsubscribed, id, &new, segments, None)?,
                (true, false) => self.record(AudienceKind::ContactResubscribed, id, &new, segments, None)?,
                _ => {}
            }
        }
        let chosen = self.choose(id, &new, &changes.topics, opt_ins, &mut event_segments)?;
        Ok(if joined || rewritten || chosen { WriteResult::Changed } else { WriteResult::Unchanged })
    }

    /// Stores topic choices. Records an event for each choice that changes the effective subscription.
    /// Returns whether any stored choice changed. A choice for a deleted topic applies to email that was
    /// accepted under the topic, and emits no event.
    fn choose(
        &self,
        id: ContactId,
        row: &ContactRow,
        choices: &[(TopicId, Subscription)],
        opt_ins: OptIns,
        event_segments: &mut EventSegments,
    ) -> Result<bool, StoreError> {
        let mut chosen = false;
        for (topic, subscription) in choices {
            let key = (self.team, id, *topic);
            let stored = self.tx.get(&TOPIC_CHOICES, &key)?.map(|choice| choice.subscription);
            let keep_opt_out = opt_ins == OptIns::KeepOptOuts && stored == Some(Subscription::OptOut);
            if stored == Some(*subscription) || keep_opt_out {
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
                let snapshot = TopicSnapshot { id: *topic, name: topic_row.name };
                self.record(kind, id, row, event_segments, Some(snapshot))?;
            }
        }
        Ok(chosen)
    }

    /// Removes a contact from the members of a segment. Returns whether it was a member.
    pub fn leave_segment(&mut self, id: ContactId, segment: SegmentId) -> Result<bool, StoreError> {
        let left = segments::leave(self.tx, self.team, segment, id, self.now_ms)?;
        self.changed |= left;
        Ok(left)
    }

    /// Deletes a contact, its memberships and its topic choices, and records the event. If the contact
    /// opted out of a topic or of all marketing email, its address is added to the suppression list. With
    /// [`EventIdentity::Erased`], the entry and its event have no address, only the hash.
    pub fn remove(&mut self, id: ContactId, row: &ContactRow) -> Result<(), StoreError> {
        let opted_out = row.unsubscribed() || self.has_opted_out_of_a_topic(id)?;
        let segments = segments::of_contact(self.tx, self.team, id)?;
        let mut event_segments = Some(segments.iter().copied().take(EVENT_SEGMENTS_MAX).collect());
        self.record(AudienceKind::ContactDeleted, id, row, &mut event_segments, None)?;
        for segment in segments {
            segments::remove_member(self.tx, self.team, segment, id)?;
        }
        store::remove(self.tx, self.team, id, &row.email.identity_hash(), self.now_ms)?;
        if opted_out {
            let identity = self.identity;
            let cause =
                SuppressionCause { identity, ..SuppressionCause::listed(SuppressionOrigin::Unsubscribe, self.source) };
            suppressions::add(self.tx, self.context, self.team, &row.email, cause)?;
        }
        self.removed += 1;
        self.changed = true;
        Ok(())
    }

    /// Returns whether the contact opted out of any topic. Includes deleted topics, because email that
    /// was accepted under a deleted topic still follows the opt-out.
    fn has_opted_out_of_a_topic(&self, id: ContactId) -> Result<bool, StoreError> {
        let choices = store::choices_of(self.tx, self.team, id)?;
        Ok(choices.iter().any(|(_, subscription)| *subscription == Subscription::OptOut))
    }

    /// Updates the number of contacts and increments the audience revision. Writes nothing if no
    /// contact or membership changed.
    pub fn finish(self) -> Result<(), StoreError> {
        if !self.changed {
            return Ok(());
        }
        let AudienceRow { contacts, revision } = store::audience(self.tx, self.team)?;
        let contacts = (contacts + self.added).saturating_sub(self.removed);
        self.tx.put(&AUDIENCES, &(self.team,), &AudienceRow { contacts, revision: revision + 1 })
    }

    /// Records an event about a contact. Reads the segments of the contact into `event_segments` if
    /// they are `None`.
    pub(super) fn record(
        &self,
        kind: AudienceKind,
        id: ContactId,
        row: &ContactRow,
        event_segments: &mut EventSegments,
        topic: Option<TopicSnapshot>,
    ) -> Result<(), StoreError> {
        let segments = match event_segments {
            Some(segments) => segments.clone(),
            None => {
                let oldest = segments::oldest_of_contact(self.tx, self.team, id, EVENT_SEGMENTS_MAX)?;
                event_segments.insert(oldest).clone()
            }
        };
        let (email, first_name, last_name) = match self.identity {
            EventIdentity::Shown => (row.email.to_string(), row.first_name.clone(), row.last_name.clone()),
            EventIdentity::Erased => (ERASED.to_owned(), None, None),
        };
        let contact = ContactSnapshot {
            id,
            email,
            first_name,
            last_name,
            unsubscribed: row.unsubscribed(),
            updated_ms: row.updated_ms.unwrap_or_else(|| id.created_ms()),
            segments,
        };
        let subject = AudienceSubject::Contact { contact, source: self.source, topic };
        let event = AudienceEvent { kind, at_ms: self.now_ms, subject };
        events::record_audience(self.tx, self.context, self.team, &event)
    }

    /// Applies the changes to the row of a contact.
    fn apply(
        &self,
        row: &mut ContactRow,
        changes: &ContactChanges,
        resubscribe: Resubscribe,
    ) -> Result<(), StoreError> {
        changes.first_name.apply(&mut row.first_name);
        changes.last_name.apply(&mut row.last_name);
        match changes.unsubscribed {
            // A repeated opt-out keeps the time of the first one.
            Some(true) => row.unsubscribed_ms = row.unsubscribed_ms.or(Some(self.now_ms)),
            Some(false) if resubscribe == Resubscribe::Allowed => row.unsubscribed_ms = None,
            Some(false) | None => {}
        }
        for (key, change) in &changes.properties {
            let Some(text) = change.text() else {
                row.properties.remove(key);
                row.numbers.remove(key);
                continue;
            };
            let is_number = matches!(change, PropertyChange::SetNumber(_));
            let is_same_text = row.properties.get(key).is_some_and(|stored| stored == text);
            // The type of a defined key does not depend on the value: the same text is no change.
            if is_same_text && row.numbers.contains(key) != is_number && self.definitions()?.kind(key).is_some() {
                continue;
            }
            row.properties.insert(key.clone(), text.to_owned());
            if is_number {
                row.numbers.insert(key.clone());
            } else {
                row.numbers.remove(key);
            }
        }
        Ok(())
    }

    fn definitions(&self) -> Result<&PropertyDefinitions, StoreError> {
        if let Some(definitions) = self.definitions.get() {
            return Ok(definitions);
        }
        let definitions = contact_properties::definitions(self.tx, self.team)?;
        Ok(self.definitions.get_or_init(|| definitions))
    }
}

/// Stores the choices of a contact for topics, including deleted topics. A repeated choice changes
/// nothing.
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

/// Opts a contact out of all marketing email, or subscribes it again. A repeated call changes nothing.
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
    let result = writer.update(contact, &row, &changes, Resubscribe::Allowed, OptIns::Allowed)?;
    writer.finish()?;
    Ok(result)
}
