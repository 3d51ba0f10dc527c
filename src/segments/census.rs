//! How many contacts a segment holds, and where in the table they lie.
//!
//! Counting looks at every contact. What was counted is remembered together with the revision of
//! the audience, which every change of a contact or a membership raises: as long as the revision
//! stands, the number is exact and costs one read. With it the stretches of the table are
//! remembered in which the segment's contacts lie close together, so that a list of the few among
//! many looks where they are.
//!
//! A count is cut into transactions of a few milliseconds, so that the file goes on reusing space,
//! and two walkers share it: one from the oldest contact on, one from the newest back, until they
//! meet.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::filter::Filter;
use super::resolve::{Found, Rule, Span, Walked, walk};
use crate::contacts::{AudienceRow, audience};
use crate::id::{ContactId, SegmentId, TeamId};
use crate::store::{Order, Store, StoreError};

/// Counts remembered at once: the segments of a dashboard, and those of a few open lists.
const REMEMBERED_MAX: usize = 32;
/// Stretches of a segment at most, but for those that chunks cut: 64 KiB.
const STRETCHES_MAX: u64 = 2_048;
/// Contacts of the segment that lie no further apart share a stretch. A page of 100 then looks at
/// 51,200 rows at worst, where a million contacts are kept.
const GAP_ROWS_MIN: u64 = 512;

/// How many contacts are looked at in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// For a page, before the count is asked where its contacts are.
    pub(super) near_rows: usize,
    /// In one transaction of a walk through everything.
    pub(super) chunk_rows: usize,
}

impl Steps {
    /// A millisecond or two, and some 6 ms.
    pub(super) const USUAL: Self = Self { near_rows: 4_000, chunk_rows: 20_000 };
}

/// Contacts of the segment that lie close together: the oldest and the newest of them.
pub(super) type Stretch = (ContactId, ContactId);

/// What a count came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// How many contacts the segment holds.
    pub(super) contacts: u64,
    /// Where they lie, oldest first. Outside there are none.
    pub(super) stretches: Vec<Stretch>,
    /// The revision of the audience that this holds for; none when it changed during the count, which
    /// then is no better than its moment.
    pub(super) revision: Option<u64>,
}

/// Counts segments and remembers what it counted.
pub(super) struct Census {
    store: Store,
    steps: Steps,
    remembered: Mutex<Vec<Remembered>>,
    /// One count at a time: it takes two cores, and the next one often asks for the same.
    turn: Semaphore,
}

/// A count, least recently used first.
struct Remembered {
    team: TeamId,
    rule: Rule,
    counted: Arc<Counted>,
}

impl Census {
    pub(super) fn new(store: Store, steps: Steps) -> Self {
        Self { store, steps, remembered: Mutex::default(), turn: Semaphore::new(1) }
    }

    /// Returns how many contacts are looked at in one go.
    pub(super) fn steps(&self) -> Steps {
        self.steps
    }

