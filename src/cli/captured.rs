//! `ringmail captured`: the messages in the built-in mailbox.

use super::failure::Failure;
use super::output::{Output, cell, field, fields, or_dash};
use super::store_args::{StoreVerbArgs, TeamArgs, server_name};
use crate::admin::captured::{CapturedMessageView, CapturedVerb, CapturedView, ReleasedView};
use crate::admin::request::AdminVerb;
use crate::base::printable::printable;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    StoreVerbArgs { verb, store }: StoreVerbArgs<CapturedVerb>,
    output: Output,
) -> Result<(), Failure> {
    let store = TeamArgs::from(store);
    match verb {
        CapturedVerb::List { limit, .. } => {
            let page = |last: Option<&CapturedView>| CapturedVerb::List { limit, after: last.map(|row| row.id) };
            let rows = store.list_up_to(limit, page).await?;
            let heading = ["ID", "RECEIVED", "TO", "BYTES", "EMAIL", "RELEASED"];
            output.print_page(&rows, "There is no captured message.", &heading, |row| {
                vec![
                    row.id.to_string(),
                    row.received_at.clone(),
                    cell(&row.recipients.join(", ")),
                    row.size.to_string(),
                    or_dash(row.email_id),
                    or_dash(row.released_at.as_ref()),
                ]
            })
        }
        CapturedVerb::Show { .. } => {
            let message: CapturedMessageView = store.request(verb).await?;
            output.print(&message, show)
        }
        CapturedVerb::Release { .. } => release(verb, store, output).await,
    }
}

/// Releases a message.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn release(verb: impl Into<AdminVerb>, store: TeamArgs, output: Output) -> Result<(), Failure> {
    let (released, is_running): (ReleasedView, bool) = store.request_and_state(verb).await?;
    output.print(&released, |released| released.email_id.to_string())?;
    eprintln!(
        "The {} delivers it to {} through {}; `ringmail trace {}` shows the result.",
        server_name(is_running),
        field(&released.recipients.join(", ")),
        released.transport,
        released.email_id
    );
    Ok(())
}

fn show(CapturedMessageView { captured, message, is_truncated }: &CapturedMessageView) -> String {
    let fields = [
        ("Id", captured.id.to_string()),
        ("Received", captured.received_at.clone()),
        ("Sender", field(&captured.sender)),
        ("To", field(&captured.recipients.join(", "))),
        ("Email", or_dash(captured.email_id)),
        ("Released", or_dash(captured.released_at.as_ref())),
    ];
    let lines: Vec<String> = message.lines().map(|line| printable(line, usize::MAX)).collect();
    let rest = if *is_truncated { "\n(the rest is not shown)" } else { "" };
    format!("{}\n\n{}{rest}", self::fields(&fields), lines.join("\n"))
}
