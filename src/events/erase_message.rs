//! Taking addresses out of what webhooks deliver. A delivery that still waits tells what is left.

use serde_json::Value as Json;

use super::audience::ERASED;
use super::outbox::MessageRow;
use crate::address::AddressSet;
use crate::id::{EmailId, EventId, SuppressionId, TeamId};
use crate::store::tables::EVENT_MESSAGES;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};

/// Which bodies an erasure reaches.
#[derive(Clone, Debug)]
pub(crate) enum MessageReach<'a> {
    /// Those that mention one of the addresses.
    Named(AddressSet),
    /// Of those the ones that tell of an email up to `emails_until`, and those about one of `entries` of
    /// the suppression list: what came of emails that were on their way.
    Late {
        /// The addresses.
        addresses: AddressSet,
        /// The last email.
        emails_until: EmailId,
        /// The entries.
        entries: &'a [SuppressionId],
    },
}

/// Reads up to `rows_max` bodies of the team after `after` and up to `until`; returns those that are
/// reached, as `reach` says for each, and where the next page begins unless this is the last. One that
/// does not read is passed over.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn message_page<'a>(
    tx: &impl Reads,
    team: TeamId,
    (after, until): (EventId, EventId),
    reach: impl Fn(EventId) -> MessageReach<'a>,
    rows_max: usize,
) -> Result<(Vec<EventId>, Option<EventId>), StoreError> {
    let (mut hits, mut seen, mut next) = (Vec::new(), 0, None);
    tx.scan(&EVENT_MESSAGES, &(team, after), &(team, until), Order::Ascending, |(_, id), row| {
        if id == after {
            return NEXT;
        }
        let row = skip_corrupt(row.decode(), format_args!("message {id} of team {team}"))?;
        if row.is_some_and(|row| erased(&row.body, &reach(id)).is_some()) {
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

/// Takes what is reached out of the body of an event.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_message(
    tx: &WriteTx<'_>,
    team: TeamId,
    event: EventId,
    reach: &MessageReach<'_>,
) -> Result<(), StoreError> {
    let Some(row) = tx.get(&EVENT_MESSAGES, &(team, event))? else { return Ok(()) };
    if let Some(body) = erased(&row.body, reach) {
        tx.put(&EVENT_MESSAGES, &(team, event), &MessageRow { body, ..row })?;
    }
    Ok(())
}

/// Returns the body without what is reached; `None` when it holds nothing of it.
fn erased(body: &str, reach: &MessageReach<'_>) -> Option<String> {
    // Without escapes a JSON text says what it reads, and most bodies mention nobody who is erased.
    let (MessageReach::Named(addresses) | MessageReach::Late { addresses, .. }) = reach;
    if !body.contains('\\') && !addresses.is_mentioned_in(body) {
        return None;
    }
    // What does not read is no body that was made here, and is taken for one text.
    let mut body = serde_json::from_str(body).unwrap_or_else(|_| Json::String(body.to_owned()));
    let is_changed = is_reached(&body, reach) && erase_body(&mut body, addresses);
    is_changed.then(|| body.to_string())
}

fn is_reached(body: &Json, reach: &MessageReach<'_>) -> bool {
    let MessageReach::Late { addresses: _, emails_until, entries } = reach else { return true };
    let id = |field: &str| body["data"][field].as_str();
    match body["type"].as_str().and_then(|name| name.split('.').next()) {
        Some("email") => id("email_id").and_then(EmailId::parse).is_some_and(|email| email <= *emails_until),
        Some("suppression") => id("id").and_then(SuppressionId::parse).is_some_and(|entry| entries.contains(&entry)),
        _ => false,
    }
}

/// Returns whether there was anything to take out.
fn erase_body(body: &mut Json, addresses: &AddressSet) -> bool {
    let is_contact = body["type"].as_str().is_some_and(|name| name.starts_with("contact."));
    let is_meant = is_contact && body["data"]["email"].as_str().is_some_and(|email| addresses.contains(email));
    if is_meant {
        // The names leave with the address.
        for name in ["first_name", "last_name"] {
            body["data"][name] = Json::Null;
        }
    }
    erase_texts(body, addresses)
}

/// Bodies are made here and are a handful of levels deep; the reader refuses any of more than 128.
fn erase_texts(value: &mut Json, addresses: &AddressSet) -> bool {
    match value {
        Json::String(text) => {
            let is_meant = addresses.is_mentioned_in(text);
            if is_meant {
                ERASED.clone_into(text);
            }
            is_meant
        }
        Json::Array(items) => items.iter_mut().fold(false, |found, item| erase_texts(item, addresses) | found),
        Json::Object(fields) => fields.values_mut().fold(false, |found, field| erase_texts(field, addresses) | found),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::address::EmailAddress;
    use crate::id::Id;

    fn set() -> AddressSet {
        AddressSet::new(&["ada@example.com", "\"b\\\"c\"@example.com"].map(|text| EmailAddress::parse(text).unwrap()))
    }

    fn without_ada(body: &Json) -> Option<Json> {
        erased(&body.to_string(), &MessageReach::Named(set())).map(|body| serde_json::from_str(&body).unwrap())
    }

    #[test]
    fn whole_texts_that_mention_an_address_read_erased() {
        let body = json!({
            "type": "email.bounced", "created_at": "2026-01-05T09:12:33.456Z",
            "data": {
                "from": "Shop <shop@example.org>", "to": ["ADA@example.com", "eve@example.com"],
                "subject": "Dear ada@example.com,", "tags": { "who": "ada@example.com" },
                "headers": [{ "name": "X-For", "value": "ada@example.com" }],
                "bounce": { "message": "Gone.", "diagnosticCode": ["550 <ada@example.com> unknown"] },
            },
        });

        let expected = json!({
            "type": "email.bounced", "created_at": "2026-01-05T09:12:33.456Z",
            "data": {
                "from": "Shop <shop@example.org>", "to": ["[erased]", "eve@example.com"],
                "subject": "[erased]", "tags": { "who": "[erased]" },
                "headers": [{ "name": "X-For", "value": "[erased]" }],
                "bounce": { "message": "Gone.", "diagnosticCode": ["[erased]"] },
            },
        });
        assert_eq!(without_ada(&body), Some(expected.clone()));
        assert_eq!(without_ada(&expected), None);
    }

    #[test]
    fn the_names_of_a_contact_leave_with_its_address_and_only_with_it() {
        let contact = |email: &str, first: Json, last: Json| {
            let data = json!({ "id": "x", "email": email, "first_name": first, "last_name": last });
            json!({ "type": "contact.updated", "data": data })
        };
        for (before, after) in [
            (contact("Ada@Example.com", json!("Ada"), json!("L")), Some(contact("[erased]", json!(null), json!(null)))),
            (
                contact("eve@example.com", json!("ada@example.com"), json!("L")),
                Some(contact("eve@example.com", json!("[erased]"), json!("L"))),
            ),
            (contact("eve@example.com", json!("Ada"), json!("L")), None),
        ] {
            assert_eq!(without_ada(&before), after, "{before}");
        }
    }

    #[test]
    fn an_address_is_found_behind_the_escapes_of_json() {
        let body = json!({ "type": "email.sent", "data": { "to": ["\"b\\\"c\"@example.com"] } });
        assert_eq!(without_ada(&body).unwrap()["data"]["to"], json!(["[erased]"]));
        let escaped = r#"{"type":"email.sent","data":{"to":["\u0061da\u0040example.com"]}}"#;
        let read = erased(escaped, &MessageReach::Named(set())).unwrap();
        assert_eq!(read, r#"{"data":{"to":["[erased]"]},"type":"email.sent"}"#);
        assert_eq!(erased("ada@example.com {", &MessageReach::Named(set())).as_deref(), Some("\"[erased]\""));
    }

    #[test]
    fn late_bodies_are_those_of_earlier_emails_and_of_the_entries_they_brought() {
        let (early, late): (EmailId, EmailId) = (Id::first_at(1_000), Id::first_at(2_000));
        let (entry, other): (SuppressionId, SuppressionId) = (Id::first_at(3_000), Id::first_at(4_000));
        let set = set();
        let reach = MessageReach::Late { addresses: set.clone(), emails_until: early, entries: &[entry] };
        let email =
            |id: EmailId| json!({ "type": "email.sent", "data": { "email_id": id, "to": ["ada@example.com"] } });
        let listed = |id: SuppressionId| json!({ "type": "suppression.added", "data": { "id": id, "email": "ada@example.com" } });
        let contact = json!({ "type": "contact.created", "data": { "id": "x", "email": "ada@example.com" } });
        for (body, is_reached) in [
            (email(early), true),
            (email(late), false),
            (listed(entry), true),
            (listed(other), false),
            (contact, false),
            (json!({ "type": "email.sent", "data": "ada@example.com" }), false),
            (json!("ada@example.com"), false),
        ] {
            assert_eq!(erased(&body.to_string(), &reach).is_some(), is_reached, "{body}");
        }
    }
}
