//! Taking addresses out of events.

use super::audience::{AudienceEvent, AudienceSubject, ContactSnapshot, ERASED, SuppressionSnapshot, TopicSnapshot};
use super::model::{Bounce, ClickDetail, Detail, OpenDetail};
use super::store::EventRow;
use crate::base::address::AddressSet;
use crate::base::id::{EmailId, EventId, Id, SuppressionId, TeamId};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{AUDIENCE_EVENTS, EVENTS};

/// Returns whether an event of an email names or mentions one of the addresses. One that does not read
/// is passed over, here and below.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn email_events_mention(
    tx: &impl Reads,
    email: EmailId,
    addresses: &AddressSet,
) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |(_, id), row| {
        let Some(mut row) = skip_corrupt(row.decode(), format_args!("event {id} of email {email}"))? else {
            return NEXT;
        };
        found = erase_row(&mut row, addresses);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Takes addresses out of the timeline of an email, which is bounded as `of_email` says.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_email_events(tx: &WriteTx<'_>, email: EmailId, addresses: &AddressSet) -> Result<(), StoreError> {
    let mut erased = Vec::new();
    tx.scan(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |key, row| {
        let Some(mut row) = skip_corrupt(row.decode(), format_args!("event {} of email {email}", key.1))? else {
            return NEXT;
        };
        if erase_row(&mut row, addresses) {
            erased.push((key, row));
        }
        NEXT
    })?;
    erased.iter().try_for_each(|(key, row)| tx.put(&EVENTS, key, row))
}

/// Returns whether there was anything to take out.
fn erase_row(row: &mut EventRow, addresses: &AddressSet) -> bool {
    let EventRow { team: _, kind: _, at_ms: _, recipients, detail } = row;
    let mut found = false;
    for recipient in recipients {
        found |= erase_if(recipient, |text| addresses.contains(text));
    }
    let mut mention = |text: &mut String| found |= erase_if(text, |text| addresses.is_mentioned_in(text));
    match detail {
        Detail::None => {}
        Detail::Complaint { feedback_type } => feedback_type.iter_mut().for_each(mention),
        // Where somebody opened or clicked is theirs, like their address.
        Detail::Open(OpenDetail { ip_address, user_agent, at_ms: _, reason: _ }) => {
            mention(ip_address);
            mention(user_agent);
        }
        Detail::Click(ClickDetail { link, ip_address, user_agent, at_ms: _, reason: _ }) => {
            mention(link);
            mention(ip_address);
            mention(user_agent);
        }
        Detail::Bounce(Bounce { message, bounce_type: _, subtype, diagnostic }) => {
            mention(message);
            mention(subtype);
            diagnostic.iter_mut().for_each(mention);
        }
        Detail::Failed { reason, diagnostic } => {
            mention(reason);
            diagnostic.iter_mut().for_each(mention);
        }
        Detail::Reply { reply } => mention(reply),
    }
    found
}

fn erase_if(text: &mut String, is_meant: impl Fn(&str) -> bool) -> bool {
    let is_meant = is_meant(text);
    if is_meant {
        ERASED.clone_into(text);
    }
    is_meant
}

/// Which events about the audience an erasure reaches.
#[derive(Clone, Debug)]
pub(crate) struct ErasureScope<'a> {
    /// Those that name one of these addresses.
    pub(crate) addresses: AddressSet,
    /// Those about one of these entries of the suppression list.
    pub(crate) entries: &'a [SuppressionId],
}

/// Reads up to `rows_max` events of the team after `after`; returns those that are reached, as `reach`
/// says for each, and where the next page begins unless this is the last.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn audience_page<'a>(
    tx: &impl Reads,
    team: TeamId,
    after: EventId,
    reach: impl Fn(EventId) -> ErasureScope<'a>,
    rows_max: usize,
) -> Result<(Vec<EventId>, Option<EventId>), StoreError> {
    let (mut hits, mut seen, mut next) = (Vec::new(), 0, None);
    tx.scan(&AUDIENCE_EVENTS, &(team, after), &(team, Id::MAX), Order::Ascending, |(_, id), row| {
        if id == after {
            return NEXT;
        }
        let event = skip_corrupt(row.decode(), format_args!("event {id} of team {team}"))?;
        if event.is_some_and(|mut event| erase_audience_event(&mut event, &reach(id))) {
            hits.push(id);
        }
        seen += 1;
        if seen < rows_max {
            return NEXT;
        }
        next = Some(id);
        STOP
    })?;
    Ok((hits, next))
}

/// Takes what is reached out of an event about the audience.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_audience(
    tx: &WriteTx<'_>,
    team: TeamId,
    event: EventId,
    reach: &ErasureScope<'_>,
) -> Result<(), StoreError> {
    let Some(mut row) = tx.get(&AUDIENCE_EVENTS, &(team, event))? else { return Ok(()) };
    if erase_audience_event(&mut row, reach) {
        tx.put(&AUDIENCE_EVENTS, &(team, event), &row)?;
    }
    Ok(())
}

/// Returns whether there was anything to take out.
fn erase_audience_event(event: &mut AudienceEvent, reach: &ErasureScope<'_>) -> bool {
    let AudienceEvent { kind: _, at_ms: _, subject } = event;
    let ErasureScope { addresses, entries } = reach;
    match subject {
        AudienceSubject::Contact { contact, source: _, topic } => {
            let ContactSnapshot { id: _, email, first_name, last_name, unsubscribed: _, updated_ms: _, segments: _ } =
                contact;
            // The names leave with the address.
            let is_meant = erase_if(email, |text| addresses.contains(text));
            let is_meant_name = |name: &mut String| is_meant || addresses.is_mentioned_in(name);
            let gone = [first_name.take_if(is_meant_name), last_name.take_if(is_meant_name)];
            let of_topic = topic
                .as_mut()
                .is_some_and(|TopicSnapshot { id: _, name }| erase_if(name, |text| addresses.is_mentioned_in(text)));
            is_meant || of_topic || gone.iter().any(Option::is_some)
        }
        AudienceSubject::Suppression(entry) => {
            let SuppressionSnapshot { id, email, origin: _, source: _, created_ms: _ } = entry;
            erase_if(email, |text| addresses.contains(text) || (text != ERASED && entries.contains(id)))
        }
    }
}
