//! `GET search`: emails by their fields, newest first.

use salvo::writing::Json;
use salvo::{Request, Writer as _, handler};
use serde::Serialize;

use super::query;
use super::reply::ListedEmail;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::resource;
use crate::emails::{EmailSearchPage, EmailSearchQuery, Emails, LastEvent, SEARCH_ROWS_MAX, SearchFilter, SearchTag};
use crate::http::{ApiError, ApiResult, State};

/// Maximum length of a text to search, in characters.
const TEXT_CHARS_MAX: usize = 320;

#[derive(Serialize)]
struct SearchResults {
    object: &'static str,
    data: Vec<ListedEmail>,
    /// Value of `after` for the next request; null if the search is complete.
    position: Option<String>,
    /// Time of the position: all newer emails have been searched.
    searched_until: Option<String>,
    complete: bool,
}

impl From<EmailSearchPage> for SearchResults {
    fn from(EmailSearchPage { rows, position }: EmailSearchPage) -> Self {
        Self {
            object: "list",
            data: rows.iter().map(ListedEmail::of).collect(),
            complete: position.is_none(),
            searched_until: position.map(|id| to_iso(id.created_ms())),
            position: position.map(|id| id.to_string()),
        }
    }
}

/// Returns the newest emails that match. Stops after a time or a number of rows, and returns the position that it
/// reached.
#[handler]
pub(super) async fn search_emails(
    emails: State<Emails>,
    caller: Caller,
    req: &mut Request,
) -> ApiResult<Json<SearchResults>> {
    let query = EmailSearchQuery {
        filter: filter(req)?,
        after: query::id::<resource::Email>(req, "after")?,
        limit: query::limit(req, SEARCH_ROWS_MAX, SEARCH_ROWS_MAX)?,
    };
    Ok(Json(emails.search(caller.team, query).await?.into()))
}

fn filter(req: &Request) -> ApiResult<SearchFilter> {
    let text = |name: &str| -> ApiResult<Option<String>> {
        let text = query::text(req, name)?;
        match text {
            Some(text) if text.chars().count() > TEXT_CHARS_MAX => {
                Err(ApiError::validation(format!("The `{name}` has at most {TEXT_CHARS_MAX} characters.")))
            }
            text => Ok(text.map(str::to_owned)),
        }
    };
    Ok(SearchFilter {
        text: text("q")?,
        to: text("to")?,
        from: text("from")?,
        subject: text("subject")?,
        statuses: text("status")?.map(|names| statuses(&names)).transpose()?.unwrap_or_default(),
        domain: text("domain")?,
        key: query::id(req, "key")?,
        tag: text("tag")?.map(|tag| SearchTag::parse(&tag)),
        has_attachment: query::flag(req, "has_attachment")?,
        since_ms: query::time(req, "since")?,
        until_ms: query::time(req, "until")?,
    })
}

/// Parses the names of statuses, separated by commas.
fn statuses(names: &str) -> ApiResult<Vec<LastEvent>> {
    let status = |name: &str| {
        LastEvent::ALL.into_iter().find(|status| status.as_str() == name).ok_or_else(|| {
            let known = LastEvent::ALL.map(LastEvent::as_str).join("`, `");
            ApiError::validation(format!("Invalid `status`: use one or more of `{known}`, separated by commas."))
        })
    };
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(status).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_a_list_of_known_names() {
        assert_eq!(statuses("bounced, failed,").unwrap(), [LastEvent::Bounced, LastEvent::Failed]);
        assert!(statuses("bounced,lost").unwrap_err().message.contains("`delivered`"));
    }
}
