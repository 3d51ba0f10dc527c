//! The number of recipients of a broadcast, before it is sent.

use std::time::Duration;

use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::contacts::{self, ContactRef};
use crate::context::Context;
use crate::segments::{ContactRange, Segment, SegmentRule, SegmentScanError, Segments, scan_contacts};
use crate::store::{NEXT, Order, ReadTx, Reads, ScanLimit, StoreError};
use crate::suppressions::{self, SendKind};
use crate::topics::{self, SendTopic};

/// Contacts of a sample. The number of recipients of a smaller audience is exact.
const SAMPLE: ScanLimit = ScanLimit { rows_max: 20_000, time_max: Duration::from_millis(200) };

/// The contacts of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AudienceSample {
    /// Contacts of the audience.
    contacts: u64,
    /// Contacts that receive the broadcast.
    receiving: u64,
    /// Whether the audience has more contacts.
    has_more: bool,
}

impl AudienceSample {
    /// Returns the number of recipients of an audience of `total` contacts, with the share of the sample.
    fn recipients(self, total: u64) -> u64 {
        if self.contacts == 0 {
            return total;
        }
        let recipients = u128::from(total) * u128::from(self.receiving) / u128::from(self.contacts);
        u64::try_from(recipients).unwrap_or(u64::MAX)
    }
}

/// Returns the number of contacts that would receive a broadcast now. It is exact for a small audience. For a large one,
/// it is the number of contacts multiplied by the share of recipients in a sample of the newest. A segment that does not
/// exist has no recipients.
pub(super) async fn count_recipients(
    context: &Context,
    segments: &Segments,
    team: TeamId,
    segment: Option<SegmentId>,
    topic: Option<TopicId>,
) -> Result<u64, StoreError> {
    let segment = match segment {
        Some(segment) => match segments.find(team, segment).await? {
            Some(segment) => Some(segment),
            None => return Ok(0),
        },
        None => None,
    };
    let rule = segment.as_ref().map(SegmentRule::of);
    let sample = context.store.read(move |tx| sample(tx, team, rule.as_ref(), topic)).await?;
    if !sample.has_more {
        return Ok(sample.receiving);
    }
    Ok(sample.recipients(count_contacts(context, segments, team, segment.as_ref()).await?))
}

/// Returns the number of contacts of a segment, or of the team. If other counts are running, it is the number of the
/// team, which is never lower.
async fn count_contacts(
    context: &Context,
    segments: &Segments,
    team: TeamId,
    segment: Option<&Segment>,
) -> Result<u64, StoreError> {
    if let Some(segment) = segment {
        match segments.count_contacts(team, segment).await {
            Ok(contacts) => return Ok(contacts),
            Err(SegmentScanError::Busy) => {}
            Err(SegmentScanError::Store(error)) => return Err(error),
        }
    }
    context.store.read(move |tx| Ok(contacts::audience(tx, team)?.contacts)).await
}

fn sample(
    tx: &ReadTx,
    team: TeamId,
    rule: Option<&SegmentRule>,
    topic: Option<TopicId>,
) -> Result<AudienceSample, StoreError> {
    let topic = match topic {
        Some(topic) => topics::find_for_send(tx, team, topic)?,
        None => None,
    };
    let mut sample = AudienceSample::default();
    let range = ContactRange::all(Order::Descending);
    let last = scan_contacts(tx, team, rule, range, SAMPLE, |contact, view| {
        sample.contacts += 1;
        sample.receiving += u64::from(receives(tx, team, topic, contact, view)?);
        NEXT
    })?;
    sample.has_more = last.is_some_and(|last| range.beyond(last).is_some());
    Ok(sample)
}

fn receives(
    tx: &impl Reads,
    team: TeamId,
    topic: Option<SendTopic>,
    contact: ContactId,
    view: &ContactRef<'_>,
) -> Result<bool, StoreError> {
    if view.unsubscribed() {
        return Ok(false);
    }
    if let Some(topic) = topic
        && !contacts::contact_receives_topic(tx, team, contact, topic)?
    {
        return Ok(false);
    }
    let Some(address) = view.address() else { return Ok(false) };
    Ok(!suppressions::blocks(tx, team, &address.identity_hash(), SendKind::Topic)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipients_of_a_large_audience_have_the_share_of_the_sample() {
        for (contacts, receiving, total, expected) in [
            (20_000, 15_000, 1_000_000, 750_000),
            (20_000, 0, 1_000_000, 0),
            (3, 3, 10, 10),
            (0, 0, 10, 10),
            (2, 1, u64::MAX, u64::MAX / 2),
        ] {
            let sample = AudienceSample { contacts, receiving, has_more: true };

            assert_eq!(sample.recipients(total), expected, "{receiving} of {contacts}");
        }
    }
}
