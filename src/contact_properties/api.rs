//! The endpoints under `/contact-properties`.

use std::fmt;

use salvo::Writer;
use salvo::oapi::schema::OneOf;
use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema, endpoint};
use salvo::writing::Json;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use super::definitions::PropertyValue;
use super::model::{
    ContactProperty, FALLBACK_CHARS_MAX, FallbackError, GivenFallback, KEY_CHARS_MAX, NewProperty, PROPERTIES_MAX,
    PropertyKey, PropertyKind,
};
use super::service::{ContactProperties, CreatePropertyError, UpdatePropertyError};
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{ContactPropertyId, resource};
use crate::base::patch::Patch;
use crate::http::schema::{self, words_schema};
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, JsonBody, List, ListQuery, PathId, ResourceNotFound, State,
    api_error, id_responses,
};

words_schema!(KindWord = PropertyKind::ALL.map(PropertyKind::as_str));

/// A contact property to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateContactPropertyRequest {
    /// The key: 1 to 50 letters, digits and underscores. Two keys must differ in more than letter case.
    #[salvo(schema(required = true, value_type = KeyText))]
    key: Option<String>,
    /// The type of the values: `string` or `number`.
    #[salvo(schema(required = true, value_type = KindWord))]
    r#type: Option<String>,
    /// The value of a contact without one, of the type of the property: a number, or a string of up to
    /// 1,000 characters.
    #[salvo(schema(value_type = Option<FallbackSchema>))]
    fallback_value: Option<GivenFallback>,
}

impl JsonBody for CreateContactPropertyRequest {}

/// Changes to a contact property.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateContactPropertyRequest {
    /// The value of a contact without one, of the type of the property: a number, or a string of up to
    /// 1,000 characters. Null removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<FallbackSchema>))]
    fallback_value: Patch<GivenFallback>,
    // Decoded only for specific errors, so that they are not in the OpenAPI schema.
    #[salvo(schema(skip))]
    key: Option<String>,
    #[salvo(schema(skip))]
    r#type: Option<String>,
}

impl JsonBody for UpdateContactPropertyRequest {}

/// A contact property.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "ContactProperty"))]
pub struct ContactPropertyResponse {
    /// Always `contact_property`.
    object: &'static str,
    /// The id.
    id: String,
    /// The key in the given letter case.
    key: String,
    /// The type of the values: `string` or `number`.
    #[salvo(schema(value_type = KindWord))]
    r#type: &'static str,
    /// The value of a contact without one; a number is returned as text.
    #[salvo(schema(required = true))]
    fallback_value: Option<String>,
    /// Time of creation.
    created_at: String,
}

id_responses! {
    /// A contact property that was deleted.
    pub struct DeletedContactProperty(ContactPropertyId): "contact_property", "Always `contact_property`.", deleted;
}

/// Creates a contact property.
#[endpoint(tags("Contact properties"), responses(CreatePropertyError))]
pub async fn create_contact_property(
    properties: State<ContactProperties>,
    caller: Caller,
    property: Body<CreateContactPropertyRequest>,
) -> ApiResult<Created<ContactPropertyResponse>> {
    let new = property.into_inner().parse()?;
    let property = properties.create(caller.team, new).await?;
    Ok(Created(property.into()))
}

/// Lists contact properties, newest first.
#[endpoint(tags("Contact properties"))]
pub async fn list_contact_properties(
    properties: State<ContactProperties>,
    caller: Caller,
    query: ListQuery<resource::ContactProperty>,
) -> ApiResult<Json<List<ContactPropertyResponse>>> {
    let page = properties.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, ContactPropertyResponse::from)))
}

/// Shows a contact property.
#[endpoint(tags("Contact properties"), responses(ResourceNotFound))]
pub async fn get_contact_property(
    properties: State<ContactProperties>,
    caller: Caller,
    id: PathId<resource::ContactProperty>,
) -> ApiResult<Json<ContactPropertyResponse>> {
    let property = properties.find(caller.team, id.0).await?;
    property.map(|property| Json(property.into())).ok_or_else(not_found)
}

/// Changes the fallback of a contact property.
#[endpoint(tags("Contact properties"), responses(UpdatePropertyError))]
pub async fn update_contact_property(
    properties: State<ContactProperties>,
    caller: Caller,
    id: PathId<resource::ContactProperty>,
    changes: Body<UpdateContactPropertyRequest>,
) -> ApiResult<Json<ContactPropertyResponse>> {
    let fallback = changes.into_inner().parse()?;
    let property = properties.update(caller.team, id.0, fallback).await?;
    Ok(Json(property.into()))
}

