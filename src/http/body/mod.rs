//! Request bodies, once `body_limits.rs` has taken them in: the one place for JSON, null, unknown, duplicate and missing fields.
//!
//! A request type derives `Deserialize` with `deny_unknown_fields` and makes every field an
//! `Option`, so that `null` equals absent; its `parse` turns an absent required field into
//! `missing_required_field`. Duplicate keys are refused by the derive itself.

use std::ops::Deref;
use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{
    Components, Content, EndpointArgRegister, Operation, RequestBody as RequestBodyDoc, Required, ToSchema,
};
use salvo::{Depot, Extractible, Request};
use serde::de::{DeserializeOwned, Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::body_limits::BodyLimits;
use super::error::{ApiError, ErrorCode};
use super::recording::{self, BodyCapture};
use super::state::service;
use super::strict_json::StrictDeserializer;
use super::tolerance;
use crate::base::blocking;
use crate::logs::{self, COPY_BYTES_MAX, LoggedBody};

/// The longest part of an error in a body that is repeated to the caller, in characters.
const DETAIL_CHARS_MAX: usize = 300;
/// The longest path of a field that is repeated to the caller, in characters.
const PATH_CHARS_MAX: usize = 100;

/// How large the body of a request type may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// Carries attachments.
    Email,
    /// Carries fields.
    Other,
}

/// Whether there has to be a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPresence {
    /// There has to be one.
    Required,
    /// None is as good as an empty object.
    Optional,
}

/// A type that is read from a request body.
pub trait FromBody: ToSchema + Send + Sized + 'static {
    /// How large the body may be.
    const SIZE: BodySize;
    /// Whether there has to be one, for the description; reading it decides.
    const PRESENCE: BodyPresence = BodyPresence::Required;

    /// Reads the body, leaving out the fields that are tolerated on its route.
    ///
    /// # Errors
    /// As [`parse`].
    fn from_body(raw: &[u8], tolerated: &[&str]) -> Result<Self, ApiError>;
}

/// A request body that is one JSON object.
pub trait JsonBody: DeserializeOwned + ToSchema + Send + 'static {
    /// How large the body may be.
    const SIZE: BodySize = BodySize::Other;
}

impl<T: JsonBody> FromBody for T {
    const SIZE: BodySize = <T as JsonBody>::SIZE;

    fn from_body(raw: &[u8], tolerated: &[&str]) -> Result<Self, ApiError> {
        parse(raw, tolerated)
    }
}

/// A request body that has been read and has the shape of `T`; its rules are checked by `T::parse`.
pub struct Body<T> {
    value: T,
    /// Shared with the request log while the request lasts.
    raw: Arc<Vec<u8>>,
}

impl<T> Body<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the value and the bytes it was read from.
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
        let (raw, share) = limits.read(req.body_mut(), bytes_max).await?;
        // Kept until the request ends.
        depot.insert_typed(share);
        let tolerated = tolerance::of_route(req.method().as_str(), req.matched_path());
        let raw = Arc::new(raw);
        let form = recording::form_of(depot, raw.len());
        if form == BodyCapture::Bytes {
            recording::keep(depot, LoggedBody::Held(Arc::<Vec<u8>>::clone(&raw)));
        }
        let (copy, value) = blocking::run_sized(raw.len(), move || {
            let copy = (form == BodyCapture::Copy).then(|| logs::redact(&raw, COPY_BYTES_MAX));
            (copy, T::from_body(&raw, tolerated).map(|value| Self { value, raw }))
        })
        .await;
        if let Some(copy) = copy {
            recording::keep(depot, LoggedBody::Copied(copy));
        }
        value
    }
}

/// Takes in a body of up to `bytes_max` as its bytes: what is signed is judged before it is parsed. It
/// counts against a budget of its own.
///
/// # Errors
/// As a body that is parsed: 413, 503 or 400.
pub(crate) async fn read_signed_body(
    req: &mut Request,
    depot: &mut Depot,
    bytes_max: usize,
) -> Result<Vec<u8>, ApiError> {
    let limits: Arc<BodyLimits> = service(depot)?;
    let (raw, share) = limits.read_signed(req.body_mut(), bytes_max).await?;
    // Kept until the request ends.
    depot.insert_typed(share);
    Ok(raw)
}

