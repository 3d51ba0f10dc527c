//! Reported refusals of servers that could not authenticate the sender.

use crate::base::id::{DomainId, EmailId, TeamId};
use crate::context::Context;
use crate::delivery::smtp::FailReason;
use crate::delivery::without_addresses;
use crate::domains::DomainRefusal;
use crate::events::EventDetail;
use crate::notices;
use crate::store::{StoreError, WriteTx};

/// Notifies the owners of the domain if the detail of a reported event is a refusal for authentication. The time is the
/// current one: reports arrive late and in any order.
pub(super) fn record_refusal(
    tx: &WriteTx<'_>,
    context: &Context,
    (team, domain, email): (TeamId, DomainId, EmailId),
    detail: &EventDetail,
) -> Result<(), StoreError> {
    let EventDetail::Failed { reason, diagnostic } = detail else { return Ok(()) };
    if reason != FailReason::Authentication.as_str() {
        return Ok(());
    }
    let reply = without_addresses(diagnostic.last().unwrap_or(reason));
    let refusal = DomainRefusal { at_ms: context.now_ms(), email, host: None, reply };
    notices::record_domain_refusal(tx, context, team, domain, refusal)
}
