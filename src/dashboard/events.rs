//! `GET /dashboard/api/events`: a team's events as they happen, as server-sent events (HTML Living
//! Standard §9.2).
//!
//! A comment every fifteen seconds keeps the connection alive for whatever stands between: it comes
//! sooner than the limits of `http/connections.rs` and of common reverse proxies.

use std::time::Duration;

use salvo::http::body::BodySender;
use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, Writer as _, handler};

use crate::announcer::Announcement;
use crate::api_keys::{ApiKeys, Caller};
use crate::http::{ApiError, ApiResult, ErrorCode, State, query_value};
use crate::live::{Filter, Live, Place, Seen, Watch};

/// The pause between two signs of life of a stream on which nothing happens.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// Seconds after which a refused stream is worth another try.
const RETRY_AFTER_S: u32 = 5;

/// Streams the events of the caller's team, for as long as the caller's key works.
#[handler]
pub(crate) async fn stream_events(
    live: State<Live>,
    keys: State<ApiKeys>,
    caller: Caller,
    req: &mut Request,
    res: &mut Response,
) -> ApiResult<()> {
    if let Some(unknown) = req.queries().keys().find(|name| *name != "types") {
        let message = format!("Unknown query parameter `{unknown}`. This endpoint takes `types`.");
        return Err(ApiError::validation(message));
    }
    let filter = Filter::parse(query_value(req, "types")?.unwrap_or_default())
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
    let body = res.channel();
    live.run(keys.revocation(&caller), write(body, watch, place));
    Ok(())
}

/// Writes the stream until its reader is gone. The place is given back with it.
async fn write(mut body: BodySender, mut watch: Watch, _place: Place) {
    // The first comment has the head of the answer leave at once.
    let mut text = ": ringmail\n\n".to_owned();
    while watch.meanwhile(body.send_data(text)).await.is_ok() {
        text = tokio::select! {
            seen = watch.next() => match seen {
                Some(seen) => message(&seen),
                None => return,
            },
            () = tokio::time::sleep(HEARTBEAT_EVERY) => ": still here\n\n".to_owned(),
        };
    }
}

/// A body is one line: its JSON has every control character escaped (RFC 8259 §7).
fn message(seen: &Seen) -> String {
    match seen {
        Seen::Event(Announcement { team: _, id, event_type, body }) => {
            format!("id: {id}\nevent: {event_type}\ndata: {body}\n\n")
        }
        Seen::Missed(count) => format!("event: ringmail.missed\ndata: {{\"count\":{count}}}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    #[test]
    fn an_event_is_three_lines_and_a_gap_is_an_event_of_its_own() {
        let body = r#"{"type":"email.sent","data":{"subject":"a\nb"}}"#.into();
        let event = Announcement { team: Id::MIN, id: Id::MIN, event_type: "email.sent", body };

        let id = "00000000-0000-0000-0000-000000000000";
        let expected = format!(
            "id: {id}\nevent: email.sent\ndata: {{\"type\":\"email.sent\",\"data\":{{\"subject\":\"a\\nb\"}}}}\n\n"
        );
        assert_eq!(message(&Seen::Event(event)), expected);
        assert_eq!(message(&Seen::Missed(7)), "event: ringmail.missed\ndata: {\"count\":7}\n\n");
    }
}
