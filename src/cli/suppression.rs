//! `ringmail suppression`: addresses that the team does not send to.

use super::failure::Failure;
use super::output::{Output, or_dash};
use super::store_args::TeamVerbArgs;
use crate::admin::response::Rows;
use crate::admin::suppressions::{RemovedSuppressionView, SuppressionVerb, SuppressionView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    TeamVerbArgs { verb, team }: TeamVerbArgs<SuppressionVerb>,
    output: Output,
) -> Result<(), Failure> {
    let rows: Rows<SuppressionView> = match verb {
        SuppressionVerb::Remove { .. } => {
            let removed: RemovedSuppressionView = team.request(verb).await?;
            return output.print(&removed, |removed| removed.id.to_string());
        }
        SuppressionVerb::Add { .. } => team.request(verb).await?,
        SuppressionVerb::List { origin, limit, .. } => {
            let page =
                |last: Option<&SuppressionView>| SuppressionVerb::List { origin, limit, after: last.map(|row| row.id) };
            team.list_up_to(limit, page).await?
        }
    };
    let heading = ["ID", "ADDRESS", "ORIGIN", "EMAIL", "CREATED"];
    output.print_page(&rows, "There is no suppressed address.", &heading, |row| {
        vec![row.id.to_string(), row.email.clone(), row.origin.clone(), or_dash(row.source_id), row.created_at.clone()]
    })
}
