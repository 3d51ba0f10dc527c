//! Rows of users and memberships, and the index of users by address.

use serde::{Deserialize, Serialize};

use super::model::{Role, User};
use super::{credentials, links, sessions};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::UserId;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::{USER_ADDRESSES, USERS, UserIdRow};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRow {
    /// Address with the case of the input.
    pub email: String,
    pub created_ms: TimestampMs,
}
impl Row for UserRow {}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MembershipRow {
    pub role: Role,
    /// Time of joining the team.
    pub created_ms: TimestampMs,
}
impl Row for MembershipRow {}

/// Returns the user with an id.
pub(super) fn find(tx: &impl Reads, id: UserId) -> Result<Option<User>, StoreError> {
    let row = tx.get(&USERS, &(id,))?;
    Ok(row.map(|UserRow { email, created_ms }| User { id, email, created_ms }))
}

/// Returns the user with an address. Ignores case.
pub(super) fn find_by_address(tx: &impl Reads, address: &EmailAddress) -> Result<Option<User>, StoreError> {
    match tx.get(&USER_ADDRESSES, &(address.identity_hash(),))? {
        Some(UserIdRow { id }) => find(tx, id),
        None => Ok(None),
    }
}

/// Writes a user and its index entry.
pub(super) fn put(tx: &WriteTx<'_>, address: &EmailAddress, user: &User) -> Result<(), StoreError> {
    let User { id, email, created_ms } = user;
    tx.put(&USERS, &(*id,), &UserRow { email: email.clone(), created_ms: *created_ms })?;
    tx.put(&USER_ADDRESSES, &(address.identity_hash(),), &UserIdRow { id: *id })
}

/// Deletes a user with its index entry, its credentials, its sessions and its links.
pub(super) fn delete(tx: &WriteTx<'_>, address: &EmailAddress, id: UserId) -> Result<(), StoreError> {
    tx.delete(&USER_ADDRESSES, &(address.identity_hash(),))?;
    tx.delete(&USERS, &(id,))?;
    credentials::delete(tx, id)?;
    sessions::delete_others(tx, id, None)?;
    links::delete_of_user(tx, id)
}
