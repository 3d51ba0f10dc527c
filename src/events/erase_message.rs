//! Erasure of addresses from event messages. A pending delivery sends the erased message.

use serde_json::Value as Json;

use super::message::{MessageRow, put_message};
use crate::base::address::{AddressSet, ERASED};
use crate::base::id::{EmailId, EventId, Id, SuppressionId, TeamId};
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::EVENT_MESSAGES;

/// Fields of an email event that describe a request of its recipient.
const REQUEST_FIELDS: [(&str, &str); 5] =
    [("open", "ipAddress"), ("open", "userAgent"), ("click", "ipAddress"), ("click", "userAgent"), ("click", "link")];

/// Subject of an event message. It decides which addresses are erased from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSubject {
    Email(EmailId),
    Suppression(SuppressionId),
    /// Another object, or a message without a valid id.
    Other,
}

/// Scans up to `rows_max` event messages of the team after `after` for the addresses that `scope`
/// returns for the message. These are a subset of `addresses`, which are searched first, because a scope
/// requires the decoded message.
pub(crate) fn match_messages(
    tx: &impl Reads,
    team: TeamId,
    after: EventId,
    addresses: &AddressSet,
    scope: impl Fn(EventId, MessageSubject) -> AddressSet,
    rows_max: usize,
) -> Result<MatchPage<EventId>, StoreError> {
    let matches = |(_, id): (TeamId, EventId), row: Option<MessageRow>| {
        Ok(row.is_some_and(|row| erased(&row.body, addresses, |subject| scope(id, subject)).is_some()))
    };
    let page = match_page(tx, &EVENT_MESSAGES, (team, after), (team, Id::MAX), rows_max, matches)?;
    Ok(page.map(|(_, id)| id))
}

/// Erases the addresses that `scope` returns, a subset of `addresses`, from an event message.
pub(crate) fn erase_message(
    tx: &WriteTx<'_>,
    team: TeamId,
    event: EventId,
    addresses: &AddressSet,
    scope: impl Fn(MessageSubject) -> AddressSet,
) -> Result<(), StoreError> {
    let Some(row) = tx.get_valid(&EVENT_MESSAGES, &(team, event))? else { return Ok(()) };
    if let Some(body) = erased(&row.body, addresses, scope) {
        put_message(tx, team, event, &MessageRow { body, ..row })?;
    }
    Ok(())
}

/// Returns the body without the addresses of `scope`; `None` if it contains none of them.
fn erased(body: &str, addresses: &AddressSet, scope: impl Fn(MessageSubject) -> AddressSet) -> Option<String> {
    // JSON without escapes contains its texts verbatim. Most bodies contain no address and are not decoded.
    if !body.contains('\\') && !addresses.is_mentioned_in(body) {
        return None;
    }
    // A body that is not JSON is erased as one text.
    let mut body = serde_json::from_str(body).unwrap_or_else(|_| Json::String(body.to_owned()));
    let addresses = scope(subject(&body));
    erase_body(&mut body, &addresses).then(|| body.to_string())
}

fn subject(body: &Json) -> MessageSubject {
    let id = |field: &str| body["data"][field].as_str();
    let subject = match body["type"].as_str().and_then(|name| name.split('.').next()) {
        Some("email") => id("email_id").and_then(EmailId::parse).map(MessageSubject::Email),
        Some("suppression") => id("id").and_then(SuppressionId::parse).map(MessageSubject::Suppression),
        _ => None,
    };
    subject.unwrap_or(MessageSubject::Other)
}

/// Returns whether the body contained an address.
fn erase_body(body: &mut Json, addresses: &AddressSet) -> bool {
    let is_contact = body["type"].as_str().is_some_and(|name| name.starts_with("contact."));
    let is_match = is_contact && body["data"]["email"].as_str().is_some_and(|email| addresses.contains(email));
    if is_match {
        // Without the address, the names are deleted too.
        for name in ["first_name", "last_name"] {
            body["data"][name] = Json::Null;
        }
    }
    // An open or a click is a request of its recipient.
    let mut to = body["data"]["to"].as_array().into_iter().flatten().filter_map(Json::as_str);
    if to.any(|address| addresses.contains(address)) {
        for (detail, field) in REQUEST_FIELDS {
            if let Some(text) = body.pointer_mut(&format!("/data/{detail}/{field}")) {
                *text = ERASED.into();
            }
        }
    }
    erase_texts(body, addresses)
}

