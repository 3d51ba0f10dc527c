//! The use cases: add, show, change, remove, list whom a segment holds.

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::count_limiter::CountError;
use super::counter::{CountSettings, SegmentCounter};
use super::error::{CreateSegmentError, DeleteSegmentError, UpdateSegmentError};
use super::listing::{self, SegmentPageError};
use super::model::{NewSegment, SEGMENTS_MAX, Segment, SegmentChanges, SegmentName};
use super::resolve::SegmentRule;
use super::store::{self, SegmentRow};
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::base::patch::Patch;
use crate::contacts::ContactRow;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, is_full, page};
use crate::store::{Reads as _, StoreError};
use crate::tables::SEGMENTS;

/// Memberships removed in one commit: some milliseconds.
const MEMBERS_PER_COMMIT: usize = 1_000;

/// The segments of the instance.
pub struct Segments {
    context: Context,
    census: SegmentCounter,
    /// Rung when a segment was deleted that has memberships left.
    deleted: Notify,
}

impl Segments {
    /// Returns the segments of the instance that `context` belongs to.
    pub fn new(context: Context) -> Self {
        Self::stepping(context, CountSettings::USUAL)
    }

    /// As [`Segments::new`], with other steps.
    pub(super) fn stepping(context: Context, steps: CountSettings) -> Self {
        let census = SegmentCounter::new(context.store.clone(), steps);
        Self { context, census, deleted: Notify::new() }
    }

    /// Adds a segment.
    ///
    /// # Errors
    /// [`CreateSegmentError`].
    pub async fn create(&self, team: TeamId, new: NewSegment) -> Result<Segment, CreateSegmentError> {
        let NewSegment { name, filter } = new;
        let id: SegmentId = self.context.id();
        let row = SegmentRow { name: name.into_string(), filter, created_ms: self.context.now_ms() };
        self.context
            .store
            .write(move |tx| {
                if is_full(tx, &SEGMENTS, team, SEGMENTS_MAX)? {
                    return Err(CreateSegmentError::TooMany);
                }
                tx.put(&SEGMENTS, &(team, id), &row)?;
                Ok(row.clone().segment(id))
            })
            .await
    }

    /// Returns a page of the team's segments, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, team: TeamId, query: PageQuery<SegmentId>) -> Result<Page<Segment>, PageError> {
        self.context
            .store
            .read(move |tx| page(tx, &SEGMENTS, team, query, |id, row| Ok(Some(row.decode()?.segment(id)))))
            .await
    }

    /// Returns the team's segment of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, team: TeamId, id: SegmentId) -> Result<Option<Segment>, StoreError> {
        self.context.store.read(move |tx| store::find(tx, team, id)).await
    }

    /// Returns how many contacts a segment holds. The first time this looks at every contact of the
    /// team; repeated, it is a read, until one of them changes.
    ///
    /// # Errors
    /// [`CountError`].
    pub async fn count_contacts(&self, team: TeamId, segment: &Segment) -> Result<u64, CountError> {
        self.census.count(team, &SegmentRule::of(segment)).await
    }

    /// Returns a page of the contacts that a segment holds, newest first.
    ///
    /// # Errors
    /// [`SegmentPageError`].
    pub async fn contacts(
        &self,
        team: TeamId,
        id: SegmentId,
        query: PageQuery<ContactId>,
    ) -> Result<Page<(ContactId, ContactRow)>, SegmentPageError> {
        listing::page(&self.context.store, &self.census, team, id, query).await
    }

    /// Changes a segment and returns it as it is then.
    ///
    /// # Errors
    /// [`UpdateSegmentError`].
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

    /// Removes a segment, or nothing where there is none. Its contacts stay. Memberships beyond what
    /// one commit removes are gone for every reader at once, and from the file soon after.
    ///
    /// # Errors
    /// [`DeleteSegmentError`].
    pub async fn delete(&self, team: TeamId, id: SegmentId) -> Result<(), DeleteSegmentError> {
        let is_more = self
            .context
            .store
            .write(move |tx| {
                if !store::exists(tx, team, id)? {
                    return Ok::<_, DeleteSegmentError>(false);
                }
                // Whatever refers to a segment and must not outlive it is asked here, before the
                // write, and refuses with `DeleteSegmentError::InUse`.
                tx.delete(&SEGMENTS, &(team, id))?;
                Ok(store::remove_members(tx, team, id, MEMBERS_PER_COMMIT)?)
            })
            .await?;
        if is_more {
            self.deleted.notify_one();
        }
        Ok(())
    }

    /// Removes what is left of deleted segments, at the start and whenever one leaves something.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(self: std::sync::Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                removed = self.remove_remains() => removed?,
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = self.deleted.notified() => {}
            }
        }
    }

    async fn remove_remains(&self) -> Result<(), StoreError> {
        let mut passed = None;
        loop {
            let orphan = self.context.store.read(move |tx| store::first_orphan(tx, passed)).await?;
            let Some((team, segment)) = orphan else { return Ok(()) };
            let remove =
                move |tx: &crate::store::WriteTx<'_>| store::remove_members(tx, team, segment, MEMBERS_PER_COMMIT);
            while self.context.store.write_bulk::<_, StoreError>(remove).await? {}
            passed = orphan;
        }
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
