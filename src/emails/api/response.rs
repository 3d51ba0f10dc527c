//! Response types of the email endpoints.

use salvo::oapi::ToSchema;
use serde::Serialize;

use super::timeline::EventResponse;
use crate::base::address::StoredMailbox;
use crate::base::clock::to_iso;
use crate::base::id::EmailId;
use crate::emails::model::{AttachmentInfo, LastEvent, RecipientKind};
use crate::emails::read::EmailDetails;
use crate::emails::store::EmailRow;
use crate::emails::{IdempotentResponse, message_id};
use crate::http::id_responses;
use crate::http::schema::words_schema;

words_schema!(LastEventWord = LastEvent::ALL.map(LastEvent::as_str));

/// The id of an accepted email.
#[derive(Serialize, ToSchema)]
pub(super) struct SendEmailResponse {
    /// The id.
    pub id: String,
}

/// The ids of an accepted batch.
#[derive(Serialize, ToSchema)]
pub(super) struct SendBatchResponse {
    /// One entry for each accepted email, in the order of the request.
    data: Vec<SendEmailResponse>,
    /// The rejected items of a permissive batch.
    errors: Vec<EmailBatchItemError>,
}

/// A rejected item of a batch.
#[derive(Serialize, ToSchema)]
pub(super) struct EmailBatchItemError {
    /// The index in the request, from 0.
    index: u32,
    /// The reason of the rejection.
    message: String,
}

impl From<IdempotentResponse> for SendEmailResponse {
    fn from(response: IdempotentResponse) -> Self {
        let id = response.emails.first().map(ToString::to_string);
        Self { id: id.expect("a send that was accepted has one email") }
    }
}

impl From<IdempotentResponse> for SendBatchResponse {
    fn from(response: IdempotentResponse) -> Self {
        let IdempotentResponse { emails, refused, domains: _ } = response;
        Self {
            data: emails.into_iter().map(|id| SendEmailResponse { id: id.to_string() }).collect(),
            errors: refused.into_iter().map(|(index, message)| EmailBatchItemError { index, message }).collect(),
        }
    }
}

id_responses! {
    /// An email that was changed.
    pub(super) struct EmailReference(EmailId): "email", "Always `email`.";
    /// An email that was deleted.
    pub(super) struct DeletedEmail(EmailId): "email", "Always `email`.", deleted;
}

/// An email in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmailSummary {
    /// Always `email`.
    object: &'static str,
    /// The id.
    id: String,
    /// The `Message-ID` header.
    message_id: String,
    /// The sender.
    from: String,
    /// The recipients.
    to: Vec<String>,
    /// The recipients in copy.
    #[salvo(schema(required = true))]
    cc: Option<Vec<String>>,
    /// The recipients in blind copy.
    #[salvo(schema(required = true))]
    bcc: Option<Vec<String>>,
    /// The addresses for replies.
    #[salvo(schema(required = true))]
    reply_to: Option<Vec<String>>,
    /// The subject.
    subject: String,
    /// The time of acceptance.
    created_at: String,
    /// The requested due time.
    #[salvo(schema(required = true))]
    scheduled_at: Option<String>,
    /// The highest status of all recipients.
    #[salvo(schema(value_type = LastEventWord))]
    last_event: &'static str,
    /// The topic of the email.
    #[salvo(schema(required = true))]
    topic_id: Option<String>,
}

impl EmailSummary {
    pub(crate) fn of(id: EmailId, row: &EmailRow) -> Self {
        Self {
            object: "email",
            id: id.to_string(),
            message_id: format!("<{}>", message_id(id, &row.from)),
            from: row.from.to_string(),
            to: texts(row.mailboxes(RecipientKind::To)),
            cc: some(texts(row.mailboxes(RecipientKind::Cc))),
            bcc: some(texts(row.mailboxes(RecipientKind::Bcc))),
            reply_to: some(texts(&row.reply_to)),
            subject: row.subject.clone(),
            created_at: to_iso(row.created_ms),
            scheduled_at: row.scheduled_ms.map(to_iso),
            last_event: row.last_event.as_str(),
            topic_id: row.topic.map(|id| id.to_string()),
        }
    }
}

