//! Query parameters of contacts.

use salvo::Request;
use salvo::oapi::{BasicType, Object, Operation};

use crate::base::id::{Id, SegmentId};
use crate::contacts::{IncludedFields, OnConflict};
use crate::erasure::AddressErasure;
use crate::http::schema::{self, words_schema};
use crate::http::{ApiError, ApiResult, FromParameters, declare_query, query_value};

/// The name of an included field, and its flag.
type IncludedField = (&'static str, fn(&mut IncludedFields) -> &mut bool);

/// The names of included fields.
const INCLUDED: [IncludedField; 2] =
    [("properties", |include| &mut include.properties), ("topics", |include| &mut include.topics)];

words_schema!(
    /// The name of an included field.
    pub(super) IncludeWord = INCLUDED.map(|(name, _)| name)
);

/// Parses the names of included fields.
pub(super) fn parse_include<'n>(names: impl IntoIterator<Item = &'n str>) -> ApiResult<IncludedFields> {
    let mut include = IncludedFields::default();
    for name in names {
        let Some((_, field)) = INCLUDED.iter().find(|(included, _)| *included == name) else {
            return Err(ApiError::validation("Invalid `include`: use `properties`, `topics` or both."));
        };
        *field(&mut include) = true;
    }
    Ok(include)
}

/// The `include` parameter: `properties`, `topics` or both, separated by a comma.
impl FromParameters for IncludedFields {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let names = query_value(req, "include")?.unwrap_or_default();
        parse_include(names.split(',').map(str::trim).filter(|name| !name.is_empty()))
    }

    fn declare(operation: &mut Operation) {
        let description = "Additional fields of each contact: `properties`, `topics` or both, separated by a comma.";
        let names = INCLUDED.map(|(name, _)| name).join("|");
        let schema = schema::text().pattern(format!("^(({names})(,({names}))*)?$"));
        declare_query(operation, "include", description, schema);
    }
}

/// The `segment_id` parameter, or its deprecated name `audience_id`: restricts a list to the contacts of one segment.
pub(super) struct InSegment(pub(super) Option<SegmentId>);

impl FromParameters for InSegment {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let parse = |name: &str, text: &str| {
            Id::parse(text).ok_or_else(|| ApiError::validation(format!("The `{name}` must be a valid UUID.")))
        };
        let segment = query_value(req, "segment_id")?.map(|text| parse("segment_id", text)).transpose()?;
        // An SDK sends an empty `audience_id` for a contact without an audience.
        let audience = query_value(req, "audience_id")?.filter(|text| !text.is_empty());
        let audience = audience.map(|text| parse("audience_id", text)).transpose()?;
        match (segment, audience) {
            (Some(segment), Some(audience)) if segment != audience => {
                Err(ApiError::validation("Use either `segment_id` or `audience_id`: they name different segments."))
            }
            (segment, audience) => Ok(Self(segment.or(audience))),
        }
    }

    fn declare(operation: &mut Operation) {
        let description = "Lists only the contacts of this segment.";
        declare_query(operation, "segment_id", description, schema::uuid());
        let description = "Deprecated name of `segment_id`.";
        declare_query(operation, "audience_id", description, schema::uuid());
    }
}

/// The `on_conflict` parameter.
impl FromParameters for OnConflict {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        match query_value(req, "on_conflict")? {
            None | Some("error") => Ok(Self::Error),
            Some("skip") => Ok(Self::Skip),
            Some("upsert") => Ok(Self::Upsert),
            Some(_) => Err(ApiError::validation("The `on_conflict` must be `error`, `skip` or `upsert`.")),
        }
    }

    fn declare(operation: &mut Operation) {
        let description = "Handling of an address that has a contact or repeats in the batch. The default is `error`.";
        let schema = Object::with_type(BasicType::String).enum_values(["error", "skip", "upsert"]);
        declare_query(operation, "on_conflict", description, schema);
    }
}

/// The `erase` parameter.
impl FromParameters for AddressErasure {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        match query_value(req, "erase")? {
            None | Some("false") => Ok(Self::No),
            Some("true") => Ok(Self::Yes),
            Some(_) => Err(ApiError::validation("The `erase` must be `true` or `false`.")),
        }
    }

    fn declare(operation: &mut Operation) {
        let description = "Whether the address is also erased from emails, events and logs.";
        declare_query(operation, "erase", description, Object::with_type(BasicType::Boolean));
    }
}
