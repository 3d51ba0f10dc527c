//! The endpoints under `/api-keys`.

use salvo::oapi::{ToSchema, endpoint};

use salvo::Writer;
use salvo::writing::Json;
use serde::{Deserialize, Serialize};

use super::keys::{ApiKeys, CreateKeyError};
use super::model::{ApiKey, Caller, NAME_CHARS_MAX, NewKey, Permission};
use crate::base::clock::to_iso;
use crate::base::id::{ApiKeyId, Id, resource};
use crate::http::schema::{NonBlankLine, UuidText, words_schema};
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, JsonBody, List, ListQuery, PathId, ResourceNotFound, State,
    api_error, id_responses,
};

words_schema!(PermissionWord = Permission::ALL.map(Permission::as_str));

/// A key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKeyRequest {
    /// The name, 1 to 80 characters.
    #[salvo(schema(required = true, value_type = NonBlankLine<NAME_CHARS_MAX>))]
    name: Option<String>,
    /// `full_access` unless given, or `sending_access`.
    #[salvo(schema(value_type = Option<PermissionWord>))]
    permission: Option<String>,
    /// The only domain that the key can send from.
    #[salvo(schema(value_type = Option<UuidText>))]
    domain_id: Option<String>,
}

impl JsonBody for CreateApiKeyRequest {}

/// A new name of a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateApiKeyRequest {
    /// The name, 1 to 80 characters.
    #[salvo(schema(required = true, value_type = NonBlankLine<NAME_CHARS_MAX>))]
    name: Option<String>,
}

impl JsonBody for UpdateApiKeyRequest {}

/// A new key. Only this response contains the token.
#[derive(Serialize, ToSchema)]
pub struct CreateApiKeyResponse {
    /// The id.
    id: String,
    /// The key value: `rm_` and 32 characters.
    token: String,
}

/// A key, without its token.
#[derive(Serialize, ToSchema)]
pub struct ApiKeyResponse {
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The time of creation.
    created_at: String,
    /// The time of the last use, to the minute.
    #[salvo(schema(required = true))]
    last_used_at: Option<String>,
}

id_responses! {
    /// A key that was changed.
    pub struct ApiKeyReference(ApiKeyId): "api_key", "Always `api_key`.";
    /// A key that was deleted.
    pub struct DeletedApiKey(ApiKeyId): "api_key", "Always `api_key`.", deleted;
}

impl CreateApiKeyRequest {
    fn parse(self) -> Result<NewKey, ApiError> {
        let Self { name, permission, domain_id } = self;
        let name = name.ok_or_else(|| ApiError::missing_field("name"))?;
        let permission = match permission {
            None => Permission::FullAccess,
            Some(word) => Permission::parse(&word).ok_or_else(|| {
                ApiError::validation("Invalid `permission` field: use `full_access` or `sending_access`.")
            })?,
        };
        let domain = match domain_id {
            None => None,
            Some(text) => {
                let invalid = || ApiError::validation("The `domain_id` must be a valid UUID.");
                Some(Id::parse(&text).ok_or_else(invalid)?)
            }
        };
        Ok(NewKey { name, permission, domain })
    }
}

/// Creates an API key.
#[endpoint(tags("API keys"), responses(CreateKeyError))]
pub async fn create_api_key(
    keys: State<ApiKeys>,
    caller: Caller,
    key: Body<CreateApiKeyRequest>,
) -> ApiResult<Created<CreateApiKeyResponse>> {
    let new = key.into_inner().parse()?;
    if caller.domain.is_some() && new.domain != caller.domain {
        return Err(of_another_scope());
    }
    let (key, token) = keys.create(caller, new).await?;
    Ok(Created(CreateApiKeyResponse { id: key.id.to_string(), token: token.reveal().to_owned() }))
}

/// Lists API keys, newest first.
#[endpoint(tags("API keys"))]
pub async fn list_api_keys(
    keys: State<ApiKeys>,
    caller: Caller,
    query: ListQuery<resource::ApiKey>,
) -> ApiResult<Json<List<ApiKeyResponse>>> {
    let page = keys.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, ApiKeyResponse::from)))
}

/// Renames an API key.
#[endpoint(tags("API keys"), responses(CreateKeyError))]
pub async fn update_api_key(
    keys: State<ApiKeys>,
    caller: Caller,
    id: PathId<resource::ApiKey>,
    update: Body<UpdateApiKeyRequest>,
) -> ApiResult<Json<ApiKeyReference>> {
    let name = update.into_inner().name.ok_or_else(|| ApiError::missing_field("name"))?;
    require_scope(&keys, &caller, id.0).await?;
    if keys.rename(caller, id.0, &name).await? { Ok(Json(ApiKeyReference::of(id.0))) } else { Err(not_found()) }
}

/// Revokes an API key, effective immediately.
#[endpoint(tags("API keys"), responses(ResourceNotFound))]
pub async fn delete_api_key(
    keys: State<ApiKeys>,
    caller: Caller,
    id: PathId<resource::ApiKey>,
) -> ApiResult<Json<DeletedApiKey>> {
    require_scope(&keys, &caller, id.0).await?;
    if keys.delete(caller, id.0).await? { Ok(Json(DeletedApiKey::of(id.0))) } else { Err(not_found()) }
}

/// Returns 403 if the caller is restricted to a domain, and the key is not restricted to the same one.
async fn require_scope(keys: &ApiKeys, caller: &Caller, id: ApiKeyId) -> ApiResult<()> {
    if caller.domain.is_none() {
        return Ok(());
    }
    // The domain of a key never changes.
    match keys.find(caller.team, id).await? {
        Some(key) if key.domain != caller.domain => Err(of_another_scope()),
        _ => Ok(()),
    }
}

fn of_another_scope() -> ApiError {
    ApiError::new(
        ErrorCode::RestrictedApiKey,
        "This API key is restricted to one domain. It can create, change and revoke only keys with its own `domain_id`.",
    )
}

fn not_found() -> ApiError {
    ApiError::not_found("API key")
}

impl From<ApiKey> for ApiKeyResponse {
    fn from(key: ApiKey) -> Self {
        let ApiKey { id, team: _, name, permission: _, domain: _, created_ms, last_used_ms } = key;
        Self { id: id.to_string(), name, created_at: to_iso(created_ms), last_used_at: last_used_ms.map(to_iso) }
    }
}

api_error!(CreateKeyError: Validation, NotFound {
    CreateKeyError::Name => ApiError::validation(format!(
        "Invalid `name` field: it must have 1 to {NAME_CHARS_MAX} characters and no control characters."
    )),
    CreateKeyError::DomainNotFound => ApiError::not_found("Domain"),
});
