//! Parts that the handlers of the pages share: redirects, the page after a sign-in, and error pages.

use maud::html;
use salvo::http::header::{LOCATION, RETRY_AFTER};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response};
use tracing::error;

use super::cookies::AccessCookie;
use super::document::{AccessPage, with_commands, write_headers};
use super::settings::AccessSettings;
use crate::store::StoreError;
use crate::users::SessionToken;

/// Page after a sign-in that names no other one.
pub(super) const HOME: &str = "/dashboard/";
/// Longest path of a page after a sign-in.
const NEXT_BYTES_MAX: usize = 1_024;

/// Returns the page after a sign-in: a page of the dashboard that needs a session, or else [`HOME`]. Any other URL would
/// lead a user who has just signed in to a page of someone else.
pub(super) fn next_page(text: &str) -> &str {
    let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let rest = text.strip_prefix(HOME);
    let is_page = rest.is_some_and(|rest| {
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let first = path.split('/').next().unwrap_or_default();
        !path.starts_with('/')
            && !matches!(first, "api" | "login" | "setup" | "link" | "open" | "logout")
            && !path.split('/').any(is_relative)
    });
    if is_page && is_printable && text.len() <= NEXT_BYTES_MAX { text } else { HOME }
}

/// Returns whether a browser removes a segment of a path, with the segment before it or without. These are `.`, `..`,
/// and their escaped forms (URL Standard, "double-dot URL path segment").
fn is_relative(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

/// Redirects with status 303 to a path of this server.
pub(super) fn see_other(res: &mut Response, location: &str) {
    res.status_code(StatusCode::SEE_OTHER);
    let location = HeaderValue::try_from(location).unwrap_or(HeaderValue::from_static(HOME));
    res.headers_mut().insert(LOCATION, location);
    write_headers(res);
}

/// Sets the cookie of a new session, and redirects to a page.
pub(super) fn enter(
    req: &Request,
    res: &mut Response,
    settings: &AccessSettings,
    token: &SessionToken,
    location: &str,
) {
    AccessCookie::Session.set(res, &token.reveal(), settings.cookie_transport(req));
    see_other(res, location);
}

/// Writes a page without a form: a title, a cause and the next step. Commands in the sentences are between backticks.
pub(super) fn write_message(
    res: &mut Response,
    settings: &AccessSettings,
    status: StatusCode,
    title: &str,
    sentences: &[&str],
) {
    let card = html! {
        div.auth-card {
            h1 { (title) }
            @for sentence in sentences {
                p.body { (with_commands(sentence)) }
            }
            p { a.link href="/dashboard/login" { "Go to the sign-in page" } }
        }
    };
    AccessPage { status, ..AccessPage::new(title, card) }.write(settings, res);
}

/// Writes the page of a form that a page of another site has posted.
pub(super) fn write_foreign_form(res: &mut Response, settings: &AccessSettings) {
    let sentences = ["This form was not sent by a page of this server. Open the page again and repeat the action."];
    write_message(res, settings, StatusCode::FORBIDDEN, "The form was refused", &sentences);
}

/// Writes the page of a form that cannot be read.
pub(super) fn write_invalid_form(res: &mut Response, settings: &AccessSettings) {
    let sentences = ["The form arrived incomplete. Open the page again and repeat the action."];
    write_message(res, settings, StatusCode::BAD_REQUEST, "The form was refused", &sentences);
}

/// Writes the page of a link that cannot be used. It is the same for every reason.
pub(super) fn write_invalid_link(res: &mut Response, settings: &AccessSettings) {
    let next = if settings.is_dev {
        "On this machine, run `ringmail setup-link` for a new one."
    } else {
        "On the server, run `ringmail setup-link` for the first account, or `ringmail user link EMAIL` to get back in."
    };
    let sentences = ["The link has expired, was used before, or a newer link has replaced it.", next];
    write_message(res, settings, StatusCode::NOT_FOUND, "This link is not valid", &sentences);
}

/// Writes the page of a failure of the store, and logs its cause.
pub(super) fn write_failure(res: &mut Response, settings: &AccessSettings, error: &StoreError) {
    error!(%error, "could not process a sign-in: {error}");
    let status = match error {
        StoreError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        cause if cause.is_outage() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let sentences = ["The server could not read or write its data. Nothing has changed. Try again later."];
    write_message(res, settings, status, "Something went wrong", &sentences);
}

/// `Retry-After` of a sign-in that was refused because of the others, in seconds.
const BUSY_RETRY_AFTER_S: u64 = 5;

/// Returns the sentence about too many sign-ins at the same time, and sets `Retry-After`.
pub(super) fn busy(res: &mut Response) -> String {
    res.headers_mut().insert(RETRY_AFTER, HeaderValue::from(BUSY_RETRY_AFTER_S));
    "The server checks too many passwords at the moment. Try again in a few seconds.".to_owned()
}

/// Returns the sentence about too many failed attempts, and sets `Retry-After`.
pub(super) fn throttled(res: &mut Response, wait_ms: i64) -> String {
    let seconds = u64::try_from(wait_ms).unwrap_or(0).div_ceil(1_000).max(1);
    res.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    let minutes = seconds.div_ceil(60);
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    format!("Too many failed attempts. Try again in {minutes} {unit}.")
}

/// Returns the sentence about the failed attempts that are left.
pub(super) fn attempts(left: u32) -> String {
    match left {
        0 => "No attempt is left for 15 minutes.".to_owned(),
        1 => "1 attempt is left for 15 minutes.".to_owned(),
        left => format!("{left} attempts are left for 15 minutes."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_only_to_a_page_of_the_dashboard() {
        for next in [
            "/dashboard/",
            "/dashboard/emails/4f?tab=raw&x=%20",
            "/dashboard/apis",
            "/dashboard/account",
            "/dashboard/emails?q=../x",
            "/dashboard/a..b/.c",
        ] {
            assert_eq!(next_page(next), next);
        }
        let long = format!("/dashboard/{}", "a".repeat(NEXT_BYTES_MAX));
        for next in [
            "",
            "/",
            "/dashboard",
            "https://evil.example/",
            "//evil.example/",
            "/\\evil.example",
            "/dashboard//evil.example",
            "/dashboard/\\evil.example",
            "/dashboard/../evil",
            "/dashboard/emails/../../unsubscribe/x",
            "/dashboard/emails/%2E%2e/open/x",
            "/dashboard/.%2e",
            "/dashboard/./open/x",
            "/dashboard/login?next=x",
            "/dashboard/api/emails",
            "/dashboard/open/abc",
            "/dashboard/a\r\nset-cookie: x=y",
            "/dashboard/é",
            long.as_str(),
        ] {
            assert_eq!(next_page(next), HOME, "{next}");
        }
    }

    #[test]
    fn a_wait_is_rounded_up_and_sent_in_seconds() {
        let mut res = Response::new();

        assert_eq!(throttled(&mut res, 60_001), "Too many failed attempts. Try again in 2 minutes.");
        assert_eq!(res.headers()[RETRY_AFTER], "61");
        assert_eq!(throttled(&mut res, 0), "Too many failed attempts. Try again in 1 minute.");
    }
}
