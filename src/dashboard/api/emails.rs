//! One email: its preview, its source, the request that created it, its webhook deliveries, and sending it again.

use salvo::writing::Json;
use salvo::{Request, Response, Writer as _, handler};

use super::preview::{self, InlineImage, PreviewColours};
use super::query;
use super::reply::{ChangedResponse, DataList, ListedEmail, write_file};
use super::webhooks::DeliveryView;
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::id::{EmailId, TeamId, resource};
use crate::dashboard::policy::{RemoteImages, write_preview_headers};
use crate::delivery::{Engine, ShowMessageError};
use crate::emails::{
    AttachmentInfo, BoundedEmail, EmailDetails, EmailRow, Emails, ReadAttachmentError, ResendEmailError,
    StoredAttachment,
};
use crate::http::{
    ApiError, ApiResult, ErrorCode, ListQuery, MemoryHolder, PathId, ResponseLimits, ResponsePermit, State,
};
use crate::logs::Logs;
use crate::logs::api::LogResponse;
use crate::webhooks::Webhooks;

/// Memory of a preview without attachments.
const PREVIEW_BYTES: usize = 256 << 10;
/// Maximum size of the inline images of an email that a preview reads.
const IMAGES_BYTES_MAX: u64 = 10 << 20;
/// Copies of an image that exist while its page is sent: its bytes, and those in base64 in two texts.
const IMAGE_COPIES: u64 = 4;
/// Copies of a message that exist while it is composed and sent.
const MESSAGE_COPIES: u64 = 4;
/// Memory of the parts of a message without its attachments.
const MESSAGE_BYTES: u64 = 1 << 20;

/// The content of a preview.
pub(super) struct PreviewContent {
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
    pub(super) images: Vec<InlineImage>,
}

/// Writes the page of an email with the policy of previews.
pub(super) async fn write_preview(req: &Request, res: &mut Response, shown: PreviewContent) -> ApiResult<()> {
    let images = match query::flag(req, "images")? {
        Some(true) => RemoteImages::Loaded,
        Some(false) | None => RemoteImages::Blocked,
    };
    let colours = match query::flag(req, "dark")? {
        Some(true) => PreviewColours::ForcedDark,
        Some(false) | None => PreviewColours::AsWritten,
    };
    let PreviewContent { html, text, images: inline } = shown;
    let page = blocking::run(move || preview::page(html.as_deref(), text.as_deref(), &inline, colours)).await;
    write_preview_headers(res.headers_mut(), images);
    res.body(page);
    Ok(())
}

/// Lists emails as the API does, with their tags.
#[handler]
pub(super) async fn list_emails(
    emails: State<Emails>,
    caller: Caller,
    query: ListQuery<resource::Email>,
) -> ApiResult<Json<DataList<ListedEmail>>> {
    let page = emails.list(caller.team, query.0).await?;
    Ok(Json(DataList::new(page.rows.iter().map(ListedEmail::of).collect(), page.has_more)))
}

/// Returns the HTML of an email for a frame.
#[handler]
pub(super) async fn get_preview(
    emails: State<Emails>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    let row = emails.row(caller.team, id.0).await?.ok_or_else(not_found)?;
    let images = inline_images_of(&row);
    let (email, _permit) = bounded(&emails, &limits, caller.team, id.0, images_bytes(&images)).await?;
    let content = email.content.ok_or_else(purged)?;
    let images = inline_images(&emails, caller.team, id.0, images).await?;
    write_preview(req, res, PreviewContent { html: content.html, text: content.text, images }).await
}

/// Reads an email within the memory of responses, with room for its images.
async fn bounded(
    emails: &Emails,
    limits: &ResponseLimits,
    team: TeamId,
    id: EmailId,
    images_bytes: usize,
) -> ApiResult<(EmailDetails, ResponsePermit)> {
    let holder = MemoryHolder::Team(team);
    let mut needed = PREVIEW_BYTES;
    loop {
        let bytes = needed.saturating_add(images_bytes);
        let permit = limits.reserve(holder, bytes).await?;
        // A content larger than the memory of all oversized responses is read while no other one is in memory.
        let memory_max = if permit.bytes() < bytes { usize::MAX } else { needed };
        match emails.find_within(team, id, memory_max).await?.ok_or_else(not_found)? {
            BoundedEmail::Needs(bytes) => needed = bytes,
            BoundedEmail::Read(email) => return Ok((*email, permit)),
        }
    }
}

/// Returns the inline images of an email up to a size, without their bytes.
fn inline_images_of(row: &EmailRow) -> Vec<&AttachmentInfo> {
    let mut bytes_left = IMAGES_BYTES_MAX;
    let inline = row.attachments.iter().filter(|info| info.part_content_id().is_some());
    let fits = |info: &&AttachmentInfo| match bytes_left.checked_sub(info.size) {
        Some(left) => {
            bytes_left = left;
            true
        }
        None => false,
    };
    inline.filter(|info| info.content_type.starts_with("image/")).filter(fits).collect()
}

