//! An opt-out that the recipient takes back.

use super::store::{find_by_address, lift};
use crate::base::id::{SuppressionId, TeamId};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{StoreError, WriteTx};
use crate::tables::AddressHash;

/// Removes the opt-out of an address on request of the recipient. If `only` is given, removes it only from
/// that entry. An entry of another origin remains without the opt-out. Returns whether there was an
/// opt-out.
pub(crate) fn lift_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &AddressHash,
    only: Option<SuppressionId>,
    source: ChangeSource,
) -> Result<bool, StoreError> {
    let Some((id, row)) = find_by_address(tx, team, address)? else { return Ok(false) };
    if only.is_some_and(|only| only != id) {
        return Ok(false);
    }
    lift(tx, context, team, id, row, source)
}
