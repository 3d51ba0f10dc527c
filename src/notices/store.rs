//! The rows of notices.

use serde::{Deserialize, Serialize};

use super::model::Notice;
use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{Row, StoreError, WriteTx};
use crate::tables::NOTICES;

/// A notice on disk, until the owners have been told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRow {
    /// When it was written down.
    pub at_ms: TimestampMs,
    /// What there is to tell.
    pub notice: Notice,
}
impl Row for NoticeRow {}

/// Writes a notice down for the owners of a team, in the transaction of the fact it tells.
///
/// # Errors
/// [`StoreError`].
pub fn record(tx: &WriteTx<'_>, context: &Context, team: TeamId, notice: &Notice) -> Result<(), StoreError> {
    tx.put(&NOTICES, &(team, context.id()), &NoticeRow { at_ms: context.now_ms(), notice: notice.clone() })?;
    let announcer = context.event_bus.clone();
    tx.after_commit(move || announcer.notify_notices());
    Ok(())
}
