//! Reading of emails: pages, one email with its timeline, attachments.

use super::model::{AttachmentInfo, EmailContent};
use super::send::Emails;
use super::store::{EmailRow, has_content, read_attachment, read_content};
use crate::base::id::{AttachmentId, EmailId, TeamId};
use crate::events::{self, Event};
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{Reads, StoreError, from_store_error};
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
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, team: TeamId, query: PageQuery<EmailId>) -> Result<Page<(EmailId, EmailRow)>, PageError> {
        self.context
            .store
            .read(move |tx| {
                page(tx, &EMAILS, team, query, |id, row| {
                    let row = row.decode()?;
                    Ok((!row.hidden).then_some((id, row)))
                })
            })
            .await
    }

    /// Returns an email; `None` if the team has no such email.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, team: TeamId, id: EmailId) -> Result<Option<EmailDetails>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let Some(row) = visible(tx, team, id)? else { return Ok(None) };
                let content = read_content(tx, &keyring, id)?;
                let events = events::email_timeline(tx, id)?;
                Ok(Some(EmailDetails { id, row, content, events }))
            })
            .await
    }

    /// Returns the metadata of the attachments of an email, in the order of the request.
    ///
    /// # Errors
    /// [`ReadAttachmentError`].
    pub async fn attachments(&self, team: TeamId, id: EmailId) -> Result<Vec<AttachmentInfo>, ReadAttachmentError> {
        self.context
            .store
            .read(move |tx| {
                let row = visible(tx, team, id)?.ok_or(ReadAttachmentError::EmailNotFound)?;
                if !has_content(tx, id)? {
                    return Err(ReadAttachmentError::Purged);
                }
                Ok(row.attachments)
            })
            .await
    }

    /// Returns the metadata and the bytes of an attachment.
    ///
    /// # Errors
    /// [`ReadAttachmentError`].
    pub async fn attachment(
        &self,
        team: TeamId,
        id: EmailId,
        attachment: AttachmentId,
    ) -> Result<(AttachmentInfo, Vec<u8>), ReadAttachmentError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let row = visible(tx, team, id)?.ok_or(ReadAttachmentError::EmailNotFound)?;
                let found = (0..).zip(row.attachments).find(|(_, info)| info.id == attachment);
                let (number, info) = found.ok_or(ReadAttachmentError::AttachmentNotFound)?;
                let content = read_attachment(tx, &keyring, id, number)?.ok_or(ReadAttachmentError::Purged)?;
                Ok((info, content))
            })
            .await
    }
}

/// Returns the team and the row of an email of one of `teams`, for delivery reports. A deleted email is
/// found while a delivery of it is in flight. Reads one row per team.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn find_of_teams(
    tx: &impl Reads,
    teams: &[TeamId],
    id: EmailId,
) -> Result<Option<(TeamId, EmailRow)>, StoreError> {
    for team in teams {
        if let Some(row) = tx.get(&EMAILS, &(*team, id))? {
            return Ok(Some((*team, row)));
        }
    }
    Ok(None)
}

/// Returns the row of an email; `None` if the team has no such email or it is deleted.
pub(super) fn visible(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
    Ok(tx.get(&EMAILS, &(team, id))?.filter(|row| !row.hidden))
}
