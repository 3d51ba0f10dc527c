//! The conditions of a send, in their order.

use super::error::SendBroadcastError;
use crate::base::address::StoredMailbox;
use crate::base::id::DomainId;
use crate::broadcast_rows::BroadcastRow;
use crate::emails::{BroadcastPause, Sender, SendingGuard};
use crate::preferences::LinkError;
use crate::store::{Reads, StoreError, WriteTx};
use crate::{domains, segments, teams, topics};

/// Checks of the content of a broadcast, which need no transaction.
#[derive(Clone, Debug)]
pub(super) struct ContentChecks {
    /// Whether recipients can open its unsubscribe links.
    pub(super) link: Result<(), LinkError>,
    /// Whether there is nothing to send.
    pub(super) is_blank: bool,
}

/// Checks the conditions of a send, except for its size. Returns the domain of the sender.
///
/// # Errors
/// [`SendBroadcastError`] of the first condition that is not met.
pub(super) fn check(
    tx: &WriteTx<'_>,
    by: Sender,
    row: &BroadcastRow,
    content: &ContentChecks,
    guard: &dyn SendingGuard,
) -> Result<DomainId, SendBroadcastError> {
    let team = by.team;
    if let Some(segment) = row.segment
        && !segments::exists(tx, team, segment)?
    {
        return Err(SendBroadcastError::SegmentNotFound);
    }
    if let Some(topic) = row.topic
        && topics::find(tx, team, topic)?.is_none()
    {
        return Err(SendBroadcastError::TopicNotFound);
    }
    content.link.clone().map_err(SendBroadcastError::Link)?;
    if let Some(pause) = guard.sending_pause(tx, team)? {
        return Err(SendBroadcastError::Paused(BroadcastPause::Team(pause)));
    }
    let name = row.from.address().map(|address| address.domain().as_str().to_owned()).unwrap_or_default();
    // A removed team has no domains. The worker deletes their rows.
    let domain = match teams::is_removed(tx, team)? {
        true => None,
        false => domains::find_sender(tx, team, &name)?,
    };
    if let Some(domain) = &domain
        && let Some(pause) = guard.region_pause(tx, team, domain.id)?
    {
        return Err(SendBroadcastError::Paused(BroadcastPause::Region(pause)));
    }
    let domain = domain.filter(|domain| domain.verified);
    let Some(domain) = domain else { return Err(SendBroadcastError::DomainNotVerified(name)) };
    if by.domain.is_some_and(|scope| scope != domain.id) {
        return Err(SendBroadcastError::KeyOfAnotherDomain);
    }
    if content.is_blank {
        return Err(SendBroadcastError::NoContent);
    }
    Ok(domain.id)
}

/// Returns whether the scope of a key includes the domain of a sender.
pub(super) fn is_in_scope(tx: &impl Reads, by: Sender, from: &StoredMailbox) -> Result<bool, StoreError> {
    let Some(scope) = by.domain else { return Ok(true) };
    let Some(address) = from.address() else { return Ok(false) };
    let domain = domains::find_sender(tx, by.team, address.domain().as_str())?;
    Ok(domain.is_some_and(|domain| domain.id == scope))
}
