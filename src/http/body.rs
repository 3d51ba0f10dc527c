//! Request bodies, once `intake.rs` has taken them in: the one place for JSON, null, unknown, duplicate and missing fields.
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

use super::error::{ApiError, ErrorCode};
use super::intake::BodyLimits;
use super::reader::Reader;
use super::recording::{self, Keep};
use super::state::service;
use super::tolerance;
use crate::blocking;
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
        if form == Keep::Bytes {
            recording::keep(depot, LoggedBody::Held(Arc::<Vec<u8>>::clone(&raw)));
        }
        let (copy, value) = blocking::run_sized(raw.len(), move || {
            let copy = (form == Keep::Copy).then(|| logs::redact(&raw, COPY_BYTES_MAX));
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
    let reader = Reader::new(&mut json, tolerated);
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

    let detail = detail(error);
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

/// Returns the parser's sentence, without its position when that is all it adds, bounded.
fn detail(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let sentence = match error.classify() {
        serde_json::error::Category::Data => text.strip_suffix(&position).unwrap_or(&text),
        _ => &text,
    };
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
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: Option<String>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        count: u32,
    }

    fn refused(raw: &str) -> (u16, String) {
        let error = parse::<Sample>(raw.as_bytes(), &[]).unwrap_err();
        (error.code.status(), error.message)
    }

    #[test]
    fn null_equals_absent() {
        let sample: Sample = parse(br#"{"name": null}"#, &[]).unwrap();

        assert_eq!(sample, Sample { name: None, inner: None });
    }

    #[test]
    fn every_refusal_names_the_field_and_what_would_be_accepted() {
        for (raw, status, message) in [
            (r#"{"nam": 1}"#, 422, "Invalid `nam` field: unknown field `nam`, expected `name` or `inner`."),
            (r#"{"name": "a", "name": "b"}"#, 422, "Invalid request body: duplicate field `name`."),
            (r#"{"name": 5}"#, 422, "Invalid `name` field: invalid type: integer `5`, expected a string."),
            (r#"{"inner": [5]}"#, 422, "Invalid `inner` field: invalid type: sequence, expected an object."),
            (
                r#"{"inner": {"count": -1}}"#,
                422,
                "Invalid `inner.count` field: invalid value: integer `-1`, expected u32.",
            ),
            ("[]", 422, "Invalid request body: invalid type: sequence, expected an object."),
            (r#""text""#, 422, "Invalid request body: invalid type: string \"text\", expected an object."),
            ("", 400, "The request body is not valid JSON: EOF while parsing a value at line 1 column 0."),
            (r#"{"name": "a"} x"#, 400, "The request body is not valid JSON: trailing characters at line 1 column 15."),
        ] {
            assert_eq!(refused(raw), (status, message.to_owned()), "{raw}");
        }
    }

    #[test]
    fn broken_and_hostile_bytes_are_malformed_json() {
        let deep = "[".repeat(100_000);
        for raw in [b"{\"name\": \"\xff\"}".as_slice(), b"{\"name\": \"a", b"\x00", deep.as_bytes()] {
            let error = parse::<Sample>(raw, &[]).unwrap_err();

            assert!(error.code.status() == 400 || error.code.status() == 422, "{error:?}");
            assert!(error.message.len() < 500);
        }
    }

    #[test]
    fn tolerated_fields_are_left_out_and_others_still_refused() {
        let sample: Sample = parse(br#"{"id": {"any": [1]}, "name": "a"}"#, &["id"]).unwrap();

        assert_eq!(sample.name.as_deref(), Some("a"));
        assert!(parse::<Sample>(br#"{"ids": 1}"#, &["id"]).is_err());
        let list: Vec<Sample> = parse(br#"[{"id": 1, "name": "b"}]"#, &["id"]).unwrap();
        assert_eq!(list[0].name.as_deref(), Some("b"));
    }

    #[test]
    fn a_field_that_is_left_out_is_json_all_the_same() {
        for value in ["[".repeat(1_000), "\"\\ud800\"".to_owned(), "1e999".to_owned(), "{\"a\":}".to_owned()] {
            let error = parse::<Sample>(format!("{{\"id\":{value}}}").as_bytes(), &["id"]).unwrap_err();

            assert_eq!(error.code, ErrorCode::MalformedJson, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_the_parser(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse::<Sample>(&raw, &["id"]);
        }
    }
}
