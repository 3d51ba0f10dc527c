//! The rows of users, and the index that finds one by address.

use serde::{Deserialize, Serialize};

use super::model::{Role, User};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::UserId;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::{USER_ADDRESSES, USERS, UserIdRow};

/// A user on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRow {
    /// The address as it was given.
    pub email: String,
    /// When it was made.
    pub created_ms: TimestampMs,
}
impl Row for UserRow {}

/// Membership of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MembershipRow {
    /// The role.
    pub role: Role,
    /// Since when.
    pub created_ms: TimestampMs,
}
impl Row for MembershipRow {}

/// Returns the user of that id.
pub(super) fn find(tx: &impl Reads, id: UserId) -> Result<Option<User>, StoreError> {
    let row = tx.get(&USERS, &(id,))?;
    Ok(row.map(|UserRow { email, created_ms }| User { id, email, created_ms }))
}

/// Returns the user of that address, in whatever letter case.
pub(super) fn find_by_address(tx: &impl Reads, address: &EmailAddress) -> Result<Option<User>, StoreError> {
    match tx.get(&USER_ADDRESSES, &(address.identity_hash(),))? {
        Some(UserIdRow { id }) => find(tx, id),
        None => Ok(None),
    }
}

/// Writes a user and its index.
pub(super) fn put(tx: &WriteTx<'_>, address: &EmailAddress, user: &User) -> Result<(), StoreError> {
    let User { id, email, created_ms } = user;
    tx.put(&USERS, &(*id,), &UserRow { email: email.clone(), created_ms: *created_ms })?;
    tx.put(&USER_ADDRESSES, &(address.identity_hash(),), &UserIdRow { id: *id })
}

/// Removes a user and its index.
pub(super) fn delete(tx: &WriteTx<'_>, address: &EmailAddress, id: UserId) -> Result<(), StoreError> {
    tx.delete(&USER_ADDRESSES, &(address.identity_hash(),))?;
    tx.delete(&USERS, &(id,))?;
    Ok(())
}
