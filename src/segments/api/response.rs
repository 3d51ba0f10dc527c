//! Segments as they are answered.

use salvo::oapi::ToSchema;
use serde::Serialize;

use super::filter::FilterResponse;
use crate::base::clock::to_iso;
use crate::base::id::SegmentId;
use crate::segments::model::Segment;

/// The word for a segment on the path it was asked under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Segment,
    /// What segments were called before.
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
    /// Whom it holds by what is known of them; null when it holds those alone who were added to it.
    #[salvo(schema(required = true))]
    filter: Option<FilterResponse>,
    /// When it was made.
    created_at: String,
}

impl SegmentResponse {
    pub(super) fn of(word: Word, segment: Segment) -> Self {
        let Segment { id, name, filter, created_ms } = segment;
        let filter = filter.as_ref().map(FilterResponse::from);
        Self { object: word.as_str(), id: id.to_string(), name, filter, created_at: to_iso(created_ms) }
    }
}

/// A segment and how many contacts it holds.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "SegmentWithCount"))]
pub(super) struct SegmentWithCountResponse {
    #[serde(flatten)]
    segment: SegmentResponse,
    /// How many contacts it holds.
    contact_count: u64,
}

impl SegmentWithCountResponse {
    pub(super) fn of(word: Word, segment: Segment, contact_count: u64) -> Self {
        Self { segment: SegmentResponse::of(word, segment), contact_count }
    }
}

/// A segment that was deleted.
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

/// A contact that was removed, named as the caller may know it.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "RemovedAudienceContact"))]
pub(super) struct RemovedMemberResponse {
    /// Always `contact`.
    object: &'static str,
    /// The id; what was asked for where there was no such contact.
    contact: String,
    /// The same.
    id: String,
    /// Always true.
    deleted: bool,
}

impl RemovedMemberResponse {
    pub(super) fn of(contact: String) -> Self {
        Self { object: "contact", id: contact.clone(), contact, deleted: true }
    }
}
