//! The use cases of drafts: create, show, change, copy and delete.

use std::sync::Arc;

use super::error::{DeleteBroadcastError, DraftError};
use super::estimates::SendEstimates;
use super::forecast::LazyForecast;
use super::guards::is_in_scope;
use super::model::{BroadcastChanges, BroadcastName, CONTENT_BYTES_MAX, NewBroadcast, PreviewText};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind};
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, SegmentId, TeamId, TopicId};
use crate::base::patch::Patch;
use crate::base::wakeup::Wakeup;
use crate::broadcast_rows::{
    self, BroadcastContent, BroadcastCountsRow, BroadcastRow, BroadcastStatus, delete_draft, put_content, read_content,
    read_counts, seal_content,
};
use crate::context::Context;
use crate::emails::{Sender, SendingGuard};
use crate::preferences::PreferenceLinks;
use crate::segments::{self, Segments};
use crate::store::page::{Page, PageError, PageQuery};
use crate::store::{ReadTx, Reads, StoreError};
use crate::topics;

/// Number of times that a new draft draws an id to be the newest of its team.
const ORDER_TRIES_MAX: u32 = 20;

/// A broadcast without its content.
#[derive(Clone, Debug)]
pub struct Broadcast {
    pub id: BroadcastId,
    pub row: BroadcastRow,
    pub counts: BroadcastCountsRow,
    /// Estimated time of the last email of a scheduled or queued broadcast.
    pub finishes_ms: Option<TimestampMs>,
}

/// The broadcasts of all teams.
pub struct Broadcasts {
    pub(super) context: Context,
    pub(super) links: PreferenceLinks,
    pub(super) segments: Arc<Segments>,
    pub(super) estimates: SendEstimates,
    pub(super) guard: Arc<dyn SendingGuard>,
    /// Wakes the worker when a broadcast is sent or canceled.
    pub(super) notifier: Arc<Wakeup>,
}

/// Result of one try to create a draft.
enum Creation {
    Done,
    /// Another request has created a newer draft meanwhile.
    Outdated,
}

impl Broadcasts {
    /// Returns the broadcasts in the store of `context`.
    pub fn new(
        context: Context,
        links: PreferenceLinks,
        segments: Arc<Segments>,
        estimates: SendEstimates,
        guard: Arc<dyn SendingGuard>,
        notifier: Arc<Wakeup>,
    ) -> Self {
        Self { context, links, segments, estimates, guard, notifier }
    }

    /// Returns the current time.
    pub fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Creates a draft.
    pub async fn create(&self, by: Sender, new: NewBroadcast) -> Result<BroadcastId, DraftError> {
        let NewBroadcast { name, from, subject, reply_to, preview_text, segment, topic, content } = new;
        let row = BroadcastRow {
            name: name.map(BroadcastName::into_string).unwrap_or_default(),
            reply_to: reply_to.into_iter().map(Into::into).collect(),
            preview_text: preview_text.map(PreviewText::into_string),
            segment,
            topic,
            ..BroadcastRow::draft(from.into(), subject)
        };
        self.put_new(by, row, content, CheckTargets::Yes).await
    }

    /// Returns a page of the team's broadcasts, newest first.
    pub async fn list(
        &self,
        team: TeamId,
        query: PageQuery<BroadcastId>,
    ) -> Result<Page<(BroadcastId, BroadcastRow)>, PageError> {
        let read = move |tx: &ReadTx| broadcast_rows::list(tx, team, query, |id, row| Ok((id, row)));
        self.context.store.read(read).await
    }

    /// Returns the team's broadcast of that id, with its content.
    pub async fn find(
        &self,
        team: TeamId,
        id: BroadcastId,
    ) -> Result<Option<(Broadcast, BroadcastContent)>, StoreError> {
        let (keyring, estimates, now_ms) = (self.context.keyring.clone(), self.estimates.clone(), self.now_ms());
        self.context
            .store
            .read(move |tx| {
                let Some(row) = broadcast_rows::find(tx, team, id)? else { return Ok(None) };
                let counts = read_counts(tx, id)?;
                let finishes_ms = estimates.finishes_ms(tx, &LazyForecast::default(), now_ms, id, &row, &counts)?;
                let content = read_content(tx, &keyring, id)?.unwrap_or_default();
                Ok(Some((Broadcast { id, row, counts, finishes_ms }, content)))
            })
            .await
    }

