//! Responses: valid, long, slow, invalid, and redirects.

use std::time::Duration;

use super::receiver::Step::{self, AwaitRequest, ReadRequest, ReadToEnd, Write, WriteForever};
use super::receiver::{ReceivedRequest, Receiver};
use super::{
    Bytes, HttpResponse, HttpSession, HttpTimeouts, NOW_MS, RequestError, SHORT_TIMEOUT, Trap, client, policy, post,
    session, session_at, timeouts,
};
use crate::http_client::RequestPhase;

/// Sends one request to a receiver that runs `steps`. Returns the result and whether the connection is still open.
async fn exchange(steps: &'static [Step], timeouts: HttpTimeouts) -> (Result<HttpResponse, RequestError>, bool) {
    let receiver = Receiver::new([steps]);
    let mut session = session(receiver.port(), timeouts);
    let outcome = post(&mut session).await;
    let is_open = session.is_open();
    drop(session);
    receiver.requests();
    (outcome, is_open)
}

async fn error_of(steps: &'static [Step]) -> RequestError {
    let (outcome, is_open) = exchange(steps, timeouts()).await;
    assert!(!is_open, "a failed connection is not reused");
    outcome.unwrap_err()
}

#[tokio::test]
async fn a_request_has_its_header_fields_and_its_body() {
    let receiver = Receiver::new([&[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")]]);
    let client = client(policy(&["127.0.0.1"]), timeouts());
    let mut session = session_at(&client, &format!("http://127.0.0.1:{}/a//b/%2e?c=d&e={{f}}", receiver.port()));

    let headers = [("content-type", "application/json"), ("webhook-id", "msg_1"), ("host", "elsewhere.example")];
    let response = session.post(&headers, Bytes::from_static(br#"{"type":"email.sent"}"#), NOW_MS).await.unwrap();

    assert_eq!((response.status, response.body.as_str(), response.retry_after), (200, "ok", None));
    let [ReceivedRequest { head, body, .. }] = &receiver.requests()[..] else { panic!("one request") };
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /a//b/%2e?c=d&e={f} HTTP/1.1"));
    let mut fields: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    fields.sort_unstable();
    let host = format!("host: 127.0.0.1:{}", session.url().port());
    let agent = format!("user-agent: Ringmail/{}", env!("CARGO_PKG_VERSION"));
    let want =
        ["accept: */*", "content-length: 21", "content-type: application/json", &host, &agent, "webhook-id: msg_1"];
    assert_eq!(fields, want);
    assert_eq!(body, r#"{"type":"email.sent"}"#);
}

#[tokio::test]
async fn an_invalid_header_is_rejected_before_a_connection() {
    let trap = Trap::new();
    let mut session = session(trap.port(), timeouts());
    for header in [("webhook id", "a"), ("webhook-id", "a\r\nb: c"), ("", "a")] {
        let outcome = session.post(&[header], Bytes::new(), NOW_MS).await;
        assert_eq!(outcome, Err(RequestError::InvalidHeader), "{header:?}");
    }
    trap.assert_no_connection();
}

#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let trap = Trap::new();
    let location = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{}/\r\ncontent-length: 0\r\n\r\n",
        trap.port()
    );
    let location: &'static str = location.leak();
    let steps: &'static [Step] = vec![ReadRequest, Write(location), ReadToEnd].leak();

    let (outcome, _) = exchange(steps, timeouts()).await;

    assert_eq!(outcome.unwrap().status, 307);
    trap.assert_no_connection();
}

#[tokio::test]
async fn the_retry_after_field_is_parsed() {
    for (response, want_s) in [
        ("HTTP/1.1 429 Too Many Requests\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n", 120..=120),
        // `NOW_MS` is 01:46:40. The duration of the request is subtracted.
        (
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: Sun, 09 Sep 2001 01:47:40 GMT\r\ncontent-length: 0\r\n\r\n",
            50..=60,
        ),
    ] {
        let steps: &'static [Step] = vec![ReadRequest, Write(response), ReadToEnd].leak();
        let (outcome, _) = exchange(steps, timeouts()).await;
        let seconds = outcome.unwrap().retry_after.unwrap().as_secs_f64().round();
        assert!(want_s.contains(&(seconds as i32)), "{response}: {seconds}");
    }
}

#[tokio::test]
async fn a_body_is_truncated_and_a_long_one_closes_the_connection() {
    const KIB: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let kib: &'static str = KIB.repeat(16).leak();

    let (outcome, is_open) = exchange(
        &[
            ReadRequest,
            Write("HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n5\r\noh no\r\n1\r\n!\r\n0\r\n\r\n"),
            ReadToEnd,
        ],
        timeouts(),
    )
    .await;
    assert_eq!((outcome.unwrap().body.as_str(), is_open), ("oh no!", true));

    let two =
        vec![ReadRequest, Write("HTTP/1.1 500 Oh\r\ncontent-length: 2048\r\n\r\n"), Write(kib), Write(kib), ReadToEnd];
    let (outcome, is_open) = exchange(two.leak(), timeouts()).await;
    assert_eq!((outcome.unwrap().body.as_str(), is_open), (kib, true));

    for head in ["HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let endless = vec![ReadRequest, Write(head), WriteForever(kib)];
        let (outcome, is_open) = exchange(endless.leak(), timeouts()).await;
        let response = outcome.unwrap();
        assert_eq!((response.status, response.body.as_str(), is_open), (200, kib, false));
    }
}

#[tokio::test]
async fn an_incomplete_body_is_returned_with_its_head() {
    let short = HttpTimeouts { response: SHORT_TIMEOUT, ..timeouts() };
    let cases: [&[Step]; 4] = [
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")],
        &[
            ReadRequest,
            Write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nno chunk\r\n"),
            ReadToEnd,
        ],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\n\r\nabc")],
    ];
    for (at, steps) in cases.into_iter().enumerate() {
        let (outcome, is_open) = exchange(steps, short.clone()).await;
        let response = outcome.unwrap();
        assert_eq!((response.status, response.body.as_str(), is_open), (200, "abc", false), "{at}");
    }
}

#[tokio::test]
async fn an_endless_head_is_an_error() {
    let long: &'static str = "x".repeat(4_096).leak();
    let endless: [&'static [Step]; 4] = [
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\n"), WriteForever("a: b\r\n")],
        vec![ReadRequest, Write("HTTP/1.1 200 OK\r\na: "), WriteForever(long)].leak(),
        &[ReadRequest, WriteForever("HTTP/1.1 103 Early Hints\r\n\r\n")],
        vec![ReadRequest, Write("HTTP/1.1 200 "), WriteForever(long)].leak(),
    ];
    for (at, steps) in endless.into_iter().enumerate() {
        assert_eq!(error_of(steps).await, RequestError::HeadersTooLarge, "{at}");
    }
}

#[tokio::test]
async fn interim_responses_are_skipped() {
    let steps = &[
        ReadRequest,
        Write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
        Write("HTTP/1.1 204 No Content\r\n\r\n"),
        ReadToEnd,
    ];
    let (outcome, is_open) = exchange(steps, timeouts()).await;
    assert_eq!((outcome.unwrap().status, is_open), (204, true));
}

#[tokio::test]
async fn a_protocol_switch_is_returned_and_closes_the_connection() {
    let steps = &[
        ReadRequest,
        Write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
        ReadToEnd,
    ];
    let (outcome, is_open) = exchange(steps, timeouts()).await;
    assert_eq!((outcome.unwrap().status, is_open), (101, false));
}

#[tokio::test]
async fn an_incomplete_or_invalid_response_is_an_error() {
    for (steps, want) in [
        (&[AwaitRequest] as &[Step], RequestError::Reset),
        (&[ReadRequest], RequestError::Reset),
        (&[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-le")], RequestError::Reset),
        (&[AwaitRequest, Write("HTTP/1.1 200 OK\r\ncontent-le")], RequestError::Reset),
        (&[ReadRequest, Write("220 mx.example ESMTP\r\n"), ReadToEnd], RequestError::Protocol),
        (&[ReadRequest, Write("HTTP/1.1 99 No\r\n\r\n"), ReadToEnd], RequestError::Protocol),
        (&[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"), ReadToEnd], RequestError::Protocol),
        (&[ReadRequest, Write("HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n"), ReadToEnd], RequestError::Protocol),
    ] {
        let got = error_of(steps).await;
        assert_eq!(got, want);
    }
}

#[tokio::test]
async fn a_receiver_without_a_response_times_out() {
    let short = || HttpTimeouts { response: SHORT_TIMEOUT, ..timeouts() };
    let cases: [&[Step]; 3] =
        [&[ReadToEnd], &[ReadRequest, ReadToEnd], &[ReadRequest, Write("HTTP/1.1 200 OK\r\nx: "), ReadToEnd]];
    for (at, steps) in cases.into_iter().enumerate() {
        let (outcome, is_open) = exchange(steps, short()).await;
        assert_eq!((outcome, is_open), (Err(RequestError::Timeout(RequestPhase::Response)), false), "{at}");
    }
    let overall = HttpTimeouts { overall: SHORT_TIMEOUT, response: Duration::from_secs(60), ..timeouts() };
    assert_eq!(
        exchange(&[ReadRequest, ReadToEnd], overall).await.0,
        Err(RequestError::Timeout(RequestPhase::Response))
    );
}

#[tokio::test]
async fn a_closed_port_is_a_connection_error() {
    let port = Trap::new().port();
    let mut session = session(port, timeouts());

    assert_eq!(post(&mut session).await, Err(RequestError::Connect(std::io::ErrorKind::ConnectionRefused)));
}

#[test]
fn the_future_of_a_request_is_send() {
    fn require_send<T: Send>(_: T) {}
    fn check(session: &mut HttpSession) {
        require_send(post(session));
    }
    let _ = check;
}
