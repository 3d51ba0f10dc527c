//! `GET /emails/{id}/attachments` and `GET /emails/{id}/attachments/{attachment_id}`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use salvo::Writer as _;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::response::AttachmentResponse;
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::emails::read::ReadAttachmentError;
use crate::emails::{Emails, StoredAttachment};
use crate::http::{
    ApiError, ApiResult, ErrorCode, List, ListQuery, MemoryHolder, PartFuture, PartedJson, PathId, ResponseLimits,
    State, api_error,
};
use crate::store::CHUNK_BYTES;

/// Bytes that the response has in addition to the encoded chunk: the other fields.
const FIELDS_BYTES_MAX: usize = 8 << 10;
/// Text after the content.
const END: &str = "\"}";

// The encoded chunks of an attachment are joined without padding between them.
const _: () = assert!(CHUNK_BYTES.is_multiple_of(3));

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
    Ok(Json(List::of(page, AttachmentResponse::of)))
}

/// Returns an attachment with its content as base64.
#[endpoint(tags("Emails"), responses(ReadAttachmentError))]
pub async fn get_attachment(
    emails: State<Emails>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
    attachment_id: PathId<resource::Attachment>,
) -> ApiResult<PartedJson<AttachmentResponse>> {
    let attachment = emails.attachment(caller.team, id.0, attachment_id.0).await?;
    let mut begin = serde_json::to_string(&AttachmentResponse::of(attachment.info.clone()))
        .map_err(|_| ApiError::new(ErrorCode::InternalServerError, "The attachment cannot be rendered."))?;
    begin.truncate(begin.len() - 1);
    begin.push_str(r#","content":""#);
    let content_bytes = attachment.info.size.div_ceil(3) * 4;
    let (bytes, parts) = ((begin.len() + END.len()) as u64 + content_bytes, attachment.chunks());
    let reader = Arc::new(Reader { emails: Arc::clone(&emails), attachment, begin });
    let part_bytes = CHUNK_BYTES / 3 * 4 + FIELDS_BYTES_MAX;
    let read = Box::new(move |number| Arc::clone(&reader).read(number));
    let holder = MemoryHolder::Team(caller.team);
    PartedJson::read(Arc::clone(&limits), holder, bytes, parts, part_bytes, read).await
}

/// Reader of the parts of a response: one chunk of the attachment each.
struct Reader {
    emails: Arc<Emails>,
    attachment: StoredAttachment,
    /// JSON before the content.
    begin: String,
}

impl Reader {
    fn read(self: Arc<Self>, number: u32) -> PartFuture {
        Box::pin(async move {
            let chunk = self.emails.attachment_chunk(&self.attachment, number).await?;
            let mut part = String::with_capacity(chunk.len().div_ceil(3) * 4 + FIELDS_BYTES_MAX);
            if number == 0 {
                part.push_str(&self.begin);
            }
            STANDARD.encode_string(chunk, &mut part);
            if number + 1 == self.attachment.chunks() {
                part.push_str(END);
            }
            Ok(part.into_bytes())
        })
    }
}

api_error!(ReadAttachmentError: NotFound, AttachmentsPurged {
    ReadAttachmentError::EmailNotFound => ApiError::not_found("Email"),
    ReadAttachmentError::AttachmentNotFound => ApiError::not_found("Attachment"),
    ReadAttachmentError::Purged => ApiError::new(
        ErrorCode::AttachmentsPurged,
        "The attachments of this email have been removed by the retention period.",
    ),
});
