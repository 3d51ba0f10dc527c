//! Watching a team's events.

use super::super::response::Refusal;
use super::super::services::Services;
use super::teams;
use crate::live::{Filter, Watch};

/// Begins to watch the events of a team, of the types that fit `types`.
pub(in crate::admin) async fn watch(services: &Services, team: Option<String>, types: &str) -> Result<Watch, Refusal> {
    let filter = Filter::parse(types).map_err(|error| Refusal::invalid(error.to_string()))?;
    let team = teams::chosen(services, team).await?;
    Ok(Watch::new(&services.context.announcer, team, filter))
}
