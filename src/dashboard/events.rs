//! `GET /dashboard/api/events`: live stream of a team's events, as server-sent events (HTML Living
//! Standard §9.2).
//!
//! A comment every 15 seconds keeps the connection alive. The interval is shorter than the timeouts of
//! `http/connections.rs` and of common reverse proxies.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use salvo::http::body::{Body, Frame};
use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use salvo::http::{HeaderValue, ResBody, StatusCode};
use salvo::hyper::body::Bytes;
use salvo::{BoxedError, Depot, Request, Response, Writer as _, handler};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::access::session::request_session;
use crate::api_keys::{ApiKeys, Caller};
use crate::event_bus::PublishedEvent;
use crate::http::{ApiError, ApiResult, ErrorCode, State, query_value};
use crate::live::{EventStream, EventStreams, StreamClient, StreamItem, TypeFilter};
use crate::users::Accounts;

/// Interval of comments on a stream without events.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// `Retry-After` of a refused stream, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// Streams the events of the caller's team until the caller's key is revoked or the session ends.
#[handler]
pub(crate) async fn stream_events(
    live: State<EventStreams>,
    keys: State<ApiKeys>,
    accounts: State<Accounts>,
    caller: Caller,
    req: &mut Request,
    depot: &mut Depot,
    res: &mut Response,
) -> ApiResult<()> {
    if let Some(unknown) = req.queries().keys().find(|name| *name != "types") {
        let message = format!("Unknown query parameter `{unknown}`. This endpoint takes `types`.");
        return Err(ApiError::validation(message));
    }
    let filter = TypeFilter::parse(query_value(req, "types")?.unwrap_or_default())
        .map_err(|error| ApiError::validation(format!("Invalid `types` query parameter: {error}.")))?;
    let session = request_session(depot).ok();
    let client = match session {
        Some(session) => StreamClient::Session(session.signed_in.session.id),
        None => StreamClient::Key(caller.key),
    };
    let (permit, events) = live.open(caller.team, client, filter).map_err(|error| ApiError {
        retry_after_s: Some(RETRY_AFTER_S),
        ..ApiError::new(ErrorCode::RateLimitExceeded, error.to_string())
    })?;
    res.status_code(StatusCode::OK);
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    // One message at a time. Further events are buffered in the event stream, which bounds them.
    let (texts, body) = mpsc::channel(1);
    res.body(ResBody::Boxed(Box::pin(StreamBody(body))));
    // A stream with a session ends with the session, and one with a key when the key is revoked.
    let watch = session.map(|session| accounts.watch(session.token.clone(), session.signed_in.clone()));
    let revocation = if watch.is_some() { CancellationToken::new() } else { keys.revocation(&caller) };
    let accounts = Arc::clone(&accounts);
    live.run(revocation, async move {
        let _permit = permit;
        let writing = write(texts, events, HEARTBEAT_INTERVAL);
        match watch {
            Some(watch) => tokio::select! {
                () = writing => {}
                () = accounts.ended(watch) => {}
            },
            None => writing.await,
        }
    });
    Ok(())
}

/// Body of a streaming response. Unlike [`Response::channel`], its writer can wait until the client
/// closes the connection: the server drops the body then.
struct StreamBody(mpsc::Receiver<Bytes>);

impl Body for StreamBody {
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxedError>>> {
        self.get_mut().0.poll_recv(cx).map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}

/// Writes the stream until it ends or the client closes the connection.
async fn write(texts: mpsc::Sender<Bytes>, mut events: EventStream, heartbeat_interval: Duration) {
    // The first comment makes the server send the response head immediately.
    let mut text = ": ringmail\n\n".to_owned();
    while events.buffer_while(texts.send(text.into())).await.is_ok() {
        text = tokio::select! {
            item = events.next() => match item {
                Some(item) => message(&item),
                None => return,
            },
            () = texts.closed() => return,
            () = tokio::time::sleep(heartbeat_interval) => ": still here\n\n".to_owned(),
        };
    }
}

// The JSON of an event is one line, because it escapes control characters (RFC 8259 §7).
fn message(item: &StreamItem) -> String {
    match item {
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

    /// Timeout of each wait in a test.
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn all_events(event_bus: &EventBus) -> EventStream {
        EventStream::new(event_bus, Id::MIN, TypeFilter::everything())
    }

    async fn read(body: &mut mpsc::Receiver<Bytes>) -> Bytes {
        timeout(TIMEOUT, body.recv()).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_stream_without_events_has_comments_at_intervals() {
        let event_bus = EventBus::default();
        let (texts, mut body) = mpsc::channel(1);
        let reading = async {
            assert_eq!(read(&mut body).await, ": ringmail\n\n");
            for _ in 0..3 {
                assert_eq!(read(&mut body).await, ": still here\n\n");
            }
        };

        tokio::select! {
            () = write(texts, all_events(&event_bus), Duration::from_millis(1)) => panic!("the stream has no end"),
            () = reading => {}
        }
        // docs/API.md states this interval.
        assert_eq!(HEARTBEAT_INTERVAL, Duration::from_secs(15));
        assert!(HEARTBEAT_INTERVAL < ConnectionLimits::default().answer_stall_max);
    }

    #[tokio::test]
    async fn a_stream_without_events_ends_when_the_client_closes_it() {
        let event_bus = EventBus::default();
        let (texts, mut body) = mpsc::channel(1);
        let closing = async move {
            read(&mut body).await;
            tokio::task::yield_now().await;
            drop(body);
        };

        let writing = write(texts, all_events(&event_bus), Duration::MAX);

        timeout(TIMEOUT, async { tokio::join!(writing, closing) }).await.unwrap();
    }

    #[test]
    fn an_event_has_three_lines_and_a_gap_is_a_separate_event() {
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
