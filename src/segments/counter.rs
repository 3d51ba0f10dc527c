//! How many contacts a segment holds, and where in the table they lie.
//!
//! Counting looks at every contact. What was counted is remembered together with the revision of
//! the audience, which every change of a contact or a membership raises: as long as the revision
//! stands, the number is exact and costs one read. With it the stretches of the table are
//! remembered in which the segment's contacts lie close together, so that a list of the few among
//! many looks where they are. Those take room and are kept for a few segments, numbers for many.
//!
//! A count is cut into transactions of a few milliseconds, so that the file goes on reusing space,
//! and two walkers share it: one from the oldest contact on, one from the newest back, until they
//! meet.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::count_cache::{RevisionCache, RuleFingerprint};
use super::count_limiter::{CountError, CountLimiter};
use super::filter::Filter;
use super::resolve::{ContactRange, ScanEnd, ScanLimit, SegmentMatch, SegmentRule, walk_at};
use crate::base::id::{ContactId, TeamId};
use crate::contacts::{AudienceRow, audience};
use crate::store::{Order, Store, StoreError};

/// Numbers remembered at once: the segments of a few large teams, at some 150 bytes each.
const NUMBERS_MAX: usize = 4_096;
/// Segments whose stretches are remembered: those of a few open lists.
const STRETCHED_MAX: usize = 32;
/// Stretches of a segment at most, but for those that chunks cut: 64 KiB.
const RANGES_MAX: u64 = 2_048;
/// Contacts of the segment that lie no further apart share a stretch. A page of 100 then looks at
/// 51,200 rows at worst, where a million contacts are kept.
const GAP_ROWS_MIN: u64 = 512;

/// How far is looked in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountSettings {
    /// Contacts for a page, before the count is asked where its contacts are.
    pub(super) near_rows: usize,
    /// Contacts in one transaction of a walk through everything.
    pub(super) chunk_rows: usize,
    /// How long such a transaction is open, whatever a contact takes to look at.
    pub(super) chunk_within: Duration,
    /// How long a count waits for its turn.
    pub(super) queue_timeout: Duration,
}

impl CountSettings {
    /// A millisecond or two, and some 6 ms.
    pub(super) const USUAL: Self = Self {
        near_rows: 4_000,
        chunk_rows: 20_000,
        chunk_within: Duration::from_millis(20),
        queue_timeout: Duration::from_secs(10),
    };

    /// Returns how far one transaction of a walk through everything looks, from the call on.
    pub(super) fn chunk(self) -> ScanLimit {
        ScanLimit::within(self.chunk_rows, self.chunk_within)
    }
}

/// Contacts of the segment that lie close together: the oldest and the newest of them.
pub(super) type IdRange = (ContactId, ContactId);

/// What a count came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountResult {
    /// How many contacts the segment holds.
    pub(super) contacts: u64,
    /// Where they lie, oldest first. Outside there are none.
    pub(super) stretches: Vec<IdRange>,
    /// The revision of the audience that this holds for; none when it changed during the count, which
    /// then is no better than its moment.
    pub(super) revision: Option<u64>,
}

/// Counts segments and remembers what it counted.
pub(super) struct SegmentCounter {
    store: Store,
    steps: CountSettings,
    numbers: Mutex<RevisionCache<u64>>,
    stretched: Mutex<RevisionCache<Arc<CountResult>>>,
    turns: CountLimiter<Arc<CountResult>>,
}

impl SegmentCounter {
    pub(super) fn new(store: Store, steps: CountSettings) -> Self {
        Self {
            store,
            steps,
            numbers: Mutex::new(RevisionCache::new(NUMBERS_MAX)),
            stretched: Mutex::new(RevisionCache::new(STRETCHED_MAX)),
            turns: CountLimiter::new(steps.queue_timeout),
        }
    }

    /// Returns how far is looked in one go.
    pub(super) fn steps(&self) -> CountSettings {
        self.steps
    }

    /// Returns how many contacts the segment holds: counts, or remembers the number that still holds.
    ///
    /// # Errors
    /// [`CountError`].
    pub(super) async fn count(&self, team: TeamId, rule: &SegmentRule) -> Result<u64, CountError> {
        let audience = self.audience(team).await?;
        let print = RuleFingerprint::of(rule);
        if let Some(number) = lock(&self.numbers).get(team, print, audience.revision) {
            return Ok(number);
        }
        Ok(self.take(team, rule, print).await?.contacts)
    }

    /// Returns where the contacts of the segment lie, for an audience of that revision; none when it
    /// has changed since, and counting would be of no use.
    ///
    /// # Errors
    /// [`CountError`].
    pub(super) async fn ranges(
        &self,
        team: TeamId,
        rule: &SegmentRule,
        revision: u64,
    ) -> Result<Option<Arc<CountResult>>, CountError> {
        if self.audience(team).await?.revision != revision {
            return Ok(None);
        }
        let print = RuleFingerprint::of(rule);
        let remembered = lock(&self.stretched).get(team, print, revision);
        let counted = match remembered {
            Some(counted) => counted,
            None => self.take(team, rule, print).await?,
        };
        Ok((counted.revision == Some(revision)).then_some(counted))
    }

    /// Counts in turn, or takes the answer of one who does.
    async fn take(
        &self,
        team: TeamId,
        rule: &SegmentRule,
        print: RuleFingerprint,
    ) -> Result<Arc<CountResult>, CountError> {
        self.turns.take(team, print, || self.count_now(team, rule, print)).await
    }

