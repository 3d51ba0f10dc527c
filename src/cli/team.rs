//! `ringmail team`: teams.

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreArgs, unexpected};
use crate::admin::{Request, Response};

#[derive(Subcommand)]
pub(super) enum TeamVerb {
    /// Make a team.
    Create(CreateTeamArgs),
    /// List the teams.
    List(StoreArgs),
}

#[derive(Args)]
pub(super) struct CreateTeamArgs {
    /// Its name, unique in the instance.
    name: String,

    #[command(flatten)]
    place: StoreArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: TeamVerb, output: Output) -> Result<(), Failure> {
    match verb {
        TeamVerb::Create(CreateTeamArgs { name, place }) => match place.ask(Request::TeamCreate { name }).await? {
            Response::Team(team) => output.print(&team, |team| team.id.to_string()),
            other => Err(unexpected(&other)),
        },
        TeamVerb::List(place) => match place.ask(Request::TeamList).await? {
            Response::Teams(teams) => {
                if teams.has_more {
                    eprintln!("There are more teams; these are the {} oldest.", teams.data.len());
                }
                output.print_rows(&teams.data, "There is no team.", &["ID", "NAME", "CREATED"], |team| {
                    vec![team.id.to_string(), team.name.clone(), team.created_at.clone()]
                })
            }
            other => Err(unexpected(&other)),
        },
    }
}
