//! Decoding of request bodies that `http/body_limits.rs` has read: JSON, and null, unknown, duplicate and missing
//! fields. `no_body.rs` is the extractor of requests without fields. `form.rs` recognizes forms, for the error of a body
//! that is not JSON.
//!
//! A request type derives `Deserialize` with `deny_unknown_fields` and makes every field an `Option`, so that `null`
//! equals absent. Its `parse` turns an absent required field into `missing_required_field`. The derive rejects
//! duplicate keys.

use std::ops::Deref;
use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{
    Components, Content, EndpointArgRegister, Operation, RequestBody as RequestBodyDoc, Required, ToSchema,
};
use salvo::{Depot, Extractible, Request};
use serde::de::{DeserializeOwned, Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::body_limits::BodyLimits;
use super::declared_errors::declare;
use super::error::{ApiError, ErrorCode};
use super::path::api_route;
use super::recording::{self, BodyCapture};
use super::schema;
use super::state::service;
use super::strict_json::StrictDeserializer;
use super::tolerance;
use crate::base::blocking;
use crate::base::id::ContactId;
use crate::base::nearest::did_you_mean;
use crate::logs::{self, COPY_BYTES_MAX, LoggedBody};

pub use self::no_body::NoBody;

/// Maximum length of a parser error in a response, in characters.
const DETAIL_CHARS_MAX: usize = 300;
/// Maximum length of a field path in a response, in characters.
const PATH_CHARS_MAX: usize = 100;

/// Size limit of a request type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// The limit of emails, which have attachments.
    Email,
    /// The limit of all other bodies.
    Other,
}

/// Whether a body is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPresence {
    /// A body is required.
    Required,
    /// An absent body equals an empty object.
    Optional,
}

/// Type that is parsed from a request body.
pub trait FromBody: ToSchema + Send + Sized + 'static {
    /// Size limit of the body.
    const SIZE: BodySize;
    /// Whether the OpenAPI document declares the body as required.
    const PRESENCE: BodyPresence = BodyPresence::Required;

    /// Returns rules for the OpenAPI document that concern several fields.
    fn rules() -> Map<String, Value> {
        Map::new()
    }

    /// Parses the body and skips the top-level fields of `tolerated`.
    ///
    /// # Errors
    /// As [`parse`].
    fn from_body(raw: &[u8], tolerated: &[&str]) -> Result<Self, ApiError>;
}

/// A request body that is one JSON object.
pub trait JsonBody: DeserializeOwned + ToSchema + Send + 'static {
    /// Size limit of the body.
    const SIZE: BodySize = BodySize::Other;

    /// Returns rules for the OpenAPI document that concern several fields.
    fn rules() -> Map<String, Value> {
        Map::new()
    }
}

impl<T: JsonBody> FromBody for T {
    const SIZE: BodySize = <T as JsonBody>::SIZE;

    fn rules() -> Map<String, Value> {
        <T as JsonBody>::rules()
    }

    fn from_body(raw: &[u8], tolerated: &[&str]) -> Result<Self, ApiError> {
        parse(raw, tolerated)
    }
}

/// Extractor of a request body that decodes to `T`. `T::parse` checks its rules.
pub struct Body<T> {
    value: T,
    /// Shared with the request log.
    raw: Arc<Vec<u8>>,
    /// Id in a skipped field, if the path names a contact by its address.
    echoed_contact: Option<ContactId>,
}

