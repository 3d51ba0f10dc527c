//! The endpoints under `/domains`.
//!
//! `request.rs`: request types and their validation; `response.rs`: response types.

pub mod response;

mod request;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use self::request::{CreateDomainRequest, UpdateDomainRequest};
use self::response::{DeletedDomain, DomainReference, DomainResponse, DomainWithRecordsResponse};
use super::error::{CreateDomainError, DomainRule, UpdateDomainError};
use super::service::Domains;
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, List, ListQuery, NoBody, PathId, ResourceNotFound, State, api_error,
};

/// Adds a domain.
///
/// The response lists the records to publish. Publish them, then request verification.
#[endpoint(tags("Domains"), responses(CreateDomainError))]
pub async fn create_domain(
    domains: State<Domains>,
    caller: Caller,
    domain: Body<CreateDomainRequest>,
) -> ApiResult<Created<DomainWithRecordsResponse>> {
    let domain = domain.into_inner().parse()?;
    let created = domains.create(caller, domain).await?;
    Ok(Created(created.into()))
}

/// Lists domains, without their records.
#[endpoint(tags("Domains"))]
pub async fn list_domains(
    domains: State<Domains>,
    caller: Caller,
    query: ListQuery<resource::Domain>,
) -> ApiResult<Json<List<DomainResponse>>> {
    let page = domains.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, DomainResponse::from)))
}

/// Shows a domain with its records and the result of the last check of each.
#[endpoint(tags("Domains"), responses(ResourceNotFound))]
pub async fn get_domain(
    domains: State<Domains>,
    caller: Caller,
    id: PathId<resource::Domain>,
) -> ApiResult<Json<DomainWithRecordsResponse>> {
    let domain = domains.find(caller.team, id.0).await?;
    domain.map(|domain| Json(domain.into())).ok_or_else(not_found)
}

/// Changes the tracking settings of a domain.
#[endpoint(tags("Domains"), responses(UpdateDomainError))]
pub async fn update_domain(
    domains: State<Domains>,
    caller: Caller,
    id: PathId<resource::Domain>,
    changes: Body<UpdateDomainRequest>,
) -> ApiResult<Json<DomainReference>> {
    let changes = changes.into_inner().parse()?;
    domains.update(caller, id.0, changes).await?;
    Ok(Json(DomainReference::of(id.0)))
}

/// Deletes a domain and the API keys scoped to it. Its queued emails fail.
#[endpoint(tags("Domains"), responses(ResourceNotFound))]
pub async fn delete_domain(
    domains: State<Domains>,
    caller: Caller,
    id: PathId<resource::Domain>,
) -> ApiResult<Json<DeletedDomain>> {
    let existed = domains.delete(caller, id.0).await?;
    if existed { Ok(Json(DeletedDomain::of(id.0))) } else { Err(not_found()) }
}

/// Starts the verification of a domain.
///
/// The response does not wait for the check. The domain is `pending` until its records are found. A verified domain
/// stays verified during the check.
#[endpoint(tags("Domains"), responses(ResourceNotFound))]
pub async fn verify_domain(
    domains: State<Domains>,
    caller: Caller,
    id: PathId<resource::Domain>,
    _body: NoBody,
) -> ApiResult<Json<DomainReference>> {
    let existed = domains.request_verification(caller, id.0).await?;
    if existed { Ok(Json(DomainReference::of(id.0))) } else { Err(not_found()) }
}

fn not_found() -> ApiError {
    ApiError::not_found("Domain")
}

api_error!(CreateDomainError: Forbidden, Validation {
    CreateDomainError::Taken(name) => {
        ApiError::new(ErrorCode::Forbidden, format!("The {name} domain has been registered already."))
    },
    CreateDomainError::NameTooShort => {
        ApiError::validation("Invalid `name` field: a domain has at least 4 characters, such as `a.co`.")
    },
    CreateDomainError::Rule(rule) => rule.into(),
    CreateDomainError::Region(offered) => {
        ApiError::validation(format!("Invalid `region` field: this server offers `{}`.", offered.join("`, `")))
    },
    CreateDomainError::Keys(cause) => {
        tracing::error!(%cause, "could not generate a DKIM key: {cause}");
        ApiError::new(ErrorCode::InternalServerError, "The domain's keys could not be made. Try again.")
    },
});

api_error!(UpdateDomainError: NotFound, Validation {
    UpdateDomainError::NotFound => not_found(),
    UpdateDomainError::Rule(rule) => rule.into(),
});

impl From<DomainRule> for ApiError {
    fn from(rule: DomainRule) -> Self {
        Self::validation(match rule {
            DomainRule::NameTooLong => {
                "The name is too long: with the labels before it, a record's name would pass 253 characters. \
                 A name of up to 225 characters and short labels fit."
            }
            DomainRule::SameLabel => {
                "Invalid `tracking_subdomain` field: it is the label of the return path (`custom_return_path`). \
                 Use another, such as `links`."
            }
            DomainRule::TrackingUnreachable => {
                "Tracking cannot be enabled: its links would lead to this server's public address, which is not set \
                 or is a loopback address. Set `RINGMAIL_PUBLIC_URL` to an address that recipients can reach."
            }
        })
    }
}
