//! Reads the contacts of segments: exact counts, and pages.
//!
//! Both scan in steps: each step is one short read transaction. The first step of a page needs no
//! permit, because most pages end there. All other scans need a permit of the limiter.
//!
//! A count is cached together with the revision of the audience. Every change of a contact or a
//! membership increments the revision, so that a cached count is exact and costs one read.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::count_cache::{CountCache, RuleFingerprint};
use super::error::{SegmentPageError, SegmentScanError};
use super::filter::Filter;
use super::page_scan::PageScan;
use super::scan::{ContactRange, SegmentRule, count};
use super::scan_limiter::ScanLimiter;
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::base::sync;
use crate::contacts::{AudienceRow, ContactRow, audience};
use crate::store::page::{Page, PageQuery};
use crate::store::{Order, ScanLimit, Store, StoreError};

/// Longest wait for the start of a scan. After it, the request returns 503.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// Counts and lists the contacts of segments.
pub(super) struct SegmentReader {
    store: Store,
    step: ScanLimit,
    limiter: ScanLimiter,
    counts: Mutex<CountCache>,
}

impl SegmentReader {
    /// Returns a reader that reads at most `step` in one transaction.
    pub(super) fn new(store: Store, step: ScanLimit) -> Self {
        Self { store, step, limiter: ScanLimiter::new(QUEUE_TIMEOUT), counts: Mutex::default() }
    }

    /// Returns the number of contacts that the segment contains.
    ///
    /// Reads every contact of the team unless the count is cached. If contacts change meanwhile, each
    /// contact is counted in a state between the call and the return.
    pub(super) async fn count(&self, team: TeamId, rule: &SegmentRule) -> Result<u64, SegmentScanError> {
        let AudienceRow { contacts, revision } = self.audience(team).await?;
        if rule.filter.as_ref().is_some_and(Filter::matches_all) {
            return Ok(contacts);
        }
        let fingerprint = RuleFingerprint::of(rule);
        if let Some(contacts) = self.counts().get(team, fingerprint, revision) {
            return Ok(contacts);
        }
        let _permit = self.limiter.acquire(team).await?;
        // Another request may have counted the segment while this one waited.
        if let Some(contacts) = self.counts().get(team, fingerprint, revision) {
            return Ok(contacts);
        }
        let AudienceRow { revision, .. } = self.audience(team).await?;
        let contacts = self.count_now(team, rule).await?;
        self.counts().insert(team, fingerprint, revision, contacts);
        Ok(contacts)
    }

    async fn count_now(&self, team: TeamId, rule: &SegmentRule) -> Result<u64, StoreError> {
        let rule = Arc::new(rule.clone());
        let mut contacts = 0;
        // Newest first: contacts that are added meanwhile are outside of the rest.
        let mut rest = Some(ContactRange::all(Order::Descending));
        while let Some(range) = rest {
            let (rule, step) = (Arc::clone(&rule), self.step);
            let (in_step, last) = self.store.read(move |tx| count(tx, team, &rule, range, step)).await?;
            contacts += in_step as u64;
            rest = last.and_then(|last| range.beyond(last));
        }
        Ok(contacts)
    }

    /// Returns a page of the contacts that the segment contains, newest first.
    ///
    /// The cost is that of the contacts between the cursor and the end of the page. A page of a segment
    /// with few matches can read every contact of the team.
    pub(super) async fn page(
        &self,
        team: TeamId,
        segment: SegmentId,
        query: PageQuery<ContactId>,
    ) -> Result<Page<(ContactId, ContactRow)>, SegmentPageError> {
        let step = self.step;
        let first_step = self.store.read::<_, SegmentPageError>(move |tx| {
            let mut page = PageScan::start(tx, team, segment, query)?;
            page.advance(tx, step)?;
            Ok(page)
        });
        let mut page = first_step.await?;
        if page.is_finished() {
            return Ok(page.into_page());
        }
        let _permit = self.limiter.acquire(team).await?;
        while !page.is_finished() {
            let next_step = self.store.read::<_, StoreError>(move |tx| {
                page.advance(tx, step)?;
                Ok(page)
            });
            page = next_step.await?;
        }
        Ok(page.into_page())
    }

    async fn audience(&self, team: TeamId) -> Result<AudienceRow, StoreError> {
        self.store.read(move |tx| audience(tx, team)).await
    }

    fn counts(&self) -> MutexGuard<'_, CountCache> {
        sync::lock(&self.counts)
    }
}
