//! Segment responses.

use salvo::oapi::ToSchema;
use serde::Serialize;

use super::filter::FilterResponse;
use crate::base::clock::to_iso;
use crate::base::id::SegmentId;
use crate::segments::model::Segment;

/// The name of a segment in a response, which depends on the path of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Segment,
    /// The older name.
    Audience,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Audience => "audience",
        }
    }
}

/// A segment.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Segment"))]
pub(super) struct SegmentResponse {
    /// `segment`, or `audience` on the older paths.
    object: &'static str,
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The filter; null if the segment contains only its members.
    #[salvo(schema(required = true))]
    filter: Option<FilterResponse>,
    /// Time of creation.
    created_at: String,
}

impl SegmentResponse {
    pub(super) fn of(word: Word, segment: Segment) -> Self {
        let Segment { id, name, filter, created_ms } = segment;
        let filter = filter.as_ref().map(FilterResponse::from);
        Self { object: word.as_str(), id: id.to_string(), name, filter, created_at: to_iso(created_ms) }
    }
}

/// A segment and the number of its contacts.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "SegmentWithCount"))]
pub(super) struct SegmentWithCountResponse {
    #[serde(flatten)]
    segment: SegmentResponse,
    /// Number of contacts that the segment contains.
    contact_count: u64,
}

impl SegmentWithCountResponse {
    pub(super) fn of(word: Word, segment: Segment, contact_count: u64) -> Self {
        Self { segment: SegmentResponse::of(word, segment), contact_count }
    }
}

/// A deleted segment.
#[derive(Serialize, ToSchema)]
pub(super) struct DeletedSegment {
    /// `segment`, or `audience` on the older paths.
    object: &'static str,
    /// The id.
    id: String,
    /// Always true.
    deleted: bool,
}

impl DeletedSegment {
    pub(super) fn of(word: Word, id: SegmentId) -> Self {
        Self { object: word.as_str(), id: id.to_string(), deleted: true }
    }
}

/// A removed contact.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "RemovedAudienceContact"))]
pub(super) struct RemovedMemberResponse {
    /// Always `contact`.
    object: &'static str,
    /// The id; the id or address of the request if there was no such contact.
    contact: String,
    /// The same value as `contact`.
    id: String,
    /// Always true.
    deleted: bool,
}

impl RemovedMemberResponse {
    pub(super) fn of(contact: String) -> Self {
        Self { object: "contact", id: contact.clone(), contact, deleted: true }
    }
}
