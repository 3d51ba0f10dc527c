//! The rows of notices.

use serde::{Deserialize, Serialize};

use super::model::Notice;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::id::TeamId;
use crate::store::tables::NOTICES;
use crate::store::{Row, StoreError, WriteTx};

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
pub fn tell(tx: &WriteTx<'_>, context: &Context, team: TeamId, notice: &Notice) -> Result<(), StoreError> {
    tx.put(&NOTICES, &(team, context.id()), &NoticeRow { at_ms: context.now_ms(), notice: notice.clone() })?;
    let announcer = context.announcer.clone();
    tx.after_commit(move || announcer.ring_notices());
    Ok(())
}
