//! What the events of an email say of it.

use super::message_id;
use super::store::{EmailRow, read_content};
use crate::context::Context;
use crate::events::{self, EmailFacts, Event};
use crate::id::{EmailId, TeamId};
use crate::store::{StoreError, WriteTx};

/// Records the events of one email in the transactions of the facts they tell.
pub(crate) struct Recorder {
    team: TeamId,
    id: EmailId,
    /// The caller's own header fields, once anybody has heard of an event.
    headers: Option<Vec<(String, String)>>,
}

impl Recorder {
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
    Recorder::new(team, id).record(tx, context, row, event)
}

fn read_headers(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    row: &EmailRow,
) -> Result<Vec<(String, String)>, StoreError> {
    // Header fields lie in the sealed content, which is opened for the few emails that have any.
    let content = if row.has_headers { read_content(tx, &context.keyring, id)? } else { None };
    Ok(content.map(|content| content.headers).unwrap_or_default())
}

/// Returns what the events of an email say of it, its header fields being at hand.
pub(super) fn with_headers(id: EmailId, row: &EmailRow, headers: Vec<(String, String)>) -> EmailFacts {
    EmailFacts {
        id,
        message_id: format!("<{}>", message_id(id, &row.from)),
        created_ms: row.created_ms,
        from: row.from.clone(),
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
    use super::model::Content;
    use super::store::seal_content;

    seal_content(&context.keyring, id, &Content { headers, ..Content::default() }).put_content(tx, id)
}
