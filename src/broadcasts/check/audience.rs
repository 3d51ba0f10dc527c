//! A walk over the contacts of a broadcast, in several short read transactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::model::AudienceFunnel;
use super::sample;
use crate::base::clock;
use crate::base::id::{ContactId, TeamId};
use crate::broadcast_rows::BroadcastRow;
use crate::contact_properties::PropertyDefinitions;
use crate::contacts::{self, ContactRef};
use crate::context::Context;
use crate::segments::{self, ContactRange, SegmentRule, scan_contacts};
use crate::store::{NEXT, Order, Reads, ScanLimit, StoreError};
use crate::suppressions::{self, SendKind};
use crate::topics::{self, SendTopic};

/// Bound of one transaction: each contact needs some reads in addition to that of its row.
const STEP: ScanLimit = ScanLimit { rows_max: 2_000, time_max: Duration::from_millis(20) };
/// Time of the whole walk: about a million contacts.
pub(super) const TIME_MAX: Duration = Duration::from_secs(8);

/// Contacts that a walk has read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AudienceCount {
    pub(super) funnel: AudienceFunnel,
    /// Recipients without a value, by the name of the field.
    pub(super) without_value: BTreeMap<String, u64>,
}

/// A walk over the contacts of one broadcast.
pub(super) struct AudienceWalk {
    team: TeamId,
    /// `None` for all contacts.
    segment: Option<SegmentRule>,
    topic: Option<SendTopic>,
    /// Fields whose missing values are counted.
    names: Vec<String>,
    definitions: PropertyDefinitions,
}

/// Reason why a contact does not receive a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exclusion {
    Unsubscribed,
    OptedOut,
    Suppressed,
}

impl AudienceWalk {
    /// Returns the walk over the audience of a broadcast; `None` if its segment or its topic was deleted.
    pub(super) fn of(
        tx: &impl Reads,
        team: TeamId,
        row: &BroadcastRow,
        names: Vec<String>,
        definitions: PropertyDefinitions,
    ) -> Result<Option<Self>, StoreError> {
        let segment = match row.segment {
            Some(segment) => match segments::find(tx, team, segment)? {
                Some(segment) => Some(SegmentRule::of(&segment)),
                None => return Ok(None),
            },
            None => None,
        };
        let topic = match row.topic {
            Some(topic) => match topics::find_for_send(tx, team, topic)? {
                Some(topic) => Some(topic),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(Self { team, segment, topic, names, definitions }))
    }

    /// Counts the contacts, newest first, for at most [`TIME_MAX`].
    pub(super) async fn count(self, context: &Context) -> Result<AudienceCount, StoreError> {
        let walk = Arc::new(self);
        let ends = clock::monotonic() + TIME_MAX;
        let mut count = AudienceCount::default();
        // Contacts that are added meanwhile are outside of the rest.
        let mut rest = Some(ContactRange::all(Order::Descending));
        while let Some(range) = rest {
            if is_over(ends) {
                return Ok(count);
            }
            let walk = Arc::clone(&walk);
            let step = context.store.read::<_, StoreError>(move |tx| {
                let last = walk.step(tx, range, &mut count)?;
                Ok((count, last))
            });
            let last;
            (count, last) = step.await?;
            rest = last.and_then(|last| range.beyond(last));
        }
        count.funnel.is_complete = true;
        Ok(count)
    }

    /// Counts the contacts of one transaction. Returns the last one if the range has more.
    fn step(
        &self,
        tx: &impl Reads,
        range: ContactRange,
        count: &mut AudienceCount,
    ) -> Result<Option<ContactId>, StoreError> {
        scan_contacts(tx, self.team, self.segment.as_ref(), range, STEP, |contact, view| {
            let funnel = &mut count.funnel;
            funnel.total += 1;
            match self.exclusion(tx, contact, view)? {
                Some(Exclusion::Unsubscribed) => funnel.unsubscribed += 1,
                Some(Exclusion::OptedOut) => funnel.opted_out += 1,
                Some(Exclusion::Suppressed) => funnel.suppressed += 1,
                None => {
                    funnel.will_receive += 1;
                    self.count_missing(view, &mut count.without_value);
                }
            }
            NEXT
        })
    }

    fn exclusion(
        &self,
        tx: &impl Reads,
        contact: ContactId,
        view: &ContactRef<'_>,
    ) -> Result<Option<Exclusion>, StoreError> {
        if view.unsubscribed() {
            return Ok(Some(Exclusion::Unsubscribed));
        }
        if let Some(topic) = self.topic
            && !contacts::contact_receives_topic(tx, self.team, contact, topic)?
        {
            return Ok(Some(Exclusion::OptedOut));
        }
        let is_blocked = match view.address() {
            Some(address) => suppressions::blocks(tx, self.team, &address.identity_hash(), SendKind::Topic)?,
            None => true,
        };
        Ok(is_blocked.then_some(Exclusion::Suppressed))
    }

    fn count_missing(&self, view: &ContactRef<'_>, without_value: &mut BTreeMap<String, u64>) {
        for name in &self.names {
            if sample::is_missing(view, name, &self.definitions) {
                // One entry for each name, so that the key is copied seldom.
                match without_value.get_mut(name) {
                    Some(contacts) => *contacts += 1,
                    None => {
                        without_value.insert(name.clone(), 1);
                    }
                }
            }
        }
    }
}

fn is_over(ends: Instant) -> bool {
    clock::monotonic() >= ends
}
