//! `ringmail queue`: the emails of all teams that wait for delivery.
//!
//! Each verb repeats its request for one page after the other. `list.rs`: sites and domains with their depth. This
//! file: the other verbs.

mod list;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Subcommand;
use serde::Serialize;

use super::failure::Failure;
use super::output::Output;
use super::store_args::{StoreVerbArgs, TeamArgs};
use crate::admin::queue::{
    HoldView, QueueChangeView, QueueGroupView, QueueGroupsView, QueueVerb, ResumedView, SelectorArgs,
};
use crate::admin::{AdminClient, LISTED_DEFAULT, listed_max};
use crate::base::printable::printable;
use crate::delivery::QueuePosition;

/// Maximum number of groups that `pause` and the question of `drop` count.
const COUNTED_MAX: usize = 10_000;
/// Characters of a reason in a list.
const REASON_CHARS_MAX: usize = 160;

#[derive(Subcommand)]
pub(super) enum QueueCommand {
    /// List the sites and domains with queued emails, and the pauses.
    List {
        #[command(flatten)]
        selector: SelectorArgs,
        /// List each domain, not the sites.
        #[arg(long)]
        domains: bool,
        /// Maximum number of rows.
        #[arg(long, value_name = "N", default_value_t = LISTED_DEFAULT, value_parser = listed_max())]
        limit: usize,
    },
    /// Show queued emails, one row for each recipient domain, with the reason why they wait.
    Show {
        #[command(flatten)]
        selector: SelectorArgs,
        /// Maximum number of rows.
        #[arg(long, value_name = "N", default_value_t = LISTED_DEFAULT, value_parser = listed_max())]
        limit: usize,
    },
    /// Pause a part of the queue or all of it, also after a restart. New emails are accepted and wait.
    Pause {
        #[command(flatten)]
        selector: SelectorArgs,
    },
    /// End a pause.
    Resume {
        #[command(flatten)]
        selector: SelectorArgs,
    },
    /// Try queued emails now, and end the pauses of their mail servers. Scheduled emails keep their time.
    Flush {
        #[command(flatten)]
        selector: SelectorArgs,
    },
    /// Give up queued emails: `email.failed` with the reason `dropped`. Emails in flight are not changed.
    Drop {
        #[command(flatten)]
        selector: SelectorArgs,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// A hold with the number of groups that it affects.
#[derive(Serialize)]
struct Paused {
    #[serde(flatten)]
    hold: HoldView,
    groups: usize,
    /// Whether there are more groups than those that were counted.
    has_more: bool,
}

/// An ended hold with the number of groups that became due.
#[derive(Serialize)]
struct Resumed {
    #[serde(flatten)]
    resumed: ResumedView,
    groups: usize,
}

/// Totals of a change.
#[derive(Default, Serialize)]
struct Changed {
    groups: usize,
    /// Number of scheduled groups that keep their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled: Option<usize>,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of a request. A failure after the first page leaves the changes of the earlier pages.
pub(super) async fn run(
    StoreVerbArgs { verb, store }: StoreVerbArgs<QueueCommand>,
    output: Output,
) -> Result<(), Failure> {
    let team = TeamArgs { team: None, store };
    if let QueueCommand::Drop { selector, yes: false } = &verb {
        confirm(team.clone(), selector).await?;
    }
    let mut client = team.open().await?;
    let result = execute(&mut client, verb, output).await;
    client.close().await;
    result
}

async fn execute(client: &mut AdminClient, verb: QueueCommand, output: Output) -> Result<(), Failure> {
    match verb {
        QueueCommand::List { selector, domains, limit } => list::run(client, selector, domains, limit, output).await,
        QueueCommand::Show { selector, limit } => show(client, selector, limit, output).await,
        QueueCommand::Pause { selector } => {
            let hold: HoldView = client.request(QueueVerb::Pause { selector: selector.clone() }).await?;
            let (groups, has_more) = match selector.site {
                // The sites of some domains may not be known.
                Some(_) => (0, true),
                None => count(client, &selector).await?,
            };
            let paused = Paused { hold, groups, has_more };
            output.print(&paused, |paused| {
                let queued = match (paused.groups, paused.has_more) {
                    (0, true) => String::new(),
                    (groups, more) => format!("; {}{groups} queued", if more { "at least " } else { "" }),
                };
                format!("paused the {}{queued}", paused.hold.name())
            })
        }
        QueueCommand::Resume { selector } => {
            let resumed: ResumedView = client.request(QueueVerb::Resume { selector: selector.clone() }).await?;
            let release = |after| QueueVerb::Release { selector: selector.clone(), after };
            let Changed { groups, .. } = change(client, release).await?;
            let resumed = Resumed { resumed, groups };
            output.print(&resumed, |Resumed { resumed, .. }| format!("resumed the {}", resumed.name()))
        }
        QueueCommand::Flush { selector } => {
            let flush = |after| QueueVerb::Flush { selector: selector.clone(), after };
            let changed = change(client, flush).await?;
            output.print(&changed, |Changed { groups, scheduled }| match scheduled {
                Some(scheduled) if *scheduled > 0 => format!("{groups} due now; {scheduled} scheduled, unchanged"),
                _ => format!("{groups} due now"),
            })
        }
        QueueCommand::Drop { selector, yes: _ } => {
            let drop = |after| QueueVerb::Drop { selector: selector.clone(), after };
            let changed = Changed { scheduled: None, ..change(client, drop).await? };
            output.print(&changed, |changed| format!("{} dropped", changed.groups))
        }
    }
}

async fn show(client: &mut AdminClient, selector: SelectorArgs, limit: usize, output: Output) -> Result<(), Failure> {
    let (mut groups, mut after, mut unknown) = (Vec::<QueueGroupView>::new(), None, 0);
    loop {
        let page: QueueGroupsView = client.request(QueueVerb::Show { selector: selector.clone(), after }).await?;
        groups.extend(page.data);
        unknown += page.unknown;
        after = page.next;
        if groups.len() > limit || after.is_none() {
            break;
        }
    }
    let has_more = groups.len() > limit;
    groups.truncate(limit);
    let heading = ["EMAIL", "DOMAIN", "DUE", "ATTEMPTS", "STATE", "UNTIL", "REASON"];
    output.print_rows(&groups, "No queued email matches.", &heading, |group| {
        vec![
            group.email.to_string(),
            group.domain.clone(),
            group.due_at.clone(),
            group.attempts.to_string(),
            group.state.clone(),
            group.until.clone().unwrap_or_else(|| "-".into()),
            printable(&group.reason, REASON_CHARS_MAX),
        ]
    })?;
    if has_more {
        eprintln!("There are more; --limit sets another number.");
    }
    report_unknown(unknown);
    Ok(())
}

/// Counts the groups of a selector up to [`COUNTED_MAX`]. Returns whether there are more.
async fn count(client: &mut AdminClient, selector: &SelectorArgs) -> Result<(usize, bool), Failure> {
    let (mut groups, mut after) = (0, None);
    loop {
        let page = list::page(client, selector, after).await?;
        groups += page.data.iter().map(|row| row.groups).sum::<usize>();
        after = page.next;
        if after.is_none() || groups >= COUNTED_MAX {
            return Ok((groups, after.is_some()));
        }
    }
}

/// Repeats a change for each page.
async fn change(
    client: &mut AdminClient,
    verb: impl Fn(Option<QueuePosition>) -> QueueVerb,
) -> Result<Changed, Failure> {
    let (mut groups, mut scheduled, mut unknown, mut after) = (0, 0, 0, None);
    loop {
        let page: QueueChangeView = client.request(verb(after)).await?;
        groups += page.groups;
        scheduled += page.scheduled;
        unknown += page.unknown;
        after = page.next;
        if after.is_none() {
            report_unknown(unknown);
            return Ok(Changed { groups, scheduled: Some(scheduled) });
        }
    }
}

/// Asks on the terminal whether to drop the groups of a selector. Meanwhile, the store is not open and no connection
/// waits: the answer can take any time, and without a server an open store would prevent its start.
async fn confirm(team: TeamArgs, selector: &SelectorArgs) -> Result<(), Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::usage("this gives up emails permanently; confirm it with --yes"));
    }
    let mut client = team.open().await?;
    let counted = count(&mut client, selector).await;
    client.close().await;
    let (groups, has_more) = counted?;
    let at_least = if has_more { "at least " } else { "" };
    eprint!("Give up {at_least}{groups} queued emails permanently? [y/N] ");
    let mut answer = String::new();
    let read = io::stderr().flush().and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(_) if is_yes(&answer) => Ok(()),
        _ => Err(Failure::failed("nothing was changed")),
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Reports destinations that were skipped because their site is not known.
fn report_unknown(lanes: usize) {
    if lanes > 0 {
        eprintln!(
            "The sites of some domains are not known: they could not be looked up, or no server runs that looks them up. \
             Select them with --domain."
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_confirms() {
        for (answer, confirms) in
            [("y\n", true), ("Yes\n", true), ("\n", false), ("", false), ("n\n", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(answer), confirms, "{answer:?}");
        }
    }
}
