//! An opt-out that its owner takes back.

use super::store::{find_by_address, lift};
use crate::base::id::{SuppressionId, TeamId};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{StoreError, WriteTx};
use crate::tables::AddressHash;

/// Takes back the opt-out of an address by its owner's word: that of the entry `only`, where one is
/// named. What else lists the address stays. Returns whether there was an opt-out.
///
/// # Errors
/// [`StoreError`].
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