/// Reads `raw` as a `T`, leaving out the top-level fields of `tolerated`.
///
/// # Errors
/// 400 when `raw` is no JSON; 422 that names the field when it is not of `T`'s shape.
pub fn parse<T: DeserializeOwned>(raw: &[u8], tolerated: &[&str]) -> Result<T, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let mut track = serde_path_to_error::Track::new();
    let reader = StrictDeserializer::new(&mut json, tolerated);
    let value = T::deserialize(serde_path_to_error::Deserializer::new(reader, &mut track));
    let value = value.map_err(|error| refuse(&error, &track.path().to_string()))?;
    json.end().map_err(|error| refuse(&error, "."))?;
    Ok(value)
}

/// Reads `raw` as an array of 1 to `items_max` items and returns the text of each, still to be read.
///
/// # Errors
/// 400 when `raw` is no JSON; 422 that says how many `items` are accepted.
pub fn parse_items(raw: &[u8], items_max: usize, items: &str) -> Result<Vec<Box<RawValue>>, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let read = json.deserialize_seq(Items { items_max }).and_then(|read| json.end().map(|()| read));
    let (kept, count) = read.map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            ApiError::validation(format!("Invalid request body: expected an array of 1 to {items_max} {items}."))
        }
        _ => refuse(&error, "."),
    })?;
    if !(1..=items_max).contains(&count) {
        let message = format!("Invalid request body: it holds {count} {items}; 1 to {items_max} are accepted.");
        return Err(ApiError::validation(message));
    }
    Ok(kept)
}

/// Keeps up to `items_max` items of an array and counts the others.
struct Items {
    items_max: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = (Vec<Box<RawValue>>, usize);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < self.items_max {
            match seq.next_element()? {
                Some(item) => kept.push(item),
                None => break,
            }
        }
        let mut count = kept.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((kept, count))
    }
}

fn refuse(error: &serde_json::Error, path: &str) -> ApiError {
    use serde_json::error::Category;

    let detail = if is_secret(path) { detail_without_value(error) } else { detail(error) };
    match error.classify() {
        Category::Data if path == "." || path.is_empty() => {
            ApiError::validation(format!("Invalid request body: {detail}."))
        }
        Category::Data => {
            let path: String = path.chars().filter(|c| !c.is_control()).take(PATH_CHARS_MAX).collect();
            ApiError::validation(format!("Invalid `{path}` field: {detail}."))
        }
        Category::Syntax | Category::Eof | Category::Io => {
            ApiError::new(ErrorCode::MalformedJson, format!("The request body is not valid JSON: {detail}."))
        }
    }
}

/// Returns whether a path leads into a field that the request log leaves out: the answer is logged too.
fn is_secret(path: &str) -> bool {
    path.split(['.', '[']).any(logs::is_secret_field)
}

/// Returns the parser's sentence without the value that it is about. The types' own sentences repeat
/// none.
fn detail_without_value(error: &serde_json::Error) -> String {
    const REPEATING: [&str; 3] = ["invalid type", "invalid value", "unknown variant"];
    let sentence = sentence(error);
    let Some(begins) = REPEATING.iter().find(|begins| sentence.starts_with(**begins)) else {
        return bounded(&sentence);
    };
    // What is expected stands last, in words of the types alone.
    match sentence.rsplit_once(", expected ") {
        Some((_, expected)) => bounded(&format!("{begins}, expected {expected}")),
        None => (*begins).to_owned(),
    }
}

/// Returns the parser's sentence, bounded.
fn detail(error: &serde_json::Error) -> String {
    bounded(&sentence(error))
}

/// Returns the parser's sentence, without its position when that is all it adds.
fn sentence(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => text.strip_suffix(&position).unwrap_or(&text).to_owned(),
        _ => text,
    }
}

fn bounded(sentence: &str) -> String {
    sentence.chars().filter(|c| !c.is_control()).take(DETAIL_CHARS_MAX).collect()
}

impl<T: FromBody> EndpointArgRegister for Body<T> {
    fn register(components: &mut Components, operation: &mut Operation, _arg: &str) {
        let content = Content::new(T::to_schema(components));
        let required = match T::PRESENCE {
            BodyPresence::Required => Required::True,
            BodyPresence::Optional => Required::False,
        };
        let body = RequestBodyDoc::new().required(required).add_content("application/json", content);
        operation.request_body = Some(body);
    }
}

#[cfg(test)]
mod tests;
