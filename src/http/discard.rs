//! The part of a request that nobody read.

use std::time::Duration;

use salvo::Request;
use salvo::http::body::Body as _;
use salvo::http::header::EXPECT;

use super::body_limits::next_bytes;

/// Bytes of a refused body that are read to their end all the same.
const DISCARDED_BYTES_MAX: u64 = 128 << 20;
/// How long that reading may take.
const DISCARDING_MAX: Duration = Duration::from_secs(10);

/// What became of the part of a body that nobody wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// There is nothing left.
    Read,
    /// There is more to come, so that the connection cannot be used again.
    Coming,
}

/// Reads what is left of a request's body and keeps nothing of it. A client that is still sending
/// when its connection closes may never see the answer.
pub(super) async fn discard_rest(req: &mut Request) -> Rest {
    // A client that waits to be asked for its body is answered without asking.
    let asks_first = req.headers().contains_key(EXPECT);
    let body = req.body_mut();
    if body.is_end_stream() {
        return Rest::Read;
    }
    if asks_first || body.size_hint().lower() > DISCARDED_BYTES_MAX {
        return Rest::Coming;
    }
    let discarding = async {
        let mut discarded = 0;
        while let Ok(Some(bytes)) = next_bytes(body, DISCARDING_MAX).await {
            discarded += bytes.as_ref().len() as u64;
            if discarded > DISCARDED_BYTES_MAX {
                return Rest::Coming;
            }
        }
        if body.is_end_stream() { Rest::Read } else { Rest::Coming }
    };
    tokio::time::timeout(DISCARDING_MAX, discarding).await.unwrap_or(Rest::Coming)
}
