//! Previews and test emails of a broadcast.

use salvo::oapi::ToSchema;
use salvo::writing::Json;
use salvo::{Request, Response, Writer as _, handler};
use serde::{Deserialize, Serialize};

use super::not_found;
use crate::api_keys::Caller;
use crate::base::address::Mailbox;
use crate::base::id::resource;
use crate::broadcasts::CONTENT_BYTES_MAX;
use crate::broadcasts::check::{
    BroadcastChecks, BroadcastPreview, PreviewBroadcastError, SampleContact, SampleValues, TEST_RECIPIENTS_MAX,
    TestBroadcastError,
};
use crate::dashboard::api::emails::{PreviewContent, write_preview};
use crate::dashboard::api::query;
use crate::dashboard::api::reply::ChangedResponse;
use crate::http::{ApiError, ApiResult, Body, JsonBody, MemoryHolder, PathId, RenderedJson, ResponseLimits, State};

/// Memory of a preview: the content, and the message that is rendered from it.
const PREVIEW_BYTES: usize = 3 * CONTENT_BYTES_MAX;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TestRequest {
    /// Addresses of the test email.
    to: Option<Vec<String>>,
    /// Contact whose values the email shows.
    contact: Option<String>,
}

impl JsonBody for TestRequest {}

#[derive(Serialize)]
pub(super) struct RenderedView {
    object: &'static str,
    id: String,
    contact: SampleView,
    from: String,
    subject: String,
    preview_text: Option<String>,
    html: Option<String>,
    text: Option<String>,
}

#[derive(Serialize)]
struct SampleView {
    id: Option<String>,
    email: String,
    first_name: Option<String>,
    last_name: Option<String>,
}

/// Returns the HTML of a broadcast for a frame.
#[handler]
pub(super) async fn get_preview(
    checks: State<BroadcastChecks>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    let contact = contact(query::text(req, "contact")?)?;
    let _permit = limits.reserve(MemoryHolder::Team(caller.team), PREVIEW_BYTES).await?;
    let BroadcastPreview { html, text, .. } = checks.preview(caller.team, id.0, contact).await.map_err(of_preview)?;
    write_preview(req, res, PreviewContent { html, text, images: Vec::new() }).await
}

/// Returns a broadcast as a contact would see it.
#[handler]
pub(super) async fn get_rendered(
    checks: State<BroadcastChecks>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    req: &mut Request,
) -> ApiResult<RenderedJson<RenderedView>> {
    let contact = contact(query::text(req, "contact")?)?;
    let permit = limits.reserve(MemoryHolder::Team(caller.team), PREVIEW_BYTES).await?;
    let preview = checks.preview(caller.team, id.0, contact).await.map_err(of_preview)?;
    let BroadcastPreview { contact, from, subject, preview_text, html, text } = preview;
    let SampleValues { id: contact_id, address, first_name, last_name, .. } = contact;
    let contact = SampleView { id: contact_id.map(|id| id.to_string()), email: address, first_name, last_name };
    let id = id.0.to_string();
    let view = RenderedView { object: "broadcast_preview", id, contact, from, subject, preview_text, html, text };
    let bytes = permit.bytes();
    RenderedJson::render(&limits, Some(permit), bytes, "preview", move || view).await
}

/// Sends a broadcast to some addresses as a test.
#[handler]
pub(super) async fn send_test(
    checks: State<BroadcastChecks>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    body: Body<TestRequest>,
) -> ApiResult<Json<ChangedResponse>> {
    let TestRequest { to, contact: sample } = body.into_inner();
    let to = recipients(&to.ok_or_else(|| ApiError::missing_field("to"))?)?;
    let sample = contact(sample.as_deref())?;
    let _permit = limits.reserve(MemoryHolder::Team(caller.team), PREVIEW_BYTES).await?;
    let email = checks.send_test(caller.into(), id.0, to, sample).await.map_err(|error| match error {
        TestBroadcastError::Preview(error) => of_preview(error),
        TestBroadcastError::NoContent => {
            ApiError::validation("The broadcast has no content. Write some before you send a test.")
        }
        TestBroadcastError::NoSender => ApiError::validation("The sender of the broadcast was erased. Set `from`."),
        TestBroadcastError::Send(error) => error.into(),
    })?;
    Ok(Json(ChangedResponse { object: "email", id: email.to_string() }))
}

/// Parses the recipients of a test, each once.
fn recipients(to: &[String]) -> ApiResult<Vec<Mailbox>> {
    if to.is_empty() || to.len() > TEST_RECIPIENTS_MAX {
        return Err(ApiError::validation(format!("Invalid `to` field: use 1 to {TEST_RECIPIENTS_MAX} addresses.")));
    }
    let mut recipients: Vec<Mailbox> = Vec::with_capacity(to.len());
    for text in to {
        let mailbox =
            Mailbox::parse(text).map_err(|error| ApiError::validation(format!("Invalid `to` field: {error}.")))?;
        let hash = mailbox.address().identity_hash();
        if !recipients.iter().any(|known| known.address().identity_hash() == hash) {
            recipients.push(mailbox);
        }
    }
    Ok(recipients)
}

/// Parses the contact of a preview.
fn contact(text: Option<&str>) -> ApiResult<SampleContact> {
    match text.filter(|text| !text.is_empty()) {
        None => Ok(SampleContact::BuiltIn),
        Some(text) => SampleContact::parse(text)
            .ok_or_else(|| ApiError::validation("The `contact` must be an id, an email address, or `none`.")),
    }
}

fn of_preview(error: PreviewBroadcastError) -> ApiError {
    match error {
        PreviewBroadcastError::NotFound => not_found(),
        PreviewBroadcastError::ContactNotFound => ApiError::not_found("Contact"),
        PreviewBroadcastError::Store(error) => error.into(),
    }
}
