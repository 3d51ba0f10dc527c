//! A template with its revision, and its previews: its newest or its published content with sample values.

use std::collections::BTreeMap;

use salvo::writing::Json;
use salvo::{Request, Response, Writer as _, handler};
use serde::Serialize;

use super::emails::{PreviewContent, write_preview};
use super::query;
use super::revision::{ChangedDraft, Revised};
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::id::TeamId;
use crate::http::{ApiError, ApiResult, Body, MemoryHolder, RenderedJson, ResponseLimits, State};
use crate::templates::api::{PathTemplate, TemplateResponse, UpdateTemplateRequest};
use crate::templates::{
    RenderTemplateError, RenderedTemplate, TemplateChanges, TemplateRef, TemplateVariables, Templates,
    UseTemplateError, VARIABLES_MAX,
};

/// Maximum size of a rendered preview, in bytes.
const RENDERED_BYTES_MAX: usize = 2 << 20;
/// Memory of a preview: the content, the rendered parts and their copies in the response.
const PREVIEW_BYTES: usize = 8 << 20;
/// Maximum number of names without a value in a response: a send has at most as many variables.
const MISSING_MAX: usize = VARIABLES_MAX;

/// A template with its revision.
#[derive(Serialize)]
pub(super) struct TemplateWithRevision {
    #[serde(flatten)]
    template: TemplateResponse,
    /// Number of changes of name, alias and content.
    revision: u32,
}

/// Returns a template with its newest content.
#[handler]
pub(super) async fn get_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
) -> ApiResult<Json<TemplateWithRevision>> {
    let (template, content) = templates.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    let revision = template.revision;
    Ok(Json(TemplateWithRevision { template: TemplateResponse::of(template, content), revision }))
}

/// Changes a template.
#[handler]
pub(super) async fn update_template(
    templates: State<Templates>,
    caller: Caller,
    id: PathTemplate,
    body: Body<Revised<UpdateTemplateRequest>>,
) -> ApiResult<Json<ChangedDraft>> {
    let Revised { changes, revision } = body.into_inner();
    let changes = TemplateChanges { revision, ..changes.parse()? };
    let template = templates.update(caller.team, id.0, changes).await?;
    Ok(Json(ChangedDraft { object: "template", id: template.id.to_string(), revision: template.revision }))
}

fn not_found() -> ApiError {
    ApiError::not_found("Template")
}

/// The parts of a template with sample values.
#[derive(Serialize)]
pub(super) struct TemplatePreview {
    /// Always `template_preview`.
    object: &'static str,
    id: String,
    subject: Option<String>,
    html: String,
    text: Option<String>,
    /// Names of the first variables without a value and without a fallback, at most [`MISSING_MAX`].
    missing: Vec<String>,
}

/// Returns the HTML of a template for a frame.
#[handler]
pub(super) async fn get_preview(
    templates: State<Templates>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathTemplate,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    let _permit = limits.reserve(MemoryHolder::Team(caller.team), PREVIEW_BYTES).await?;
    let TemplatePreview { html, text, .. } = preview(&templates, caller.team, id.0, Sample::of(req)?).await?;
    write_preview(req, res, PreviewContent { html: Some(html), text, images: Vec::new() }).await
}

/// Returns the parts of a template and the variables without a value.
#[handler]
pub(super) async fn get_rendered(
    templates: State<Templates>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathTemplate,
    req: &mut Request,
) -> ApiResult<RenderedJson<TemplatePreview>> {
    let permit = limits.reserve(MemoryHolder::Team(caller.team), PREVIEW_BYTES).await?;
    let preview = preview(&templates, caller.team, id.0, Sample::of(req)?).await?;
    let bytes = permit.bytes();
    RenderedJson::render(&limits, Some(permit), bytes, "preview", move || preview).await
}

/// The version and the values of a preview.
struct Sample {
    is_published: bool,
    values: BTreeMap<String, String>,
}

impl Sample {
    /// Parses `version`, and `variables`, a JSON object of strings.
    fn of(req: &Request) -> ApiResult<Self> {
        let is_published = match query::text(req, "version")? {
            None | Some("draft") => false,
            Some("published") => true,
            Some(_) => return Err(ApiError::validation("The `version` must be `draft` or `published`.")),
        };
        let invalid = |_| ApiError::validation("The `variables` must be a JSON object of strings.");
        let values = query::text(req, "variables")?.map_or(Ok(BTreeMap::new()), serde_json::from_str);
        Ok(Self { is_published, values: values.map_err(invalid)? })
    }
}

/// Renders a version of a template. A variable without a value is shown as its name in braces.
async fn preview(
    templates: &Templates,
    team: TeamId,
    reference: TemplateRef,
    Sample { is_published, values }: Sample,
) -> ApiResult<TemplatePreview> {
    let (template, mut content) = templates.find(team, reference.clone()).await?.ok_or_else(not_found)?;
    if is_published {
        (_, content) = templates.published(team, reference).await.map_err(|error| match error {
            UseTemplateError::NotFound => not_found(),
            UseTemplateError::NotPublished => ApiError::validation("The template has no published version."),
            UseTemplateError::Store(error) => error.into(),
        })?;
    }
    let rendered = blocking::run(move || {
        let missing = content.missing_variables(&values, MISSING_MAX);
        let rendered = content.render_preview(&TemplateVariables(values), RENDERED_BYTES_MAX)?;
        Ok::<_, RenderTemplateError>((rendered, missing))
    });
    let (RenderedTemplate { subject, html, text }, missing) =
        rendered.await.map_err(|_| ApiError::validation("The preview is too large. Give shorter values."))?;
    Ok(TemplatePreview { object: "template_preview", id: template.id.to_string(), subject, html, text, missing })
}
