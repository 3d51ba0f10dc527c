//! Watching a team's events.

use super::super::response::AdminError;
use super::super::services::AdminServices;
use super::teams;
use crate::live::{EventStream, TypeFilter};

/// Begins to watch the events of a team, of the types that fit `types`.
pub(in crate::admin) async fn watch(
    services: &AdminServices,
    team: Option<String>,
    types: &str,
) -> Result<EventStream, AdminError> {
    let filter = TypeFilter::parse(types).map_err(|error| AdminError::invalid(error.to_string()))?;
    let team = teams::chosen(services, team).await?;
    Ok(EventStream::new(&services.context.event_bus, team, filter))
}