/// Returns whether a text of `value` contained an address. The JSON decoder limits the depth to 128 levels.
fn erase_texts(value: &mut Json, addresses: &AddressSet) -> bool {
    match value {
        Json::String(text) => {
            let is_match = addresses.is_mentioned_in(text);
            if is_match {
                ERASED.clone_into(text);
            }
            is_match
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

    fn without_addresses(body: &str) -> Option<String> {
        erased(body, &set(), |_| set())
    }

    fn without_ada(body: &Json) -> Option<Json> {
        without_addresses(&body.to_string()).map(|body| serde_json::from_str(&body).unwrap())
    }

    #[test]
    fn a_text_that_contains_an_address_becomes_erased_as_a_whole() {
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
    fn the_origin_of_an_open_or_a_click_is_deleted_with_the_address_of_its_recipient() {
        let event = |to: &str, ip: &str, agent: &str, link: &str| {
            json!({
                "type": "email.clicked",
                "data": {
                    "to": [to],
                    "click": { "ipAddress": ip, "link": link, "timestamp": "2026-01-05T09:12:33.456Z", "userAgent": agent },
                },
            })
        };
        let link = "https://example.org/ada";

        let of_ada = event("Ada@example.com", "198.51.100.7", "Browser/1", link);
        assert_eq!(without_ada(&of_ada), Some(event("[erased]", "[erased]", "[erased]", "[erased]")));
        let of_eve = event("eve@example.com", "198.51.100.7", "Browser/1", "https://example.org/?for=ada@example.com");
        assert_eq!(without_ada(&of_eve), Some(event("eve@example.com", "198.51.100.7", "Browser/1", "[erased]")));
        assert_eq!(without_ada(&event("eve@example.com", "198.51.100.7", "Browser/1", link)), None);
    }

    #[test]
    fn the_names_of_a_contact_are_deleted_only_with_its_address() {
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
    fn an_address_in_json_escapes_is_found() {
        let body = json!({ "type": "email.sent", "data": { "to": ["\"b\\\"c\"@example.com"] } });
        assert_eq!(without_ada(&body).unwrap()["data"]["to"], json!(["[erased]"]));
        let escaped = r#"{"type":"email.sent","data":{"to":["\u0061da\u0040example.com"]}}"#;
        let read = without_addresses(escaped).unwrap();
        assert_eq!(read, r#"{"data":{"to":["[erased]"]},"type":"email.sent"}"#);
        assert_eq!(without_addresses("ada@example.com {").as_deref(), Some("\"[erased]\""));
    }

    #[test]
    fn the_subject_of_a_body_is_its_email_or_suppression() {
        let (email, entry): (EmailId, SuppressionId) = (Id::first_at(1_000), Id::first_at(2_000));
        for (body, expected) in [
            (json!({ "type": "email.sent", "data": { "email_id": email } }), MessageSubject::Email(email)),
            (json!({ "type": "email.sent", "data": { "email_id": "x", "id": email } }), MessageSubject::Other),
            (json!({ "type": "email.sent", "data": "x" }), MessageSubject::Other),
            (json!({ "type": "suppression.added", "data": { "id": entry } }), MessageSubject::Suppression(entry)),
            (json!({ "type": "contact.created", "data": { "id": entry } }), MessageSubject::Other),
            (json!("x"), MessageSubject::Other),
        ] {
            assert_eq!(subject(&body), expected, "{body}");
        }
    }

    #[test]
    fn addresses_outside_the_scope_stay_in_the_body() {
        let none = set().from_list(1);
        assert_eq!(erased("\"ada@example.com\"", &set(), |_| none.clone()), None);
    }
}