    /// Changes a draft. Returns its new revision.
    pub async fn update(&self, by: Sender, id: BroadcastId, changes: BroadcastChanges) -> Result<u32, DraftError> {
        let changes = Arc::new(changes);
        loop {
            if let Some(revision) = self.try_update(by, id, &changes).await? {
                return Ok(revision);
            }
        }
    }

    /// Does the same as [`Broadcasts::update`]; `None` if another request has changed the draft meanwhile. Seals the
    /// changed content before the transaction, so that the writer thread only copies bytes.
    async fn try_update(
        &self,
        by: Sender,
        id: BroadcastId,
        changes: &Arc<BroadcastChanges>,
    ) -> Result<Option<u32>, DraftError> {
        let team = by.team;
        let (mut sealed, mut bytes) = (None, 0);
        if changes.has_content() {
            let Some((row, mut content)) = self.read_draft(team, id).await? else { return Err(DraftError::NotFound) };
            changes.apply_to_content(&mut content);
            bytes = content.bytes();
            if bytes > CONTENT_BYTES_MAX {
                return Err(DraftError::TooMuchContent);
            }
            let keyring = self.context.keyring.clone();
            let content = blocking::run_sized(bytes, move || seal_content(&keyring, id, &content)).await;
            sealed = Some((row.revision, content));
        }
        let changes = Arc::clone(changes);
        self.context
            .store
            .write_sized(bytes + 1_024, move |tx| {
                let before = broadcast_rows::find(tx, team, id)?.ok_or(DraftError::NotFound)?;
                if before.status != BroadcastStatus::Draft {
                    return Err(DraftError::NotDraft(before.status));
                }
                if changes.revision.is_some_and(|revision| revision != before.revision) {
                    return Err(DraftError::StaleRevision);
                }
                if sealed.as_ref().is_some_and(|(revision, _)| *revision != before.revision) {
                    return Ok(None);
                }
                check_targets(tx, team, as_given(&changes.segment), as_given(&changes.topic))?;
                let after = changed(&before, &changes);
                if !(is_in_scope(tx, by, &before.from)? && is_in_scope(tx, by, &after.from)?) {
                    return Err(DraftError::KeyOfAnotherDomain);
                }
                broadcast_rows::put(tx, team, id, &after)?;
                if let Some((_, content)) = &sealed {
                    put_content(tx, id, content)?;
                }
                Ok(Some(after.revision))
            })
            .await
    }

    /// Creates a draft with the fields and the content of a broadcast. Returns its id.
    pub async fn duplicate(&self, by: Sender, id: BroadcastId) -> Result<BroadcastId, DraftError> {
        let Some((original, content)) = self.read_draft(by.team, id).await? else { return Err(DraftError::NotFound) };
        let name = BroadcastName::of_copy(original.shown_name()).into_string();
        let BroadcastRow { from, subject, reply_to, preview_text, segment, topic, .. } = original;
        let row = BroadcastRow { name, reply_to, preview_text, segment, topic, ..BroadcastRow::draft(from, subject) };
        // The copy of a sent broadcast can name a segment that has been deleted. It cannot be sent to anyone else until
        // the segment is changed.
        self.put_new(by, row, content, CheckTargets::No).await
    }

    /// Deletes a draft.
    pub async fn delete(&self, by: Sender, id: BroadcastId) -> Result<(), DeleteBroadcastError> {
        let (team, context, now_ms) = (by.team, self.context.clone(), self.now_ms());
        self.context
            .store
            .write(move |tx| {
                let row = broadcast_rows::find(tx, team, id)?.ok_or(DeleteBroadcastError::NotFound)?;
                if row.status != BroadcastStatus::Draft {
                    return Err(DeleteBroadcastError::NotDraft(row.status));
                }
                if !is_in_scope(tx, by, &row.from)? {
                    return Err(DeleteBroadcastError::KeyOfAnotherDomain);
                }
                audit::record(tx, &context, by.actor.in_team(team), entry(AuditAction::BroadcastDeleted, id, &row))?;
                Ok(delete_draft(tx, team, id, now_ms)?)
            })
            .await
    }

