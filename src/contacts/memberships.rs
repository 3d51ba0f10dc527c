//! The use cases of what a contact is tied to: topics it chose about, segments it belongs to.

use super::check::ItemError;
use super::model::{ContactChanges, OptIns, Resubscribe};
use super::service::{ContactName, Contacts, WriteError, accepted, named};
use super::view::{TopicSubscription, topics_of};
use super::write::ContactWriter;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::events::ChangeSource;
use crate::segments::{self, Segment};
use crate::store::StoreError;
use crate::topics::Subscription;

impl Contacts {
    /// Returns where a contact stands with every topic of the team, newest topic first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn topics(
        &self,
        team: TeamId,
        name: ContactName,
    ) -> Result<Option<(ContactId, Vec<TopicSubscription>)>, StoreError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, _)) = named(tx, team, &name)? else { return Ok(None) };
                Ok(Some((id, topics_of(tx, team, id)?)))
            })
            .await
    }

    /// Writes explicit choices down and returns where the contact stands with every topic.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn choose(
        &self,
        team: TeamId,
        name: ContactName,
        choices: Vec<(TopicId, Subscription)>,
        source: ChangeSource,
    ) -> Result<(ContactId, Vec<TopicSubscription>), WriteError> {
        let context = self.context.clone();
        let mut changes = ContactChanges::default();
        for (topic, subscription) in choices {
            changes.choose(topic, subscription);
        }
        self.context
            .store
            .write(move |tx| {
                let (id, row) = named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                let changes = accepted(tx, team, Some(&row), &changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                writer.update(id, &row, &changes, Resubscribe::Never, OptIns::Allowed)?;
                writer.finish()?;
                Ok((id, topics_of(tx, team, id)?))
            })
            .await
    }

    /// Adds a contact to a segment by hand; again changes nothing.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn join(
        &self,
        team: TeamId,
        name: ContactName,
        segment: SegmentId,
        source: ChangeSource,
    ) -> Result<ContactId, WriteError> {
        let changes = ContactChanges { segments: vec![segment], ..ContactChanges::default() };
        Ok(self.update(team, name, None, changes, source).await?.id)
    }

    /// Takes a contact out of a segment it was added to by hand; `None` when it was not in it.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn leave(
        &self,
        team: TeamId,
        name: ContactName,
        segment: SegmentId,
        source: ChangeSource,
    ) -> Result<Option<ContactId>, WriteError> {
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let (id, _) = named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                if !segments::exists(tx, team, segment)? {
                    return Err(WriteError::Refused(ItemError::SegmentNotFound(segment)));
                }
                let mut writer = ContactWriter::new(tx, &context, team, source);
                let left = writer.leave_segment(id, segment)?;
                writer.finish()?;
                Ok(left.then_some(id))
            })
            .await
    }

    /// Returns the segments that hold a contact, by hand or by their filter, newest first; `None` when
    /// the team has no such contact.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn segments(&self, team: TeamId, name: ContactName) -> Result<Option<Vec<Segment>>, StoreError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, _)) = named(tx, team, &name)? else { return Ok(None) };
                Ok(Some(segments::containing(tx, team, segments::all(tx, team)?, id)?))
            })
            .await
    }
}
