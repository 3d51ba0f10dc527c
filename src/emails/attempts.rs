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
    /// Addresses of the recipients of the attempt.
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
                    let recipients = (0..).zip(&email.recipients).filter(|(index, recipient)| {
                        match row.tried_recipients.is_empty() {
                            true => recipient.group == row.group,
                            false => row.tried_recipients.contains(index),
                        }
                    });
                    let recipients = recipients.map(|(_, recipient)| recipient.mailbox.bare()).collect();
                    Ok(Some(EmailAttempt { id: attempt, row, recipients }))
                })?;
                Ok(page)
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::delivery::QueueNotifier;
    use crate::emails::{EmailRow, Idempotency, LastEvent};
    use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
    use crate::store::page::Cursor;
    use crate::store::{Encoded, WriteTx};
    use crate::tables::EMAILS;

    const TEAM: TeamId = Id::MIN;

    #[tokio::test]
    async fn a_corrupt_attempt_is_skipped_and_the_others_are_listed() {
        let (_directory, context) = Context::temporary();
        let settings = LinkSettings { public_url: "http://localhost".into(), audience: LinkAudience::Captured };
        let links = PreferenceLinks::new(context.keyring.clone(), settings);
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let emails = Emails::new(context.clone(), QueueNotifier::default(), idempotency, TaskTracker::new(), links);
        let (id, readable, corrupt): (EmailId, AttemptId, AttemptId) = (context.id(), context.id(), context.id());
        let row = serde_json::json!({ "at_ms": 1, "group": 0, "number": 1, "summary": "1 delivered" });
        let row: SmtpAttemptRow = serde_json::from_value(row).unwrap();
        let put = move |tx: &WriteTx<'_>| {
            tx.put(&EMAILS, &(TEAM, id), &EmailRow::example(Vec::new(), LastEvent::Sent))?;
            tx.put(&ATTEMPTS, &(id, readable), &row)?;
            tx.put_encoded(&ATTEMPTS, &(id, corrupt), &Encoded::unreadable())
        };
        context.commit(put).await;

        let page = emails.attempts(TEAM, id, PageQuery { limit: 10, cursor: Cursor::Newest }).await.unwrap();

        let listed: Vec<AttemptId> = page.rows.iter().map(|attempt| attempt.id).collect();
        assert_eq!(listed, [readable]);
    }
}
