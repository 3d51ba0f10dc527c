//! `ringmail log`: requests to the API.

use super::failure::Failure;
use super::output::{Output, fields};
use super::store_args::TeamVerbArgs;
use crate::admin::logs::{LogDetailsView, LogVerb, LogView};
use crate::base::printable::printable;

/// Characters of a text that a client sent.
const TEXT_CHARS_MAX: usize = 200;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<LogVerb>, output: Output) -> Result<(), Failure> {
    let LogVerb::List { limit, .. } = verb else {
        let log: LogDetailsView = team.request(verb).await?;
        return output.print(&log, show);
    };
    let page = |last: Option<&LogView>| LogVerb::List { limit, after: last.map(|row| row.id) };
    let rows = team.list_up_to(limit, page).await?;
    let heading = ["ID", "CREATED", "STATUS", "METHOD", "MS", "PATH"];
    output.print_page(&rows, "No request is logged.", &heading, |row| {
        vec![
            row.id.to_string(),
            row.created_at.clone(),
            row.response_status.to_string(),
            row.method.clone(),
            row.duration_ms.to_string(),
            printable(&row.endpoint, TEXT_CHARS_MAX),
        ]
    })
}

fn show(LogDetailsView { request, request_body, response_body, detail }: &LogDetailsView) -> String {
    let LogView { id, created_at, method, endpoint, response_status, duration_ms, user_agent, api_key_id } = request;
    let fields = [
        ("Id", id.to_string()),
        ("Request", format!("{method} {}", printable(endpoint, TEXT_CHARS_MAX))),
        ("Status", response_status.to_string()),
        ("Created", created_at.clone()),
        ("Duration", format!("{duration_ms} ms")),
        ("Key", api_key_id.to_string()),
        ("Client", printable(user_agent.as_deref().unwrap_or("-"), TEXT_CHARS_MAX)),
        ("Detail", printable(detail.as_deref().unwrap_or("-"), usize::MAX)),
    ];
    let fields = self::fields(&fields);
    format!("{fields}\n\nRequest body\n{}\n\nResponse body\n{}", json(request_body), json(response_body))
}

/// Formats a copy of a body. The client wrote it, and a string of JSON can contain direction marks.
fn json(body: &serde_json::Value) -> String {
    let text = serde_json::to_string_pretty(body).expect("a JSON value is JSON");
    text.lines().map(|line| printable(line, usize::MAX)).collect::<Vec<_>>().join("\n")
}
