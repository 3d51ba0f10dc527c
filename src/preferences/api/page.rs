//! `/unsubscribe/{token}`: pages for recipients.
//!
//! Mail filters follow links, so that GET and HEAD change nothing. A browser's post is answered with
//! a 303 back to the page, which then shows what has come of it: reloading posts nothing twice.

use std::time::Duration;

use salvo::http::body::Body as _;
use salvo::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    VARY,
};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, Writer, handler};
use tracing::error;

use super::super::document::{self, HtmlPage};
use super::super::form::{BODY_BYTES_MAX, BodyExtent, FormAction, action};
use super::super::language;
use super::super::page::{self, PageNotice};
use super::super::strings::Strings;
use super::super::{OptOut, Preferences};
use crate::events::ChangeSource;
use crate::http::State;
use crate::store::StoreError;

/// How long a body is waited for.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// Shows what the link is about.
#[handler]
pub(crate) async fn show_unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    let strings = strings(req);
    let query = req.uri().query().unwrap_or_default();
    let done = query.strip_prefix("done=");
    let notice = match query {
        "saved=1" => Some(PageNotice::Saved),
        "undone=1" => Some(PageNotice::SubscribedAgain),
        _ => None,
    };
    match preferences.find(token(req), done).await {
        Ok(Some(view)) => write_page(res, StatusCode::OK, page::of_view(&view, notice, strings)),
        Ok(None) => write_page(res, StatusCode::NOT_FOUND, document::unknown(strings)),
        Err(error) => write_failure(res, &error, strings),
    }
}

/// What is answered to a post.
enum Answer {
    /// A program reads it (RFC 8058 §3.2).
    Ok,
    /// A browser goes there; relative to the page, whatever path a proxy puts it under.
    SeeOther(String),
    /// The link leads nowhere.
    Unknown,
    /// It cannot be told what was asked, and nothing has changed.
    Unclear,
}

/// Does what is asked for.
#[handler]
pub(crate) async fn unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    let strings = strings(req);
    let action = read_action(req).await;
    match answer(&preferences, token(req), action).await {
        Ok(Answer::Ok) => {
            // RFC 8058 §3.1: no redirect; the answer is read by a program.
            res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            write_privacy(res);
            res.body("OK\n");
        }
        Ok(Answer::SeeOther(location)) => {
            res.status_code(StatusCode::SEE_OTHER);
            let location = HeaderValue::from_str(&location).expect("a redirect is printable ASCII");
            res.headers_mut().insert(LOCATION, location);
            write_privacy(res);
        }
        Ok(Answer::Unknown) => write_page(res, StatusCode::NOT_FOUND, document::unknown(strings)),
        Ok(Answer::Unclear) => write_page(res, StatusCode::BAD_REQUEST, document::failed(strings)),
        Err(error) => write_failure(res, &error, strings),
    }
}

async fn answer(preferences: &Preferences, token: &str, action: FormAction) -> Result<Answer, StoreError> {
    let opt_out = match action {
        FormAction::OneClick => {
            let opted_out = preferences.opt_out(token, OptOut::OfLink, ChangeSource::OneClick).await?;
            return Ok(opted_out.map_or(Answer::Unknown, |_| Answer::Ok));
        }
        FormAction::Unsubscribe => OptOut::OfLink,
        FormAction::UnsubscribeFromEverything => OptOut::OfEverything,
        FormAction::Save(choices) => {
            let is_known = preferences.save(token, choices).await?;
            return Ok(if is_known { see("saved=1") } else { Answer::Unknown });
        }
        FormAction::Undo(sealed) => {
            return Ok(match preferences.undo(token, &sealed).await? {
                Some(true) => see("undone=1"),
                Some(false) => see(""),
                None => Answer::Unknown,
            });
        }
        FormAction::Unclear => return Ok(Answer::Unclear),
    };
    let Some(opted_out) = preferences.opt_out(token, opt_out, ChangeSource::HostedPage).await? else {
        return Ok(Answer::Unknown);
    };
    Ok(match (opted_out.redirect, opted_out.undo) {
        (Some(url), _) => Answer::SeeOther(url.as_str().to_owned()),
        (None, Some(undo)) => see(&format!("done={undo}")),
        (None, None) => see(""),
    })
}

/// Leads back to the page.
fn see(query: &str) -> Answer {
    Answer::SeeOther(format!("?{query}"))
}

fn token(req: &Request) -> &str {
    req.params().get("token").map_or("", String::as_str)
}

/// Returns the sentences in the language that the browser asks for.
fn strings(req: &Request) -> &'static Strings {
    // RFC 9110 §5.3: lines of one name are one list. A line that is no text says nothing.
    let lines = req.headers().get_all(ACCEPT_LANGUAGE).iter();
    let asked: Vec<&str> = lines.filter_map(|value| value.to_str().ok()).collect();
    language::negotiate(&asked.join(","))
}

/// Reads the start of the body, and what it asks for.
async fn read_action(req: &mut Request) -> FormAction {
    let mut body = req.take_body();
    let mut read = Vec::new();
    let reading = async {
        loop {
            match std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
                None => return BodyExtent::Whole,
                Some(Err(_)) => return BodyExtent::Start,
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    let room = BODY_BYTES_MAX - read.len();
                    read.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    if bytes.len() > room {
                        return BodyExtent::Start;
                    }
                }
            }
        }
    };
    // What has come by then may say enough.
    let extent = tokio::time::timeout(BODY_WITHIN, reading).await.unwrap_or(BodyExtent::Start);
    action(&read, extent)
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

/// The address of the page is a secret: it goes into no other site's log, no cache and no index.
fn write_privacy(res: &mut Response) {
    let headers = res.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

fn write_failure(res: &mut Response, error: &StoreError, strings: &'static Strings) {
    error!(%error, "an unsubscribe link could not be answered: {error}");
    let status = match error {
        StoreError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    write_page(res, status, document::failed(strings));
}
