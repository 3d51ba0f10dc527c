//! What the events of an email say of it.

use super::message_id;
use super::store::{EmailRow, read_content};
use crate::context::Context;
use crate::events::{self, EmailFacts, Event};
use crate::id::{EmailId, TeamId};
use crate::store::{StoreError, WriteTx};

/// Records an event of an email in the transaction of the fact it tells.
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
    events::record(tx, context, team, id, event, || facts(tx, context, id, row))
}

fn facts(tx: &WriteTx<'_>, context: &Context, id: EmailId, row: &EmailRow) -> Result<EmailFacts, StoreError> {
    // Header fields lie in the sealed content, which is opened for the few emails that have any.
    let content = if row.has_headers { read_content(tx, &context.keyring, id)? } else { None };
    Ok(with_headers(id, row, content.map(|content| content.headers).unwrap_or_default()))
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
