//! `GET logs`: the list of the API, and requests by their fields.

use salvo::writing::Json;
use salvo::{Request, Writer as _, handler};
use serde::Serialize;

use super::query;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{LogId, resource};
use crate::http::{ApiError, ApiResult, ListQuery, State};
use crate::logs::api::LogSummary;
use crate::logs::{LogFilter, LogRow, LogSearchPage, Logs};
use crate::store::page::{Cursor, Page, PageQuery};

/// Maximum length of a text to search, in characters.
const TEXT_CHARS_MAX: usize = 320;

#[derive(Serialize)]
struct LogResults {
    object: &'static str,
    has_more: bool,
    data: Vec<LogSummary>,
    /// Value of `after` for the next request with a filter; null if the search is complete.
    position: Option<String>,
    /// Time of the position: all newer requests have been searched.
    searched_until: Option<String>,
}

impl LogResults {
    fn of_page(page: Page<(LogId, LogRow)>) -> Self {
        let data = page.rows.into_iter().map(LogSummary::from).collect();
        Self { object: "list", has_more: page.has_more, data, position: None, searched_until: None }
    }

    fn of_search(LogSearchPage { rows, position }: LogSearchPage) -> Self {
        Self {
            object: "list",
            has_more: position.is_some(),
            data: rows.into_iter().map(LogSummary::from).collect(),
            position: position.map(|id| id.to_string()),
            searched_until: position.map(|id| to_iso(id.created_ms())),
        }
    }
}

/// Lists the requests that a filter selects, newest first, or all requests without one. A search stops after a time or a
/// number of rows, and returns the position that it reached.
#[handler]
pub(super) async fn list_logs(
    logs: State<Logs>,
    caller: Caller,
    query: ListQuery<resource::Log>,
    req: &mut Request,
) -> ApiResult<Json<LogResults>> {
    let filter = filter(req)?;
    if filter == LogFilter::default() {
        return Ok(Json(LogResults::of_page(logs.list(caller.team, query.0).await?)));
    }
    let PageQuery { limit, cursor } = query.0;
    let after = match cursor {
        Cursor::Newest => None,
        Cursor::After(id) => Some(id),
        Cursor::Before(_) => return Err(ApiError::validation("Use `after` with a filter, not `before`.")),
    };
    Ok(Json(LogResults::of_search(logs.search(caller.team, filter, after, limit).await?)))
}

fn filter(req: &Request) -> ApiResult<LogFilter> {
    let text = query::text(req, "q")?.map(str::trim).filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
        return Err(ApiError::validation(format!("The `q` has at most {TEXT_CHARS_MAX} characters.")));
    }
    Ok(LogFilter {
        text: text.map(str::to_owned),
        statuses: query::text(req, "status")?.map(statuses).transpose()?.unwrap_or_default(),
        methods: query::text(req, "method")?.map(methods).unwrap_or_default(),
        key: query::id(req, "key")?,
    })
}

/// Parses statuses or their first digits, separated by commas.
fn statuses(names: &str) -> ApiResult<Vec<u16>> {
    let status = |name: &str| {
        let number: Option<u16> = name.parse().ok();
        let number = number.filter(|number| (1..=5).contains(number) || (100..=599).contains(number));
        let message =
            "Invalid `status`: use one or more of `2`, `4`, `5`, or statuses such as `404`, separated by commas.";
        number.ok_or_else(|| ApiError::validation(message))
    };
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(status).collect()
}

fn methods(names: &str) -> Vec<String> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_ascii_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_digits_or_numbers() {
        assert_eq!(statuses("4, 500,").unwrap(), [4, 500]);
        for invalid in ["4xx", "6", "42", "600", "-1"] {
            assert!(statuses(invalid).is_err(), "{invalid}");
        }
        assert_eq!(methods("get, POST,"), ["GET", "POST"]);
    }
}
