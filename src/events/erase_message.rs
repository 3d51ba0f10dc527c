//! Taking addresses out of what webhooks deliver. A delivery that still waits tells what is left.

use serde_json::Value as Json;

use super::audience::ERASED;
use super::outbox::MessageRow;
use crate::base::address::AddressSet;
use crate::base::id::{EmailId, EventId, Id, SuppressionId, TeamId};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::EVENT_MESSAGES;

/// What a body tells of, as far as that says which addresses are taken out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSubject {
    /// An email.
    Email(EmailId),
    /// An entry of the suppression list.
    Entry(SuppressionId),
    /// Anything else.
    Other,
}

/// Reads up to `rows_max` bodies of the team after `after`; returns those that mention an address that
/// is taken out of them, and where the next page begins unless this is the last. `reach` says which
/// those are, some of `addresses`, for an event and what it tells of. One that does not read is passed
/// over.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn message_page(
    tx: &impl Reads,
    team: TeamId,
    after: EventId,
    addresses: &AddressSet,
    reach: impl Fn(EventId, MessageSubject) -> AddressSet,
    rows_max: usize,
) -> Result<(Vec<EventId>, Option<EventId>), StoreError> {
    let (mut hits, mut seen, mut next) = (Vec::new(), 0, None);
    tx.scan(&EVENT_MESSAGES, &(team, after), &(team, Id::MAX), Order::Ascending, |(_, id), row| {
        if id == after {
            return NEXT;
        }
        let row = skip_corrupt(row.decode(), format_args!("message {id} of team {team}"))?;
        if row.is_some_and(|row| erased(&row.body, addresses, |subject| reach(id, subject)).is_some()) {
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

/// Takes addresses out of the body of an event: those of `addresses` that `reach` says for what it
/// tells of.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_message(
    tx: &WriteTx<'_>,
    team: TeamId,
    event: EventId,
    addresses: &AddressSet,
    reach: impl Fn(MessageSubject) -> AddressSet,
) -> Result<(), StoreError> {
    let Some(row) = tx.get(&EVENT_MESSAGES, &(team, event))? else { return Ok(()) };
    if let Some(body) = erased(&row.body, addresses, reach) {
        tx.put(&EVENT_MESSAGES, &(team, event), &MessageRow { body, ..row })?;
    }
    Ok(())
}

/// Returns the body without what is reached; `None` when it holds nothing of it.
fn erased(body: &str, addresses: &AddressSet, reach: impl Fn(MessageSubject) -> AddressSet) -> Option<String> {
    // Without escapes a JSON text says what it reads, and most bodies mention nobody who is erased.
    if !body.contains('\\') && !addresses.is_mentioned_in(body) {
        return None;
    }
    // What does not read is no body that was made here, and is taken for one text.
    let mut body = serde_json::from_str(body).unwrap_or_else(|_| Json::String(body.to_owned()));
    let reached = reach(subject(&body));
    erase_body(&mut body, &reached).then(|| body.to_string())
}

/// Returns what a body tells of.
fn subject(body: &Json) -> MessageSubject {
    let id = |field: &str| body["data"][field].as_str();
    let subject = match body["type"].as_str().and_then(|name| name.split('.').next()) {
        Some("email") => id("email_id").and_then(EmailId::parse).map(MessageSubject::Email),
        Some("suppression") => id("id").and_then(SuppressionId::parse).map(MessageSubject::Entry),
        _ => None,
    };
    subject.unwrap_or(MessageSubject::Other)
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
    use crate::base::address::EmailAddress;

    fn set() -> AddressSet {
        AddressSet::new(&["ada@example.com", "\"b\\\"c\"@example.com"].map(|text| EmailAddress::parse(text).unwrap()))
    }

    fn without_anybody(body: &str) -> Option<String> {
        erased(body, &set(), |_| set())
    }

    fn without_ada(body: &Json) -> Option<Json> {
        without_anybody(&body.to_string()).map(|body| serde_json::from_str(&body).unwrap())
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
        let read = without_anybody(escaped).unwrap();
        assert_eq!(read, r#"{"data":{"to":["[erased]"]},"type":"email.sent"}"#);
        assert_eq!(without_anybody("ada@example.com {").as_deref(), Some("\"[erased]\""));
    }

    #[test]
    fn a_body_says_what_it_tells_of() {
        let (email, entry): (EmailId, SuppressionId) = (Id::first_at(1_000), Id::first_at(2_000));
        for (body, expected) in [
            (json!({ "type": "email.sent", "data": { "email_id": email } }), MessageSubject::Email(email)),
            (json!({ "type": "email.sent", "data": { "email_id": "x", "id": email } }), MessageSubject::Other),
            (json!({ "type": "email.sent", "data": "x" }), MessageSubject::Other),
            (json!({ "type": "suppression.added", "data": { "id": entry } }), MessageSubject::Entry(entry)),
            (json!({ "type": "contact.created", "data": { "id": entry } }), MessageSubject::Other),
            (json!("x"), MessageSubject::Other),
        ] {
            assert_eq!(subject(&body), expected, "{body}");
        }
    }

    #[test]
    fn addresses_that_are_not_taken_out_of_a_body_stay_in_it() {
        let nobody = set().from_list(1);
        assert_eq!(erased("\"ada@example.com\"", &set(), |_| nobody.clone()), None);
    }
}
