//! The endpoints under `/templates`.
//!
//! Reading order: `reference.rs` (an id or an alias in a path), `request.rs`, `response.rs`.

mod reference;
mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

pub(crate) use self::reference::{AliasText, PathTemplate};
use self::request::CreateTemplateRequest;
pub(crate) use self::request::UpdateTemplateRequest;
pub(crate) use self::response::TemplateResponse;
use self::response::{ChangedTemplate, DeletedTemplate, ListedTemplate};
use super::error::{CreateTemplateError, UpdateTemplateError};
use super::model::{CONTENT_BYTES_MAX, TEMPLATES_MAX};
use super::service::Templates;
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, List, ListQuery, NoBody, ResourceNotFound, State, api_error,
};

/// Creates a template.
///
/// The template is a draft: publish it before a send names it.
#[endpoint(tags("Templates"), responses(CreateTemplateError))]
pub async fn create_template(
    templates: State<Templates>,
    caller: Caller,
    template: Body<CreateTemplateRequest>,
) -> ApiResult<Created<ChangedTemplate>> {
    let new = template.into_inner().parse()?;
    let template = templates.create(caller.team, new).await?;
    Ok(Created(ChangedTemplate::of(template.id)))
}

/// Lists templates, newest first.
#[endpoint(tags("Templates"))]
pub async fn list_templates(
    templates: State<Templates>,
    caller: Caller,
    query: ListQuery<resource::Template>,
) -> ApiResult<Json<List<ListedTemplate>>> {
    let page = templates.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, ListedTemplate::from)))
}

/// Shows a template with its newest content.
#[endpoint(tags("Templates"), responses(ResourceNotFound))]
pub async fn get_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
) -> ApiResult<Json<TemplateResponse>> {
    let found = templates.find(caller.team, id.0).await?;
    found.map(|(template, content)| Json(TemplateResponse::of(template, content))).ok_or_else(not_found)
}

/// Changes a template.
///
/// A change of the content of a published template is a draft: sends use the published version until the draft is
/// published.
#[endpoint(tags("Templates"), responses(UpdateTemplateError))]
pub async fn update_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
    changes: Body<UpdateTemplateRequest>,
) -> ApiResult<Json<ChangedTemplate>> {
    let changes = changes.into_inner().parse()?;
    let template = templates.update(caller.team, id.0, changes).await?;
    Ok(Json(ChangedTemplate::of(template.id)))
}

/// Deletes a template. Accepted emails keep the content that was made from it.
#[endpoint(tags("Templates"), responses(ResourceNotFound))]
pub async fn delete_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
) -> ApiResult<Json<DeletedTemplate>> {
    let deleted = templates.delete(caller, id.0).await?;
    deleted.map(|id| Json(DeletedTemplate::of(id))).ok_or_else(not_found)
}

/// Publishes the newest content of a template. Later sends use it.
#[endpoint(tags("Templates"), responses(ResourceNotFound))]
pub async fn publish_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
    _body: NoBody,
) -> ApiResult<Json<ChangedTemplate>> {
    let template = templates.publish(caller.team, id.0).await?;
    Ok(Json(ChangedTemplate::of(template.id)))
}

/// Creates a copy of a template, as a draft without an alias.
#[endpoint(tags("Templates"), responses(CreateTemplateError, ResourceNotFound))]
pub async fn duplicate_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
    _body: NoBody,
) -> ApiResult<Json<ChangedTemplate>> {
    let template = templates.duplicate(caller.team, id.0).await?;
    Ok(Json(ChangedTemplate::of(template.id)))
}

fn not_found() -> ApiError {
    ApiError::not_found("Template")
}

fn alias_taken(alias: &str) -> ApiError {
    ApiError::new(
        ErrorCode::Conflict,
        format!("The alias `{alias}` belongs to another template. Choose another alias, or remove it there first."),
    )
}

fn too_large() -> ApiError {
    ApiError::validation(format!("Invalid `html` or `text` field: together they may have {CONTENT_BYTES_MAX} bytes."))
}

api_error!(CreateTemplateError: Conflict, Validation {
    CreateTemplateError::NotFound => not_found(),
    CreateTemplateError::AliasTaken(alias) => alias_taken(&alias),
    CreateTemplateError::TooMany => {
        ApiError::validation(format!("A team has at most {TEMPLATES_MAX} templates. Delete one that is not used."))
    },
    CreateTemplateError::TooLarge => too_large(),
});

// The code of `StaleRevision` is not declared: the requests of the API have no revision.
api_error!(UpdateTemplateError: NotFound, Conflict, Validation {
    UpdateTemplateError::NotFound => not_found(),
    UpdateTemplateError::StaleRevision => ApiError::stale_revision("template"),
    UpdateTemplateError::AliasTaken(alias) => alias_taken(&alias),
    UpdateTemplateError::TooLarge => too_large(),
});
