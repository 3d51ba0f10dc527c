//! The content of a broadcast as the composer edits it, and the conversion of Markdown.

use salvo::oapi::ToSchema;
use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::{Deserialize, Serialize};

use super::not_found;
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::id::{BroadcastId, resource};
use crate::base::patch::Patch;
use crate::broadcast_rows::BroadcastContent;
use crate::broadcasts::{BroadcastChanges, Broadcasts, CONTENT_BYTES_MAX};
use crate::http::{
    ApiError, ApiResult, Body, BodySize, JsonBody, MemoryHolder, PathId, RenderedJson, ResponseLimits, State,
};
use crate::markdown::{self, MARKDOWN_BYTES_MAX, MarkdownTooLarge, RenderedMarkdown};

/// Memory of a conversion: the source, both parts, their copies for the store, and the response.
const CONVERSION_BYTES: usize = 4 * CONTENT_BYTES_MAX;

/// Content of a draft: Markdown, or HTML and text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PutContentRequest {
    /// Markdown, which becomes the HTML and the text.
    source: Option<String>,
    html: Option<String>,
    text: Option<String>,
    /// Revision of the draft that the page shows; absent to replace the content of any revision.
    revision: Option<u32>,
}

impl JsonBody for PutContentRequest {
    const SIZE: BodySize = BodySize::Email;
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkdownRequest {
    text: Option<String>,
}

impl JsonBody for MarkdownRequest {
    const SIZE: BodySize = BodySize::Email;
}

#[derive(Serialize)]
pub(super) struct ContentView {
    object: &'static str,
    id: String,
    format: &'static str,
    source: Option<String>,
    html: Option<String>,
    text: Option<String>,
    html_bytes: usize,
    /// Number of changes of the draft.
    revision: u32,
}

#[derive(Serialize)]
pub(super) struct MarkdownView {
    html: String,
    text: String,
    html_bytes: usize,
}

impl ContentView {
    fn of(id: BroadcastId, revision: u32, content: BroadcastContent) -> Self {
        let BroadcastContent { html, text, source } = content;
        Self {
            object: "broadcast_content",
            id: id.to_string(),
            format: if source.is_some() { "markdown" } else { "html" },
            html_bytes: html.as_deref().map_or(0, str::len),
            source,
            html,
            text,
            revision,
        }
    }
}

/// Returns the content of a broadcast.
#[handler]
pub(super) async fn get_content(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
) -> ApiResult<Json<ContentView>> {
    let (broadcast, content) = broadcasts.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    Ok(Json(ContentView::of(id.0, broadcast.row.revision, content)))
}

/// Replaces the content of a draft.
#[handler]
pub(super) async fn put_content(
    broadcasts: State<Broadcasts>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    content: Body<PutContentRequest>,
) -> ApiResult<RenderedJson<ContentView>> {
    let permit = limits.reserve(MemoryHolder::Team(caller.team), CONVERSION_BYTES).await?;
    let request = content.into_inner();
    let revision = request.revision;
    let content = match request {
        PutContentRequest { source: Some(source), html: None, text: None, .. } => {
            let (source, rendered) = rendered(source, "source").await?;
            let RenderedMarkdown { html, text } = rendered;
            BroadcastContent { html: Some(html), text: Some(text), source: Some(source) }
        }
        PutContentRequest { source: None, html, text, .. } => BroadcastContent { html, text, source: None },
        PutContentRequest { source: Some(_), .. } => {
            return Err(ApiError::validation(
                "The `source` becomes the HTML and the text. Give it without `html` and `text`.",
            ));
        }
    };
    let BroadcastContent { html, text, source } = content.clone();
    let [html, text, source] = [html, text, source].map(|part| part.map_or(Patch::Clear, Patch::Set));
    let changes = BroadcastChanges { html, text, source, revision, ..BroadcastChanges::default() };
    let revision = broadcasts.update(caller.into(), id.0, changes).await?;
    let (bytes, make) = (content.bytes(), move || ContentView::of(id.0, revision, content));
    RenderedJson::render(&limits, Some(permit), bytes, "content", make).await
}

/// Converts Markdown. Stores nothing.
#[handler]
pub(super) async fn render_markdown(
    limits: State<ResponseLimits>,
    caller: Caller,
    body: Body<MarkdownRequest>,
) -> ApiResult<RenderedJson<MarkdownView>> {
    let text = body.into_inner().text.ok_or_else(|| ApiError::missing_field("text"))?;
    let permit = limits.reserve(MemoryHolder::Team(caller.team), CONVERSION_BYTES).await?;
    let (_, RenderedMarkdown { html, text }) = rendered(text, "text").await?;
    let bytes = html.len() + text.len();
    let make = move || MarkdownView { html_bytes: html.len(), html, text };
    RenderedJson::render(&limits, Some(permit), bytes, "Markdown", make).await
}

/// Converts Markdown, and returns it with the result. `field` is its name in the request.
async fn rendered(source: String, field: &str) -> ApiResult<(String, RenderedMarkdown)> {
    let render = move || {
        let rendered = markdown::render(&source);
        rendered.map(|rendered| (source, rendered))
    };
    blocking::run(render).await.map_err(|MarkdownTooLarge| {
        let kibibytes = MARKDOWN_BYTES_MAX >> 10;
        ApiError::validation(format!("Invalid `{field}` field: use Markdown of at most {kibibytes} KiB."))
    })
}
