//! Query parameters of contacts.

use salvo::extract::Metadata;
use salvo::oapi::{BasicType, Components, EndpointArgRegister, Object, Operation};
use salvo::{Depot, Extractible, Request};

use crate::base::id::{Id, SegmentId};
use crate::contacts::{Erase, IncludedFields, OnConflict};
use crate::http::{ApiError, ApiResult, declare_query, query_value};

/// Reads the names of facets.
pub(super) fn parse_facets<'w>(words: impl IntoIterator<Item = &'w str>) -> ApiResult<IncludedFields> {
    let mut facets = IncludedFields::default();
    for word in words {
        match word {
            "properties" => facets.properties = true,
            "topics" => facets.topics = true,
            _ => return Err(ApiError::validation("Invalid `include`: use `properties`, `topics` or both.")),
        }
    }
    Ok(facets)
}

/// The `include` parameter: `properties`, `topics` or both, with a comma between.
pub(crate) struct Include(pub(crate) IncludedFields);

impl<'ex> Extractible<'ex> for Include {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Include");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let words = query_value(req, "include")?.unwrap_or_default();
        Ok(Self(parse_facets(words.split(',').map(str::trim).filter(|word| !word.is_empty()))?))
    }
}

impl EndpointArgRegister for Include {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "What else each contact shows: `properties`, `topics` or both, with a comma between.";
        declare_query(operation, "include", about, Object::with_type(BasicType::String));
    }
}

/// The `segment_id` parameter: the contacts of one segment alone.
pub(crate) struct InSegment(pub(crate) Option<SegmentId>);

impl<'ex> Extractible<'ex> for InSegment {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("InSegment");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let invalid = || ApiError::validation("The `segment_id` must be a valid UUID.");
        Ok(Self(query_value(req, "segment_id")?.map(|text| Id::parse(text).ok_or_else(invalid)).transpose()?))
    }
}

impl EndpointArgRegister for InSegment {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "Lists the contacts of this segment alone.";
        declare_query(operation, "segment_id", about, Object::with_type(BasicType::String));
    }
}

/// The `on_conflict` parameter.
pub(crate) struct ConflictRule(pub(crate) OnConflict);

impl<'ex> Extractible<'ex> for ConflictRule {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("ConflictRule");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        Ok(Self(match query_value(req, "on_conflict")? {
            None | Some("error") => OnConflict::Error,
            Some("skip") => OnConflict::Skip,
            Some("upsert") => OnConflict::Upsert,
            Some(_) => return Err(ApiError::validation("The `on_conflict` must be `error`, `skip` or `upsert`.")),
        }))
    }
}

impl EndpointArgRegister for ConflictRule {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "What becomes of an address that has a contact, or that repeats: `error` unless given.";
        let schema = Object::with_type(BasicType::String).enum_values(["error", "skip", "upsert"]);
        declare_query(operation, "on_conflict", about, schema);
    }
}

/// The `erase` parameter.
pub(crate) struct EraseRule(pub(crate) Erase);

impl<'ex> Extractible<'ex> for EraseRule {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("EraseRule");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        Ok(Self(match query_value(req, "erase")? {
            None | Some("false") => Erase::No,
            Some("true") => Erase::Yes,
            Some(_) => return Err(ApiError::validation("The `erase` must be `true` or `false`.")),
        }))
    }
}

impl EndpointArgRegister for EraseRule {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "Whether the address is scrubbed from email history, events and logs, too.";
        declare_query(operation, "erase", about, Object::with_type(BasicType::Boolean));
    }
}
