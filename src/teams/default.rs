//! First team of an instance.

use super::model::Team;
use super::store;
use crate::context::Context;
use crate::store::StoreError;

/// Name of the team that the first start creates.
pub const DEFAULT_NAME: &str = "Main";

/// Returns the oldest team. Creates the team [`DEFAULT_NAME`] if no team exists.
pub async fn ensure_any(context: &Context) -> Result<Team, StoreError> {
    let new = Team { id: context.id(), name: DEFAULT_NAME.to_owned(), created_ms: context.now_ms() };
    context
        .store
        .write(move |tx| {
            if let Some(oldest) = store::list(tx)?.into_iter().next() {
                return Ok(oldest);
            }
            store::put(tx, &new)?;
            Ok(new.clone())
        })
        .await
}
