//! What comes back: good, long, slow, broken, and elsewhere.

use std::time::Duration;

use super::receiver::Step::{self, Await, Hear, Say, SayForever, WaitForEnd};
use super::receiver::{Heard, Receiver};
use super::{
    BRIEFLY, Bytes, HttpResponse, HttpSession, HttpTimeouts, NOW_MS, RequestError, Trap, client, policy, post, session,
    session_at, timings,
};
use crate::http_client::RequestPhase;

/// Plays one connection against one request; returns the outcome and whether the connection was kept.
async fn one(steps: &'static [Step], timings: HttpTimeouts) -> (Result<HttpResponse, RequestError>, bool) {
    let receiver = Receiver::new([steps]);
    let mut session = session(receiver.port(), timings);
    let outcome = post(&mut session).await;
    let is_open = session.is_open();
    drop(session);
    receiver.heard();
    (outcome, is_open)
}

async fn failure(steps: &'static [Step]) -> RequestError {
    let (outcome, is_open) = one(steps, timings()).await;
    assert!(!is_open, "a connection that failed is not used again");
    outcome.unwrap_err()
}

#[tokio::test]
async fn a_request_has_its_fields_and_its_body() {
    let receiver = Receiver::new([&[Hear, Say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")]]);
    let client = client(policy(&["127.0.0.1"]), timings());
    let mut session = session_at(&client, &format!("http://127.0.0.1:{}/a//b/%2e?c=d&e={{f}}", receiver.port()));

    let headers = [("content-type", "application/json"), ("webhook-id", "msg_1"), ("host", "elsewhere.example")];
    let answer = session.post(&headers, Bytes::from_static(br#"{"type":"email.sent"}"#), NOW_MS).await.unwrap();

    assert_eq!((answer.status, answer.body.as_str(), answer.retry_after), (200, "ok", None));
    let [Heard { head, body, .. }] = &receiver.heard()[..] else { panic!("one request") };
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
async fn a_header_that_cannot_be_sent_is_refused_before_anything_is_dialled() {
    let trap = Trap::new();
    let mut session = session(trap.port(), timings());
    for header in [("webhook id", "a"), ("webhook-id", "a\r\nb: c"), ("", "a")] {
        let outcome = session.post(&[header], Bytes::new(), NOW_MS).await;
        assert_eq!(outcome, Err(RequestError::InvalidHeader), "{header:?}");
    }
    trap.saw_nobody();
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let trap = Trap::new();
    let location = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{}/\r\ncontent-length: 0\r\n\r\n",
        trap.port()
    );
    let location: &'static str = location.leak();
    let steps: &'static [Step] = vec![Hear, Say(location), WaitForEnd].leak();

    let (outcome, _) = one(steps, timings()).await;

    assert_eq!(outcome.unwrap().status, 307);
    trap.saw_nobody();
}

#[tokio::test]
async fn the_wish_to_be_left_alone_is_read() {
    for (answer, want_s) in [
        ("HTTP/1.1 429 Too Many Requests\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n", 120..=120),
        // NOW_MS is 01:46:40, and the answer takes its time.
        (
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: Sun, 09 Sep 2001 01:47:40 GMT\r\ncontent-length: 0\r\n\r\n",
            50..=60,
        ),
    ] {
        let steps: &'static [Step] = vec![Hear, Say(answer), WaitForEnd].leak();
        let (outcome, _) = one(steps, timings()).await;
        let seconds = outcome.unwrap().retry_after.unwrap().as_secs_f64().round();
        assert!(want_s.contains(&(seconds as i32)), "{answer}: {seconds}");
    }
}

#[tokio::test]
async fn a_body_is_read_to_its_end_only_when_that_is_near() {
    const KIB: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let kib: &'static str = KIB.repeat(16).leak();

    let (outcome, is_open) = one(
        &[
            Hear,
            Say("HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n5\r\noh no\r\n1\r\n!\r\n0\r\n\r\n"),
            WaitForEnd,
        ],
        timings(),
    )
    .await;
    assert_eq!((outcome.unwrap().body.as_str(), is_open), ("oh no!", true));

    let two = vec![Hear, Say("HTTP/1.1 500 Oh\r\ncontent-length: 2048\r\n\r\n"), Say(kib), Say(kib), WaitForEnd];
    let (outcome, is_open) = one(two.leak(), timings()).await;
    assert_eq!((outcome.unwrap().body.as_str(), is_open), (kib, true));

    for head in ["HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let endless = vec![Hear, Say(head), SayForever(kib)];
        let (outcome, is_open) = one(endless.leak(), timings()).await;
        let answer = outcome.unwrap();
        assert_eq!((answer.status, answer.body.as_str(), is_open), (200, kib, false));
    }
}

#[tokio::test]
async fn the_head_decides_whatever_becomes_of_the_body() {
    let brief = HttpTimeouts { answer: BRIEFLY, ..timings() };
    let cases: [&[Step]; 4] = [
        &[Hear, Say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"), WaitForEnd],
        &[Hear, Say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")],
        &[Hear, Say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nno chunk\r\n"), WaitForEnd],
        &[Hear, Say("HTTP/1.1 200 OK\r\n\r\nabc")],
    ];
    for (at, steps) in cases.into_iter().enumerate() {
        let (outcome, is_open) = one(steps, brief.clone()).await;
        let answer = outcome.unwrap();
        assert_eq!((answer.status, answer.body.as_str(), is_open), (200, "abc", false), "{at}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_given_up() {
    let long: &'static str = "x".repeat(4_096).leak();
    let endless: [&'static [Step]; 4] = [
        &[Hear, Say("HTTP/1.1 200 OK\r\n"), SayForever("a: b\r\n")],
        vec![Hear, Say("HTTP/1.1 200 OK\r\na: "), SayForever(long)].leak(),
        &[Hear, SayForever("HTTP/1.1 103 Early Hints\r\n\r\n")],
        vec![Hear, Say("HTTP/1.1 200 "), SayForever(long)].leak(),
    ];
    for (at, steps) in endless.into_iter().enumerate() {
        assert_eq!(failure(steps).await, RequestError::HeadersTooLarge, "{at}");
    }
}

#[tokio::test]
async fn interim_answers_are_read_over() {
    let steps = &[
        Hear,
        Say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
        Say("HTTP/1.1 204 No Content\r\n\r\n"),
        WaitForEnd,
    ];
    let (outcome, is_open) = one(steps, timings()).await;
    assert_eq!((outcome.unwrap().status, is_open), (204, true));
}

#[tokio::test]
async fn another_protocol_is_an_answer_and_the_end() {
    let steps =
        &[Hear, Say("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"), WaitForEnd];
    let (outcome, is_open) = one(steps, timings()).await;
    assert_eq!((outcome.unwrap().status, is_open), (101, false));
}

#[tokio::test]
async fn what_is_no_answer_is_named() {
    for (steps, want) in [
        (&[Await] as &[Step], RequestError::Reset),
        (&[Hear], RequestError::Reset),
        (&[Hear, Say("HTTP/1.1 200 OK\r\ncontent-le")], RequestError::Reset),
        (&[Await, Say("HTTP/1.1 200 OK\r\ncontent-le")], RequestError::Reset),
        (&[Hear, Say("220 mx.example ESMTP\r\n"), WaitForEnd], RequestError::Protocol),
        (&[Hear, Say("HTTP/1.1 99 No\r\n\r\n"), WaitForEnd], RequestError::Protocol),
        (&[Hear, Say("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"), WaitForEnd], RequestError::Protocol),
        (&[Hear, Say("HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n"), WaitForEnd], RequestError::Protocol),
    ] {
        let got = failure(steps).await;
        assert_eq!(got, want);
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_is_given_up() {
    let brief = || HttpTimeouts { answer: BRIEFLY, ..timings() };
    let cases: [&[Step]; 3] = [&[WaitForEnd], &[Hear, WaitForEnd], &[Hear, Say("HTTP/1.1 200 OK\r\nx: "), WaitForEnd]];
    for (at, steps) in cases.into_iter().enumerate() {
        let (outcome, is_open) = one(steps, brief()).await;
        assert_eq!((outcome, is_open), (Err(RequestError::Timeout(RequestPhase::Answer)), false), "{at}");
    }
    let overall = HttpTimeouts { overall: BRIEFLY, answer: Duration::from_secs(60), ..timings() };
    assert_eq!(one(&[Hear, WaitForEnd], overall).await.0, Err(RequestError::Timeout(RequestPhase::Answer)));
}

#[tokio::test]
async fn a_closed_port_is_named() {
    let port = Trap::new().port();
    let mut session = session(port, timings());

    assert_eq!(post(&mut session).await, Err(RequestError::Connect(std::io::ErrorKind::ConnectionRefused)));
}

#[test]
fn a_request_may_wait_on_any_thread() {
    fn may_move<T: Send>(_: T) {}
    fn asserted(session: &mut HttpSession) {
        may_move(post(session));
    }
    let _ = asserted;
}
