//! `ringmail setup-link`: a one-time link to the dashboard.

use clap::Args;

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreArgs, TeamArgs};
use crate::admin::access::{AccessVerb, LinkView};

#[derive(Args)]
pub(super) struct SetupLinkArgs {
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request, for example if an account exists.
pub(super) async fn run(args: SetupLinkArgs, output: Output) -> Result<(), Failure> {
    let link: LinkView = TeamArgs::from(args.store).request(AccessVerb::SetupLink {}).await?;
    print(&link, output)
}

/// Prints a link, and its expiry on standard error.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn print(link: &LinkView, output: Output) -> Result<(), Failure> {
    output.print(link, |link| link.url.clone())?;
    if output == Output::Text {
        eprintln!("The link works once, until {}.", link.expires_at);
    }
    Ok(())
}
