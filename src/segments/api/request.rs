//! Segment requests.

use salvo::oapi::ToSchema;
use serde::Deserialize;

use super::filter::FilterRequest;
use crate::base::patch::Patch;
use crate::http::schema::NonBlankLine;
use crate::http::{ApiError, ApiResult, JsonBody};
use crate::segments::model::{NAME_CHARS_MAX, NewSegment, SegmentChanges, SegmentName};

/// A segment to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateSegmentRequest {
    /// The name, 1 to 255 characters.
    #[salvo(schema(required = true, value_type = NonBlankLine<NAME_CHARS_MAX>))]
    name: Option<String>,
    /// The filter. Without one, the segment contains only its members.
    filter: Option<FilterRequest>,
}

impl JsonBody for CreateSegmentRequest {}

/// Changes to a segment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateSegmentRequest {
    /// The name, 1 to 255 characters.
    #[salvo(schema(value_type = Option<NonBlankLine<NAME_CHARS_MAX>>))]
    name: Option<String>,
    /// The filter. Null removes it: the segment then contains only its members.
    #[serde(default)]
    #[salvo(schema(value_type = Option<FilterRequest>))]
    filter: Patch<FilterRequest>,
}

impl JsonBody for UpdateSegmentRequest {}

impl CreateSegmentRequest {
    pub(super) fn parse(self) -> ApiResult<NewSegment> {
        let Self { name, filter } = self;
        let name = name.ok_or_else(|| ApiError::missing_field("name"))?;
        Ok(NewSegment { name: parse_name(&name)?, filter: filter.map(FilterRequest::parse).transpose()? })
    }
}

impl UpdateSegmentRequest {
    pub(super) fn parse(self) -> ApiResult<SegmentChanges> {
        let Self { name, filter } = self;
        Ok(SegmentChanges {
            name: name.as_deref().map(parse_name).transpose()?,
            filter: match filter {
                Patch::Keep => Patch::Keep,
                Patch::Clear => Patch::Clear,
                Patch::Set(filter) => Patch::Set(filter.parse()?),
            },
        })
    }
}

fn parse_name(text: &str) -> ApiResult<SegmentName> {
    SegmentName::parse(text).ok_or_else(|| {
        ApiError::validation(format!(
            "Invalid `name` field: it must have 1 to {NAME_CHARS_MAX} characters and no control characters."
        ))
    })
}
