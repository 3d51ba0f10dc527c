//! `ringmail key`: API keys.

use clap::{Args, Subcommand, ValueEnum};

use super::failure::Failure;
use super::output::Output;
use super::store_args::{TeamArgs, unexpected};
use crate::admin::response::KeyView;
use crate::admin::{Request, Response};
use crate::api_keys::Permission;

#[derive(Subcommand)]
pub(super) enum KeyVerb {
    /// Make a key and print its token, which is shown this once.
    Create(CreateKeyArgs),
    /// List the keys.
    List(TeamArgs),
    /// Rename a key.
    Rename(RenameArgs),
    /// Revoke a key: it stops at once.
    Revoke(RevokeArgs),
}

#[derive(Clone, Copy, ValueEnum)]
enum PermissionArg {
    /// Everything.
    #[value(name = "full_access")]
    FullAccess,
    /// Sending alone.
    #[value(name = "sending_access")]
    SendingAccess,
}

impl From<PermissionArg> for Permission {
    fn from(permission: PermissionArg) -> Self {
        match permission {
            PermissionArg::FullAccess => Self::FullAccess,
            PermissionArg::SendingAccess => Self::SendingAccess,
        }
    }
}

#[derive(Args)]
pub(super) struct CreateKeyArgs {
    /// Its name.
    name: String,

    /// What it may do.
    #[arg(long, value_enum, default_value = "full_access")]
    permission: PermissionArg,

    /// The name or the id of the one domain it may send from.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct RenameArgs {
    /// Its name or its id.
    key: String,

    /// The name it gets.
    name: String,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct RevokeArgs {
    /// Its name or its id.
    key: String,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: KeyVerb, output: Output) -> Result<(), Failure> {
    match verb {
        KeyVerb::Create(CreateKeyArgs { name, permission, domain, team: TeamArgs { team, place } }) => {
            let request = Request::KeyCreate { team, name, permission: permission.into(), domain };
            let key = key(place.ask(request).await?)?;
            output.print(&key, |key| key.token.clone().unwrap_or_default())?;
            if output == Output::Text {
                eprintln!("Key \"{}\" is made. Keep the token: it is not shown again.", key.name);
            }
            Ok(())
        }
        KeyVerb::List(team) => list(team, output).await,
        KeyVerb::Rename(RenameArgs { key: wanted, name, team: TeamArgs { team, place } }) => {
            let key = key(place.ask(Request::KeyRename { team, key: wanted, name }).await?)?;
            output.print(&key, |key| key.id.to_string())
        }
        KeyVerb::Revoke(RevokeArgs { key: wanted, team: TeamArgs { team, place } }) => {
            let key = key(place.ask(Request::KeyRevoke { team, key: wanted }).await?)?;
            output.print(&key, |key| key.id.to_string())
        }
    }
}

fn key(response: Response) -> Result<KeyView, Failure> {
    match response {
        Response::Key(key) => Ok(key),
        other => Err(unexpected(&other)),
    }
}

async fn list(TeamArgs { team, place }: TeamArgs, output: Output) -> Result<(), Failure> {
    let request = |last: Option<&KeyView>| Request::KeyList { team: team.clone(), after: last.map(|row| row.id) };
    let page_of = |response| match response {
        Response::Keys(page) => Ok(page),
        other => Err(unexpected(&other)),
    };
    let rows = place.ask_all(request, page_of).await?;
    let heading = ["ID", "NAME", "PERMISSION", "DOMAIN ID", "CREATED", "LAST USED"];
    output.print_rows(&rows, "There is no key; make one with `ringmail key create NAME`.", &heading, |key| {
        vec![
            key.id.to_string(),
            key.name.clone(),
            key.permission.clone(),
            key.domain_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
            key.created_at.clone(),
            key.last_used_at.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    })
}
