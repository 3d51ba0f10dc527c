//! Fields that official SDKs add to bodies, and query parameters that they add, without effect. They are skipped on
//! these routes, and so is the id of the path in the body of an action. All other unknown fields and parameters are
//! rejected. So is a value that has a meaning, such as an id that differs from the path.

use std::fmt;

use salvo::Request;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ApiError;
use super::path::api_route;
use crate::base::id::ContactId;

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
    /// The values of `Empty`, and the value of this path parameter. If that is the address of a contact, also the id of
    /// the contact, which the use case compares.
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
    Tolerated::new("POST", "emails/{id}/cancel", &["id", "email_id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "domains/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "domains/{id}/verify", &["id", "domain_id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "contacts/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "contacts/{id}/preferences-link", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "topics/{id}", &["id", "topic_id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "contact-properties/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "broadcasts/{id}", &["id", "broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "broadcasts/{id}/send", &["broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "broadcasts/{id}/cancel", &["id", "broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "broadcasts/{id}/duplicate", &["id", "broadcast_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "templates/{id}/publish", &["id", "template_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "templates/{id}/duplicate", &["id", "template_id"], EchoValues::OfPath("id")),
    Tolerated::new("POST", "segments", &["audience_id"], EchoValues::Empty),
    Tolerated::new("PATCH", "audiences/{id}/contacts/{contact_id}", &["id"], EchoValues::OfPath("contact_id")),
    Tolerated::new("PATCH", "api-keys/{id}", &["id"], EchoValues::OfPath("id")),
    Tolerated::new("PATCH", "webhooks/{id}", &["webhook_id"], EchoValues::OfPath("id")),
    Tolerated::new(
        "POST",
        "webhooks/{id}/events/{event_id}/replay",
        &["id", "event_id"],
        EchoValues::OfPath("event_id"),
    ),
];

fn find(method: &str, matched_path: &str) -> Option<&'static Tolerated> {
    TOLERATED.iter().find(|route| route.method == method && route.path == matched_path)
}

/// Returns the skipped fields of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    find(method, matched_path).map_or(&[], |route| route.fields)
}

/// Skipped fields of a request whose values are checked.
pub(super) struct BodyEchoes(Option<(&'static [&'static str], EchoedValue)>);

/// Value that skipped fields of a request can have, apart from `null` and the empty text.
enum EchoedValue {
    Nothing,
    /// The id in the path.
    Id(String),
    /// This address in the path, or the id of the contact with it.
    Contact(String),
}

impl EchoedValue {
    fn of_path(text: &str) -> Self {
        let text = text.to_owned();
        if text.contains('@') { Self::Contact(text) } else { Self::Id(text) }
    }
}

impl BodyEchoes {
    /// Returns the fields of a request.
    pub(super) fn of(req: &Request) -> Self {
        let Some(route) = find(req.method().as_str(), api_route(req)) else { return Self(None) };
        let value = match route.values {
            EchoValues::Any => None,
            EchoValues::Empty => Some(EchoedValue::Nothing),
            EchoValues::OfPath(parameter) => req.params().get(parameter).map(|text| EchoedValue::of_path(text)),
        };
        Self(value.map(|value| (route.fields, value)))
    }

    /// Checks the values of the fields in a body that is a valid object. If the path names a contact by its address,
    /// returns the id that the body contains.
    ///
    /// # Errors
    /// 422 for a value that is not an echo.
    pub(super) fn check(&self, raw: &[u8]) -> Result<Option<ContactId>, ApiError> {
        let Some((fields, value)) = &self.0 else { return Ok(None) };
        let mut json = serde_json::Deserializer::from_slice(raw);
        let Echoes { different, contact } = json.deserialize_map(EchoVisitor { fields, value }).unwrap_or_default();
        let Some(field) = different else { return Ok(contact) };
        Err(match value {
            EchoedValue::Nothing => not_an_echo(field, "it has no effect here"),
            EchoedValue::Id(_) => not_an_echo(field, "it differs from the id in the path"),
            EchoedValue::Contact(_) => differs_from_contact(field),
        })
    }
}

/// Returns the 422 response for a field whose value is neither the id nor the address of the contact in the path.
pub(crate) fn differs_from_contact(field: &str) -> ApiError {
    not_an_echo(field, "it is neither the id nor the address of the contact")
}

fn not_an_echo(field: &str, why: &str) -> ApiError {
    ApiError::validation(format!("Invalid `{field}` field: {why}. Leave it out."))
}

/// Values of the skipped fields of a body.
#[derive(Default)]
struct Echoes {
    /// The first field whose value is not an echo.
    different: Option<&'static str>,
    /// The id of the contact, which the use case compares.
    contact: Option<ContactId>,
}

/// Visitor of an object. Compares the values of `fields` with `null`, the empty text and `value`.
struct EchoVisitor<'e> {
    fields: &'static [&'static str],
    value: &'e EchoedValue,
}

impl<'de> Visitor<'de> for EchoVisitor<'_> {
    type Value = Echoes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut echoes = Echoes::default();
        while let Some(key) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            let Some(field) = self.fields.iter().find(|field| **field == key) else { continue };
            let is_echo = match serde_json::from_str::<Option<String>>(value.get()) {
                Ok(text) => text.is_none_or(|text| text.is_empty() || self.is_echo(&text, &mut echoes)),
                Err(_) => false,
            };
            if !is_echo {
                echoes.different = echoes.different.or(Some(*field));
            }
        }
        Ok(echoes)
    }
}

impl EchoVisitor<'_> {
    fn is_echo(&self, text: &str, echoes: &mut Echoes) -> bool {
        match self.value {
            EchoedValue::Nothing => false,
            EchoedValue::Id(id) => text.eq_ignore_ascii_case(id),
            EchoedValue::Contact(address) => {
                text.eq_ignore_ascii_case(address)
                    // A repeated `id` must be the same one again.
                    || ContactId::parse(text).is_some_and(|id| *echoes.contact.get_or_insert(id) == id)
            }
        }
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
