//! The rows of notices.

use serde::{Deserialize, Serialize};

use super::model::Notice;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::context::Context;
use crate::domains::{self, DomainRefusal};
use crate::store::{Row, StoreError, WriteTx};
use crate::tables::NOTICES;

/// Notice whose owners have not been notified yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRow {
    /// Time of the cause.
    pub at_ms: TimestampMs,
    pub notice: Notice,
}
impl Row for NoticeRow {}

/// Stores a notice to the owners of a team, in the transaction of its cause.
pub fn record(tx: &WriteTx<'_>, context: &Context, team: TeamId, notice: &Notice) -> Result<(), StoreError> {
    tx.put(&NOTICES, &(team, context.id()), &NoticeRow { at_ms: context.now_ms(), notice: notice.clone() })?;
    let event_bus = context.event_bus.clone();
    tx.after_commit(move || event_bus.notices().notify());
    Ok(())
}

/// Records that a server could not authenticate the sender of an email, in the transaction of its cause: stores the
/// refusal with the domain, and a notice. Does neither if less than a day has passed since the last one of the domain.
pub fn record_domain_refusal(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    domain: DomainId,
    refusal: DomainRefusal,
) -> Result<(), StoreError> {
    match domains::record_refusal(tx, team, domain, &refusal)? {
        Some(name) => record(tx, context, team, &Notice::DomainRefused { domain, name, refusal }),
        None => Ok(()),
    }
}
