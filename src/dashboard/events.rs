//! `GET /dashboard/api/events`: a team's events as they happen, as server-sent events (HTML Living
//! Standard §9.2).
//!
//! A comment every fifteen seconds keeps the connection alive for whatever stands between: it comes
//! sooner than the limits of `http/connections.rs` and of common reverse proxies.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use salvo::http::body::{Body, Frame};
use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use salvo::http::{HeaderValue, ResBody, StatusCode};
use salvo::hyper::body::Bytes;
use salvo::{BoxedError, Request, Response, Writer as _, handler};
use tokio::sync::mpsc;

use crate::api_keys::{ApiKeys, Caller};
use crate::event_bus::PublishedEvent;
use crate::http::{ApiError, ApiResult, ErrorCode, State, query_value};
use crate::live::{EventStream, EventStreams, StreamItem, TypeFilter};

/// The pause between two signs of life of a stream on which nothing happens.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// Seconds after which a refused stream is worth another try.
const RETRY_AFTER_S: u32 = 5;

/// Streams the events of the caller's team, for as long as the caller's key works.
#[handler]
pub(crate) async fn stream_events(
    live: State<EventStreams>,
    keys: State<ApiKeys>,
    caller: Caller,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    if let Some(unknown) = req.queries().keys().find(|name| *name != "types") {
        let message = format!("Unknown query parameter `{unknown}`. This endpoint takes `types`.");
        return Err(ApiError::validation(message));
    }
    let filter = TypeFilter::parse(query_value(req, "types")?.unwrap_or_default())
        .map_err(|error| ApiError::validation(format!("Invalid `types` query parameter: {error}.")))?;
    let (place, watch) = live.open(caller.team, filter).map_err(|error| ApiError {
        retry_after_s: Some(RETRY_AFTER_S),
        ..ApiError::new(ErrorCode::RateLimitExceeded, error.to_string())
    })?;
    res.status_code(StatusCode::OK);
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    // One message at a time: what waits for its reader waits in the watch.
    let (texts, body) = mpsc::channel(1);
    res.body(ResBody::Boxed(Box::pin(StreamBody(body))));
    live.run(keys.revocation(&caller), async move {
        let _place = place;
        write(texts, watch, HEARTBEAT_EVERY).await;
    });
    Ok(())
}

/// The body of an answer that goes on. Unlike the one of [`Response::channel`], its writer can wait for
/// its end: the server drops it as soon as its reader has hung up.
struct StreamBody(mpsc::Receiver<Bytes>);

impl Body for StreamBody {
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxedError>>> {
        self.get_mut().0.poll_recv(cx).map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}

/// Writes the stream until its reader is gone.
async fn write(texts: mpsc::Sender<Bytes>, mut watch: EventStream, heartbeat_every: Duration) {
    // The first comment has the head of the answer leave at once.
    let mut text = ": ringmail\n\n".to_owned();
    while watch.buffer_while(texts.send(text.into())).await.is_ok() {
        text = tokio::select! {
            seen = watch.next() => match seen {
                Some(seen) => message(&seen),
                None => return,
            },
            () = texts.closed() => return,
            () = tokio::time::sleep(heartbeat_every) => ": still here\n\n".to_owned(),
        };
    }
}

/// A body is one line: its JSON has every control character escaped (RFC 8259 §7).
fn message(seen: &StreamItem) -> String {
    match seen {
        StreamItem::Event(PublishedEvent { team: _, id, event_type, body }) => {
            format!("id: {id}\nevent: {event_type}\ndata: {body}\n\n")
        }
        StreamItem::Missed(count) => format!("event: ringmail.missed\ndata: {{\"count\":{count}}}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::base::id::Id;
    use crate::event_bus::EventBus;
    use crate::http::ConnectionLimits;

    /// How long a test waits for what is to happen.
    const WITHIN: Duration = Duration::from_secs(20);

    fn watch(announcer: &EventBus) -> EventStream {
        EventStream::new(announcer, Id::MIN, TypeFilter::everything())
    }

    async fn read(body: &mut mpsc::Receiver<Bytes>) -> Bytes {
        timeout(WITHIN, body.recv()).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_stream_on_which_nothing_happens_shows_signs_of_life() {
        let announcer = EventBus::default();
        let (texts, mut body) = mpsc::channel(1);
        let reading = async {
            assert_eq!(read(&mut body).await, ": ringmail\n\n");
            for _ in 0..3 {
                assert_eq!(read(&mut body).await, ": still here\n\n");
            }
        };

        tokio::select! {
            () = write(texts, watch(&announcer), Duration::from_millis(1)) => panic!("the stream goes on"),
            () = reading => {}
        }
        // docs/API.md names the pause.
        assert_eq!(HEARTBEAT_EVERY, Duration::from_secs(15));
        assert!(HEARTBEAT_EVERY < ConnectionLimits::default().answer_stall_max);
    }

    #[tokio::test]
    async fn a_stream_ends_when_its_reader_hangs_up_though_nothing_happens() {
        let announcer = EventBus::default();
        let (texts, mut body) = mpsc::channel(1);
        let hanging_up = async move {
            read(&mut body).await;
            tokio::task::yield_now().await;
            drop(body);
        };

        let writing = write(texts, watch(&announcer), Duration::MAX);

        timeout(WITHIN, async { tokio::join!(writing, hanging_up) }).await.unwrap();
    }

    #[test]
    fn an_event_is_three_lines_and_a_gap_is_an_event_of_its_own() {
        let body = r#"{"type":"email.sent","data":{"subject":"a\nb"}}"#.into();
        let event = PublishedEvent { team: Id::MIN, id: Id::MIN, event_type: "email.sent", body };

        let id = "00000000-0000-0000-0000-000000000000";
        let expected = format!(
            "id: {id}\nevent: email.sent\ndata: {{\"type\":\"email.sent\",\"data\":{{\"subject\":\"a\\nb\"}}}}\n\n"
        );
        assert_eq!(message(&StreamItem::Event(event)), expected);
        assert_eq!(message(&StreamItem::Missed(7)), "event: ringmail.missed\ndata: {\"count\":7}\n\n");
    }
}
