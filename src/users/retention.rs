//! Deletion of expired sessions and one-time links. Expired rows are not valid before their deletion either.

use super::{links, sessions};
use crate::context::Context;
use crate::store::StoreError;

/// Deletes the expired sessions and links.
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    links::purge(context).await?;
    sessions::purge(context).await
}
