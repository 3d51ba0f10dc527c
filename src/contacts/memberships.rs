//! The use cases of a contact's topic choices and segments.

use super::check::ItemError;
use super::model::{ContactChanges, OptIns, Resubscribe};
use super::service::{ContactName, Contacts, RepeatedIdentity, WriteError, check_changes, find_named};
use super::view::{TopicSubscription, topics_of};
use super::write::ContactWriter;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::events::ChangeSource;
use crate::segments::{self, Segment};
use crate::store::page::{Page, PageError, PageQuery, page_of};
use crate::topics::{self, Subscription};

impl Contacts {
    /// Returns a page of the subscriptions of a contact to every topic of the team, newest topic first. `None` if the
    /// team has no such contact.
    pub async fn topics(
        &self,
        team: TeamId,
        name: ContactName,
        query: PageQuery<TopicId>,
    ) -> Result<Option<Page<TopicSubscription>>, PageError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, _)) = find_named(tx, team, &name)? else { return Ok(None) };
                let was_item = |topic| topics::was_listed(tx, team, topic);
                page_of(topics_of(tx, team, id)?, query, |item| item.topic.id, was_item).map(Some)
            })
            .await
    }

    /// Stores topic choices and returns the subscriptions of the contact to every topic of the team.
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
                let (id, row) = find_named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                let changes = check_changes(tx, team, Some(&row), &changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                writer.update(id, &row, &changes, Resubscribe::Never, OptIns::Allowed)?;
                writer.finish()?;
                Ok((id, topics_of(tx, team, id)?))
            })
            .await
    }

    /// Makes a contact a member of a segment. A repeated call changes nothing.
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
        Ok(self.update(team, name, RepeatedIdentity::default(), changes, source).await?.id)
    }

    /// Removes a contact from the members of a segment and returns its id; `None` if it was not a
    /// member.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
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
                let (id, _) = find_named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                if !segments::exists(tx, team, segment)? {
                    return Err(WriteError::Rejected(ItemError::SegmentNotFound(segment)));
                }
                let mut writer = ContactWriter::new(tx, &context, team, source);
                let left = writer.leave_segment(id, segment)?;
                writer.finish()?;
                Ok(left.then_some(id))
            })
            .await
    }

    /// Returns a page of the segments that contain a contact as a member or by their filter, newest first. `None` if
    /// the team has no such contact.
    pub async fn segments(
        &self,
        team: TeamId,
        name: ContactName,
        query: PageQuery<SegmentId>,
    ) -> Result<Option<Page<Segment>>, PageError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, _)) = find_named(tx, team, &name)? else { return Ok(None) };
                let containing = segments::containing(tx, team, segments::all(tx, team)?, id)?;
                let was_item = |segment| segments::was_of_contact(tx, team, segment, id);
                page_of(containing, query, |segment| segment.id, was_item).map(Some)
            })
            .await
    }
}
