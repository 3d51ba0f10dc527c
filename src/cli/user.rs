//! `ringmail user`: who belongs to a team, and as what.

use clap::{Args, Subcommand, ValueEnum};

use super::failure::Failure;
use super::output::Output;
use super::store_args::{TeamArgs, unexpected};
use crate::admin::response::UserView;
use crate::admin::{Request, Response};
use crate::users::Role;

#[derive(Subcommand)]
pub(super) enum UserVerb {
    /// Add a user to a team.
    Create(CreateUserArgs),
    /// List the users of a team.
    List(TeamArgs),
    /// Change the role of a user in a team.
    Role(RoleArgs),
    /// Take a user out of a team; with the last team the user goes.
    Remove(RemoveArgs),
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleArg {
    /// Everything, and is told when something goes wrong.
    Owner,
    /// Everything but the team itself.
    Admin,
    /// Reads and sends.
    Member,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Owner => Self::Owner,
            RoleArg::Admin => Self::Admin,
            RoleArg::Member => Self::Member,
        }
    }
}

#[derive(Args)]
pub(super) struct CreateUserArgs {
    /// Its address.
    email: String,

    /// Its role [default: owner of a team without one, member of any other].
    #[arg(long, value_enum)]
    role: Option<RoleArg>,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct RoleArgs {
    /// Its address.
    email: String,

    /// The role it gets.
    #[arg(value_enum)]
    role: RoleArg,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct RemoveArgs {
    /// Its address.
    email: String,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: UserVerb, output: Output) -> Result<(), Failure> {
    let (request, place) = match verb {
        UserVerb::List(team) => return list(team, output).await,
        UserVerb::Create(CreateUserArgs { email, role, team: TeamArgs { team, place } }) => {
            (Request::UserCreate { team, email, role: role.map(Role::from) }, place)
        }
        UserVerb::Role(RoleArgs { email, role, team: TeamArgs { team, place } }) => {
            (Request::UserRole { team, email, role: role.into() }, place)
        }
        UserVerb::Remove(RemoveArgs { email, team: TeamArgs { team, place } }) => {
            (Request::UserRemove { team, email }, place)
        }
    };
    match place.ask(request).await? {
        Response::User(user) => output.print(&user, |user| format!("{}  {}  {}", user.id, user.email, user.role)),
        other => Err(unexpected(&other)),
    }
}

async fn list(TeamArgs { team, place }: TeamArgs, output: Output) -> Result<(), Failure> {
    let request = |last: Option<&UserView>| Request::UserList { team: team.clone(), after: last.map(|row| row.id) };
    let page_of = |response| match response {
        Response::Users(page) => Ok(page),
        other => Err(unexpected(&other)),
    };
    let rows = place.ask_all(request, page_of).await?;
    let nothing = "The team has no user; add one with `ringmail user create EMAIL`.";
    output.print_rows(&rows, nothing, &["ID", "EMAIL", "ROLE", "SINCE"], |user| {
        vec![user.id.to_string(), user.email.clone(), user.role.clone(), user.since.clone()]
    })
}
