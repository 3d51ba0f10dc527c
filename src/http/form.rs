//! Bodies of forms that browsers and mail programs post to pages.

use std::time::Duration;

use salvo::Request;
use salvo::http::body::Body as _;

/// Longest time for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads up to `bytes_max` bytes of the body of a request. Returns them, and whether they are the complete body. Otherwise
/// the rest was too long, too slow, or cut off.
pub(crate) async fn read_form(req: &mut Request, bytes_max: usize) -> (Vec<u8>, bool) {
    let mut body = req.take_body();
    let mut read = Vec::new();
    let reading = async {
        loop {
            match std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    let room = bytes_max - read.len();
                    read.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    if bytes.len() > room {
                        return false;
                    }
                }
            }
        }
    };
    // The bytes before the timeout stay.
    let is_whole = tokio::time::timeout(BODY_TIMEOUT, reading).await.unwrap_or(false);
    (read, is_whole)
}
