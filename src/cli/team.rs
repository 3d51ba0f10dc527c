//! `ringmail team`: teams.

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreVerbArgs, TeamArgs, server_name};
use crate::admin::response::Rows;
use crate::admin::teams::{TeamVerb, TeamView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(StoreVerbArgs { verb, store }: StoreVerbArgs<TeamVerb>, output: Output) -> Result<(), Failure> {
    let store = TeamArgs::from(store);
    if matches!(verb, TeamVerb::Create { .. } | TeamVerb::Rename { .. }) {
        let team: TeamView = store.request(verb).await?;
        return output.print(&team, |team| team.id.to_string());
    }
    if matches!(verb, TeamVerb::Remove { .. }) {
        let (removed, is_running): (TeamView, bool) = store.request_and_state(verb).await?;
        output.print(&removed, |team| team.id.to_string())?;
        eprintln!("The keys of the team no longer work. The {} deletes its data.", server_name(is_running));
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
