//! The use cases: create, show, change and delete segments; count and list their contacts.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::error::{CreateSegmentError, DeleteSegmentError, SegmentPageError, SegmentScanError, UpdateSegmentError};
use super::model::{NewSegment, SEGMENTS_MAX, Segment, SegmentChanges, SegmentName};
use super::reader::SegmentReader;
use super::scan::SegmentRule;
use super::store::{self, SegmentRow};
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::base::patch::Patch;
use crate::base::wakeup::Wakeup;
use crate::contacts::ContactRow;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, is_full, page};
use crate::store::{Reads as _, ScanLimit, StoreError, WriteTx, delete_orphans};
use crate::tables::{SEGMENT_MEMBERS, SEGMENTS};
use crate::workers::repeat;

/// Returns whether a broadcast that is not sent yet uses a segment.
pub type SegmentInUse = fn(&WriteTx<'_>, TeamId, SegmentId) -> Result<bool, StoreError>;

/// The segments of all teams.
pub struct Segments {
    context: Context,
    reader: SegmentReader,
    /// Notified when a deleted segment has members left.
    deleted: Arc<Wakeup>,
    in_use: SegmentInUse,
}

impl Segments {
    /// Returns the segments in the store of `context`. `in_use` returns whether a broadcast uses a segment: `broadcasts`
    /// reads segments, so that this module cannot call it.
    pub fn new(context: Context, in_use: SegmentInUse) -> Self {
        Self { in_use, ..Self::with_step(context, ScanLimit::STEP) }
    }

    /// Does the same as [`Segments::new`], without broadcasts; reads at most `step` of the contacts in one transaction.
    pub(super) fn with_step(context: Context, step: ScanLimit) -> Self {
        let reader = SegmentReader::new(context.store.clone(), step);
        Self { context, reader, deleted: Arc::default(), in_use: |_, _, _| Ok(false) }
    }

    /// Creates a segment.
    pub async fn create(&self, team: TeamId, new: NewSegment) -> Result<Segment, CreateSegmentError> {
        let NewSegment { name, filter } = new;
        let name = name.into_string();
        let ids = self.context.ids.clone();
        self.context
            .store
            .write(move |tx| {
                if is_full(tx, &SEGMENTS, team, SEGMENTS_MAX)? {
                    return Err(CreateSegmentError::TooMany);
                }
                let id: SegmentId = ids.draw();
                let row = SegmentRow { name: name.clone(), filter: filter.clone(), created_ms: id.created_ms() };
                tx.put(&SEGMENTS, &(team, id), &row)?;
                Ok(row.segment(id))
            })
            .await
    }

    /// Returns a page of the team's segments, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<SegmentId>) -> Result<Page<Segment>, PageError> {
        self.context.store.read(move |tx| page(tx, &SEGMENTS, team, query, |id, row| Ok(Some(row.segment(id))))).await
    }

    /// Returns the team's segment of that id.
    pub async fn find(&self, team: TeamId, id: SegmentId) -> Result<Option<Segment>, StoreError> {
        self.context.store.read(move |tx| store::find(tx, team, id)).await
    }

    /// Returns the number of contacts that a segment contains. Reads every contact of the team, or one
    /// row if no contact changed since the last count.
    pub async fn count_contacts(&self, team: TeamId, segment: &Segment) -> Result<u64, SegmentScanError> {
        self.reader.count(team, &SegmentRule::of(segment)).await
    }

    /// Returns a page of the contacts that a segment contains, newest first.
    pub async fn contacts(
        &self,
        team: TeamId,
        id: SegmentId,
        query: PageQuery<ContactId>,
    ) -> Result<Page<(ContactId, ContactRow)>, SegmentPageError> {
        self.reader.page(team, id, query).await
    }

    /// Changes a segment and returns the changed segment.
    pub async fn update(
        &self,
        team: TeamId,
        id: SegmentId,
        changes: SegmentChanges,
    ) -> Result<Segment, UpdateSegmentError> {
        self.context
            .store
            .write(move |tx| {
                let before = tx.get(&SEGMENTS, &(team, id))?.ok_or(UpdateSegmentError::NotFound)?;
                let row = changed(before.clone(), &changes);
                if row != before {
                    tx.put(&SEGMENTS, &(team, id), &row)?;
                }
                Ok(row.segment(id))
            })
            .await
    }

    /// Deletes a segment, if it exists. Its contacts remain. Members beyond `MEMBERS_PER_COMMIT`
    /// are hidden from every reader, and the worker deletes them.
    pub async fn delete(&self, team: TeamId, id: SegmentId) -> Result<(), DeleteSegmentError> {
        let (deleted, now_ms, in_use) = (Arc::clone(&self.deleted), self.context.now_ms(), self.in_use);
        self.context
            .store
            .write(move |tx| {
                if !store::exists(tx, team, id)? {
                    return Ok(());
                }
                if in_use(tx, team, id)? {
                    return Err(DeleteSegmentError::InUse);
                }
                tx.delete_listed(&SEGMENTS, &(team, id), now_ms)?;
                if store::remove_members(tx, team, id)? {
                    let deleted = Arc::clone(&deleted);
                    tx.after_commit(move || deleted.notify());
                }
                Ok(())
            })
            .await
    }

    /// Deletes the members of deleted segments, at the start and after each deletion that leaves some.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        let delete = || delete_orphans(&self.context.store, &SEGMENT_MEMBERS, &SEGMENTS, store::remove_members);
        repeat(stop, delete, || self.deleted.notified()).await
    }
}

/// Applies an update to a row.
fn changed(row: SegmentRow, changes: &SegmentChanges) -> SegmentRow {
    let SegmentChanges { name, filter } = changes;
    SegmentRow {
        name: name.clone().map_or(row.name, SegmentName::into_string),
        filter: match filter {
            Patch::Keep => row.filter,
            Patch::Clear => None,
            Patch::Set(filter) => Some(filter.clone()),
        },
        created_ms: row.created_ms,
    }
}
