//! Erasure of addresses from the events of emails, contacts and suppressions.

use super::audience::{AudienceEvent, AudienceSubject, ContactSnapshot, SuppressionSnapshot, TopicSnapshot};
use super::model::{Bounce, ClickDetail, EventDetail, OpenDetail};
use super::store::EventRow;
use crate::base::address::{AddressSet, ERASED};
use crate::base::id::{EmailId, EventId, Id, SuppressionId, TeamId};
use crate::store::{KeyOf, MatchPage, NEXT, Order, Reads, STOP, StoreError, WriteTx, match_page};
use crate::tables::{AUDIENCE_EVENTS, EVENTS};

/// Returns whether an event of an email contains one of the addresses. Skips corrupt events.
pub(crate) fn email_events_mention(
    tx: &impl Reads,
    email: EmailId,
    addresses: &AddressSet,
) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan_valid(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |_, mut row| {
        found = erase_row(&mut row, addresses);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Erases addresses from the timeline of an email. [`email_timeline`](super::email_timeline) states its
/// limit.
pub(crate) fn erase_email_events(tx: &WriteTx<'_>, email: EmailId, addresses: &AddressSet) -> Result<(), StoreError> {
    let erased = tx.collect(&EVENTS, KeyOf::bounds(email), Order::Ascending, |key, row| {
        let Some(mut row) = row.valid() else { return Ok(None) };
        Ok(erase_row(&mut row, addresses).then_some((key, row)))
    })?;
    erased.iter().try_for_each(|(key, row)| tx.put(&EVENTS, key, row))
}

/// Returns whether the row contained an address.
fn erase_row(row: &mut EventRow, addresses: &AddressSet) -> bool {
    let EventRow { team: _, kind: _, at_ms: _, recipients, detail } = row;
    let mut found = false;
    for recipient in recipients {
        found |= erase_if(recipient, |text| addresses.contains(text));
    }
    // An open or a click is a request of its recipient: without the address, its origin and its link are deleted too.
    let is_own = found && matches!(detail, EventDetail::Open(_) | EventDetail::Click(_));
    let mut mention = |text: &mut String| found |= erase_if(text, |text| is_own || addresses.is_mentioned_in(text));
    match detail {
        EventDetail::None => {}
        EventDetail::Complaint { feedback_type } => feedback_type.iter_mut().for_each(mention),
        EventDetail::Open(OpenDetail { ip_address, user_agent, at_ms: _, reason: _ }) => {
            [ip_address, user_agent].into_iter().for_each(mention);
        }
        EventDetail::Click(ClickDetail { link, ip_address, user_agent, at_ms: _, reason: _ }) => {
            [link, ip_address, user_agent].into_iter().for_each(mention);
        }
        EventDetail::Bounce(Bounce { message, bounce_type: _, subtype, diagnostic }) => {
            mention(message);
            mention(subtype);
            diagnostic.iter_mut().for_each(mention);
        }
        EventDetail::Failed { reason, diagnostic } => {
            mention(reason);
            diagnostic.iter_mut().for_each(mention);
        }
        EventDetail::Reply { reply } => mention(reply),
    }
    found
}

fn erase_if(text: &mut String, is_match: impl Fn(&str) -> bool) -> bool {
    let is_match = is_match(text);
    if is_match {
        ERASED.clone_into(text);
    }
    is_match
}

/// Part of an event about a contact or a suppression that an erasure covers.
#[derive(Clone, Debug)]
pub(crate) struct ErasureScope<'a> {
    /// These addresses.
    pub(crate) addresses: AddressSet,
    /// The address of the event if the event is about one of these suppressions.
    pub(crate) suppressions: &'a [SuppressionId],
}

/// Scans up to `rows_max` events of the team after `after` for text that `scope` covers.
pub(crate) fn match_audience_events<'a>(
    tx: &impl Reads,
    team: TeamId,
    after: EventId,
    scope: impl Fn(EventId) -> ErasureScope<'a>,
    rows_max: usize,
) -> Result<MatchPage<EventId>, StoreError> {
    let matches = |(_, id): (TeamId, EventId), event: Option<AudienceEvent>| {
        Ok(event.is_some_and(|mut event| erase_event(&mut event, &scope(id))))
    };
    let page = match_page(tx, &AUDIENCE_EVENTS, (team, after), (team, Id::MAX), rows_max, matches)?;
    Ok(page.map(|(_, id)| id))
}