/// Deletes a contact property. Contacts keep their values, which then read as the type of their last JSON value.
#[endpoint(tags("Contact properties"), responses(ResourceNotFound))]
pub async fn delete_contact_property(
    properties: State<ContactProperties>,
    caller: Caller,
    id: PathId<resource::ContactProperty>,
) -> ApiResult<Json<DeletedContactProperty>> {
    let existed = properties.delete(caller.team, id.0).await?;
    if existed { Ok(Json(DeletedContactProperty::of(id.0))) } else { Err(not_found()) }
}

impl CreateContactPropertyRequest {
    fn parse(self) -> ApiResult<NewProperty> {
        let Self { key, r#type: kind, fallback_value } = self;
        let key = key.ok_or_else(|| ApiError::missing_field("key"))?;
        let kind = kind.ok_or_else(|| ApiError::missing_field("type"))?;
        let key = PropertyKey::parse(&key).ok_or_else(|| {
            ApiError::validation(format!(
                "Invalid `key` field: it must have 1 to {KEY_CHARS_MAX} characters: letters from a to z in either \
                 case, digits and underscores."
            ))
        })?;
        let kind = PropertyKind::parse(&kind)
            .ok_or_else(|| ApiError::validation("Invalid `type` field: use `string` or `number`."))?;
        let fallback = fallback_value.map(|given| given.of_kind(kind)).transpose()?;
        Ok(NewProperty { key, kind, fallback })
    }
}

impl UpdateContactPropertyRequest {
    fn parse(self) -> ApiResult<Patch<GivenFallback>> {
        let Self { fallback_value, key, r#type: kind } = self;
        let refuse = |field: &str, why: &str| {
            ApiError::validation(format!(
                "The `{field}` field cannot be changed: {why}. Leave the field out, or define another property."
            ))
        };
        if key.is_some() {
            return Err(refuse("key", "contacts hold their values under it"));
        }
        if kind.is_some() {
            return Err(refuse("type", "values of contacts were accepted as it says"));
        }
        Ok(fallback_value)
    }
}

impl<'de> Deserialize<'de> for GivenFallback {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GivenFallbackVisitor)
    }
}

struct GivenFallbackVisitor;

impl Visitor<'_> for GivenFallbackVisitor {
    type Value = GivenFallback;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or null")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<GivenFallback, E> {
        Ok(GivenFallback::Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<GivenFallback, E> {
        Ok(GivenFallback::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<GivenFallback, E> {
        Ok(GivenFallback::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<GivenFallback, E> {
        Number::from_f64(number).map(GivenFallback::Number).ok_or_else(|| E::custom("the number is not finite"))
    }
}

fn string_or_number(string: Object) -> RefOr<Schema> {
    Schema::OneOf(OneOf::new().item(string).item(Object::with_type(BasicType::Number))).into()
}

/// OpenAPI schema of a key.
struct KeyText;

impl ToSchema for KeyText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::text().min_length(1).max_length(KEY_CHARS_MAX).pattern("^[A-Za-z0-9_]+$").into()
    }
}

/// OpenAPI schema of a fallback in a request.
struct FallbackSchema;

impl ToSchema for FallbackSchema {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        string_or_number(schema::text().max_length(FALLBACK_CHARS_MAX))
    }
}

impl ToSchema for PropertyValue {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        string_or_number(schema::text())
    }
}

impl From<ContactProperty> for ContactPropertyResponse {
    fn from(property: ContactProperty) -> Self {
        let ContactProperty { id, key, kind, fallback, created_ms } = property;
        Self {
            object: "contact_property",
            id: id.to_string(),
            key,
            r#type: kind.as_str(),
            fallback_value: fallback,
            created_at: to_iso(created_ms),
        }
    }
}

fn not_found() -> ApiError {
    ApiError::not_found("Contact property")
}

impl From<FallbackError> for ApiError {
    fn from(error: FallbackError) -> Self {
        Self::validation(format!("Invalid `fallback_value` field: {error}."))
    }
}

api_error!(CreatePropertyError: Conflict, Validation {
    CreatePropertyError::Taken(key) => ApiError::new(
        ErrorCode::Conflict,
        format!("The contact property `{key}` exists already. Keys are the same in either letter case."),
    ),
    CreatePropertyError::TooMany => ApiError::validation(format!(
        "A team has at most {PROPERTIES_MAX} contact properties. Delete one that is not used."
    )),
});

api_error!(UpdatePropertyError: NotFound, Validation {
    UpdatePropertyError::NotFound => not_found(),
    UpdatePropertyError::Fallback(error) => error.into(),
});