    async fn count_now(
        &self,
        team: TeamId,
        rule: &SegmentRule,
        print: RuleFingerprint,
    ) -> Result<Arc<CountResult>, StoreError> {
        let before = self.audience(team).await?;
        // Another one may have counted in the meantime.
        if let Some(counted) = lock(&self.stretched).get(team, print, before.revision) {
            return Ok(counted);
        }
        let tally = self.tally(team, rule, before).await?;
        let after = self.audience(team).await?;
        let revision = (before.revision == after.revision).then_some(before.revision);
        let counted = Arc::new(CountResult { contacts: tally.contacts, stretches: tally.into_ranges(), revision });
        if let Some(revision) = revision {
            lock(&self.numbers).insert(team, print, revision, counted.contacts);
            lock(&self.stretched).insert(team, print, revision, Arc::clone(&counted));
        }
        Ok(counted)
    }

    async fn audience(&self, team: TeamId) -> Result<AudienceRow, StoreError> {
        self.store.read(move |tx| audience(tx, team)).await
    }

    async fn tally(&self, team: TeamId, rule: &SegmentRule, audience: AudienceRow) -> Result<PartialCount, StoreError> {
        if rule.filter.as_ref().is_some_and(Filter::matches_everybody) {
            return Ok(PartialCount::of_everybody(audience.contacts));
        }
        let gap_rows = (audience.contacts / RANGES_MAX).max(GAP_ROWS_MIN);
        let tally = Mutex::new(PartialCount::new(usize::try_from(gap_rows).unwrap_or(usize::MAX)));
        let rule = Arc::new(rule.clone());
        let from_the_oldest = self.scan_from(team, Arc::clone(&rule), &tally, Order::Ascending);
        if rule.filter.is_some() && audience.contacts > self.steps.chunk_rows as u64 {
            let from_the_newest = self.scan_from(team, Arc::clone(&rule), &tally, Order::Descending);
            tokio::try_join!(from_the_oldest, from_the_newest)?;
        } else {
            from_the_oldest.await?;
        }
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Walks from one end until the other walker's part begins.
    async fn scan_from(
        &self,
        team: TeamId,
        rule: Arc<SegmentRule>,
        tally: &Mutex<PartialCount>,
        order: Order,
    ) -> Result<(), StoreError> {
        loop {
            let Some(span) = lock(tally).open(order) else { return Ok(()) };
            let rule = Arc::clone(&rule);
            let steps = self.steps;
            let (found, walked) = self.store.read(move |tx| chunk(tx, team, &rule, span, steps.chunk())).await?;
            lock(tally).add(order, &found, walked);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chunk(
    tx: &impl crate::store::Reads,
    team: TeamId,
    rule: &SegmentRule,
    span: ContactRange,
    pace: ScanLimit,
) -> Result<(Vec<SegmentMatch>, ScanEnd), StoreError> {
    let mut found = Vec::new();
    let walked = walk_at(tx, team, rule, span, pace, |one| {
        found.push(one);
        ControlFlow::Continue(())
    })?;
    Ok((found, walked))
}

/// What two walkers have counted, and the span between them that neither has.
#[derive(Debug)]
struct PartialCount {
    open: Option<(ContactId, ContactId)>,
    gap_rows: usize,
    contacts: u64,
    /// Oldest first.
    from_the_oldest: Vec<IdRange>,
    /// Newest first.
    from_the_newest: Vec<IdRange>,
}

impl PartialCount {
    fn new(gap_rows: usize) -> Self {
        Self {
            open: Some((ContactId::MIN, ContactId::MAX)),
            gap_rows,
            contacts: 0,
            from_the_oldest: Vec::new(),
            from_the_newest: Vec::new(),
        }
    }

    fn of_everybody(contacts: u64) -> Self {
        Self { open: None, contacts, from_the_oldest: vec![(ContactId::MIN, ContactId::MAX)], ..Self::new(0) }
    }

    /// Returns what is left to look at, from one of its ends.
    fn open(&self, order: Order) -> Option<ContactRange> {
        self.open.map(|(from, to)| ContactRange { from, to, order })
    }

    /// Adds what one walker found, as far as the other one has not been there in the meantime.
    fn add(&mut self, order: Order, found: &[SegmentMatch], walked: ScanEnd) {
        let Some((from, to)) = self.open else { return };
        let found = found.iter().filter(|one| (from..=to).contains(&one.contact));
        let stretches = match order {
            Order::Ascending => &mut self.from_the_oldest,
            Order::Descending => &mut self.from_the_newest,
        };
        let mut last_row = None;
        for SegmentMatch { contact, rows_before } in found {
            self.contacts += 1;
            let is_close = last_row.is_some_and(|last| rows_before - last <= self.gap_rows);
            last_row = Some(*rows_before);
            match stretches.last_mut() {
                Some((oldest, newest)) if is_close => match order {
                    Order::Ascending => *newest = *contact,
                    Order::Descending => *oldest = *contact,
                },
                _ => stretches.push((*contact, *contact)),
            }
        }
        self.open = match walked {
            ScanEnd::ToTheEnd | ScanEnd::Stopped => None,
            ScanEnd::Paused(last) => {
                let rest = ContactRange { from, to, order }.beyond(last);
                rest.map(|rest| (rest.from, rest.to))
            }
        };
    }

    fn into_ranges(self) -> Vec<IdRange> {
        let Self { mut from_the_oldest, from_the_newest, .. } = self;
        from_the_oldest.extend(from_the_newest.into_iter().rev());
        from_the_oldest
    }
}