/// An email with its content and its timeline.
#[derive(Serialize, ToSchema)]
pub(super) struct EmailResponse {
    #[serde(flatten)]
    #[salvo(schema(inline = false))]
    summary: EmailSummary,
    /// The HTML part; null after retention has deleted it.
    #[salvo(schema(required = true))]
    html: Option<String>,
    /// The text part; null after retention has deleted it.
    #[salvo(schema(required = true))]
    text: Option<String>,
    /// The tags.
    tags: Vec<TagResponse>,
    /// The attached files, without their content.
    attachments: Vec<AttachmentSummary>,
    /// Each recipient with its own status.
    recipients: Vec<RecipientResponse>,
    /// The timeline, oldest event first.
    events: Vec<EventResponse>,
}

/// A tag.
#[derive(Serialize, ToSchema)]
pub(crate) struct TagResponse {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// An attached file in the response of an email.
#[derive(Serialize, ToSchema)]
pub(super) struct AttachmentSummary {
    /// The id.
    id: String,
    /// The file name.
    filename: String,
    /// The size in bytes.
    size: u64,
    /// The media type.
    content_type: String,
}

/// A recipient with its own status.
#[derive(Serialize, ToSchema)]
pub(super) struct RecipientResponse {
    /// The address without a display name.
    email: String,
    /// The status of the recipient.
    #[salvo(schema(value_type = LastEventWord))]
    last_event: &'static str,
}

impl From<EmailDetails> for EmailResponse {
    fn from(email: EmailDetails) -> Self {
        let EmailDetails { id, row, content, events } = email;
        let content = content.unwrap_or_default();
        Self {
            summary: EmailSummary::of(id, &row),
            html: content.html,
            text: content.text,
            tags: row.tags.into_iter().map(|(name, value)| TagResponse { name, value }).collect(),
            attachments: row.attachments.into_iter().map(AttachmentSummary::from).collect(),
            recipients: row
                .recipients
                .into_iter()
                .map(|recipient| RecipientResponse {
                    email: recipient.mailbox.bare(),
                    last_event: recipient.last_event.as_str(),
                })
                .collect(),
            events: events.into_iter().map(EventResponse::from).collect(),
        }
    }
}

impl From<AttachmentInfo> for AttachmentSummary {
    fn from(info: AttachmentInfo) -> Self {
        let AttachmentInfo { id, filename, size, content_type, content_id: _ } = info;
        Self { id: id.to_string(), filename, size, content_type }
    }
}

/// An attached file in the responses of the attachment endpoints.
#[derive(Serialize, ToSchema)]
pub(super) struct AttachmentResponse {
    /// Always `attachment`.
    object: &'static str,
    /// The id.
    id: String,
    /// The file name.
    filename: String,
    /// The size in bytes.
    size: u64,
    /// The media type.
    content_type: String,
    /// `inline` for an inline image, otherwise `attachment`.
    content_disposition: &'static str,
    /// The content id of an inline image.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_id: Option<String>,
    /// Always null.
    #[salvo(schema(required = true))]
    download_url: Option<String>,
    /// Always null.
    #[salvo(schema(required = true))]
    expires_at: Option<String>,
    /// The content in base64. Only in the response for one attachment.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl AttachmentResponse {
    /// Returns the response for a list, without content.
    pub(super) fn of(info: AttachmentInfo) -> Self {
        let AttachmentInfo { id, filename, size, content_type, content_id } = info;
        Self {
            object: "attachment",
            id: id.to_string(),
            filename,
            size,
            content_type,
            content_disposition: if content_id.is_some() { "inline" } else { "attachment" },
            content_id,
            download_url: None,
            expires_at: None,
            content: None,
        }
    }
}

fn texts<'a>(mailboxes: impl IntoIterator<Item = &'a StoredMailbox>) -> Vec<String> {
    mailboxes.into_iter().map(ToString::to_string).collect()
}

/// Returns `None`, which is `null` in JSON, for an empty list.
fn some(list: Vec<String>) -> Option<Vec<String>> {
    (!list.is_empty()).then_some(list)
}
