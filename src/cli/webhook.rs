//! `ringmail webhook`: endpoints that events are posted to.

use clap::{Args, Subcommand, value_parser};

use super::failure::Failure;
use super::output::Output;
use super::store_args::{TeamArgs, unexpected};
use crate::admin::response::{WebhookTestView, WebhookView};
use crate::admin::{Request, Response};
use crate::webhooks::{OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX};

#[derive(Subcommand)]
pub(super) enum WebhookVerb {
    /// Add an endpoint and print the secret that signs.
    Create(CreateWebhookArgs),
    /// List the endpoints.
    List(TeamArgs),
    /// Deliver nothing to an endpoint; what waits for it is given up.
    Disable(NamedArgs),
    /// Deliver to an endpoint again, from here on.
    Enable(NamedArgs),
    /// Replace the secret of an endpoint and print the new one.
    Rotate(RotateArgs),
    /// Delete an endpoint with all its deliveries.
    Delete(NamedArgs),
    /// Queue a sample of an event for an endpoint.
    Test(TestArgs),
}

#[derive(Args)]
pub(super) struct CreateWebhookArgs {
    /// The URL that events are posted to.
    url: String,

    /// A type of event it hears of, such as email.delivered; may be repeated [default: all of them,
    /// but for email.prefetched].
    #[arg(long = "event", value_name = "TYPE", value_delimiter = ',')]
    events: Vec<String>,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct NamedArgs {
    /// Its id or its URL.
    webhook: String,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct RotateArgs {
    /// Its id or its URL.
    webhook: String,

    /// How many hours the secret before goes on signing; 0 drops it at once.
    #[arg(long, value_name = "HOURS", default_value_t = OVERLAP_HOURS_DEFAULT,
          value_parser = value_parser!(u8).range(0..=i64::from(OVERLAP_HOURS_MAX)))]
    overlap_hours: u8,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct TestArgs {
    /// Its id or its URL.
    webhook: String,

    /// The type of the event [default: email.delivered, or the first type the endpoint hears of].
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: WebhookVerb, output: Output) -> Result<(), Failure> {
    match verb {
        WebhookVerb::Create(CreateWebhookArgs { url, events, team: TeamArgs { team, place } }) => {
            let request = Request::WebhookCreate { team, endpoint: url, events };
            print_secret(&webhook(place.ask(request).await?)?, output)
        }
        WebhookVerb::List(team) => list(team, output).await,
        WebhookVerb::Disable(NamedArgs { webhook: named, team: TeamArgs { team, place } }) => {
            print_id(&webhook(place.ask(Request::WebhookDisable { team, webhook: named }).await?)?, output)
        }
        WebhookVerb::Enable(NamedArgs { webhook: named, team: TeamArgs { team, place } }) => {
            print_id(&webhook(place.ask(Request::WebhookEnable { team, webhook: named }).await?)?, output)
        }
        WebhookVerb::Rotate(RotateArgs { webhook: named, overlap_hours, team: TeamArgs { team, place } }) => {
            let overlap_hours = Some(i64::from(overlap_hours));
            let request = Request::WebhookRotate { team, webhook: named, overlap_hours };
            print_secret(&webhook(place.ask(request).await?)?, output)
        }
        WebhookVerb::Delete(NamedArgs { webhook: named, team: TeamArgs { team, place } }) => {
            print_id(&webhook(place.ask(Request::WebhookDelete { team, webhook: named }).await?)?, output)
        }
        WebhookVerb::Test(TestArgs { webhook: named, event_type, team: TeamArgs { team, place } }) => {
            let request = Request::WebhookTest { team, webhook: named, event_type };
            let test: WebhookTestView = match place.ask(request).await? {
                Response::WebhookTest(test) => test,
                other => return Err(unexpected(&other)),
            };
            output.print(&test, |test| test.id.to_string())
        }
    }
}

fn webhook(response: Response) -> Result<WebhookView, Failure> {
    match response {
        Response::Webhook(webhook) => Ok(webhook),
        other => Err(unexpected(&other)),
    }
}

fn print_id(webhook: &WebhookView, output: Output) -> Result<(), Failure> {
    output.print(webhook, |webhook| webhook.id.to_string())
}

fn print_secret(webhook: &WebhookView, output: Output) -> Result<(), Failure> {
    output.print(webhook, |webhook| webhook.signing_secret.clone().unwrap_or_default())?;
    if output == Output::Text {
        let until = webhook.previous_secret_expires_at.as_ref();
        let beside = until.map(|at| format!(" The one before signs beside it until {at}.")).unwrap_or_default();
        eprintln!("Endpoint {} signs with this secret.{beside}", webhook.id);
    }
    Ok(())
}

async fn list(TeamArgs { team, place }: TeamArgs, output: Output) -> Result<(), Failure> {
    let request =
        |last: Option<&WebhookView>| Request::WebhookList { team: team.clone(), after: last.map(|row| row.id) };
    let page_of = |response| match response {
        Response::Webhooks(page) => Ok(page),
        other => Err(unexpected(&other)),
    };
    let rows = place.ask_all(request, page_of).await?;
    let heading = ["ID", "STATUS", "CREATED", "ENDPOINT", "EVENTS"];
    output.print_rows(&rows, "There is no endpoint; add one with `ringmail webhook create URL`.", &heading, |row| {
        vec![
            row.id.to_string(),
            row.status.clone(),
            row.created_at.clone(),
            row.endpoint.clone(),
            row.events.as_ref().map_or_else(|| "all".to_owned(), |events| events.join(",")),
        ]
    })
}
