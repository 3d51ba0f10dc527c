//! `/unsubscribe/{token}`: pages for recipients. Outside the API: no key, no JSON, and not in its
//! description.

use std::time::Duration;

use salvo::http::body::Body as _;
use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, Writer, handler};
use tracing::error;

use super::{Preferences, page};
use crate::http::State;
use crate::store::StoreError;

/// Bytes of a request body that are looked at; a mail program sends some two hundred.
const BODY_BYTES_MAX: usize = 4 << 10;
/// How long they are waited for.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// Who asks for an opt-out, by what the request's body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// A mail program, which wants no page (RFC 8058 §3.2).
    MailProgram,
    /// A person, through the page's button.
    Person,
}

/// Shows what the link is about. Mail filters follow links, so that this changes nothing.
#[handler]
pub(crate) async fn show_unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    match preferences.find(token(req)).await {
        Ok(Some(choice)) => write_page(res, StatusCode::OK, page::of_choice(&choice)),
        Ok(None) => write_page(res, StatusCode::NOT_FOUND, page::unknown()),
        Err(error) => write_failure(res, &error),
    }
}

/// Opts out.
#[handler]
pub(crate) async fn unsubscribe(req: &mut Request, res: &mut Response, preferences: State<Preferences>) {
    let asker = read_asker(req).await;
    match (preferences.opt_out(token(req)).await, asker) {
        // RFC 8058 §3.1: no redirect; the answer is read by a program.
        (Ok(Some(_)), Asker::MailProgram) => {
            res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            res.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            res.body("OK\n");
        }
        (Ok(Some(choice)), Asker::Person) => write_page(res, StatusCode::OK, page::of_choice(&choice)),
        (Ok(None), _) => write_page(res, StatusCode::NOT_FOUND, page::unknown()),
        (Err(error), _) => write_failure(res, &error),
    }
}

fn token(req: &Request) -> &str {
    req.params().get("token").map_or("", String::as_str)
}

/// Reads the start of the body. Whatever becomes of it, the opt-out is meant: only the form of the
/// answer depends on it.
async fn read_asker(req: &mut Request) -> Asker {
    let mut body = req.take_body();
    let mut read = Vec::new();
    let reading = async {
        while read.len() < BODY_BYTES_MAX {
            let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await;
            let Some(Ok(frame)) = frame else { return };
            let Ok(bytes) = frame.into_data() else { continue };
            read.extend_from_slice(&bytes[..bytes.len().min(BODY_BYTES_MAX - read.len())]);
        }
    };
    // What has come by then says enough.
    let _ = tokio::time::timeout(BODY_WITHIN, reading).await;
    asker(&read)
}

/// Tells the pair of RFC 8058 §3.1 in either of the encodings it names, whatever the request says of
/// its type: a url-encoded form, or a part of a multipart form.
fn asker(body: &[u8]) -> Asker {
    let find = |text: &[u8], wanted: &[u8]| {
        text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted))
    };
    let name = b"List-Unsubscribe";
    let value = find(body, name).and_then(|at| find(&body[at + name.len()..], b"One-Click"));
    if value.is_some() { Asker::MailProgram } else { Asker::Person }
}

fn write_page(res: &mut Response, status: StatusCode, html: String) {
    res.status_code(status);
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = HeaderValue::from_str(&page::POLICY).expect("a policy is plain text");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // The address of the page is a secret: it goes into no other site's log, no cache and no index.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    res.body(html);
}

fn write_failure(res: &mut Response, error: &StoreError) {
    error!(%error, "an unsubscribe link could not be answered: {error}");
    let status = match error {
        StoreError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    write_page(res, status, page::failed());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_program_is_known_by_the_pair_in_either_encoding() {
        let multipart = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        for (body, expected) in [
            ("List-Unsubscribe=One-Click", Asker::MailProgram),
            ("list-unsubscribe=one-click&x=1", Asker::MailProgram),
            ("x=1&List-Unsubscribe=One-Click\r\n", Asker::MailProgram),
            (multipart, Asker::MailProgram),
            ("", Asker::Person),
            ("List-Unsubscribe=", Asker::Person),
            ("One-Click=List-Unsubscribe", Asker::Person),
            ("{}", Asker::Person),
        ] {
            assert_eq!(asker(body.as_bytes()), expected, "{body}");
        }
    }
}
