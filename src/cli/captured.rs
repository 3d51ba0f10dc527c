//! `ringmail captured`: the messages in the built-in mailbox.

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreVerbArgs, TeamArgs};
use crate::admin::captured::{CapturedMessageView, CapturedVerb, CapturedView, ReleasedView};
use crate::base::printable::printable;

/// Characters of the recipients in a list.
const CELL_CHARS_MAX: usize = 40;
/// Characters of a field of one message.
const FIELD_CHARS_MAX: usize = 1_000;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    StoreVerbArgs { verb, store }: StoreVerbArgs<CapturedVerb>,
    output: Output,
) -> Result<(), Failure> {
    match verb {
        CapturedVerb::List { limit, .. } => {
            let page = |last: Option<&CapturedView>| CapturedVerb::List { limit, after: last.map(|row| row.id) };
            let rows = TeamArgs { team: None, store }.list_up_to(limit, page).await?;
            let heading = ["ID", "RECEIVED", "TO", "BYTES", "EMAIL", "RELEASED"];
            output.print_page(&rows, "There is no captured message.", &heading, |row| {
                vec![
                    row.id.to_string(),
                    row.received_at.clone(),
                    printable(&row.recipients.join(", "), CELL_CHARS_MAX),
                    row.size.to_string(),
                    row.email_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
                    row.released_at.clone().unwrap_or_else(|| "-".to_owned()),
                ]
            })
        }
        CapturedVerb::Show { .. } => {
            let message: CapturedMessageView = store.request(verb).await?;
            output.print(&message, show)
        }
        CapturedVerb::Release { .. } => {
            let mut client = TeamArgs { team: None, store }.open().await?;
            let released: Result<ReleasedView, _> = client.request(verb).await;
            let is_running = client.is_running();
            client.close().await;
            let released = released?;
            output.print(&released, |released| released.email_id.to_string())?;
            let server = if is_running { "server" } else { "next server" };
            eprintln!(
                "The {server} delivers it to {} through {}; `ringmail trace {}` shows the result.",
                printable(&released.recipients.join(", "), FIELD_CHARS_MAX),
                released.transport,
                released.email_id
            );
            Ok(())
        }
    }
}

fn show(CapturedMessageView { captured, message, is_truncated }: &CapturedMessageView) -> String {
    let dash = || "-".to_owned();
    let fields = [
        ("Id", captured.id.to_string()),
        ("Received", captured.received_at.clone()),
        ("Sender", printable(&captured.sender, FIELD_CHARS_MAX)),
        ("To", printable(&captured.recipients.join(", "), FIELD_CHARS_MAX)),
        ("Email", captured.email_id.map_or_else(dash, |id| id.to_string())),
        ("Released", captured.released_at.clone().unwrap_or_else(dash)),
    ];
    let fields = fields.map(|(name, value)| format!("{name:<8}  {value}")).join("\n");
    let lines: Vec<String> = message.lines().map(|line| printable(line, usize::MAX)).collect();
    let rest = if *is_truncated { "\n(the rest is not shown)" } else { "" };
    format!("{fields}\n\n{}{rest}", lines.join("\n"))
}
