//! The team that an instance begins with.

use super::model::Team;
use super::store;
use crate::context::Context;
use crate::store::StoreError;

/// The name of the team that the first start makes.
pub const DEFAULT_NAME: &str = "Main";

/// Returns the oldest team, and makes the one named [`DEFAULT_NAME`] where there is none.
///
/// # Errors
/// [`StoreError`].
pub async fn ensure_any(context: &Context) -> Result<Team, StoreError> {
    let made = Team { id: context.id(), name: DEFAULT_NAME.to_owned(), created_ms: context.now_ms() };
    context
        .store
        .write(move |tx| {
            if let Some(oldest) = store::list(tx)?.into_iter().next() {
                return Ok(oldest);
            }
            store::put(tx, &made)?;
            Ok(made.clone())
        })
        .await
}
