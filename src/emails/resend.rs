//! Sends an email again: a new email with the same content to the same recipients.

use super::attachments::Attachment;
use super::broadcast::content_within;
use super::headers::CustomHeaders;
use super::model::{Recipient, RecipientKind, SendEmail};
use super::read::visible;
use super::send::{Emails, SendError, Sender};
use super::store::{BoundedContent, EmailRow, read_attachment};
use super::tags::{Tag, TagRequest};
use crate::base::address::{Mailbox, StoredMailbox};
use crate::base::id::EmailId;
use crate::store::{ReadTx, StoreError, from_store_error};

/// Reason why an email is not sent again.
#[derive(Debug)]
pub enum ResendEmailError {
    /// The team has no such email.
    NotFound,
    /// The content was deleted, by retention or by an erasure.
    ContentDeleted,
    /// The sender or each `to` recipient was erased.
    NoRecipient,
    /// The stored fields break a rule of this version.
    Invalid(String),
    Send(SendError),
    Store(StoreError),
}

from_store_error!(ResendEmailError);

impl Emails {
    /// Accepts a new email with the content, the recipients, the tags and the topic of an earlier one. Recipients that were
    /// erased are left out. Suppressions and opt-outs apply as to every email.
    ///
    /// # Errors
    /// [`ResendEmailError`]; nothing is stored.
    pub async fn resend(&self, sender: Sender, id: EmailId) -> Result<EmailId, ResendEmailError> {
        let keyring = self.context.keyring.clone();
        let read = move |tx: &ReadTx| {
            let row = visible(tx, sender.team, id)?.ok_or(ResendEmailError::NotFound)?;
            let BoundedContent::Read(Some(content)) = content_within(tx, &keyring, id, &row, usize::MAX)? else {
                return Err(ResendEmailError::ContentDeleted);
            };
            let mut attachments = Vec::with_capacity(row.attachments.len());
            for (number, info) in (0..).zip(&row.attachments) {
                let bytes = read_attachment(tx, &keyring, id, number, info.size)?;
                let bytes = bytes.ok_or(ResendEmailError::ContentDeleted)?;
                attachments.push(Attachment::stored(info, bytes));
            }
            let headers = CustomHeaders::try_from(content.headers)
                .map_err(|error| ResendEmailError::Invalid(error.to_string()))?;
            Ok(SendEmail {
                from: mailbox(&row.from).ok_or(ResendEmailError::NoRecipient)?,
                recipients: recipients(&row)?,
                reply_to: row.reply_to.iter().filter_map(mailbox).collect(),
                subject: row.subject.clone(),
                html: content.html,
                text: content.text,
                headers,
                attachments,
                tags: tags(&row)?,
                scheduled_ms: None,
                topic: row.topic,
                template: row.template,
            })
        };
        let email = self.context.store.read::<_, ResendEmailError>(read).await?;
        self.send(sender, email, None).await.map_err(ResendEmailError::Send)
    }
}

/// Returns a mailbox that was not erased.
fn mailbox(stored: &StoredMailbox) -> Option<Mailbox> {
    stored.mailbox().cloned()
}

fn recipients(row: &EmailRow) -> Result<Vec<Recipient>, ResendEmailError> {
    let left = row.recipients.iter();
    let left: Vec<Recipient> = left
        .filter_map(|recipient| Some(Recipient { kind: recipient.kind, mailbox: mailbox(&recipient.mailbox)? }))
        .collect();
    let has_to = left.iter().any(|recipient| recipient.kind == RecipientKind::To);
    if has_to { Ok(left) } else { Err(ResendEmailError::NoRecipient) }
}

fn tags(row: &EmailRow) -> Result<Vec<Tag>, ResendEmailError> {
    let tag = |(name, value): &(String, String)| Tag::try_from(TagRequest { name: name.clone(), value: value.clone() });
    row.tags.iter().map(tag).collect::<Result<_, _>>().map_err(|error| ResendEmailError::Invalid(error.to_string()))
}
