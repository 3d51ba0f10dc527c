//! Reading of the SMTP attempts of an email.

use super::read::visible;
use super::send::Emails;
use crate::base::id::{AttemptId, EmailId, TeamId};
use crate::delivery::SmtpAttemptRow;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{StoreError, from_store_error};
use crate::tables::ATTEMPTS;

/// An attempt to deliver an email to one of its recipient groups.
#[derive(Clone, Debug)]
pub struct EmailAttempt {
    pub id: AttemptId,
    pub row: SmtpAttemptRow,
    /// Addresses of the recipients of the group.
    pub recipients: Vec<String>,
}

/// Failure to list attempts.
#[derive(Debug)]
pub enum ListAttemptsError {
    /// The team has no such email.
    EmailNotFound,
    /// The cursor is not an attempt of the email.
    UnknownCursor,
    Store(StoreError),
}

from_store_error!(ListAttemptsError);

impl From<PageError> for ListAttemptsError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::UnknownCursor,
            PageError::Store(error) => Self::Store(error),
        }
    }
}

impl Emails {
    /// Returns a page of the SMTP attempts of an email, newest first. Simulated recipients have none.
    ///
    /// # Errors
    /// [`ListAttemptsError`].
    pub async fn attempts(
        &self,
        team: TeamId,
        id: EmailId,
        query: PageQuery<AttemptId>,
    ) -> Result<Page<EmailAttempt>, ListAttemptsError> {
        self.context
            .store
            .read(move |tx| {
                let email = visible(tx, team, id)?.ok_or(ListAttemptsError::EmailNotFound)?;
                let page = page(tx, &ATTEMPTS, id, query, |attempt, row| {
                    let row = row.decode()?;
                    let of_group = email.recipients.iter().filter(|recipient| recipient.group == row.group);
                    let recipients = of_group.map(|recipient| recipient.mailbox.bare()).collect();
                    Ok(Some(EmailAttempt { id: attempt, row, recipients }))
                })?;
                Ok(page)
            })
            .await
    }
}
