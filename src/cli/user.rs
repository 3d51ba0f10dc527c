//! `ringmail user`: members of a team and their roles.

use super::failure::Failure;
use super::output::Output;
use super::setup_link;
use super::store_args::TeamVerbArgs;
use crate::admin::access::LinkView;
use crate::admin::users::{UserVerb, UserView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<UserVerb>, output: Output) -> Result<(), Failure> {
    if matches!(verb, UserVerb::List { .. }) {
        let page = |last: Option<&UserView>| UserVerb::List { after: last.map(|row| row.id) };
        let no_rows = "The team has no user; add one with `ringmail user create EMAIL`.";
        return output.print_rows(&team.list(page).await?, no_rows, &["ID", "EMAIL", "ROLE", "SINCE"], |user| {
            vec![user.id.to_string(), user.email.clone(), user.role.clone(), user.since.clone()]
        });
    }
    if matches!(verb, UserVerb::Link { .. }) {
        let link: LinkView = team.request(verb).await?;
        return setup_link::print(&link, output);
    }
    let user: UserView = team.request(verb).await?;
    output.print(&user, |user| format!("{}  {}  {}", user.id, user.email, user.role))
}
