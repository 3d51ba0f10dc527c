//! An opt-out that its owner takes back.

use super::model::Origin;
use super::store::{find_by_address, remove};
use crate::context::Context;
use crate::events::Source;
use crate::id::{SuppressionId, TeamId};
use crate::store::tables::AddressHash;
use crate::store::{StoreError, WriteTx};

/// Removes the opt-out of an address by its owner's word: the entry `only`, where one is named.
/// Entries of other origins stay. Returns whether there was one to remove.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn lift_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &AddressHash,
    only: Option<SuppressionId>,
    source: Source,
) -> Result<bool, StoreError> {
    let Some((id, row)) = find_by_address(tx, team, address)? else { return Ok(false) };
    if row.origin != Origin::Unsubscribe || only.is_some_and(|only| only != id) {
        return Ok(false);
    }
    remove(tx, context, team, id, &row, source)?;
    Ok(true)
}
