//! Fields that official SDKs add to bodies, and query parameters that they add, without effect. They are skipped on
//! these routes. All other unknown fields and parameters are rejected, and so is an id that differs from the path.

use std::fmt;

use salvo::Request;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ApiError;

/// Fields that SDKs add to an email, alone or in a batch.
const EMAIL_ECHOES: &[&str] = &["created_at"];
/// Fields that SDKs add to each email of a batch.
pub(crate) const EMAIL_ITEM_ECHOES: &[&str] = EMAIL_ECHOES;

/// Fields of a route that are skipped.
struct Tolerated {
    method: &'static str,
    path: &'static str,
    fields: &'static [&'static str],
    /// Path parameter that the fields repeat. Their value must be this one, `null`, or empty.
    repeated: Option<&'static str>,
}

impl Tolerated {
    const fn new(
        method: &'static str,
        path: &'static str,
        fields: &'static [&'static str],
        repeated: Option<&'static str>,
    ) -> Self {
        Self { method, path, fields, repeated }
    }
}

/// Skipped fields of each route.
const TOLERATED: &[Tolerated] = &[
    Tolerated::new("POST", "emails", EMAIL_ECHOES, None),
    Tolerated::new("POST", "email", EMAIL_ECHOES, None),
    Tolerated::new("PATCH", "emails/{id}", &["id", "email_id"], Some("id")),
    Tolerated::new("PATCH", "domains/{id}", &["id"], Some("id")),
    Tolerated::new("PATCH", "contacts/{id}", &["id"], Some("id")),
    Tolerated::new("PATCH", "topics/{id}", &["id", "topic_id"], Some("id")),
    Tolerated::new("PATCH", "contact-properties/{id}", &["id"], Some("id")),
    Tolerated::new("POST", "segments", &["audience_id"], None),
    Tolerated::new("PATCH", "audiences/{id}/contacts/{contact_id}", &["id"], Some("contact_id")),
    Tolerated::new("PATCH", "api-keys/{id}", &["id"], Some("id")),
    Tolerated::new("PATCH", "webhooks/{id}", &["webhook_id"], Some("id")),
];

fn find(method: &str, matched_path: &str) -> Option<&'static Tolerated> {
    TOLERATED.iter().find(|route| route.method == method && route.path == matched_path)
}

/// Returns the skipped fields of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    find(method, matched_path).map_or(&[], |route| route.fields)
}

/// Skipped fields of a request that repeat a path parameter, and its value.
pub(super) struct BodyEchoes(Option<(&'static [&'static str], String)>);

impl BodyEchoes {
    /// Returns the fields of a request. None are compared if the path names a contact by its address.
    pub(super) fn of(req: &Request) -> Self {
        let route = find(req.method().as_str(), req.matched_path());
        let repeated = |route: &Tolerated| Some((route.fields, req.params().get(route.repeated?)?.clone()));
        // The path may name a contact by its address. The body may then have its id.
        Self(route.and_then(repeated).filter(|(_, path_value)| !path_value.contains('@')))
    }

    /// Checks the values of the fields in a body that is a valid object.
    ///
    /// # Errors
    /// 422 if a value differs from the path.
    pub(super) fn check(&self, raw: &[u8]) -> Result<(), ApiError> {
        let Some((fields, path_value)) = &self.0 else { return Ok(()) };
        let mut json = serde_json::Deserializer::from_slice(raw);
        let different = json.deserialize_map(DifferentEcho { fields, path_value }).unwrap_or_default();
        let Some(field) = different else { return Ok(()) };
        let message = format!("Invalid `{field}` field: it differs from the id in the path. Leave it out.");
        Err(ApiError::validation(message))
    }
}

/// Visitor of an object. Returns the first field of `fields` whose value is not `null`, empty or `path_value`.
struct DifferentEcho<'e> {
    fields: &'static [&'static str],
    path_value: &'e str,
}

impl<'de> Visitor<'de> for DifferentEcho<'_> {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut different = None;
        while let Some(key) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            let Some(field) = self.fields.iter().find(|field| **field == key) else { continue };
            let is_echo = match serde_json::from_str::<Option<String>>(value.get()) {
                Ok(text) => text.is_none_or(|text| text.is_empty() || text.eq_ignore_ascii_case(self.path_value)),
                Err(_) => false,
            };
            if !is_echo {
                different = different.or(Some(*field));
            }
        }
        Ok(different)
    }
}

/// Method, matched path, query parameter, and the path parameter that it repeats.
const QUERY_ECHOES: &[(&str, &str, &str, &str)] = &[
    ("GET", "audiences/{id}/contacts", "audience_id", "id"),
    ("GET", "contacts/{id}/segments", "contact_id", "id"),
    ("GET", "contacts/{id}/segments", "email", "id"),
    ("GET", "contacts/{id}/topics", "contact_id", "id"),
    ("GET", "contacts/{id}/topics", "email", "id"),
];

/// Returns whether a query parameter of a route only repeats a path parameter, or is empty. `path_value` returns the
/// value of a path parameter.
pub(crate) fn is_query_echo<'v>(
    method: &str,
    matched_path: &str,
    name: &str,
    value: &str,
    path_value: impl FnOnce(&str) -> Option<&'v str>,
) -> bool {
    QUERY_ECHOES
        .iter()
        .find(|(its_method, path, its_name, _)| *its_method == method && *path == matched_path && *its_name == name)
        .is_some_and(|(.., repeated)| {
            value.is_empty() || path_value(repeated).is_some_and(|path_value| path_value.eq_ignore_ascii_case(value))
        })
}
