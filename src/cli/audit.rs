//! `ringmail audit`: administrative actions.

use clap::Args;

use super::failure::Failure;
use super::output::{Output, or_dash};
use super::store_args::{StoreArgs, TeamArgs};
use crate::admin;
use crate::admin::audit::{AuditVerb, AuditView};
use crate::audit::AuditTargetView;
use crate::base::printable::printable;

/// Characters of a name that a user chose.
const TEXT_CHARS_MAX: usize = 80;

#[derive(Args)]
pub(super) struct AuditArgs {
    /// Name or id of the team; the id also of a removed team [default: the server and all teams].
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Maximum number of entries.
    #[arg(long, value_name = "N", default_value_t = admin::LISTED_DEFAULT, value_parser = admin::listed_max())]
    limit: usize,

    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(AuditArgs { team, limit, store }: AuditArgs, output: Output) -> Result<(), Failure> {
    let page = |last: Option<&AuditView>| AuditVerb::List { after: last.map(|entry| entry.id) };
    let rows = TeamArgs { team, store }.list_up_to(limit, page).await?;
    let heading = ["CREATED", "ACTION", "ACTOR", "TARGET", "DETAIL"];
    output.print_page(&rows, "The audit log has no entry.", &heading, |entry| {
        let detail = serde_json::to_string(&entry.detail).expect("a JSON value is JSON");
        vec![
            entry.created_at.clone(),
            entry.action.clone(),
            actor(entry),
            or_dash(entry.target.as_ref().map(target)),
            if entry.detail.is_empty() { "-".to_owned() } else { printable(&detail, 2 * TEXT_CHARS_MAX) },
        ]
    })
}

fn actor(AuditView { actor, .. }: &AuditView) -> String {
    let name = actor.name.as_ref().or(actor.id.as_ref());
    match name {
        Some(name) => format!("{} {}", actor.kind, printable(name, TEXT_CHARS_MAX)),
        None => actor.kind.clone(),
    }
}

fn target(AuditTargetView { kind, id, name }: &AuditTargetView) -> String {
    match name {
        Some(name) if !name.is_empty() => format!("{kind} {}", printable(name, TEXT_CHARS_MAX)),
        _ => format!("{kind} {}", printable(id, TEXT_CHARS_MAX)),
    }
}
