//! Connections that are reused, and connections that are not usable any more.

use std::time::Duration;

use super::receiver::Receiver;
use super::receiver::Step::{self, AwaitRequest, ReadRequest, ReadToEnd, Write};
use super::{HttpTimeouts, RequestError, SHORT_TIMEOUT, post, session, timeouts};
use crate::http_client::RequestPhase;

const OK: Step = Write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
const LAST: Step = Write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");

/// Returns the connection index of each request.
fn connections(receiver: Receiver) -> Vec<usize> {
    receiver.requests().iter().map(|request| request.connection).collect()
}

#[tokio::test]
async fn requests_share_a_connection() {
    let receiver = Receiver::new([&[ReadRequest, OK, ReadRequest, OK, ReadRequest, OK, ReadToEnd]]);
    let mut session = session(receiver.port(), timeouts());
    assert!(!session.is_open(), "a new session has no connection");

    for _ in 0..3 {
        assert_eq!(post(&mut session).await.unwrap().body, "ok");
        assert!(session.is_open());
    }

    drop(session);
    assert_eq!(connections(receiver), [0, 0, 0]);
}

#[tokio::test]
async fn a_connection_with_connection_close_is_replaced() {
    let receiver = Receiver::new([&[ReadRequest, LAST] as &[Step], &[ReadRequest, OK]]);
    let mut session = session(receiver.port(), timeouts());

    post(&mut session).await.unwrap();
    assert!(!session.is_open());
    post(&mut session).await.unwrap();

    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn a_connection_that_was_idle_too_long_is_replaced() {
    let receiver = Receiver::new([&[ReadRequest, OK, ReadToEnd] as &[Step], &[ReadRequest, OK]]);
    let mut session = session(receiver.port(), HttpTimeouts { idle: Duration::ZERO, ..timeouts() });

    post(&mut session).await.unwrap();
    assert!(!session.is_open());
    post(&mut session).await.unwrap();

    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn a_connection_that_the_receiver_closed_is_detected() {
    let receiver = Receiver::new([&[ReadRequest, OK]]);
    let mut session = session(receiver.port(), timeouts());

    post(&mut session).await.unwrap();
    receiver.wait_for_end().await;

    assert!(!session.is_open());
    let error = post(&mut session).await.unwrap_err();
    assert_eq!(error, RequestError::Connect(std::io::ErrorKind::ConnectionRefused), "the session connected again");
}

#[tokio::test]
async fn an_unsolicited_response_closes_the_connection() {
    let receiver = Receiver::new([
        &[ReadRequest, OK, Write("HTTP/1.1 408 Request Timeout\r\n\r\n")] as &[Step],
        &[ReadRequest, LAST],
    ]);
    let mut session = session(receiver.port(), timeouts());

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    // The second request must not read the unsolicited response, even if it arrives together with the first response.
    while session.is_open() {
        tokio::task::yield_now().await;
    }
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    assert_eq!(connections(receiver), [0, 1]);
}

/// The race: the receiver closes the connection while the request is in flight, so no response follows.
#[tokio::test]
async fn a_reused_connection_that_ends_without_a_response_is_replaced_once() {
    let receiver = Receiver::new([&[ReadRequest, OK, AwaitRequest] as &[Step], &[ReadRequest, OK, ReadToEnd]]);
    let mut session = session(receiver.port(), timeouts());

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    assert!(session.is_open());
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    drop(session);
    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn a_new_connection_that_ends_without_a_response_is_an_error() {
    let receiver = Receiver::new([&[ReadRequest, OK, AwaitRequest] as &[Step], &[AwaitRequest]]);
    let mut session = session(receiver.port(), timeouts());

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Reset));

    assert_eq!(connections(receiver), [0]);
}

#[tokio::test]
async fn a_reused_connection_that_ends_inside_a_response_is_an_error() {
    let receiver = Receiver::new([&[ReadRequest, OK, ReadRequest, Write("HTTP/1.1 2")]]);
    let mut session = session(receiver.port(), timeouts());

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Reset));
    assert!(!session.is_open());

    assert_eq!(connections(receiver), [0, 0]);
}

#[tokio::test]
async fn a_reused_connection_without_a_response_times_out() {
    let receiver = Receiver::new([&[ReadRequest, OK, ReadRequest, ReadToEnd]]);
    let mut session = session(receiver.port(), HttpTimeouts { response: SHORT_TIMEOUT * 5, ..timeouts() });

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Response)));
    assert!(!session.is_open());

    assert_eq!(connections(receiver), [0, 0]);
}

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    let receiver = Receiver::new([&[ReadRequest, OK, ReadRequest, ReadToEnd] as &[Step], &[ReadRequest, OK]]);
    let mut session = session(receiver.port(), timeouts());

    post(&mut session).await.unwrap();
    assert!(tokio::time::timeout(SHORT_TIMEOUT, post(&mut session)).await.is_err());
    assert!(!session.is_open());
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    assert_eq!(connections(receiver), [0, 0, 1]);
}