impl<T> Body<T> {
    /// Returns the id in a skipped field if the path names a contact by its address. It must be the id of that contact.
    pub(crate) fn echoed_contact(&self) -> Option<ContactId> {
        self.echoed_contact
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the value and its encoded bytes.
    pub fn into_parts(self) -> (T, Arc<Vec<u8>>) {
        (self.value, self.raw)
    }
}

impl<T> Deref for Body<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'ex, T: FromBody> Extractible<'ex> for Body<T> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Body");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let limits: Arc<BodyLimits> = service(depot)?;
        let bytes_max = match T::SIZE {
            BodySize::Email => limits.email_bytes_max,
            BodySize::Other => limits.other_bytes_max,
        };
        let (raw, share) = limits.read(req, bytes_max).await?;
        // The depot holds the reservation until the request ends.
        depot.insert_typed(share);
        let tolerated = tolerance::of_route(req.method().as_str(), api_route(req));
        let echoes = tolerance::BodyEchoes::of(req);
        let raw = Arc::new(raw);
        let form = recording::capture_of(depot, raw.len());
        if form == BodyCapture::Bytes {
            recording::put_body(depot, LoggedBody::Held(Arc::<Vec<u8>>::clone(&raw)));
        }
        let (copy, value) = blocking::run_sized(raw.len(), move || {
            let copy = (form == BodyCapture::Copy).then(|| logs::redact(&raw, COPY_BYTES_MAX));
            let value = T::from_body(&raw, tolerated).and_then(|value| Ok((value, echoes.check(&raw)?)));
            (copy, value.map(|(value, echoed_contact)| Self { value, raw, echoed_contact }))
        })
        .await;
        if let Some(copy) = copy {
            recording::put_body(depot, LoggedBody::Copied(copy));
        }
        value
    }
}

/// Reads a signed body of up to `bytes_max` bytes without parsing it, because its signature is checked
/// first. Signed bodies have their own budget.
///
/// # Errors
/// As [`BodyLimits::read`]: 413, 503 or 400.
pub(crate) async fn read_signed_body(
    req: &mut Request,
    depot: &mut Depot,
    bytes_max: usize,
) -> Result<Vec<u8>, ApiError> {
    let limits: Arc<BodyLimits> = service(depot)?;
    let (raw, share) = limits.read_signed(req, bytes_max).await?;
    // The depot holds the reservation until the request ends.
    depot.insert_typed(share);
    Ok(raw)
}

/// Parses `raw` as a `T` and skips the top-level fields of `tolerated`.
///
/// # Errors
/// 400 if `raw` is not JSON; 422 that names the field if it does not decode to `T`.
pub fn parse<T: DeserializeOwned>(raw: &[u8], tolerated: &[&str]) -> Result<T, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let mut track = serde_path_to_error::Track::new();
    let reader = StrictDeserializer::new(&mut json, tolerated);
    let value = T::deserialize(serde_path_to_error::Deserializer::new(reader, &mut track));
    let value = value.map_err(|error| api_error(raw, &error, &track.path().to_string()))?;
    json.end().map_err(|error| api_error(raw, &error, "."))?;
    Ok(value)
}

/// Does the same as [`parse`], for a body that can be omitted. Returns the default for a body that is empty or only
/// white space, for `null`, and for an empty array. Clients in PHP can encode an empty map as an empty array.
///
/// # Errors
/// As [`parse`].
pub fn parse_optional<T: DeserializeOwned + Default>(raw: &[u8], tolerated: &[&str]) -> Result<T, ApiError> {
    let is_absent = raw.trim_ascii().is_empty() || serde_json::from_slice::<Option<[bool; 0]>>(raw).is_ok();
    if is_absent { Ok(T::default()) } else { parse(raw, tolerated) }
}

/// Parses `raw` as an array of 1 to `items_max` items and returns the JSON text of each item.
///
/// # Errors
/// 400 if `raw` is not JSON; 422 with the accepted number of items. `items` is their plural noun.
pub fn parse_items(raw: &[u8], items_max: usize, items: &str) -> Result<Vec<Box<RawValue>>, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let read = json.deserialize_seq(Items { items_max }).and_then(|read| json.end().map(|()| read));
    let (texts, count) = read.map_err(|error| match serde_json::from_slice::<IgnoredAny>(raw) {
        // The first character shows that the body is no array, before the rest is read.
        Ok(_) if error.is_data() => {
            ApiError::validation(format!("Invalid request body: expected an array of 1 to {items_max} {items}."))
        }
        Ok(_) => api_error(raw, &error, "."),
        Err(malformed) => api_error(raw, &malformed, "."),
    })?;
    if !(1..=items_max).contains(&count) {
        let message = format!("Invalid request body: it holds {count} {items}; 1 to {items_max} are accepted.");
        return Err(ApiError::validation(message));
    }
    Ok(texts)
}

