//! Reading of emails: pages, one email with its timeline, attachments.

use super::broadcast::{BroadcastEmailList, BroadcastEmailScan, broadcast_emails_step, content_within};
use super::model::{AttachmentInfo, EmailContent};
use super::send::Emails;
use super::store::{BoundedContent, EmailRow, attachment_chunks, is_complete, read_attachment_chunk};
use super::stored::find_row;
use crate::base::id::{AttachmentId, BroadcastId, EmailId, TeamId};
use crate::events::{self, Event};
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{ReadTx, Reads, StoreError, from_store_error};
use crate::tables::EMAILS;

/// An email with its content and its timeline.
#[derive(Debug)]
pub struct EmailDetails {
    pub id: EmailId,
    pub row: EmailRow,
    /// Content; `None` after retention has deleted it.
    pub content: Option<EmailContent>,
    /// Timeline, oldest first.
    pub events: Vec<Event>,
}

/// An email that was read within a bound of memory.
#[derive(Debug)]
pub enum BoundedEmail {
    Read(Box<EmailDetails>),
    /// The email needs more memory: approximately this number of bytes.
    Needs(usize),
}

/// An attachment whose chunks are read one by one.
#[derive(Clone, Debug)]
pub struct StoredAttachment {
    pub info: AttachmentInfo,
    email: EmailId,
    /// Number in the email.
    number: u16,
}

impl StoredAttachment {
    /// Returns the number of chunks, at least one.
    pub fn chunks(&self) -> u32 {
        attachment_chunks(self.info.size)
    }
}

/// Failure to read an attachment.
#[derive(Debug)]
pub enum ReadAttachmentError {
    /// The team has no such email.
    EmailNotFound,
    /// The email has no such attachment.
    AttachmentNotFound,
    /// Retention has deleted the content of the email.
    Purged,
    Store(StoreError),
}

from_store_error!(ReadAttachmentError);

impl Emails {
    /// Returns a page of the team's emails, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<EmailId>) -> Result<Page<(EmailId, EmailRow)>, PageError> {
        self.context
            .store
            .read(move |tx| page(tx, &EMAILS, team, query, |id, row| Ok((!row.hidden).then_some((id, row)))))
            .await
    }

    /// Returns a page of the emails of a broadcast, newest first. It is empty if the team has no such broadcast.
    pub async fn list_of_broadcast(
        &self,
        team: TeamId,
        broadcast: BroadcastId,
        query: PageQuery<EmailId>,
    ) -> Result<Page<(EmailId, EmailRow)>, PageError> {
        let list = BroadcastEmailList::All;
        let mut scan = BroadcastEmailScan::default();
        while !scan.is_complete {
            let step =
                move |tx: &ReadTx| broadcast_emails_step(tx, team, broadcast, list, query, scan, |_, _| Ok(true));
            scan = self.context.store.read(step).await?;
        }
        Ok(scan.into_page())
    }

    /// Returns an email; `None` if the team has no such email.
    pub async fn find(&self, team: TeamId, id: EmailId) -> Result<Option<EmailDetails>, StoreError> {
        match self.find_within(team, id, usize::MAX).await? {
            Some(BoundedEmail::Read(email)) => Ok(Some(*email)),
            Some(BoundedEmail::Needs(_)) | None => Ok(None),
        }
    }

    /// Returns the row of an email; `None` if the team has no such email.
    pub async fn row(&self, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
        self.context.store.read(move |tx| visible(tx, team, id)).await
    }

    /// Returns an email if reading and rendering its content need at most about `memory_max` bytes; `None` if the team
    /// has no such email.
    pub async fn find_within(
        &self,
        team: TeamId,
        id: EmailId,
        memory_max: usize,
    ) -> Result<Option<BoundedEmail>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let Some(row) = visible(tx, team, id)? else { return Ok(None) };
                let content = match content_within(tx, &keyring, id, &row, memory_max)? {
                    BoundedContent::Read(content) => content,
                    BoundedContent::Needs(bytes) => return Ok(Some(BoundedEmail::Needs(bytes))),
                };
                let events = events::email_timeline(tx, id)?;
                Ok(Some(BoundedEmail::Read(Box::new(EmailDetails { id, row, content, events }))))
            })
            .await
    }

    /// Returns the metadata of the attachments of an email, in the order of the request.
    pub async fn attachments(&self, team: TeamId, id: EmailId) -> Result<Vec<AttachmentInfo>, ReadAttachmentError> {
        self.context
            .store
            .read(move |tx| {
                let row = visible(tx, team, id)?.ok_or(ReadAttachmentError::EmailNotFound)?;
                if row.broadcast.is_none() && !is_complete(tx, id, &row)? {
                    return Err(ReadAttachmentError::Purged);
                }
                Ok(row.attachments)
            })
            .await
    }

    /// Returns an attachment of an email, without its bytes.
    pub async fn attachment(
        &self,
        team: TeamId,
        id: EmailId,
        attachment: AttachmentId,
    ) -> Result<StoredAttachment, ReadAttachmentError> {
        self.context
            .store
            .read(move |tx| {
                let row = visible(tx, team, id)?.ok_or(ReadAttachmentError::EmailNotFound)?;
                let found = (0..).zip(row.attachments).find(|(_, info)| info.id == attachment);
                let (number, info) = found.ok_or(ReadAttachmentError::AttachmentNotFound)?;
                Ok(StoredAttachment { info, email: id, number })
            })
            .await
    }

    /// Returns the bytes of one chunk of an attachment.
    ///
    /// # Errors
    /// [`ReadAttachmentError::Purged`], or [`ReadAttachmentError::Store`].
    pub async fn attachment_chunk(
        &self,
        attachment: &StoredAttachment,
        chunk: u32,
    ) -> Result<Vec<u8>, ReadAttachmentError> {
        let keyring = self.context.keyring.clone();
        let (email, number) = (attachment.email, attachment.number);
        self.context
            .store
            .read(move |tx| {
                read_attachment_chunk(tx, &keyring, email, number, chunk)?.ok_or(ReadAttachmentError::Purged)
            })
            .await
    }
}

/// Returns the team and the row of an email of one of `teams`, for delivery reports. A deleted email is
/// found while a delivery of it is in flight. Reads two rows per team.
pub(crate) fn find_of_teams(
    tx: &impl Reads,
    teams: &[TeamId],
    id: EmailId,
) -> Result<Option<(TeamId, EmailRow)>, StoreError> {
    for team in teams {
        if let Some(row) = find_row(tx, *team, id)? {
            return Ok(Some((*team, row)));
        }
    }
    Ok(None)
}

/// Returns the row of an email; `None` if the team has no such email or it is deleted.
pub(super) fn visible(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
    Ok(find_row(tx, team, id)?.filter(|row| !row.hidden))
}
