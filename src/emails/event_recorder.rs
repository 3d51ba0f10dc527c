//! What the events of an email say of it.

use super::store::{EmailRow, read_content};
use super::{erase, message_id};
use crate::base::id::{EmailId, TeamId};
use crate::context::Context;
use crate::events::{self, EmailEventData, Event};
use crate::store::{StoreError, WriteTx, skip_corrupt};

/// Records the events of one email in the transactions of the facts they tell.
pub(crate) struct EventRecorder {
    team: TeamId,
    id: EmailId,
    /// The caller's own header fields, once anybody has heard of an event.
    headers: Option<Vec<(String, String)>>,
}

impl EventRecorder {
    /// Returns a recorder for an email of a team.
    pub(crate) fn new(team: TeamId, id: EmailId) -> Self {
        Self { team, id, headers: None }
    }

    /// Records an event. What an event says beside `row` is read for the first that anybody hears of.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn record(
        &mut self,
        tx: &WriteTx<'_>,
        context: &Context,
        row: &EmailRow,
        event: Event,
    ) -> Result<(), StoreError> {
        let Self { team, id, headers } = self;
        let facts = || {
            let headers = match headers {
                Some(known) => known,
                None => headers.insert(read_headers(tx, context, *id, row)?),
            };
            Ok(with_headers(*id, row, headers.clone()))
        };
        events::record(tx, context, *team, *id, event, facts)
    }
}

/// Records one event of an email in the transaction of the fact it tells.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
    event: Event,
) -> Result<(), StoreError> {
    EventRecorder::new(team, id).record(tx, context, row, event)
}

fn read_headers(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    row: &EmailRow,
) -> Result<Vec<(String, String)>, StoreError> {
    // One that names whoever has been erased of it would be kept again with the event.
    if !row.has_headers || erase::is_erased(row) {
        return Ok(Vec::new());
    }
    // They lie in the sealed content. Where that does not read, the event is told without them: it is a
    // fact whatever became of the content.
    let content = skip_corrupt(read_content(tx, &context.keyring, id), format_args!("the content of email {id}"))?;
    Ok(content.flatten().map(|content| content.headers).unwrap_or_default())
}

/// Returns what the events of an email say of it, its header fields being at hand.
pub(super) fn with_headers(id: EmailId, row: &EmailRow, headers: Vec<(String, String)>) -> EmailEventData {
    EmailEventData {
        id,
        message_id: format!("<{}>", message_id(id, &row.from)),
        created_ms: row.created_ms,
        from: row.from.to_string(),
        subject: row.subject.clone(),
        tags: row.tags.clone(),
        headers,
    }
}

/// Writes content that holds header fields and nothing else.
#[cfg(test)]
pub(crate) fn put_headers(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    headers: Vec<(String, String)>,
) -> Result<(), StoreError> {
    use super::model::EmailContent;
    use super::store::seal_content;

    seal_content(&context.keyring, id, &EmailContent { headers, ..EmailContent::default() }).put_content(tx, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emails::model::LastEvent;
    use crate::emails::store::{RecipientRow, RecipientState, StoredMailbox};
    use crate::events::ERASED;
    use crate::store::Encoded;
    use crate::tables::EMAIL_BODIES;

    fn row() -> EmailRow {
        let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::Sent);
        EmailRow { has_headers: true, ..EmailRow::example(vec![recipient], LastEvent::Sent) }
    }

    async fn headers(context: &Context, id: EmailId, row: EmailRow) -> Vec<(String, String)> {
        let reading = context.clone();
        context.store.write(move |tx| read_headers(tx, &reading, id, &row)).await.unwrap()
    }

    #[tokio::test]
    async fn header_fields_are_told_unless_they_do_not_read_or_somebody_was_erased() {
        let (_directory, context) = Context::temporary();
        let id: EmailId = context.id();
        let given = vec![("X-Order".to_owned(), "42".to_owned())];
        let (putting, headers_given) = (context.clone(), given.clone());
        let put = move |tx: &WriteTx<'_>| put_headers(tx, &putting, id, headers_given.clone());
        context.store.write::<_, StoreError>(put).await.unwrap();
        let whole = row();
        let mut erased = [row(), row(), row()];
        erased[0].recipients[0].mailbox = StoredMailbox::erased();
        erased[1].from = StoredMailbox::erased();
        ERASED.clone_into(&mut erased[2].subject);

        assert_eq!(headers(&context, id, whole.clone()).await, given);
        for erased in erased {
            assert_eq!(headers(&context, id, erased).await, []);
        }
        let spoil = move |tx: &WriteTx<'_>| tx.put_encoded(&EMAIL_BODIES, &(id, 0), &Encoded::blob(vec![0xff; 8]));
        context.store.write::<_, StoreError>(spoil).await.unwrap();
        assert_eq!(headers(&context, id, whole).await, []);
    }
}
