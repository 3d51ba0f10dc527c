//! The unread rest of a request body.

use std::time::Duration;

use salvo::Request;
use salvo::http::body::Body as _;
use salvo::http::header::EXPECT;

use super::body_limits::{BodyBrokeOff, next_bytes};

/// Maximum number of bytes that are read and discarded.
const DISCARDED_BYTES_MAX: u64 = 128 << 20;
/// Maximum time of the reading.
const DISCARDING_MAX: Duration = Duration::from_secs(10);

/// State of the request body after [`discard_rest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRest {
    /// The body has been read to its end.
    Read,
    /// A part of the body is unread, so that the connection cannot be reused.
    Unread,
}

/// Reads and discards the rest of a request body. If the server closes the connection while a client
/// sends, the client may not receive the response. The rest of a body that came too slowly is not read.
pub(super) async fn discard_rest(req: &mut Request) -> BodyRest {
    // The client of `Expect: 100-continue` gets the response instead of the `100 Continue`.
    let asks_first = req.headers().contains_key(EXPECT);
    let broke_off = req.extensions().get::<BodyBrokeOff>().is_some();
    let body = req.body_mut();
    if body.is_end_stream() {
        return BodyRest::Read;
    }
    if asks_first || broke_off || body.size_hint().lower() > DISCARDED_BYTES_MAX {
        return BodyRest::Unread;
    }
    let discarding = async {
        let mut discarded = 0;
        while let Ok(Some(bytes)) = next_bytes(body, DISCARDING_MAX).await {
            discarded += bytes.as_ref().len() as u64;
            if discarded > DISCARDED_BYTES_MAX {
                return BodyRest::Unread;
            }
        }
        if body.is_end_stream() { BodyRest::Read } else { BodyRest::Unread }
    };
    tokio::time::timeout(DISCARDING_MAX, discarding).await.unwrap_or(BodyRest::Unread)
}