/// Erases the text that `scope` covers from an event about a contact or a suppression.
pub(crate) fn erase_audience_event(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EventId,
    scope: &ErasureScope<'_>,
) -> Result<(), StoreError> {
    let Some(mut event) = tx.get_valid(&AUDIENCE_EVENTS, &(team, id))? else { return Ok(()) };
    if erase_event(&mut event, scope) {
        tx.put(&AUDIENCE_EVENTS, &(team, id), &event)?;
    }
    Ok(())
}

/// Returns whether the event contained text that `scope` covers.
fn erase_event(event: &mut AudienceEvent, scope: &ErasureScope<'_>) -> bool {
    let AudienceEvent { kind: _, at_ms: _, subject } = event;
    let ErasureScope { addresses, suppressions } = scope;
    match subject {
        AudienceSubject::Contact { contact, source: _, topic } => {
            let ContactSnapshot { id: _, email, first_name, last_name, unsubscribed: _, updated_ms: _, segments: _ } =
                contact;
            let is_match = erase_if(email, |text| addresses.contains(text));
            // Without the address, the names are deleted too.
            let is_name_match = |name: &mut String| is_match || addresses.is_mentioned_in(name);
            let names = [first_name.take_if(is_name_match), last_name.take_if(is_name_match)];
            let is_topic_match = topic
                .as_mut()
                .is_some_and(|TopicSnapshot { id: _, name }| erase_if(name, |text| addresses.is_mentioned_in(text)));
            is_match || is_topic_match || names.iter().any(Option::is_some)
        }
        AudienceSubject::Suppression(entry) => {
            let SuppressionSnapshot { id, email, origin: _, source: _, created_ms: _ } = entry;
            erase_if(email, |text| addresses.contains(text) || (text != ERASED && suppressions.contains(id)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::EmailAddress;
    use crate::events::EmailEventKind;

    fn event(recipient: &str, detail: EventDetail) -> EventRow {
        EventRow { team: Id::MIN, kind: EmailEventKind::Clicked, at_ms: 9, recipients: vec![recipient.into()], detail }
    }

    fn click(ip_address: &str, user_agent: &str, link: &str) -> EventDetail {
        let reason = Some("burst".into());
        let (link, ip_address, user_agent) = (link.into(), ip_address.into(), user_agent.into());
        EventDetail::Click(ClickDetail { link, ip_address, user_agent, at_ms: 7, reason })
    }

    fn open(ip_address: &str, user_agent: &str) -> EventDetail {
        let (ip_address, user_agent) = (ip_address.into(), user_agent.into());
        EventDetail::Open(OpenDetail { ip_address, user_agent, at_ms: 7, reason: None })
    }

    #[test]
    fn the_origin_of_an_open_or_a_click_is_erased_with_its_recipient_only() {
        let ada = AddressSet::new(&[EmailAddress::parse("ada@example.com").unwrap()]);
        let (ip, agent, link) = ("198.51.100.7", "Browser/1", "https://example.org/a");
        for (recipient, detail, expected) in [
            ("Ada@example.com", open(ip, agent), Some(open(ERASED, ERASED))),
            ("ada@example.com", click(ip, agent, link), Some(click(ERASED, ERASED, ERASED))),
            ("eve@example.com", click(ip, agent, link), None),
            ("eve@example.com", click(ip, agent, "https://x/?ada@example.com"), Some(click(ip, agent, ERASED))),
            (ERASED, click(ERASED, ERASED, ERASED), None),
        ] {
            let mut row = event(recipient, detail.clone());
            assert_eq!(erase_row(&mut row, &ada), expected.is_some(), "{recipient}: {detail:?}");
            assert_eq!(row.detail, expected.unwrap_or(detail));
        }
        let reply = EventDetail::Reply { reply: "250 ok".into() };
        let mut delivered = event("ada@example.com", reply.clone());
        assert!(erase_row(&mut delivered, &ada));
        assert_eq!((delivered.recipients, delivered.detail), (vec![ERASED.to_owned()], reply));
    }
}
