//! Dashboard: static files in the binary, and a stream of events for its pages.
//!
//! Reading order: `hosts.rs` (allowed `Host` headers), `events.rs` (server-sent events).

mod events;
mod hosts;

pub(crate) use events::stream_events;
pub use hosts::Hosts;
pub(crate) use hosts::known_host;

use std::borrow::Cow;

use rust_embed::RustEmbed;
use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, handler};

use crate::base::media_type;

/// Files of the dashboard, embedded in the binary.
#[derive(RustEmbed)]
#[folder = "assets/dashboard/"]
struct Files;

/// Content security policy: only files of this server, no inline scripts, no frames.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Serves a file of the dashboard. Redirects other paths to `/dashboard/`, also `/dashboard`: the router
/// treats both as one path, but relative links work only below `/dashboard/`.
#[handler]
pub(crate) async fn serve_file(req: &mut Request, res: &mut Response) {
    let Some(path) = req.uri().path().strip_prefix("/dashboard/") else {
        res.status_code(StatusCode::TEMPORARY_REDIRECT);
        res.headers_mut().insert(LOCATION, HeaderValue::from_static("/dashboard/"));
        return;
    };
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(file) = Files::get(path) else {
        res.status_code(StatusCode::NOT_FOUND);
        return;
    };
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(&content_type(path)).expect("a media type is ASCII"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    match file.data {
        // In a release build, all responses share the bytes of the binary.
        Cow::Borrowed(bytes) => res.body(bytes),
        Cow::Owned(bytes) => res.body(bytes),
    };
}

/// Returns the `Content-Type` of an embedded file. Its text is UTF-8.
fn content_type(path: &str) -> String {
    let media_type = media_type::of_filename(path).unwrap_or(media_type::OCTET_STREAM);
    if media_type.starts_with("text/") { format!("{media_type}; charset=utf-8") } else { media_type.to_owned() }
}
