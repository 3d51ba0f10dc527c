//! Query parameters of contacts.

use salvo::extract::Metadata;
use salvo::oapi::{BasicType, Components, EndpointArgRegister, Object, Operation, Parameter, ParameterIn, Required};
use salvo::{Depot, Extractible, Request};

use crate::contacts::{Erase, Facets, OnConflict};
use crate::http::{ApiError, ApiResult};
use crate::id::{Id, SegmentId};

/// Returns the one value of a query parameter.
fn single<'r>(req: &'r Request, name: &str) -> ApiResult<Option<&'r str>> {
    match req.queries().get_vec(name).map(Vec::as_slice) {
        None | Some([]) => Ok(None),
        Some([value]) => Ok(Some(value)),
        Some(_) => Err(ApiError::validation(format!("The `{name}` query parameter may be given once."))),
    }
}

fn register(operation: &mut Operation, name: &str, about: &str, schema: Object) {
    let parameter =
        Parameter::new(name).location(ParameterIn::Query).required(Required::False).description(about).schema(schema);
    operation.parameters.insert(parameter);
}

/// Reads the names of facets.
pub(super) fn parse_facets<'w>(words: impl IntoIterator<Item = &'w str>) -> ApiResult<Facets> {
    let mut facets = Facets::default();
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
pub(crate) struct Include(pub(crate) Facets);

impl<'ex> Extractible<'ex> for Include {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Include");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let words = single(req, "include")?.unwrap_or_default();
        Ok(Self(parse_facets(words.split(',').map(str::trim).filter(|word| !word.is_empty()))?))
    }
}

impl EndpointArgRegister for Include {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "What else each contact shows: `properties`, `topics` or both, with a comma between.";
        register(operation, "include", about, Object::with_type(BasicType::String));
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
        Ok(Self(single(req, "segment_id")?.map(|text| Id::parse(text).ok_or_else(invalid)).transpose()?))
    }
}

impl EndpointArgRegister for InSegment {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "Lists the contacts of this segment alone.";
        register(operation, "segment_id", about, Object::with_type(BasicType::String));
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
        Ok(Self(match single(req, "on_conflict")? {
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
        register(operation, "on_conflict", about, schema);
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
        Ok(Self(match single(req, "erase")? {
            None | Some("false") => Erase::No,
            Some("true") => Erase::Yes,
            Some(_) => return Err(ApiError::validation("The `erase` must be `true` or `false`.")),
        }))
    }
}

impl EndpointArgRegister for EraseRule {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let about = "Whether the address is scrubbed from email history, events and logs, too.";
        register(operation, "erase", about, Object::with_type(BasicType::Boolean));
    }
}
