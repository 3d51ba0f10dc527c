//! `ringmail email`: emails and their timelines.

use clap::Subcommand;

use super::failure::{Exit, Failure};
use super::output::{Output, table};
use super::store_args::TeamVerbArgs;
use crate::admin::emails::{EmailVerb, EmailView, EventView, ListedEmailView};
use crate::admin::queue::WaitingView;
use crate::admin::{LISTED_DEFAULT, listed_max};
use crate::base::id::EmailId;
use crate::base::printable::printable;

/// Characters of the recipients and of the subject in a list.
const CELL_CHARS_MAX: usize = 40;
/// Characters of a field of one email.
const FIELD_CHARS_MAX: usize = 1_000;

#[derive(Subcommand)]
pub(super) enum EmailCommand {
    /// List the emails, newest first.
    List {
        /// Maximum number of emails.
        #[arg(long, value_name = "N", default_value_t = LISTED_DEFAULT, value_parser = listed_max())]
        limit: usize,
    },
    /// Show an email with its recipients and its timeline.
    Show {
        /// Id of the email.
        id: String,
    },
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    TeamVerbArgs { verb, team }: TeamVerbArgs<EmailCommand>,
    output: Output,
) -> Result<(), Failure> {
    match verb {
        EmailCommand::List { limit } => {
            let page = |last: Option<&ListedEmailView>| EmailVerb::List { after: last.map(|row| row.id) };
            let rows = team.list_up_to(limit, page).await?;
            let no_rows = "There is no email; send one with `ringmail send --to ADDRESS`.";
            output.print_page(&rows, no_rows, &["ID", "CREATED", "STATUS", "TO", "SUBJECT"], |email| {
                vec![
                    email.id.to_string(),
                    email.created_at.clone(),
                    email.last_event.clone(),
                    printable(&email.recipients.join(", "), CELL_CHARS_MAX),
                    printable(&email.subject, CELL_CHARS_MAX),
                ]
            })
        }
        EmailCommand::Show { id: text } => {
            let id = EmailId::parse(&text)
                .ok_or_else(|| Failure::new(Exit::NotFound, format!("`{text}` is not the id of an email")))?;
            let email: EmailView = team.request(EmailVerb::Show { id }).await?;
            output.print(&email, show)
        }
    }
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
        ("From", printable(from, FIELD_CHARS_MAX)),
        ("Subject", printable(subject, FIELD_CHARS_MAX)),
        ("Created", created_at.clone()),
        ("Status", last_event.clone()),
    ];
    let fields = fields.map(|(name, value)| format!("{name:<7}  {value}")).join("\n");
    let rows = recipients.iter().map(|recipient| vec![recipient.email.clone(), recipient.last_event.clone()]);
    let recipients = table(&["RECIPIENT", "STATUS"], rows);
    if waiting.is_empty() {
        return format!("{fields}\n\n{recipients}");
    }
    let rows = waiting.iter().map(|WaitingView { domain, state, until, reason, .. }| {
        vec![domain.clone(), state.clone(), until.clone().unwrap_or_else(|| "-".into()), reason.clone()]
    });
    let waiting = table(&["WAITING", "STATE", "UNTIL", "REASON"], rows);
    format!("{fields}\n\n{recipients}\n\n{waiting}")
}

/// Returns an event of the timeline as one line, followed by a line about what to do if it is a problem.
pub(super) fn lines(EventView { kind, at, recipients, detail, guidance }: &EventView) -> String {
    let detail = detail.as_ref().map(|detail| format!("  {detail}")).unwrap_or_default();
    let recipients = printable(&recipients.join(", "), FIELD_CHARS_MAX);
    let guidance = guidance.as_ref().map(|guidance| format!("\n    {guidance}")).unwrap_or_default();
    format!("{at}  {kind:<22}  {recipients}{detail}{guidance}")
}
