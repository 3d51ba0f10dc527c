//! `/unsubscribe/{token}`: the preference page for recipients.
//!
//! GET and HEAD change nothing, because mail filters follow links. A POST request of a browser gets a
//! 303 redirect to the page, which shows the result. Reloading the page does not post again.

use salvo::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    VARY,
};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, Writer, handler};
use tracing::error;

use super::super::document::{self, HtmlPage};
use super::super::form::{BODY_BYTES_MAX, BodyExtent, FormAction, parse_action};
use super::super::language;
use super::super::page::{self, PageNotice};
use super::super::strings::PageStrings;
use super::super::{OptOut, Preferences};
use crate::events::ChangeSource;
use crate::http::{State, read_form};
use crate::store::StoreError;

/// Shows the preference page of a link.
#[handler]
pub(crate) async fn show_unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    let strings = strings(req);
    let query = req.uri().query().unwrap_or_default();
    let sealed_undo = query.strip_prefix("done=");
    let notice = match query {
        "saved=1" => Some(PageNotice::Saved),
        "undone=1" => Some(PageNotice::SubscribedAgain),
        _ => None,
    };
    match preferences.find(token(req), sealed_undo).await {
        Ok(Some(view)) => write_page(res, StatusCode::OK, page::render(&view, notice, strings)),
        Ok(None) => write_page(res, StatusCode::NOT_FOUND, document::unknown_link(strings)),
        Err(error) => write_failure(res, &error, strings),
    }
}

/// Reply to a POST request.
enum PostReply {
    /// 200 with a text body, for a mail program (RFC 8058 §3.2).
    Ok,
    /// 303 to this URL. A URL of the page itself is relative, so that it works under any path of a
    /// proxy.
    SeeOther(String),
    /// 404: the token is invalid, or its team is deleted.
    UnknownLink,
    /// 400: the form is invalid. Nothing has changed.
    InvalidForm,
}

/// Performs the action of a posted form.
#[handler]
pub(crate) async fn unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    let strings = strings(req);
    let action = read_action(req).await;
    match perform(&preferences, token(req), action).await {
        Ok(PostReply::Ok) => {
            // RFC 8058 §3.1: no redirect; a program reads the reply.
            res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            write_privacy(res);
            res.body("OK\n");
        }
        Ok(PostReply::SeeOther(location)) => {
            res.status_code(StatusCode::SEE_OTHER);
            let location = HeaderValue::from_str(&location).expect("a redirect is printable ASCII");
            res.headers_mut().insert(LOCATION, location);
            write_privacy(res);
        }
        Ok(PostReply::UnknownLink) => write_page(res, StatusCode::NOT_FOUND, document::unknown_link(strings)),
        Ok(PostReply::InvalidForm) => write_page(res, StatusCode::BAD_REQUEST, document::failure(strings)),
        Err(error) => write_failure(res, &error, strings),
    }
}

async fn perform(preferences: &Preferences, token: &str, action: FormAction) -> Result<PostReply, StoreError> {
    let opt_out = match action {
        FormAction::OneClick => {
            let opted_out = preferences.opt_out(token, OptOut::LinkScope, ChangeSource::OneClick).await?;
            return Ok(opted_out.map_or(PostReply::UnknownLink, |_| PostReply::Ok));
        }
        FormAction::Unsubscribe => OptOut::LinkScope,
        FormAction::UnsubscribeFromEverything => OptOut::Everything,
        FormAction::Save(choices) => {
            let is_known = preferences.save(token, choices).await?;
            return Ok(if is_known { redirect_to_page("saved=1") } else { PostReply::UnknownLink });
        }
        FormAction::Undo(sealed) => {
            return Ok(match preferences.undo(token, &sealed).await? {
                Some(true) => redirect_to_page("undone=1"),
                Some(false) => redirect_to_page(""),
                None => PostReply::UnknownLink,
            });
        }
        FormAction::Invalid => return Ok(PostReply::InvalidForm),
    };
    let Some(opted_out) = preferences.opt_out(token, opt_out, ChangeSource::HostedPage).await? else {
        return Ok(PostReply::UnknownLink);
    };
    Ok(match (opted_out.redirect, opted_out.undo) {
        (Some(url), _) => PostReply::SeeOther(url.as_str().to_owned()),
        (None, Some(undo)) => redirect_to_page(&format!("done={undo}")),
        (None, None) => redirect_to_page(""),
    })
}

/// Returns a redirect to the page itself with this query.
fn redirect_to_page(query: &str) -> PostReply {
    PostReply::SeeOther(format!("?{query}"))
}

fn token(req: &Request) -> &str {
    req.params().get("token").map_or("", String::as_str)
}

/// Returns the sentences in the language of the `Accept-Language` header.
fn strings(req: &Request) -> &'static PageStrings {
    // RFC 9110 §5.3: several lines of one field name form one list. A line that is not ASCII is ignored.
    let lines = req.headers().get_all(ACCEPT_LANGUAGE).iter();
    let ranges: Vec<&str> = lines.filter_map(|value| value.to_str().ok()).collect();
    language::negotiate(&ranges.join(","))
}

/// Reads up to [`BODY_BYTES_MAX`] bytes of the body and parses its action.
async fn read_action(req: &mut Request) -> FormAction {
    // The start of a body may contain the one-click pair.
    let (read, is_whole) = read_form(req, BODY_BYTES_MAX).await;
    parse_action(&read, if is_whole { BodyExtent::Whole } else { BodyExtent::Start })
}

fn write_page(res: &mut Response, status: StatusCode, page: HtmlPage) {
    let HtmlPage { html, policy, language } = page;
    res.status_code(status);
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = HeaderValue::from_str(&policy).expect("a policy is plain text");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language));
    headers.append(VARY, HeaderValue::from_static("accept-language"));
    write_privacy(res);
    res.body(html);
}

/// Writes headers that keep the URL of the page out of other sites' logs, caches and search indexes. The
/// URL is a secret.
fn write_privacy(res: &mut Response) {
    let headers = res.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

fn write_failure(res: &mut Response, error: &StoreError, strings: &'static PageStrings) {
    error!(%error, "could not process a request to an unsubscribe link: {error}");
    let status = match error {
        StoreError::Closed | StoreError::Lost(_) => StatusCode::SERVICE_UNAVAILABLE,
        cause if cause.is_outage() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    write_page(res, status, document::failure(strings));
}