    /// Counts, or remembers the count that still holds.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn count(&self, team: TeamId, rule: &Rule) -> Result<Arc<Counted>, StoreError> {
        let audience = self.audience(team).await?;
        if let Some(counted) = self.recall(team, rule, audience.revision) {
            return Ok(counted);
        }
        let Ok(_turn) = self.turn.acquire().await else { return Err(StoreError::Closed) };
        let before = self.audience(team).await?;
        if let Some(counted) = self.recall(team, rule, before.revision) {
            return Ok(counted);
        }
        let tally = self.tally(team, rule, before).await?;
        let after = self.audience(team).await?;
        let revision = (before.revision == after.revision).then_some(before.revision);
        let counted = Arc::new(Counted { contacts: tally.contacts, stretches: tally.into_stretches(), revision });
        if revision.is_some() {
            self.remember(team, rule, &counted);
        }
        Ok(counted)
    }

    async fn audience(&self, team: TeamId) -> Result<AudienceRow, StoreError> {
        self.store.read(move |tx| audience(tx, team)).await
    }

    async fn tally(&self, team: TeamId, rule: &Rule, audience: AudienceRow) -> Result<Tally, StoreError> {
        if rule.filter.as_ref().is_some_and(Filter::matches_everybody) {
            return Ok(Tally::of_everybody(audience.contacts));
        }
        let gap_rows = (audience.contacts / STRETCHES_MAX).max(GAP_ROWS_MIN);
        let tally = Mutex::new(Tally::new(usize::try_from(gap_rows).unwrap_or(usize::MAX)));
        let rule = Arc::new(rule.clone());
        let from_the_oldest = self.sweep(team, Arc::clone(&rule), &tally, Order::Ascending);
        if rule.filter.is_some() && audience.contacts > self.steps.chunk_rows as u64 {
            let from_the_newest = self.sweep(team, Arc::clone(&rule), &tally, Order::Descending);
            tokio::try_join!(from_the_oldest, from_the_newest)?;
        } else {
            from_the_oldest.await?;
        }
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Walks from one end until the other walker's part begins.
    async fn sweep(&self, team: TeamId, rule: Arc<Rule>, tally: &Mutex<Tally>, order: Order) -> Result<(), StoreError> {
        loop {
            let Some(span) = lock(tally).open(order) else { return Ok(()) };
            let rule = Arc::clone(&rule);
            let rows_max = self.steps.chunk_rows;
            let (found, walked) = self.store.read(move |tx| chunk(tx, team, &rule, span, rows_max)).await?;
            lock(tally).add(order, &found, walked);
        }
    }

    fn recall(&self, team: TeamId, rule: &Rule, revision: u64) -> Option<Arc<Counted>> {
        let mut remembered = lock(&self.remembered);
        let at = remembered.iter().position(|entry| entry.is_about(team, rule.segment) && entry.rule == *rule)?;
        if remembered[at].counted.revision != Some(revision) {
            return None;
        }
        remembered[at..].rotate_left(1);
        remembered.last().map(|entry| Arc::clone(&entry.counted))
    }

    fn remember(&self, team: TeamId, rule: &Rule, counted: &Arc<Counted>) {
        let mut remembered = lock(&self.remembered);
        remembered.retain(|entry| !entry.is_about(team, rule.segment));
        if remembered.len() == REMEMBERED_MAX {
            remembered.remove(0);
        }
        remembered.push(Remembered { team, rule: rule.clone(), counted: Arc::clone(counted) });
    }
}

impl Remembered {
    fn is_about(&self, team: TeamId, segment: SegmentId) -> bool {
        (self.team, self.rule.segment) == (team, segment)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chunk(
    tx: &impl crate::store::Reads,
    team: TeamId,
    rule: &Rule,
    span: Span,
    rows_max: usize,
) -> Result<(Vec<Found>, Walked), StoreError> {
    let mut found = Vec::new();
    let walked = walk(tx, team, rule, span, rows_max, |one| {
        found.push(one);
        ControlFlow::Continue(())
    })?;
    Ok((found, walked))
}

/// What two walkers have counted, and the span between them that neither has.
#[derive(Debug)]
struct Tally {
    open: Option<(ContactId, ContactId)>,
    gap_rows: usize,
    contacts: u64,
    /// Oldest first.
    from_the_oldest: Vec<Stretch>,
    /// Newest first.
    from_the_newest: Vec<Stretch>,
}

impl Tally {
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
    fn open(&self, order: Order) -> Option<Span> {
        self.open.map(|(from, to)| Span { from, to, order })
    }

    /// Adds what one walker found, as far as the other one has not been there in the meantime.
    fn add(&mut self, order: Order, found: &[Found], walked: Walked) {
        let Some((from, to)) = self.open else { return };
        let found = found.iter().filter(|one| (from..=to).contains(&one.contact));
        let stretches = match order {
            Order::Ascending => &mut self.from_the_oldest,
            Order::Descending => &mut self.from_the_newest,
        };
        let mut last_row = None;
        for Found { contact, rows_before } in found {
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
            Walked::ToTheEnd | Walked::Stopped => None,
            Walked::Paused(last) => {
                let rest = Span { from, to, order }.beyond(last);
                rest.map(|rest| (rest.from, rest.to))
            }
        };
    }

    fn into_stretches(self) -> Vec<Stretch> {
        let Self { mut from_the_oldest, from_the_newest, .. } = self;
        from_the_oldest.extend(from_the_newest.into_iter().rev());
        from_the_oldest
    }
}
