//! `ringmail queue`: the emails of all teams that wait for delivery.
//!
//! Each verb repeats its request for one page after the other. `list.rs`: sites and domains with their depth. This
//! file: the other verbs.

mod list;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde::Serialize;

use super::failure::Failure;
use super::output::{Output, or_dash};
use super::store_args::{StoreVerbArgs, TeamArgs};
use crate::admin::AdminClient;
use crate::admin::queue::{HoldView, QueueGroupView, QueuePage, QueueVerb, ResumedView, SelectorArgs};
use crate::base::printable::printable;
use crate::delivery::{QueueChange, QueuePosition};

/// Maximum number of groups that `pause` and the question of `drop` count.
const COUNTED_MAX: usize = 10_000;
/// Characters of a reason in a list.
const REASON_CHARS_MAX: usize = 160;

/// A hold with the number of groups that it affects.
#[derive(Serialize)]
struct Paused {
    #[serde(flatten)]
    hold: HoldView,
    groups: usize,
    /// Whether there are more groups than those that were counted.
    has_more: bool,
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
    StoreVerbArgs { verb, store }: StoreVerbArgs<QueueVerb>,
    output: Output,
) -> Result<(), Failure> {
    let team = TeamArgs::from(store);
    if let QueueVerb::Drop { selector, yes: false, .. } = &verb {
        confirm(team.clone(), selector).await?;
    }
    team.with_client(async |client| execute(client, verb, output).await).await
}

async fn execute(client: &mut AdminClient, verb: QueueVerb, output: Output) -> Result<(), Failure> {
    match verb {
        QueueVerb::List { selector, domains, limit, .. } => list::run(client, selector, domains, limit, output).await,
        QueueVerb::Show { selector, limit, .. } => show(client, selector, limit, output).await,
        QueueVerb::Pause { selector } => {
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
                format!("paused the {}{queued}", paused.hold.part)
            })
        }
        QueueVerb::Resume { selector, mut after } => {
            let mut groups = 0;
            loop {
                let verb = QueueVerb::Resume { selector: selector.clone(), after };
                let page: ResumedView = client.request(verb).await?;
                groups += page.groups;
                after = page.next;
                if after.is_none() {
                    let resumed = ResumedView { groups, ..page };
                    return output.print(&resumed, |resumed| format!("resumed the {}", resumed.part));
                }
            }
        }
        QueueVerb::Flush { selector, .. } => {
            let flush = |after| QueueVerb::Flush { selector: selector.clone(), after };
            let changed = change(client, flush).await?;
            output.print(&changed, |Changed { groups, scheduled }| match scheduled {
                Some(scheduled) if *scheduled > 0 => format!("{groups} due now; {scheduled} scheduled, unchanged"),
                _ => format!("{groups} due now"),
            })
        }
        QueueVerb::Drop { selector, yes, .. } => {
            let drop = |after| QueueVerb::Drop { selector: selector.clone(), yes, after };
            let changed = Changed { scheduled: None, ..change(client, drop).await? };
            output.print(&changed, |changed| format!("{} dropped", changed.groups))
        }
    }
}

async fn show(client: &mut AdminClient, selector: SelectorArgs, limit: usize, output: Output) -> Result<(), Failure> {
    let (mut groups, mut after, mut unknown) = (Vec::new(), None, 0);
    loop {
        let verb = QueueVerb::Show { selector: selector.clone(), limit, after };
        let page: QueuePage<QueueGroupView> = client.request(verb).await?;
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
            or_dash(group.until.as_ref()),
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
        let page: QueueChange = client.request(verb(after)).await?;
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
/// waits. The answer can take any time, and without a server an open store would prevent its start.
async fn confirm(team: TeamArgs, selector: &SelectorArgs) -> Result<(), Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::usage("this gives up emails permanently; confirm it with --yes"));
    }
    let (groups, has_more) = team.with_client(async |client| count(client, selector).await).await?;
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
