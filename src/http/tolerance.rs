//! Fields that official SDKs add to bodies, and query parameters that they add, without effect. They are skipped on
//! these routes. All other unknown fields and parameters are rejected, and so is a value that has a meaning, such as an id
//! that differs from the path.

use std::fmt;

use salvo::Request;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ApiError;
use super::path::api_route;

/// Fields that SDKs add to an email, alone or in a batch.
const EMAIL_ECHOES: &[&str] = &["created_at"];
/// Fields that SDKs add to each email of a batch.
pub(crate) const EMAIL_ITEM_ECHOES: &[&str] = EMAIL_ECHOES;

/// Values that the skipped fields of a route can have. Any other value is rejected.
#[derive(Clone, Copy)]
enum EchoValues {
    /// Every value: the server sets the field.
    Any,
    /// `null` and the empty text.
    Empty,
    /// As `Empty`, and the value of this path parameter.
    OfPath(&'static str),
}

/// Fields of a route that are skipped.
struct Tolerated {
    method: &'static str,
    path: &'static str,
    fields: &'static [&'static str],
    values: EchoValues,
}

impl Tolerated {
    const fn new(
        method: &'static str,
        path: &'static str,
        fields: &'static [&'static str],
        values: EchoValues,
    ) -> Self {
        Self { method, path, fields, values }
    }
}

/// Skipped fields of each route.
const TOLERATED: &[Tolerated] = &[
    Tolerated::new("POST", "emails", EMAIL_ECHOES, EchoValues::Any),
    Tolerated::new("POST", "email", EMAIL_ECHOES, EchoValues::Any),
    Tolerated::new("PATCH", "emails/{id}", &["id", "email_id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "domains/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "contacts/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "topics/{id}", &["id", "topic_id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "contact-properties/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "broadcasts/{id}", &["id", "broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "broadcasts/{id}/send", &["broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "segments", &["audience_id"], EchoValues::Empty),
    Tolerated::new("PATCH", "audiences/{id}/contacts/{contact_id}", &["id"], EchoValues::OfPath("contact_id")),
    Tolerated::new("PATCH", "api-keys/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "webhooks/{id}", &["webhook_id"], EchoValues::OfPath("id")),
];

fn find(method: &str, matched_path: &str) -> Option<&'static Tolerated> {
    TOLERATED.iter().find(|route| route.method == method && route.path == matched_path)
}

/// Returns the skipped fields of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    find(method, matched_path).map_or(&[], |route| route.fields)
}

/// Skipped fields of a request whose values are checked, and the value of the path that they can have.
pub(super) struct BodyEchoes(Option<(&'static [&'static str], Option<String>)>);

impl BodyEchoes {
    /// Returns the fields of a request. None are checked if the path names a contact by its address.
    pub(super) fn of(req: &Request) -> Self {
        let Some(route) = find(req.method().as_str(), api_route(req)) else { return Self(None) };
        Self(match route.values {
            EchoValues::Any => None,
            EchoValues::Empty => Some((route.fields, None)),
            EchoValues::OfPath(parameter) => {
                // The path may name a contact by its address. The body may then have its id.
                let value = req.params().get(parameter).filter(|value| !value.contains('@'));
                value.map(|value| (route.fields, Some(value.clone())))
            }
        })
    }

    /// Checks the values of the fields in a body that is a valid object.
    ///
    /// # Errors
    /// 422 for a value that is not an echo.
    pub(super) fn check(&self, raw: &[u8]) -> Result<(), ApiError> {
        let Some((fields, path_value)) = &self.0 else { return Ok(()) };
        let path_value = path_value.as_deref();
        let mut json = serde_json::Deserializer::from_slice(raw);
        let different = json.deserialize_map(DifferentEcho { fields, path_value }).unwrap_or_default();
        let Some(field) = different else { return Ok(()) };
        let why = if path_value.is_some() { "differs from the id in the path" } else { "has no effect here" };
        Err(ApiError::validation(format!("Invalid `{field}` field: it {why}. Leave it out.")))
    }
}

/// Visitor of an object. Returns the first field of `fields` whose value is not `null`, empty or `path_value`.
struct DifferentEcho<'e> {
    fields: &'static [&'static str],
    path_value: Option<&'e str>,
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
                Ok(text) => text.is_none_or(|text| {
                    text.is_empty() || self.path_value.is_some_and(|value| text.eq_ignore_ascii_case(value))
                }),
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
