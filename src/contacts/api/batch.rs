//! Endpoints for many contacts at once.

use salvo::Writer;
use salvo::oapi::{Components, RefOr, Schema, ToSchema, endpoint};
use salvo::writing::Json;
use serde_json::value::RawValue;

use super::query::parse_include;
use super::request::{BatchGetRequest, BatchRemoveRequest, CreateContactRequest, ParsedBatchGet};
use super::response::{BatchGetResponse, BatchRemoveResponse, BatchResponse, ContactBatchItemError};
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::compat::Compat;
use crate::contacts::{
    BATCH_CHOICES_MAX, BATCH_MAX, BatchOptions, ContactBatchError, Contacts, NewContact, OnConflict, OptIns, Validation,
};
use crate::erasure::{AddressErasure, Erasures};
use crate::events::ChangeSource;
use crate::http::schema::NonEmptyList;
use crate::http::{ApiError, ApiResult, BatchValidation, Body, BodySize, FromBody, Parameters, State, api_error, body};

/// Contacts to create. The body is an array, not an object.
pub(crate) struct CreateContactsRequest(Vec<Box<RawValue>>);

impl FromBody for CreateContactsRequest {
    const SIZE: BodySize = BodySize::Other;

    fn from_body(raw: &[u8], _tolerated: &[&str]) -> Result<Self, ApiError> {
        body::parse_items(raw, BATCH_MAX, "contacts").map(Self)
    }
}

impl ToSchema for CreateContactsRequest {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        NonEmptyList::<BATCH_MAX, CreateContactRequest>::to_schema(components)
    }
}

/// Creates up to 1,000 contacts.
///
/// `on_conflict` selects the handling of an address that has a contact or repeats in the batch. An
/// invalid item rejects the whole batch. With `x-batch-validation: permissive`, the valid items are
/// written. A batch never clears an opt-out of all marketing email. It replaces earlier topic choices.
/// A batch has at most 10,000 topic choices, over all its contacts.
#[endpoint(tags("Contacts"), responses(ContactBatchError))]
pub async fn create_contacts(
    contacts: State<Contacts>,
    compat: State<Compat>,
    caller: Caller,
    on_conflict: Parameters<OnConflict>,
    validation: Parameters<BatchValidation>,
    batch: Body<CreateContactsRequest>,
) -> ApiResult<Json<BatchResponse>> {
    let (CreateContactsRequest(items), raw) = batch.into_parts();
    let validation = match validation.0 {
        BatchValidation::Strict => Validation::Strict,
        BatchValidation::Permissive => Validation::Permissive,
    };
    let compat = **compat;
    let parsed = blocking::run_sized(raw.len(), move || parse_items(items, validation, compat)).await?;
    let (accepted, rejected) = parsed;
    let options = BatchOptions {
        on_conflict: on_conflict.0,
        validation,
        opt_ins: OptIns::Allowed,
        source: ChangeSource::of(&caller),
    };
    let outcome = contacts.batch(caller.team, accepted, options).await?;
    Ok(Json(BatchResponse::of(outcome, rejected)))
}

/// Accepted items with their indexes, and the errors of the rejected items.
type ParsedItems = (Vec<(usize, NewContact)>, Vec<ContactBatchItemError>);

fn parse_items(items: Vec<Box<RawValue>>, validation: Validation, compat: Compat) -> ApiResult<ParsedItems> {
    let mut accepted = Vec::with_capacity(items.len());
    let mut rejected = Vec::new();
    let mut choices = 0;
    for (index, item) in items.into_iter().enumerate() {
        let contact = body::parse::<CreateContactRequest>(item.get().as_bytes(), &[]);
        match contact.and_then(|contact| contact.parse(compat)) {
            Ok(contact) => {
                choices += contact.changes.topics.len();
                if choices > BATCH_CHOICES_MAX {
                    return Err(ApiError::validation(format!(
                        "Invalid request body: its contacts name more than {BATCH_CHOICES_MAX} choices about topics \
                         together. Send fewer contacts at once."
                    )));
                }
                accepted.push((index, contact));
            }
            Err(error) if validation == Validation::Strict => return Err(at_index(index, error)),
            Err(error) => rejected.push(ContactBatchItemError::new(index, error.message)),
        }
    }
    Ok((accepted, rejected))
}

fn at_index(index: usize, error: ApiError) -> ApiError {
    error.prefixed(&format!("contacts.{index}: "))
}

/// Retrieves up to 1,000 contacts by their ids or addresses.
#[endpoint(tags("Contacts"))]
pub async fn batch_get_contacts(
    contacts: State<Contacts>,
    caller: Caller,
    batch: Body<BatchGetRequest>,
) -> ApiResult<Json<BatchGetResponse>> {
    let ParsedBatchGet { names, references, include } = batch.into_inner().parse()?;
    let include = parse_include(include.iter().map(String::as_str))?;
    let found = contacts.find_all(caller.team, names, include).await?;
    Ok(Json(BatchGetResponse::of(found, references)))
}

/// Removes up to 1,000 contacts by id and up to 1,000 by address.
///
/// Ids and addresses without a contact are skipped. With `erase`, the addresses are also erased from
/// emails, events and logs, even if they have no contact.
#[endpoint(tags("Contacts"))]
pub async fn batch_remove_contacts(
    erasures: State<Erasures>,
    caller: Caller,
    removal: Body<BatchRemoveRequest>,
) -> ApiResult<Json<BatchRemoveResponse>> {
    let (names, erase) = removal.into_inner().parse()?;
    let erase = if erase { AddressErasure::Yes } else { AddressErasure::No };
    let removed = erasures.remove_contacts(caller, names, erase, ChangeSource::of(&caller)).await?;
    Ok(Json(BatchRemoveResponse::of(removed)))
}

api_error!(ContactBatchError: NotFound, Conflict, Validation {
    ContactBatchError::Item { index, error } => at_index(index, error.into()),
});
