//! `ringmail team`: teams.

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreVerbArgs, TeamArgs};
use crate::admin::response::Rows;
use crate::admin::teams::{TeamVerb, TeamView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(StoreVerbArgs { verb, store }: StoreVerbArgs<TeamVerb>, output: Output) -> Result<(), Failure> {
    if matches!(verb, TeamVerb::Create { .. } | TeamVerb::Rename { .. }) {
        let team: TeamView = store.request(verb).await?;
        return output.print(&team, |team| team.id.to_string());
    }
    if matches!(verb, TeamVerb::Remove { .. }) {
        let mut client = TeamArgs { team: None, store }.open().await?;
        let removed: Result<TeamView, _> = client.request(verb).await;
        let is_running = client.is_running();
        client.close().await;
        output.print(&removed?, |team| team.id.to_string())?;
        let server = if is_running { "server" } else { "next server" };
        eprintln!("The keys of the team no longer work. The {server} deletes its data.");
        return Ok(());
    }
    let teams: Rows<TeamView> = store.request(verb).await?;
    if teams.has_more {
        eprintln!("There are more teams; these are the {} oldest.", teams.data.len());
    }
    output.print_rows(&teams.data, "There is no team.", &["ID", "NAME", "CREATED"], |team| {
        vec![team.id.to_string(), team.name.clone(), team.created_at.clone()]
    })
}