    /// Returns a broadcast and its content; `None` if the team has no such broadcast.
    pub(super) async fn read_draft(
        &self,
        team: TeamId,
        id: BroadcastId,
    ) -> Result<Option<(BroadcastRow, BroadcastContent)>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let Some(row) = broadcast_rows::find(tx, team, id)? else { return Ok(None) };
                Ok(Some((row, read_content(tx, &keyring, id)?.unwrap_or_default())))
            })
            .await
    }

    /// Stores a new draft under an id that is higher than all of its team, so that a list shows it before them. If
    /// other drafts are created at the same time, it tries again.
    async fn put_new(
        &self,
        by: Sender,
        row: BroadcastRow,
        content: BroadcastContent,
        check: CheckTargets,
    ) -> Result<BroadcastId, DraftError> {
        if content.bytes() > CONTENT_BYTES_MAX {
            return Err(DraftError::TooMuchContent);
        }
        let (row, content) = (Arc::new(row), Arc::new(content));
        let mut tries = 0;
        loop {
            // The content is sealed for the id, so that the id cannot be drawn in the transaction.
            let id: BroadcastId = self.context.id();
            // After the clock was set back, a stored id can be higher than all new ones.
            tries += 1;
            let is_last = tries == ORDER_TRIES_MAX;
            if let Creation::Done = self.try_put_new(by, id, (&row, &content), check, is_last).await? {
                return Ok(id);
            }
        }
    }

    async fn try_put_new(
        &self,
        by: Sender,
        id: BroadcastId,
        (row, content): (&Arc<BroadcastRow>, &Arc<BroadcastContent>),
        check: CheckTargets,
        is_last: bool,
    ) -> Result<Creation, DraftError> {
        let (team, keyring, bytes) = (by.team, self.context.keyring.clone(), content.bytes());
        let (row, content) = (Arc::clone(row), Arc::clone(content));
        let content = blocking::run_sized(bytes, move || seal_content(&keyring, id, &content)).await;
        self.context
            .store
            .write_sized(bytes + 1_024, move |tx| {
                if broadcast_rows::is_full(tx, team)? {
                    return Err(DraftError::TooMany);
                }
                if check == CheckTargets::Yes {
                    check_targets(tx, team, row.segment, row.topic)?;
                }
                if !is_in_scope(tx, by, &row.from)? {
                    return Err(DraftError::KeyOfAnotherDomain);
                }
                if !is_last && broadcast_rows::has_newer(tx, team, id)? {
                    return Ok(Creation::Outdated);
                }
                broadcast_rows::put(tx, team, id, &BroadcastRow { created_ms: id.created_ms(), ..(*row).clone() })?;
                put_content(tx, id, &content)?;
                Ok(Creation::Done)
            })
            .await
    }
}

/// Whether the segment and the topic of a new draft must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckTargets {
    Yes,
    No,
}

fn check_targets(
    tx: &impl Reads,
    team: TeamId,
    segment: Option<SegmentId>,
    topic: Option<TopicId>,
) -> Result<(), DraftError> {
    if let Some(segment) = segment
        && !segments::exists(tx, team, segment)?
    {
        return Err(DraftError::SegmentNotFound);
    }
    if let Some(topic) = topic
        && topics::find(tx, team, topic)?.is_none()
    {
        return Err(DraftError::TopicNotFound);
    }
    Ok(())
}

fn as_given<T: Copy>(patch: &Patch<T>) -> Option<T> {
    match patch {
        Patch::Set(value) => Some(*value),
        Patch::Keep | Patch::Clear => None,
    }
}

/// Applies changes to the row of a draft.
fn changed(before: &BroadcastRow, changes: &BroadcastChanges) -> BroadcastRow {
    let mut row = BroadcastRow { revision: before.revision.wrapping_add(1), ..before.clone() };
    match &changes.name {
        Patch::Keep => {}
        Patch::Clear => row.name = String::new(),
        Patch::Set(name) => row.name = name.clone().into_string(),
    }
    if let Some(from) = &changes.from {
        row.from = from.clone().into();
    }
    if let Some(subject) = &changes.subject {
        row.subject.clone_from(subject);
    }
    if let Some(reply_to) = &changes.reply_to {
        row.reply_to = reply_to.iter().cloned().map(Into::into).collect();
    }
    match &changes.preview_text {
        Patch::Keep => {}
        Patch::Clear => row.preview_text = None,
        Patch::Set(text) => row.preview_text = Some(text.clone().into_string()),
    }
    changes.segment.apply(&mut row.segment);
    changes.topic.apply(&mut row.topic);
    row
}

/// Returns an entry of the audit log about a broadcast. The subject is content, and is not stored.
pub(super) fn entry(action: AuditAction, id: BroadcastId, row: &BroadcastRow) -> AuditEntry {
    let entry = AuditEntry::new(action).of(AuditTargetKind::Broadcast, id);
    if row.name.is_empty() { entry } else { entry.named(&row.name) }
}