/// Visitor that returns up to `items_max` items of an array and their total number.
struct Items {
    items_max: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = (Vec<Box<RawValue>>, usize);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.items_max {
            match seq.next_element()? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        let mut count = items.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((items, count))
    }
}

fn api_error(raw: &[u8], error: &serde_json::Error, path: &str) -> ApiError {
    use serde_json::error::Category;

    let detail = if is_secret(path) { detail_without_value(error) } else { detail(error) };
    match error.classify() {
        Category::Data if path == "." || path.is_empty() => {
            ApiError::validation(format!("Invalid request body: {detail}."))
        }
        Category::Data => {
            let path: String = path.chars().filter(|c| !c.is_control()).take(PATH_CHARS_MAX).collect();
            ApiError::validation(format!("Invalid `{path}` field: {detail}.{}", suggestion(error)))
        }
        Category::Syntax | Category::Eof | Category::Io => {
            let problem = match form::form_type(raw) {
                Some(form_type) => format!(
                    "it is a form (`{form_type}`). Send the fields as JSON, with `Content-Type: application/json`"
                ),
                None => detail,
            };
            ApiError::new(ErrorCode::MalformedJson, format!("The request body is not valid JSON: {problem}."))
        }
    }
}

/// Returns the question for the field that an unknown field is near to; empty if no field is near. The accepted names
/// are at the end of the message, in text that only depends on the types.
fn suggestion(error: &serde_json::Error) -> String {
    let message = parser_message(error);
    let names = message.strip_prefix("unknown field `").and_then(|rest| rest.rsplit_once("`, expected "));
    names.map_or_else(String::new, |(given, accepted)| did_you_mean(given, accepted.split('`').skip(1).step_by(2)))
}

/// Returns whether a path contains a field that the request log omits. The log also has the response.
fn is_secret(path: &str) -> bool {
    path.split(['.', '[']).any(logs::is_secret_field)
}

/// Returns the message of the parser without the rejected value. Messages of the request types do not
/// contain values.
fn detail_without_value(error: &serde_json::Error) -> String {
    const WITH_VALUE: [&str; 3] = ["invalid type", "invalid value", "unknown variant"];
    let message = parser_message(error);
    let Some(begins) = WITH_VALUE.iter().find(|begins| message.starts_with(**begins)) else {
        return bounded(&message);
    };
    // The expected type is at the end, in text that only depends on the types.
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => bounded(&format!("{begins}, expected {expected}")),
        None => (*begins).to_owned(),
    }
}

/// Returns the bounded message of the parser.
fn detail(error: &serde_json::Error) -> String {
    bounded(&parser_message(error))
}

/// Returns the message of the parser, without the position if the JSON is valid.
fn parser_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => text.strip_suffix(&position).unwrap_or(&text).to_owned(),
        _ => text,
    }
}

fn bounded(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(DETAIL_CHARS_MAX).collect()
}

impl<T: FromBody> EndpointArgRegister for Body<T> {
    fn register(components: &mut Components, operation: &mut Operation, _arg: &str) {
        let content = Content::new(schema::with_rules::<T>(components, &T::rules()));
        let required = match T::PRESENCE {
            BodyPresence::Required => Required::True,
            BodyPresence::Optional => Required::False,
        };
        let body = RequestBodyDoc::new().required(required).add_content("application/json", content);
        operation.request_body = Some(body);
        declare(operation, &[ErrorCode::MalformedJson, ErrorCode::PayloadTooLarge, ErrorCode::Validation]);
    }
}

mod form;
mod no_body;
#[cfg(test)]
mod tests;
