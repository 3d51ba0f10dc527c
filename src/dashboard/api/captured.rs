//! Captured mail: one message, its parts, its source, its preview, deletion and release.

use salvo::writing::Json;
use salvo::{Request, Response, Writer as _, handler};
use serde::Serialize;

use super::emails::{PreviewContent, write_preview};
use super::instance::DashboardInstance;
use super::reply::{DeletedResponse, write_file};
use crate::api_keys::Caller;
use crate::audit::TeamActor;
use crate::base::blocking;
use crate::base::clock::to_iso;
use crate::base::id::resource;
use crate::captured::api::{CapturedAttachment, CapturedEmail, not_found, reserve_message};
use crate::delivery::capture::{CaptureMailbox, CapturedContent, MailboxReader, ReleaseError, ReleasedMessage};
use crate::http::{ApiError, ApiResult, ErrorCode, PathId, RenderedJson, ResponseLimits, State};
use crate::tracking::without_pixels;

/// Maximum size of the text, and of the HTML, of a message in a response. The preview and the source have all of it.
const TEXT_BYTES_MAX: usize = 1 << 20;

#[derive(Serialize)]
struct CapturedDetails {
    #[serde(flatten)]
    summary: CapturedEmail,
    headers: Vec<(String, String)>,
    text: Option<String>,
    html: bool,
    /// The HTML part as it was received.
    html_source: Option<String>,
    attachments: Vec<CapturedAttachment>,
    links: Vec<String>,
    code: Option<String>,
    would_go_to: WouldGoTo,
}

/// Destination of the message without the mailbox.
#[derive(Serialize)]
struct WouldGoTo {
    /// Transport of a release, or else direct delivery.
    route: String,
    /// Domains of the recipients.
    hosts: Vec<String>,
}

#[derive(Serialize)]
struct Released {
    object: &'static str,
    id: String,
    email_id: String,
    to: Vec<String>,
    transport: String,
}

/// Returns a message with its parts.
#[handler]
pub(super) async fn get_captured(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    instance: State<DashboardInstance>,
    caller: Caller,
    id: PathId<resource::Captured>,
) -> ApiResult<RenderedJson<CapturedDetails>> {
    let permit = reserve_message(&mailbox, &limits, caller, id.0).await?;
    let found = mailbox.content(MailboxReader::Team(caller.team), id.0).await?;
    let (summary, content) = found.ok_or_else(not_found)?;
    let CapturedContent { headers, subject: _, text, html, parts, links, code } = content;
    let domains = summary.row.recipients.iter().filter_map(|recipient| Some(recipient.rsplit_once('@')?.1.to_owned()));
    let mut hosts: Vec<String> = domains.collect();
    hosts.sort_unstable();
    hosts.dedup();
    let route = instance.release.clone().unwrap_or_else(|| "direct".to_owned());
    let details = CapturedDetails {
        summary: summary.into(),
        headers,
        text: text.map(|text| beginning(text, TEXT_BYTES_MAX)),
        html: html.is_some(),
        html_source: html.map(|html| beginning(html, TEXT_BYTES_MAX)),
        attachments: CapturedAttachment::list(parts),
        links,
        code,
        would_go_to: WouldGoTo { route, hosts },
    };
    let bytes = permit.bytes();
    RenderedJson::render(&limits, Some(permit), bytes, "message", move || details).await
}

