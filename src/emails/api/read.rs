//! `GET /emails`, `GET /emails/{id}` and the attachments.

use salvo::oapi::endpoint;

use salvo::Writer;
use salvo::writing::Json;

use super::response::{AttachmentResponse, EmailResponse, EmailSummary};
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::id::resource;
use crate::emails::Emails;
use crate::emails::read::ReadAttachmentError;
use crate::http::{ApiError, ApiResult, ErrorCode, List, ListQuery, PathId, ResourceNotFound, State, declares_errors};

/// Lists emails, newest first.
#[endpoint(tags("Emails"))]
pub async fn list_emails(
    emails: State<Emails>,
    caller: Caller,
    query: ListQuery<resource::Email>,
) -> ApiResult<Json<List<EmailSummary>>> {
    let page = emails.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, |(id, row)| EmailSummary::of(id, &row))))
}

/// Returns an email with its content, recipients and timeline.
#[endpoint(tags("Emails"), responses(ResourceNotFound))]
pub async fn get_email(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<EmailResponse>> {
    let email = emails.find(caller.team, id.0).await?.ok_or_else(|| ApiError::not_found("Email"))?;
    Ok(Json(email.into()))
}

/// Lists the attachments of an email, without their content.
#[endpoint(tags("Emails"), responses(ReadAttachmentError))]
pub async fn list_attachments(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
    query: ListQuery<resource::Attachment>,
) -> ApiResult<Json<List<AttachmentResponse>>> {
    let attachments = emails.attachments(caller.team, id.0).await?;
    let page = crate::store::page::page_of(attachments, query.0, |info| info.id, |_| Ok(false))?;
    Ok(Json(List::of(page, |info| AttachmentResponse::of(info, None))))
}

/// Returns an attachment with its content as base64.
#[endpoint(tags("Emails"), responses(ReadAttachmentError))]
pub async fn get_attachment(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
    attachment_id: PathId<resource::Attachment>,
) -> ApiResult<Json<AttachmentResponse>> {
    let (info, content) = emails.attachment(caller.team, id.0, attachment_id.0).await?;
    let content_bytes = content.len();
    let encode = move || AttachmentResponse::of(info, Some(&content));
    let attachment = blocking::run_sized(content_bytes, encode).await;
    Ok(Json(attachment))
}

impl From<ReadAttachmentError> for ApiError {
    fn from(error: ReadAttachmentError) -> Self {
        match error {
            ReadAttachmentError::EmailNotFound => Self::not_found("Email"),
            ReadAttachmentError::AttachmentNotFound => Self::not_found("Attachment"),
            ReadAttachmentError::Purged => Self::new(
                ErrorCode::AttachmentsPurged,
                "The attachments of this email have been removed by the retention period.",
            ),
            ReadAttachmentError::Store(error) => error.into(),
        }
    }
}

declares_errors!(ReadAttachmentError: NotFound, AttachmentsPurged);
