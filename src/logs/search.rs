//! Search over the log: the requests that a filter selects, newest first. Stops after a bound of rows or time.

use super::service::Logs;
use super::store::LogRow;
use crate::base::clock::monotonic;
use crate::base::id::{ApiKeyId, LogId, TeamId};
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, StoreError};
use crate::tables::REQUEST_LOGS;

/// Requests to find. An absent field selects all, and several fields select the requests that match each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Id of the request, or a part of its path or of its `User-Agent`, without letter case.
    pub text: Option<String>,
    /// Statuses, such as 404, or their first digits, such as 4; empty for all.
    pub statuses: Vec<u16>,
    /// Methods in upper case; empty for all.
    pub methods: Vec<String>,
    pub key: Option<ApiKeyId>,
}

/// A page of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSearchPage {
    /// Requests, newest first.
    pub rows: Vec<(LogId, LogRow)>,
    /// Position from which the next page continues; `None` if the search is complete.
    pub position: Option<LogId>,
}

impl LogFilter {
    fn matches(&self, id: LogId, row: &LogRow) -> bool {
        let has_status = |status: &u16| row.status == *status || row.status / 100 == *status;
        (self.statuses.is_empty() || self.statuses.iter().any(has_status))
            && (self.methods.is_empty() || self.methods.contains(&row.method))
            && self.key.is_none_or(|key| row.key == key)
            && self.text.as_ref().is_none_or(|text| has_text(id, row, &text.to_lowercase()))
    }
}

fn has_text(id: LogId, row: &LogRow, text: &str) -> bool {
    row.endpoint.to_lowercase().contains(text)
        || row.user_agent.as_ref().is_some_and(|agent| agent.to_lowercase().contains(text))
        || LogId::parse(text) == Some(id)
}

impl Logs {
    /// Returns the newest requests of a team below `after` that a filter selects. Includes each request whose response was
    /// sent before the call.
    pub async fn search(
        &self,
        team: TeamId,
        filter: LogFilter,
        after: Option<LogId>,
        limit: usize,
    ) -> Result<LogSearchPage, StoreError> {
        self.flush().await;
        self.store().read(move |tx| search(tx, team, &filter, after, limit, ScanLimit::REQUEST)).await
    }
}

fn search(
    tx: &impl Reads,
    team: TeamId,
    filter: &LogFilter,
    after: Option<LogId>,
    limit: usize,
    bounds: ScanLimit,
) -> Result<LogSearchPage, StoreError> {
    let mut page = LogSearchPage { rows: Vec::with_capacity(limit), position: None };
    // One request has this id, so that nothing else is read.
    if let Some(id) = filter.text.as_deref().and_then(LogId::parse) {
        let row: Option<LogRow> = tx.get_valid(&REQUEST_LOGS, &(team, id))?;
        page.rows.extend(row.filter(|row| after.is_none() && filter.matches(id, row)).map(|row| (id, row)));
        return Ok(page);
    }
    let (mut read, mut last, started) = (0, None, monotonic());
    let end = after.unwrap_or(LogId::MAX);
    tx.scan(&REQUEST_LOGS, &(team, LogId::MIN), &(team, end), Order::Descending, |(_, id), stored| {
        if after == Some(id) {
            return NEXT;
        }
        if page.rows.len() == limit || bounds.is_reached(read, started) {
            page.position = last;
            return STOP;
        }
        read += 1;
        last = Some(id);
        page.rows.extend(stored.valid().filter(|row| filter.matches(id, row)).map(|row| (id, row)));
        NEXT
    })?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::store::WriteTx;

    const TEAM: TeamId = TeamId::from_bytes([1; 16]);
    const WIDE: ScanLimit = ScanLimit { rows_max: 1_000, time_max: Duration::from_secs(60) };

    fn row(method: &str, endpoint: &str, status: u16) -> LogRow {
        LogRow {
            method: method.to_owned(),
            endpoint: endpoint.to_owned(),
            status,
            key: Id::MIN,
            duration_ms: 1,
            user_agent: Some("resend-node:6.1.0".to_owned()),
        }
    }

    #[test]
    fn each_field_selects_by_its_own_part_of_the_row() {
        let (id, row) = (LogId::MAX, row("POST", "/emails", 422));
        let text = |text: &str| LogFilter { text: Some(text.to_owned()), ..LogFilter::default() };
        for (filter, expected) in [
            (LogFilter::default(), true),
            (text("EMAIL"), true),
            (text("Node"), true),
            (text(&LogId::MAX.to_string()), true),
            (text(&LogId::MIN.to_string()), false),
            (text("/domains"), false),
            (LogFilter { statuses: vec![2, 4], ..LogFilter::default() }, true),
            (LogFilter { statuses: vec![422], ..LogFilter::default() }, true),
            (LogFilter { statuses: vec![404], ..LogFilter::default() }, false),
            (LogFilter { methods: vec!["GET".to_owned(), "POST".to_owned()], ..LogFilter::default() }, true),
            (LogFilter { methods: vec!["GET".to_owned()], ..LogFilter::default() }, false),
            (LogFilter { key: Some(Id::MIN), ..LogFilter::default() }, true),
            (LogFilter { key: Some(Id::MAX), ..LogFilter::default() }, false),
        ] {
            assert_eq!(filter.matches(id, &row), expected, "{filter:?}");
        }
    }

    #[tokio::test]
    async fn pages_end_at_their_bounds_and_skip_no_request() {
        let (_directory, context) = Context::temporary();
        let ids: Vec<LogId> = (0..9).map(|_| context.id()).collect();
        let stored = ids.clone();
        let put = move |tx: &WriteTx<'_>| {
            let mut numbered = stored.iter().enumerate();
            numbered.try_for_each(|(number, id)| {
                let row = row(if number % 2 == 0 { "GET" } else { "POST" }, "/emails", 200);
                tx.put(&REQUEST_LOGS, &(TEAM, *id), &row)
            })
        };
        context.commit(put).await;
        let posts: Vec<LogId> = ids.iter().copied().skip(1).step_by(2).rev().collect();
        let filter = LogFilter { methods: vec!["POST".to_owned()], ..LogFilter::default() };

        for (limit, bounds) in [(1, WIDE), (10, ScanLimit { rows_max: 2, ..WIDE }), (10, WIDE)] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = context.read(|tx| search(tx, TEAM, &filter, after, limit, bounds));
                found.extend(page.rows.into_iter().map(|(id, _)| id));
                match page.position {
                    Some(position) => after = Some(position),
                    None => break,
                }
            }
            assert_eq!(found, posts, "{limit} {bounds:?}");
        }
        assert!(context.read(|tx| search(tx, TeamId::MIN, &filter, None, 10, WIDE)).rows.is_empty());
    }
}
