//! Deletion of logged requests that contain an address. A request is deleted as a whole: an altered copy
//! would be of no use.

use serde_json::Value;

use super::store::{self, LogBodies, LogRow};
use crate::base::address::AddressSet;
use crate::base::id::{Id, LogId, TeamId};
use crate::store::{Keyring, MatchPage, Order, Reads, StoreError, match_page};
use crate::tables::REQUEST_LOGS;

/// Returns the newest request of the team.
pub(crate) fn newest(tx: &impl Reads, team: TeamId) -> Result<Option<LogId>, StoreError> {
    Ok(tx.first_key(&REQUEST_LOGS, ((team, Id::MIN), (team, Id::MAX)), Order::Descending)?.map(|(_, id)| id))
}

/// Scans up to `rows_max` requests of the team after `after` and up to `until`. Finds those that contain one of the
/// addresses in the path, the user agent or a body. Opens the bodies of each request.
pub(crate) fn match_requests(
    tx: &impl Reads,
    keyring: &Keyring,
    team: TeamId,
    (after, until): (LogId, LogId),
    addresses: &AddressSet,
    rows_max: usize,
) -> Result<MatchPage<LogId>, StoreError> {
    let matches = |(_, id): (TeamId, LogId), row: Option<LogRow>| {
        let bodies = store::valid_bodies(tx, keyring, team, id)?;
        Ok(row.is_some_and(|row| row_mentions(&row, addresses))
            || bodies.is_some_and(|bodies| bodies_mention(&bodies, addresses)))
    };
    let page = match_page(tx, &REQUEST_LOGS, (team, after), (team, until), rows_max, matches)?;
    Ok(page.map(|(_, id)| id))
}

fn row_mentions(row: &LogRow, addresses: &AddressSet) -> bool {
    let LogRow { method: _, endpoint, status: _, key: _, duration_ms: _, user_agent } = row;
    let texts = [Some(endpoint.as_str()), user_agent.as_deref()];
    texts.into_iter().flatten().any(|text| addresses.is_mentioned_in(text))
}

fn bodies_mention(bodies: &LogBodies, addresses: &AddressSet) -> bool {
    let LogBodies { request, response, detail } = bodies;
    [request, response].into_iter().flatten().any(|json| json_mentions(json, addresses))
        || detail.as_ref().is_some_and(|detail| addresses.is_mentioned_in(detail))
}

/// Returns whether a JSON text contains one of the addresses. JSON without escapes contains its texts
/// verbatim and is not decoded.
fn json_mentions(json: &str, addresses: &AddressSet) -> bool {
    if !json.contains('\\') {
        return addresses.is_mentioned_in(json);
    }
    // A body that is not JSON is searched as one text.
    serde_json::from_str(json)
        .map_or_else(|_| addresses.is_mentioned_in(json), |value| value_mentions(&value, addresses))
}

fn value_mentions(value: &Value, addresses: &AddressSet) -> bool {
    match value {
        Value::String(text) => addresses.is_mentioned_in(text),
        Value::Array(items) => items.iter().any(|item| value_mentions(item, addresses)),
        Value::Object(fields) => {
            fields.iter().any(|(name, field)| addresses.is_mentioned_in(name) || value_mentions(field, addresses))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::address::EmailAddress;

    fn set() -> AddressSet {
        let parse = |text| EmailAddress::parse(text).unwrap();
        AddressSet::new(&[parse("ada@example.com"), parse("\"a@b\"@example.net"), parse("d@b\u{fc}cher.example")])
    }

    fn row(endpoint: &str, user_agent: Option<&str>) -> LogRow {
        LogRow {
            method: "GET".into(),
            endpoint: endpoint.into(),
            status: 200,
            key: Id::MIN,
            duration_ms: 1,
            user_agent: user_agent.map(str::to_owned),
        }
    }

    #[test]
    fn an_address_in_a_path_is_found_with_and_without_escapes() {
        for endpoint in [
            "/contacts/ada@example.com",
            "/contacts/ADA%40Example.com/topics",
            "/suppressions/%61da%40example%2ecom",
            "/contacts/d@b%C3%BCcher.example",
            "/contacts/%22a%40b%22%40example.net",
        ] {
            assert!(row_mentions(&row(endpoint, None), &set()), "{endpoint}");
        }
        for endpoint in ["/emails", "/contacts/bob%40example.com", "/contacts/ada%4", "/a%zz%", "/contacts/%ff%40"] {
            assert!(!row_mentions(&row(endpoint, Some("curl/8")), &set()), "{endpoint}");
        }
        assert!(row_mentions(&row("/emails", Some("importer (ada@example.com)")), &set()));
    }

    #[test]
    fn an_address_in_a_body_is_found_in_any_field_and_in_escapes() {
        for json in [
            r#"{"to":"Ada <ADA@example.com>"}"#,
            r#"[{"to":["x@example.org","ada@example.com"]}]"#,
            r#"{"to":"ada\u0040example.com"}"#,
            r#"{"message":"\"a@b\"@example.net is no address"}"#,
            r#"{"to":"\"a@b\"@example.net"}"#,
            r#"{"ada\u0040example.com":[]}"#,
            r#"{"to":"d@b\u00fccher.example"}"#,
        ] {
            assert!(json_mentions(json, &set()), "{json}");
        }
        for json in ["{}", r#"{"to":"bob@example.com","subject":"\"ada\""}"#, r#"["ada","@example.com"]"#] {
            assert!(!json_mentions(json, &set()), "{json}");
        }
    }

    proptest! {
        #[test]
        fn an_address_in_a_path_is_found_with_any_characters_escaped(escaped in proptest::collection::vec(any::<bool>(), 15)) {
            let path: String = "ada@example.com".bytes().zip(escaped).map(|(byte, escaped)| {
                if escaped { format!("%{byte:02x}") } else { char::from(byte).to_string() }
            }).collect();

            let mentions = row_mentions(&row(&format!("/contacts/{path}"), None), &set());
            prop_assert!(mentions, "{}", path);
        }
    }
}
