//! `ringmail webhook`: webhook endpoints.

use super::failure::Failure;
use super::output::Output;
use super::store_args::TeamVerbArgs;
use crate::admin::webhooks::{WebhookTestView, WebhookVerb, WebhookView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<WebhookVerb>, output: Output) -> Result<(), Failure> {
    match verb {
        WebhookVerb::List { .. } => {
            let page = |last: Option<&WebhookView>| WebhookVerb::List { after: last.map(|row| row.id) };
            let heading = ["ID", "STATUS", "CREATED", "ENDPOINT", "EVENTS"];
            let no_rows = "There is no endpoint; add one with `ringmail webhook create URL`.";
            output.print_rows(&team.list(page).await?, no_rows, &heading, |row| {
                vec![
                    row.id.to_string(),
                    row.status.clone(),
                    row.created_at.clone(),
                    row.endpoint.clone(),
                    row.events.as_ref().map_or_else(|| "all".to_owned(), |events| events.join(",")),
                ]
            })
        }
        WebhookVerb::Test { .. } => {
            let test: WebhookTestView = team.request(verb).await?;
            output.print(&test, |test| test.id.to_string())
        }
        verb => {
            let webhook: WebhookView = team.request(verb).await?;
            output.print(&webhook, |row| row.signing_secret.clone().unwrap_or_else(|| row.id.to_string()))?;
            if output == Output::Text && webhook.signing_secret.is_some() {
                let until = webhook.previous_secret_expires_at.as_ref();
                let overlap = until.map(|at| format!(" The previous secret signs as well until {at}."));
                eprintln!("Endpoint {} signs with this secret.{}", webhook.id, overlap.unwrap_or_default());
            }
            Ok(())
        }
    }
}