/// Returns the first bytes of a text.
fn beginning(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// Returns a message as it was received.
#[handler]
pub(super) async fn get_raw(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Captured>,
    res: &mut Response,
) -> ApiResult<()> {
    let _permit = reserve_message(&mailbox, &limits, caller, id.0).await?;
    let found = mailbox.read(MailboxReader::Team(caller.team), id.0).await?;
    let (_, bytes) = found.ok_or_else(not_found)?;
    write_file(res, "message/rfc822", &format!("{}.eml", id.0), bytes);
    Ok(())
}

/// Returns a part of a message.
#[handler]
pub(super) async fn get_part(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Captured>,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    let index: Option<usize> = req.params().get("index").and_then(|index| index.parse().ok());
    let missing = || ApiError::not_found("Attachment");
    let _permit = reserve_message(&mailbox, &limits, caller, id.0).await?;
    let part = mailbox.part(MailboxReader::Team(caller.team), id.0, index.ok_or_else(missing)?).await?;
    let (part, bytes) = part.ok_or_else(missing)?;
    write_file(res, &part.content_type, &part.filename, bytes);
    Ok(())
}

/// Returns the HTML of a message for a frame, without the pixel: a preview is no open of the recipient.
#[handler]
pub(super) async fn get_preview(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Captured>,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    let _permit = reserve_message(&mailbox, &limits, caller, id.0).await?;
    let found = mailbox.content_with_images(MailboxReader::Team(caller.team), id.0).await?;
    let (content, images) = found.ok_or_else(not_found)?;
    let html = content.html;
    let html = blocking::run(move || html.as_deref().map(without_pixels)).await;
    write_preview(req, res, PreviewContent { html, text: content.text, images }).await
}

/// Deletes a message.
#[handler]
pub(super) async fn delete_captured(
    mailbox: State<CaptureMailbox>,
    caller: Caller,
    id: PathId<resource::Captured>,
) -> ApiResult<Json<DeletedResponse>> {
    if !mailbox.delete(MailboxReader::Team(caller.team), TeamActor::from(caller).actor, id.0).await? {
        return Err(not_found());
    }
    Ok(Json(DeletedResponse { object: "captured", id: Some(id.0.to_string()), deleted: true, count: None }))
}

/// Deletes all messages of the team.
#[handler]
pub(super) async fn clear_captured(mailbox: State<CaptureMailbox>, caller: Caller) -> ApiResult<Json<DeletedResponse>> {
    let count = mailbox.clear(MailboxReader::Team(caller.team), TeamActor::from(caller).actor).await?;
    Ok(Json(DeletedResponse { object: "captured", id: None, deleted: true, count: Some(count) }))
}

/// Delivers a message to its recipients.
#[handler]
pub(super) async fn release_captured(
    mailbox: State<CaptureMailbox>,
    instance: State<DashboardInstance>,
    caller: Caller,
    id: PathId<resource::Captured>,
) -> ApiResult<Json<Released>> {
    let transport = instance.release.clone().ok_or_else(|| {
        let message = "No transport is set for released messages. Start the server with `--release direct` (or \
                       `RINGMAIL_RELEASE`), or with the name of a smarthost.";
        ApiError::new(ErrorCode::Conflict, message)
    })?;
    mailbox.find(MailboxReader::Team(caller.team), id.0).await?.ok_or_else(not_found)?;
    let released =
        mailbox.release(TeamActor::from(caller).actor, id.0, &instance.queue_notifier).await.map_err(refusal)?;
    let ReleasedMessage { email, recipients } = released;
    let (id, email_id) = (id.0.to_string(), email.to_string());
    Ok(Json(Released { object: "captured", id, email_id, to: recipients, transport }))
}

fn refusal(error: ReleaseError) -> ApiError {
    let conflict = |message: &str| ApiError::new(ErrorCode::Conflict, message);
    match error {
        ReleaseError::NotFound => not_found(),
        ReleaseError::Released(at_ms) => conflict(&format!("The message was released at {}.", to_iso(at_ms))),
        ReleaseError::NoEmail => conflict("Another program sent this message to the mailbox, so that it is no email."),
        ReleaseError::EmailDeleted => {
            conflict("The email of the message, its content, or its attachments were deleted. Send it again.")
        }
        ReleaseError::NoRecipient => {
            conflict("No recipient can be sent to: each has another outcome since, or was erased.")
        }
        ReleaseError::Store(error) => error.into(),
    }
}
