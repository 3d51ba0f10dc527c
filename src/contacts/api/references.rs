//! The forms of a segment and of topic choices in requests. The compatible API has one form of each in its SDKs, and
//! another one in its description, which needs [`CompatFeature::Requests`].

use std::fmt;

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::request::{REFERENCES_MAX, TopicChoice};
use crate::base::compat::{Compat, CompatFeature};
use crate::http::schema::UuidText;
use crate::http::{ApiError, ApiResult, AtMost, BodySize, FromBody, IgnoredJson, body};

/// A segment, given by an object with its id, or by the id alone.
#[derive(Debug)]
pub(crate) enum SegmentReference {
    Object(SegmentObject),
    Id(String),
}

/// A segment, given by its id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[salvo(schema(name = "SegmentReference"))]
pub(crate) struct SegmentObject {
    /// The id of the segment.
    #[salvo(schema(required = true, value_type = UuidText))]
    id: Option<String>,
}

impl SegmentReference {
    /// Returns the id; `None` if the object has none.
    ///
    /// # Errors
    /// 422 for an id alone without [`CompatFeature::Requests`]. `index` is the index in `segments`.
    pub(super) fn into_id(self, index: usize, compat: Compat) -> ApiResult<Option<String>> {
        match self {
            Self::Object(SegmentObject { id }) => Ok(id),
            Self::Id(id) if compat.accepts(CompatFeature::Requests) => Ok(Some(id)),
            Self::Id(_) => Err(ApiError::validation(format!(
                "Invalid `segments[{index}]` field: invalid type: string, expected an object. Give the `id` in an \
                 object, or {}.",
                CompatFeature::Requests.advice()
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for SegmentReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = SegmentReference;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_str<E>(self, id: &str) -> Result<SegmentReference, E> {
                Ok(SegmentReference::Id(id.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SegmentReference, A::Error> {
                SegmentObject::deserialize(MapAccessDeserializer::new(map)).map(SegmentReference::Object)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl ToSchema for SegmentReference {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        SegmentObject::to_schema(components)
    }
}

/// The topic choices of a contact: an array, or an object with the array in `topics`.
pub(crate) enum TopicChoices {
    Array(Vec<TopicChoice>),
    Object(Vec<TopicChoice>),
    /// An object with other fields.
    OtherObject(ApiError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicsObject {
    topics: Option<AtMost<REFERENCES_MAX, TopicChoice>>,
}

impl TopicChoices {
    /// Returns the choices.
    ///
    /// # Errors
    /// 422 for an object without [`CompatFeature::Requests`].
    pub(super) fn into_choices(self, compat: Compat) -> ApiResult<Vec<TopicChoice>> {
        match self {
            Self::Array(choices) => Ok(choices),
            Self::Object(_) | Self::OtherObject(_) if !compat.accepts(CompatFeature::Requests) => {
                Err(ApiError::validation(format!(
                    "Invalid request body: invalid type: map, expected an array of at most {REFERENCES_MAX} items. Give \
                     the array without an object around it, or {}.",
                    CompatFeature::Requests.advice()
                )))
            }
            Self::Object(choices) => Ok(choices),
            Self::OtherObject(error) => Err(error),
        }
    }
}

impl FromBody for TopicChoices {
    const SIZE: BodySize = BodySize::Other;

    fn from_body(raw: &[u8], tolerated: &[&str]) -> ApiResult<Self> {
        if !raw.trim_ascii_start().starts_with(b"{") {
            return body::parse::<AtMost<REFERENCES_MAX, TopicChoice>>(raw, tolerated)
                .map(|AtMost(choices)| Self::Array(choices));
        }
        match body::parse::<TopicsObject>(raw, tolerated) {
            Ok(TopicsObject { topics: Some(AtMost(choices)) }) => Ok(Self::Object(choices)),
            Ok(TopicsObject { topics: None }) => Ok(Self::OtherObject(ApiError::missing_field("topics"))),
            // Malformed JSON is another error than an object.
            Err(error) => body::parse::<IgnoredJson>(raw, &[]).map(|_| Self::OtherObject(error)),
        }
    }
}

impl ToSchema for TopicChoices {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        AtMost::<REFERENCES_MAX, TopicChoice>::to_schema(components)
    }
}
