//! `ringmail trace`: the timeline of an email with its SMTP attempts.

use clap::Args;
use serde::Serialize;

use super::email;
use super::failure::Failure;
use super::output::{Output, field};
use super::store_args::TeamArgs;
use crate::admin::emails::{EmailVerb, EmailView, email_id};
use crate::admin::response::Rows;
use crate::admin::{AdminClient, AdminClientError};
use crate::base::printable::printable;
use crate::emails::api::EmailAttemptResponse;

#[derive(Args)]
pub(super) struct TraceArgs {
    /// Id of the email.
    id: String,

    #[command(flatten)]
    team: TeamArgs,
}

/// An email with its timeline and its attempts.
#[derive(Serialize)]
struct Trace {
    #[serde(flatten)]
    email: EmailView,
    /// Oldest first.
    attempts: Vec<EmailAttemptResponse>,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the requests.
pub(super) async fn run(TraceArgs { id, team }: TraceArgs, output: Output) -> Result<(), Failure> {
    email_id(&id).map_err(AdminClientError::Refused)?;
    let trace = team.with_client(async |client| read(client, id).await).await?;
    output.print(&trace, show)
}

async fn read(client: &mut AdminClient, id: String) -> Result<Trace, Failure> {
    let email: EmailView = client.request(EmailVerb::Show { id }).await?;
    let id = email.id;
    let mut attempts: Vec<EmailAttemptResponse> = Vec::new();
    loop {
        let after = attempts.last().map(|attempt| attempt.id);
        let page: Rows<EmailAttemptResponse> = client.request(EmailVerb::Attempts { id, after }).await?;
        attempts.extend(page.data);
        if !page.has_more {
            attempts.reverse();
            return Ok(Trace { email, attempts });
        }
    }
}

/// Returns the email, then its events and attempts in the order of their times.
fn show(Trace { email, attempts }: &Trace) -> String {
    // An event of an outcome follows the attempt of the same time.
    let events = email.events.iter().map(|event| (&event.at, event.kind != "email.sent", email::lines(event)));
    let attempts = attempts.iter().map(|attempt| (&attempt.created_at, true, self::attempt(attempt)));
    let mut entries: Vec<_> = attempts.chain(events).collect();
    entries.sort_by(|(one_at, one_rank, _), (other_at, other_rank, _)| (one_at, one_rank).cmp(&(other_at, other_rank)));
    let lines: Vec<String> = entries.into_iter().map(|(_, _, text)| text).collect();
    format!("{}\n\n{}", email::head(email), lines.join("\n"))
}

/// Returns an attempt as one line, followed by its transcript.
fn attempt(attempt: &EmailAttemptResponse) -> String {
    let EmailAttemptResponse { created_at, number, to, host, address, tls, result, transcript, .. } = attempt;
    let kind = format!("attempt {number}");
    let tls = match tls {
        Some(tls) if tls.verified => format!("{} {} verified", tls.version, tls.cipher),
        Some(tls) => format!("{} {}", tls.version, tls.cipher),
        None if attempt.tls_downgraded => "clear text (downgraded)".to_owned(),
        None => "no TLS".to_owned(),
    };
    let duplicate = if attempt.possible_duplicate { "  possible duplicate" } else { "" };
    let [host, address] = [host, address].map(|name| field(name.as_deref().unwrap_or("-")));
    let (to, result) = (field(&to.join(", ")), field(result));
    let mut text = format!("{created_at}  {kind:<22}  {to}  {host} {address}  {tls}  {result}{duplicate}");
    for line in transcript.lines() {
        text.push_str("\n    ");
        text.push_str(&printable(line, usize::MAX));
    }
    text
}
