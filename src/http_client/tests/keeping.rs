//! Connections that are used again, and those that only look as if they could be.

use std::time::Duration;

use super::receiver::Receiver;
use super::receiver::Step::{self, Await, Hear, Say, WaitForEnd};
use super::{BRIEFLY, HttpTimeouts, RequestError, post, session, timings};
use crate::http_client::RequestPhase;

const OK: Step = Say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
const LAST: Step = Say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");

/// Over which connection each request came.
fn connections(receiver: Receiver) -> Vec<usize> {
    receiver.heard().iter().map(|heard| heard.connection).collect()
}

#[tokio::test]
async fn requests_share_a_connection() {
    let receiver = Receiver::new([&[Hear, OK, Hear, OK, Hear, OK, WaitForEnd]]);
    let mut session = session(receiver.port(), timings());
    assert!(!session.is_open(), "nothing is dialled before it is needed");

    for _ in 0..3 {
        assert_eq!(post(&mut session).await.unwrap().body, "ok");
        assert!(session.is_open());
    }

    drop(session);
    assert_eq!(connections(receiver), [0, 0, 0]);
}

#[tokio::test]
async fn a_receiver_that_says_goodbye_is_dialled_again() {
    let receiver = Receiver::new([&[Hear, LAST] as &[Step], &[Hear, OK]]);
    let mut session = session(receiver.port(), timings());

    post(&mut session).await.unwrap();
    assert!(!session.is_open());
    post(&mut session).await.unwrap();

    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn a_connection_that_waited_too_long_is_not_used() {
    let receiver = Receiver::new([&[Hear, OK, WaitForEnd] as &[Step], &[Hear, OK]]);
    let mut session = session(receiver.port(), HttpTimeouts { idle: Duration::ZERO, ..timings() });

    post(&mut session).await.unwrap();
    assert!(!session.is_open());
    post(&mut session).await.unwrap();

    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_seen_to_be() {
    let receiver = Receiver::new([&[Hear, OK]]);
    let mut session = session(receiver.port(), timings());

    post(&mut session).await.unwrap();
    receiver.has_ended().await;

    assert!(!session.is_open());
    let failure = post(&mut session).await.unwrap_err();
    assert_eq!(failure, RequestError::Connect(std::io::ErrorKind::ConnectionRefused), "it was dialled again");
}

#[tokio::test]
async fn words_out_of_turn_end_a_connection() {
    let receiver = Receiver::new([&[Hear, OK, Say("HTTP/1.1 408 Request Timeout\r\n\r\n")] as &[Step], &[Hear, LAST]]);
    let mut session = session(receiver.port(), timings());

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    // Whether the stray answer came together with the first one or after it, the second request must not take it.
    while session.is_open() {
        tokio::task::yield_now().await;
    }
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    assert_eq!(connections(receiver), [0, 1]);
}

/// The race: the receiver closes while the request is on its way, so the connection looked open and nothing comes back.
#[tokio::test]
async fn a_kept_connection_that_breaks_in_silence_is_dialled_afresh_once() {
    let receiver = Receiver::new([&[Hear, OK, Await] as &[Step], &[Hear, OK, WaitForEnd]]);
    let mut session = session(receiver.port(), timings());

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    assert!(session.is_open());
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    drop(session);
    assert_eq!(connections(receiver), [0, 1]);
}

#[tokio::test]
async fn the_second_silence_counts() {
    let receiver = Receiver::new([&[Hear, OK, Await] as &[Step], &[Await]]);
    let mut session = session(receiver.port(), timings());

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Reset));

    assert_eq!(connections(receiver), [0]);
}

#[tokio::test]
async fn a_kept_connection_that_breaks_in_the_middle_of_a_word_is_not_tried_again() {
    let receiver = Receiver::new([&[Hear, OK, Hear, Say("HTTP/1.1 2")]]);
    let mut session = session(receiver.port(), timings());

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Reset));
    assert!(!session.is_open());

    assert_eq!(connections(receiver), [0, 0]);
}

#[tokio::test]
async fn a_kept_connection_that_hangs_is_not_tried_again() {
    let receiver = Receiver::new([&[Hear, OK, Hear, WaitForEnd]]);
    let mut session = session(receiver.port(), HttpTimeouts { answer: BRIEFLY * 5, ..timings() });

    post(&mut session).await.unwrap();
    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Answer)));
    assert!(!session.is_open());

    assert_eq!(connections(receiver), [0, 0]);
}

#[tokio::test]
async fn a_request_that_is_dropped_halfway_takes_its_connection_along() {
    let receiver = Receiver::new([&[Hear, OK, Hear, WaitForEnd] as &[Step], &[Hear, OK]]);
    let mut session = session(receiver.port(), timings());

    post(&mut session).await.unwrap();
    assert!(tokio::time::timeout(BRIEFLY, post(&mut session)).await.is_err());
    assert!(!session.is_open());
    assert_eq!(post(&mut session).await.unwrap().status, 200);

    assert_eq!(connections(receiver), [0, 0, 1]);
}
