//! `ringmail queue list`: sites and domains with their depth, oldest email, next attempt and reason.

use std::collections::HashMap;

use serde::Serialize;

use super::report_unknown;
use crate::admin::AdminClient;
use crate::admin::queue::{HoldView, QueuePage, QueueSiteView, QueueVerb, SelectorArgs};
use crate::base::printable::printable;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash, print_json, print_line, table};
use crate::delivery::QueuePosition;

/// Maximum number of sites and domains in memory. Further ones are not listed.
const ROWS_MAX: usize = 100_000;
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 120;

/// The list as JSON.
#[derive(Serialize)]
struct Listed {
    data: Vec<QueueSiteView>,
    has_more: bool,
    holds: Vec<HoldView>,
}

/// The rows by site or domain.
#[derive(Default)]
struct Rows {
    by_name: HashMap<(bool, String), QueueSiteView>,
    /// Whether rows did not fit.
    is_cut: bool,
    /// Domain of the last row. The next page may continue it.
    last: Option<String>,
}

/// Requests a page of destinations.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn page(
    client: &mut AdminClient,
    selector: &SelectorArgs,
    after: Option<QueuePosition>,
) -> Result<QueuePage<QueueSiteView>, Failure> {
    Ok(client.request(QueueVerb::List { selector: selector.clone(), domains: false, limit: 0, after }).await?)
}

pub(super) async fn run(
    client: &mut AdminClient,
    selector: SelectorArgs,
    by_domain: bool,
    limit: usize,
    output: Output,
) -> Result<(), Failure> {
    let (mut rows, mut after, mut unknown) = (Rows::default(), None, 0);
    let holds = loop {
        let page = page(client, &selector, after).await?;
        unknown += page.unknown;
        page.data.into_iter().for_each(|row| rows.add(row, by_domain));
        after = page.next;
        if after.is_none() {
            break page.holds;
        }
    };
    let mut data: Vec<QueueSiteView> = rows.by_name.into_values().collect();
    data.sort_by(|one, other| (other.groups, &one.oldest_at).cmp(&(one.groups, &other.oldest_at)));
    let has_more = rows.is_cut || data.len() > limit;
    data.truncate(limit);
    report_unknown(unknown);
    let listed = Listed { data, has_more, holds };
    match output {
        Output::Json => print_json(&listed),
        Output::Text => print(&listed, limit),
    }
}

impl Rows {
    fn add(&mut self, row: QueueSiteView, by_domain: bool) {
        let is_continued = self.last == row.domain;
        self.last.clone_from(&row.domain);
        let name = match &row.site {
            Some(site) if !by_domain => (true, site.clone()),
            _ => (false, row.domain.clone().unwrap_or_default()),
        };
        if let Some(known) = self.by_name.get_mut(&name) {
            known.groups += row.groups;
            known.domains += usize::from(!is_continued);
            if known.domains > 1 {
                known.domain = None;
            }
            known.sessions = row.sessions;
            known.oldest_age_s = known.oldest_age_s.max(row.oldest_age_s);
            known.oldest_at = row.oldest_at.min(std::mem::take(&mut known.oldest_at));
            // The reason of the group that is due first.
            if row.next_at < known.next_at {
                (known.next_at, known.state, known.until, known.reason) =
                    (row.next_at, row.state, row.until, row.reason);
            }
        } else if self.by_name.len() == ROWS_MAX {
            self.is_cut = true;
        } else {
            self.by_name.insert(name, row);
        }
    }
}

fn print(Listed { data, has_more, holds }: &Listed, limit: usize) -> Result<(), Failure> {
    if data.is_empty() {
        eprintln!("The queue has no matching email.");
    } else {
        let heading = ["SITE", "DOMAIN", "QUEUED", "OLDEST", "NEXT", "SESSIONS", "STATE", "REASON"];
        let rows = data.iter().map(|row| {
            vec![
                or_dash(row.site.as_ref()),
                row.domain.clone().unwrap_or_else(|| format!("{} domains", row.domains)),
                row.groups.to_string(),
                age(row.oldest_age_s),
                row.until.clone().unwrap_or_else(|| row.next_at.clone()),
                row.sessions.to_string(),
                row.state.clone(),
                printable(&row.reason, REASON_CHARS_MAX),
            ]
        });
        print_line(&table(&heading, rows))?;
    }
    if *has_more {
        eprintln!("There are more. These are the {limit} longest; --limit sets another number.");
    }
    if !holds.is_empty() {
        let rows = holds.iter().map(|hold| vec![hold.part.to_string(), hold.since.clone(), age(hold.age_s)]);
        let gap = if data.is_empty() { "" } else { "\n" };
        print_line(&format!("{gap}{}", table(&["PAUSED", "SINCE", "AGE"], rows)))?;
    }
    Ok(())
}

/// Returns an age with its two largest units.
fn age(seconds: i64) -> String {
    let [days, hours, minutes] = [seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60];
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(domain: &str, site: Option<&str>, groups: usize, next_at: &str) -> QueueSiteView {
        QueueSiteView {
            site: site.map(ToOwned::to_owned),
            domain: Some(domain.into()),
            domains: 1,
            groups,
            sessions: 2,
            oldest_at: format!("old {next_at}"),
            oldest_age_s: 7,
            next_at: next_at.into(),
            state: "retry".into(),
            until: None,
            reason: format!("reason of {domain}"),
        }
    }

    #[test]
    fn the_domains_of_a_site_and_the_pages_of_a_domain_are_one_row() {
        let pages = || {
            [
                row("a.example", Some("s"), 5, "2"),
                row("a.example", Some("s"), 1, "3"),
                row("b.example", Some("s"), 2, "1"),
                row("c.example", None, 4, "4"),
            ]
        };
        let (mut by_site, mut by_domain) = (Rows::default(), Rows::default());
        pages().into_iter().for_each(|row| by_site.add(row, false));
        pages().into_iter().for_each(|row| by_domain.add(row, true));

        let site = &by_site.by_name[&(true, "s".to_owned())];
        assert_eq!((site.groups, site.domains, &site.domain), (8, 2, &None));
        assert_eq!((site.oldest_at.as_str(), site.reason.as_str()), ("old 1", "reason of b.example"));
        assert_eq!(by_site.by_name.len(), 2);
        assert_eq!(by_domain.by_name[&(false, "a.example".to_owned())].groups, 6);
        assert_eq!(by_domain.by_name.len(), 3);
    }

    #[test]
    fn an_age_has_two_units() {
        for (seconds, expected) in
            [(0, "0s"), (59, "59s"), (61, "1m 1s"), (3_600, "1h 0m"), (90_061, "1d 1h"), (864_000, "10d 0h")]
        {
            assert_eq!(age(seconds), expected);
        }
    }
}
