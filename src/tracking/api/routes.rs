//! `/t/o/{token}` and `/t/c/{token}`: the pixel and the links of tracked emails.
//!
//! A HEAD request gets the headers of the GET request and records nothing.

use maud::{DOCTYPE, html};
use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY};
use salvo::http::{HeaderValue, Method, StatusCode};
use salvo::{Request, Response, Writer, handler};

use super::super::destination;
use super::super::token::TrackingToken;
use super::service::HitRecorder;
use crate::engagement::HitTarget;
use crate::http::State;

/// A transparent GIF of one pixel.
const PIXEL: [u8; 43] = *b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\
    \x21\xf9\x04\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

/// Returns the pixel. The response is the same for an invalid token.
#[handler]
pub(crate) async fn load_pixel(req: &mut Request, res: &mut Response, recorder: State<HitRecorder>) {
    if let Some(TrackingToken { recipient, destination: None }) = recorder.open(token(req))
        && req.method() == Method::GET
    {
        recorder.record(req, recipient, HitTarget::Pixel).await;
    }
    res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/gif"));
    write_privacy(res);
    res.body(PIXEL.to_vec());
}

/// Redirects to the destination of a link.
#[handler]
pub(crate) async fn follow_link(req: &mut Request, res: &mut Response, recorder: State<HitRecorder>) {
    let Some(TrackingToken { recipient, destination: Some(destination) }) = recorder.open(token(req)) else {
        return write_unknown_link(res);
    };
    let Ok(location) = HeaderValue::from_str(&destination::location(&destination)) else {
        return write_unknown_link(res);
    };
    if req.method() == Method::GET {
        recorder.record(req, recipient, HitTarget::Link(destination)).await;
    }
    res.status_code(StatusCode::FOUND);
    res.headers_mut().insert(LOCATION, location);
    write_privacy(res);
}

fn token(req: &Request) -> &str {
    req.params().get("token").map_or("", String::as_str)
}

/// Writes headers that keep the response out of caches, and the URL out of other sites' logs and search indexes.
fn write_privacy(res: &mut Response) {
    let headers = res.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

fn write_unknown_link(res: &mut Response) {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Link not found" }
            }
            body {
                h1 { "Link not found" }
                p { "This link is not complete or not valid. Open it again from the email." }
            }
        }
    };
    res.status_code(StatusCode::NOT_FOUND);
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    write_privacy(res);
    res.body(page.into_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pixel_is_a_complete_gif_of_one_pixel() {
        assert!(PIXEL.starts_with(b"GIF89a\x01\x00\x01\x00") && PIXEL.ends_with(b"\x3b"));
    }
}
