//! Reading emails back: pages, one email with its timeline, attachments.

use super::model::{AttachmentInfo, EmailContent};
use super::send::Emails;
use super::store::{EmailRow, has_content, read_attachment, read_content};
use crate::base::id::{AttachmentId, EmailId, TeamId};
use crate::events::{self, Event};
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{Reads, StoreError, from_store_error};
use crate::tables::EMAILS;

/// An email with everything that is kept of it.
#[derive(Debug)]
pub struct EmailDetails {
    /// Its id.
    pub id: EmailId,
    /// What lists show.
    pub row: EmailRow,
    /// What it says; none once retention has removed it.
    pub content: Option<EmailContent>,
    /// What happened to it, oldest first.
    pub events: Vec<Event>,
}

/// Why an attachment is not there.
#[derive(Debug)]
pub enum ReadAttachmentError {
    /// The team has no such email.
    EmailNotFound,
    /// The email has no such attachment.
    AttachmentNotFound,
    /// Retention has removed the email's content.
    Purged,
    /// The store failed.
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

    /// Returns one email; `None` when the team has none of that id.
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

    /// Returns what is said of an email's attachments, in the order they were given.
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

    /// Returns an attachment with its bytes.
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

/// Returns the team and the row of an email of one of `teams`, for what is told about it from outside.
/// One that was deleted is found as long as a delivery of it is under way. It costs a look at each team.
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

/// Returns the email's row unless it has been deleted.
pub(super) fn visible(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
    Ok(tx.get(&EMAILS, &(team, id))?.filter(|row| !row.hidden))
}