/// Returns the memory of images in a page.
fn images_bytes(images: &[&AttachmentInfo]) -> usize {
    let bytes: u64 = images.iter().map(|info| info.size).sum();
    usize::try_from(bytes.saturating_mul(IMAGE_COPIES)).unwrap_or(usize::MAX)
}

/// Reads inline images.
async fn inline_images(
    emails: &Emails,
    team: TeamId,
    id: EmailId,
    infos: Vec<&AttachmentInfo>,
) -> ApiResult<Vec<InlineImage>> {
    let mut images = Vec::with_capacity(infos.len());
    for info in infos {
        let attachment = match emails.attachment(team, id, info.id).await {
            Ok(attachment) => attachment,
            // The email was deleted meanwhile.
            Err(ReadAttachmentError::Store(error)) => return Err(error.into()),
            Err(_) => return Ok(images),
        };
        let bytes = bytes_of(emails, &attachment).await?;
        let content_id = info.part_content_id().unwrap_or_default().to_owned();
        images.push((content_id, info.content_type.clone(), bytes));
    }
    Ok(images)
}

async fn bytes_of(emails: &Emails, attachment: &StoredAttachment) -> ApiResult<Vec<u8>> {
    let mut bytes = Vec::new();
    for chunk in 0..attachment.chunks() {
        bytes.extend(emails.attachment_chunk(attachment, chunk).await?);
    }
    Ok(bytes)
}

/// Returns the memory that a message with its attachments needs.
fn message_bytes(row: &EmailRow) -> usize {
    let files: u64 = row.attachments.iter().map(|file| file.size).sum();
    usize::try_from(files.saturating_mul(MESSAGE_COPIES).saturating_add(MESSAGE_BYTES)).unwrap_or(usize::MAX)
}

/// Returns the message of an email, as its delivery composes it.
#[handler]
pub(super) async fn get_raw(
    emails: State<Emails>,
    engine: State<Engine>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
    res: &mut Response,
) -> ApiResult<()> {
    let row = emails.row(caller.team, id.0).await?.ok_or_else(not_found)?;
    let _permit = limits.reserve(MemoryHolder::Team(caller.team), message_bytes(&row)).await?;
    let bytes = engine.show_message(caller.team, id.0).await.map_err(|error| match error {
        ShowMessageError::NotFound => not_found(),
        ShowMessageError::Deleted => purged(),
        ShowMessageError::Invalid(why) => {
            ApiError::new(ErrorCode::Conflict, format!("The message of this email cannot be composed: {why}."))
        }
        ShowMessageError::Store(error) => error.into(),
    })?;
    write_file(res, "message/rfc822", &format!("{}.eml", id.0), bytes);
    Ok(())
}

/// Returns the request that created an email; null if none is known.
#[handler]
pub(super) async fn get_request(
    emails: State<Emails>,
    logs: State<Logs>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<Option<LogResponse>>> {
    let row = emails.row(caller.team, id.0).await?.ok_or_else(not_found)?;
    let found = match row.key {
        Some(key) => logs.find_of_email(caller.team, key, id.0).await?,
        None => None,
    };
    Ok(Json(found.map(|(log, row, bodies)| LogResponse::of(log, row, bodies))))
}

/// Lists the webhook deliveries of the events of an email, oldest first.
#[handler]
pub(super) async fn list_deliveries(
    emails: State<Emails>,
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<DataList<DeliveryView>>> {
    emails.row(caller.team, id.0).await?.ok_or_else(not_found)?;
    let (reports, is_complete) = webhooks.deliveries_of_email(caller.team, id.0).await?;
    Ok(Json(DataList::new(reports.into_iter().map(DeliveryView::from).collect(), !is_complete)))
}

/// Sends an email again.
#[handler]
pub(super) async fn resend_email(
    emails: State<Emails>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<ChangedResponse>> {
    let row = emails.row(caller.team, id.0).await?.ok_or_else(not_found)?;
    let _permit = limits.reserve(MemoryHolder::Team(caller.team), message_bytes(&row)).await?;
    let new = emails.resend(caller.into(), id.0).await.map_err(|error| match error {
        ResendEmailError::NotFound => not_found(),
        ResendEmailError::ContentDeleted => purged(),
        ResendEmailError::NoRecipient => ApiError::validation(
            "The sender or all recipients of this email were erased, so that it cannot be sent again.",
        ),
        ResendEmailError::Invalid(why) => {
            ApiError::validation(format!("This version does not accept a field of this email any more: {why}."))
        }
        ResendEmailError::Send(error) => error.into(),
        ResendEmailError::Store(error) => error.into(),
    })?;
    Ok(Json(ChangedResponse { object: "email", id: new.to_string() }))
}

fn not_found() -> ApiError {
    ApiError::not_found("Email")
}

fn purged() -> ApiError {
    ApiError::new(ErrorCode::AttachmentsPurged, "The content of this email has been removed by the retention period.")
}
