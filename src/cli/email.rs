//! `ringmail email`: emails and their timelines.

use super::failure::Failure;
use super::output::{Output, cell, field, fields, or_dash, table};
use super::store_args::TeamVerbArgs;
use crate::admin::AdminClientError;
use crate::admin::emails::{EmailVerb, EmailView, EventView, ListedEmailView, email_id};
use crate::emails::api::EmailWaitingResponse;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<EmailVerb>, output: Output) -> Result<(), Failure> {
    let EmailVerb::List { limit, .. } = verb else {
        if let EmailVerb::Show { id } = &verb {
            email_id(id).map_err(AdminClientError::Refused)?;
        }
        let email: EmailView = team.request(verb).await?;
        return output.print(&email, show);
    };
    let page = |last: Option<&ListedEmailView>| EmailVerb::List { limit, after: last.map(|row| row.id) };
    let rows = team.list_up_to(limit, page).await?;
    let no_rows = "There is no email; send one with `ringmail send --to ADDRESS`.";
    output.print_page(&rows, no_rows, &["ID", "CREATED", "STATUS", "TO", "SUBJECT"], |email| {
        vec![
            email.id.to_string(),
            email.created_at.clone(),
            email.last_event.clone(),
            cell(&email.recipients.join(", ")),
            cell(&email.subject),
        ]
    })
}

fn show(email: &EmailView) -> String {
    let events: Vec<String> = email.events.iter().map(lines).collect();
    format!("{}\n\n{}", head(email), events.join("\n"))
}

/// Returns the fields of an email, its recipients, and why some of them wait.
pub(super) fn head(email: &EmailView) -> String {
    let EmailView { id, from, subject, created_at, last_event, recipients, events: _, waiting } = email;
    let fields = [
        ("Id", id.to_string()),
        ("From", field(from)),
        ("Subject", field(subject)),
        ("Created", created_at.clone()),
        ("Status", last_event.clone()),
    ];
    let fields = self::fields(&fields);
    let rows = recipients.iter().map(|recipient| vec![recipient.email.clone(), recipient.last_event.clone()]);
    let recipients = table(&["RECIPIENT", "STATUS"], rows);
    if waiting.is_empty() {
        return format!("{fields}\n\n{recipients}");
    }
    let rows = waiting.iter().map(|EmailWaitingResponse { domain, state, until, reason, .. }| {
        vec![domain.clone(), state.clone(), or_dash(until.as_ref()), reason.clone()]
    });
    let waiting = table(&["WAITING", "STATE", "UNTIL", "REASON"], rows);
    format!("{fields}\n\n{recipients}\n\n{waiting}")
}

/// Returns an event of the timeline as one line, followed by a line about what to do if it is a problem.
pub(super) fn lines(EventView { kind, at, recipients, detail, guidance }: &EventView) -> String {
    let detail = detail.as_ref().map(|detail| format!("  {detail}")).unwrap_or_default();
    let recipients = field(&recipients.join(", "));
    let guidance = guidance.as_ref().map(|guidance| format!("\n    {guidance}")).unwrap_or_default();
    format!("{at}  {kind:<22}  {recipients}{detail}{guidance}")
}
