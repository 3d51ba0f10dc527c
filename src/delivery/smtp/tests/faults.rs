//! Servers that close, stall, or reply at the wrong time.

use std::future::ready;
use std::time::Duration;

use tokio::task::JoinSet;

use super::peer::{PIPELINING, PLAIN, Peer, Step, exchanges, greeting};
use super::{MESSAGE, open_with_short_timeouts, open_with_timeouts, outcomes, to};
use crate::delivery::smtp::{ConnectionState, Timeouts};

use Step::{Close, Discard, Expect, ExpectEndWithoutMessage, ExpectMessage, Reply, ReplySlowly, Stall, WaitForEnd};

const TWO: &[&str] = &["a@x.test", "b@x.test"];

fn script(extensions: &'static str, after: impl IntoIterator<Item = Step>) -> Peer {
    let mut script = greeting(extensions);
    script.extend(after);
    Peer::new(script)
}

/// Delivers one message to two recipients and returns their results.
async fn deliver_to_two(peer: &Peer) -> Vec<String> {
    let mut session = open_with_short_timeouts(peer.address).await;
    let transaction = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;

    let is_closed = transaction.connection == ConnectionState::Closed;
    assert_eq!(is_closed, !session.is_reusable());
    outcomes(&transaction.recipients)
}

#[tokio::test]
async fn every_fault_has_a_result_for_every_recipient() {
    const GO: &str = "250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n";
    let cases: Vec<(Vec<Step>, [&str; 2])> = vec![
        // A 421 at each reply.
        (vec![Expect("DATA"), Reply("421 4.7.0 no\r\n"), WaitForEnd], ["untried MAIL Closing 421"; 2]),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n250 ok\r\n421 4.7.0 no\r\n"), WaitForEnd],
            ["untried RCPT Closing 421"; 2],
        ),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n421 4.7.0 no\r\n"), WaitForEnd],
            ["refused RCPT 550", "untried RCPT Closing 421"],
        ),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n250 ok\r\n421 no\r\n"), WaitForEnd],
            ["refused RCPT 550", "untried DATA Closing 421"],
        ),
        (
            vec![Expect("DATA"), Reply(GO), ExpectMessage, Reply("421 4.3.2 no\r\n"), WaitForEnd],
            ["untried message Closing 421"; 2],
        ),
        // A close at each reply.
        (vec![Expect("DATA"), Close], ["untried MAIL Lost 0"; 2]),
        (vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n"), Close], ["refused RCPT 550", "untried RCPT Lost 0"]),
        (vec![Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n"), Close], ["untried DATA Lost 0"; 2]),
        (vec![Expect("DATA"), Reply(GO), ExpectMessage, Close], ["ambiguous Lost"; 2]),
        (vec![Expect("DATA"), Reply(GO), ExpectMessage, Reply("250-half"), Close], ["ambiguous Lost"; 2]),
        // No reply in each phase.
        (vec![Expect("DATA"), WaitForEnd], ["untried MAIL TimedOut 0"; 2]),
        (vec![Expect("DATA"), Reply("250 ok\r\n"), WaitForEnd], ["untried RCPT TimedOut 0"; 2]),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n250 ok\r\n"), WaitForEnd],
            ["refused RCPT 550", "untried DATA TimedOut 0"],
        ),
        (vec![Expect("DATA"), Reply(GO), ExpectMessage, WaitForEnd], ["ambiguous TimedOut"; 2]),
        // Invalid replies.
        (vec![Expect("DATA"), Reply("hello\r\n"), WaitForEnd], ["untried MAIL InvalidReply 0"; 2]),
        (vec![Expect("DATA"), Reply("354 go\r\n"), WaitForEnd], ["untried MAIL InvalidReply 0"; 2]),
        (vec![Expect("DATA"), Reply("250 ok\r\n354 go\r\n"), WaitForEnd], ["untried RCPT InvalidReply 0"; 2]),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n"), WaitForEnd],
            ["untried DATA InvalidReply 0"; 2],
        ),
        (
            vec![Expect("DATA"), Reply(GO), ExpectMessage, Reply("354 again\r\n"), WaitForEnd],
            ["ambiguous InvalidReply"; 2],
        ),
        (vec![Expect("DATA"), Reply(GO), ExpectMessage, Reply("oops\r\n"), WaitForEnd], ["ambiguous InvalidReply"; 2]),
        // A reply before the final dot.
        (
            vec![Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 fine\r\n"), WaitForEnd],
            ["untried message InvalidReply 0"; 2],
        ),
        // An empty message without a reply changes nothing.
        (vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n550 no\r\n354 go\r\n"), WaitForEnd], ["refused RCPT 550"; 2]),
        (
            vec![Expect("DATA"), Reply("250 ok\r\n550 no\r\n550 no\r\n354 go\r\n"), Expect("."), Close],
            ["refused RCPT 550"; 2],
        ),
    ];
    // The cases run concurrently, because those without a reply take a second.
    let mut deliveries = JoinSet::new();
    for (index, (after, expected)) in cases.into_iter().enumerate() {
        deliveries.spawn(async move {
            let peer = script(PIPELINING, after);
            let results = deliver_to_two(&peer).await;
            (index, results, expected)
        });
    }
    for (index, results, expected) in deliveries.join_all().await {
        assert_eq!(results, expected, "case {index}");
    }
}

#[tokio::test]
async fn replies_can_arrive_in_pieces() {
    let pause = Duration::from_millis(1);
    let peer = script(
        "250-mx\r\n250 PIPELINING\r\n",
        [
            Expect("DATA"),
            ReplySlowly("250 ok\r\n250-a\r\n250 ok\r\n550-5.1.1 x\r\n", pause),
            Reply("550 5.1.1 y\r\n35"),
            Reply("4 go\r\n"),
            ExpectMessage,
            ReplySlowly("250 queued\r\n", pause),
        ],
    );

    assert_eq!(deliver_to_two(&peer).await, ["accepted 250", "refused RCPT 550"]);
}

#[tokio::test]
async fn a_slow_reply_does_not_extend_a_time_limit() {
    let peer = script(
        PLAIN,
        [
            Expect("MAIL"),
            ReplySlowly("250-one byte at a time and never an end to this line", Duration::from_millis(20)),
        ],
    );

    assert_eq!(deliver_to_two(&peer).await, ["untried MAIL TimedOut 0"; 2]);
}

#[tokio::test]
async fn the_transaction_limit_ends_a_phase_within_its_own_limit() {
    let peer = script(
        PLAIN,
        [
            Expect("MAIL"),
            ReplySlowly("250-one byte at a time and never an end to this line", Duration::from_millis(20)),
        ],
    );
    let timeouts = Timeouts { transaction: Duration::from_millis(200), ..Timeouts::default() };
    let mut session = open_with_timeouts(peer.address, &timeouts).await.unwrap();

    let transaction = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["untried MAIL TimedOut 0"; 2]);
    assert!(transaction.transcript.ends_with("-- timed out at MAIL\n"), "{}", transaction.transcript);
}

#[tokio::test]
async fn bytes_after_a_reply_are_the_next_reply() {
    let peer = script(
        "250-mx\r\n250 PIPELINING\r\n",
        [
            Expect("DATA"),
            Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"),
            ExpectMessage,
            Reply("250 queued\r\n421 4.4.2 that was enough\r\n"),
            WaitForEnd,
        ],
    );
    let mut session = open_with_short_timeouts(peer.address).await;

    let first = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
    assert_eq!(outcomes(&first.recipients), ["accepted 250"; 2]);
    assert!(!session.is_reusable());

    let second = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
    assert_eq!(outcomes(&second.recipients), ["untried precheck Closing 421"; 2]);
    assert_eq!(second.connection, ConnectionState::Closed);

    let third = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
    assert_eq!(outcomes(&third.recipients), ["untried precheck SessionClosed 0"; 2]);
    session.quit().await;
    peer.received();
}

#[tokio::test]
async fn a_close_at_mail_on_a_reused_connection_does_not_count_as_an_attempt() {
    let after: [(Vec<Step>, &str); 2] = [
        (vec![Expect("DATA"), Close], "untried precheck Lost 0"),
        (vec![Expect("DATA"), Reply("421 4.7.0 too many messages\r\n"), WaitForEnd], "untried precheck Closing 421"),
    ];
    for (after, expected) in after {
        let mut steps =
            vec![Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"), ExpectMessage, Reply("250 ok\r\n")];
        steps.extend(after);
        let peer = script(PIPELINING, steps);
        let mut session = open_with_short_timeouts(peer.address).await;

        session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
        let second = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;

        assert_eq!(outcomes(&second.recipients), [expected; 2]);
        peer.received();
    }
}

#[tokio::test]
async fn a_closed_idle_connection_is_detected_before_mail() {
    let peer = script(
        PIPELINING,
        [Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"), ExpectMessage, Reply("250 ok\r\n"), Close],
    );
    let mut session = open_with_short_timeouts(peer.address).await;

    session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
    peer.has_ended().await;
    let second = session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&second.recipients), ["untried precheck Lost 0"; 2]);
    assert!(!second.transcript.contains("MAIL"), "{}", second.transcript);
}

#[tokio::test]
async fn a_refused_rset_closes_the_session() {
    let replies = exchanges(&[("DATA", "550 no\r\n503 no\r\n503 no\r\n503 no\r\n"), ("RSET", "421 no\r\n")]);
    let peer = script(PIPELINING, replies.into_iter().chain([WaitForEnd]));
    let mut session = open_with_short_timeouts(peer.address).await;

    session.deliver(&to(TWO), &[MESSAGE], ready(true)).await;
    session.reset().await;

    assert!(!session.is_reusable());
    peer.received();
}

/// Returns a message larger than the socket buffers, so that the write waits for the reader.
fn large_message() -> Vec<u8> {
    b"0123456789012345678901234567890123456789012345678901234567890123456789012345\r\n".repeat(300_000)
}

const LARGE: &str = "250-mx\r\n250 PIPELINING\r\n";

#[tokio::test]
async fn a_reply_in_the_middle_of_a_message_is_read() {
    let cases = [
        ("552 5.3.4 too much\r\n", ["refused message 552"; 2]),
        ("421 4.3.2 shutting down\r\n", ["untried message Closing 421"; 2]),
        ("250 fine already\r\n", ["untried message InvalidReply 0"; 2]),
    ];
    for (answer, expected) in cases {
        let peer = script(
            LARGE,
            [
                Expect("DATA"),
                Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"),
                Discard(10_000),
                Reply(answer),
                WaitForEnd,
            ],
        );
        let mut session = open_with_short_timeouts(peer.address).await;

        let transaction = session.deliver(&to(TWO), &[&large_message()], ready(true)).await;

        assert_eq!(transaction.connection, ConnectionState::Closed);
        assert_eq!(outcomes(&transaction.recipients), expected);
    }
}

#[tokio::test]
async fn a_message_that_may_not_end_gets_no_final_dot() {
    let peer = script(
        PIPELINING,
        [Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"), ExpectEndWithoutMessage],
    );
    let mut session = open_with_short_timeouts(peer.address).await;

    let transaction = session.deliver(&to(TWO), &[MESSAGE], ready(false)).await;

    assert_eq!(outcomes(&transaction.recipients), ["untried message Withdrawn 0"; 2]);
    assert_eq!(transaction.connection, ConnectionState::Closed);
    peer.received();
}

#[tokio::test]
async fn a_message_that_was_not_sent_completely_is_not_ambiguous() {
    let (release, stalled) = std::sync::mpsc::channel();
    let peer = script(LARGE, [Expect("DATA"), Reply("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"), Stall(stalled)]);
    let mut session = open_with_short_timeouts(peer.address).await;

    let transaction = session.deliver(&to(TWO), &[&large_message()], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["untried message TimedOut 0"; 2]);
    drop(release);
    peer.received();
}

#[tokio::test]
async fn an_endless_reply_is_an_invalid_reply() {
    let line = "250-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    let lines: &'static str = line.repeat(2000).leak();
    let long: &'static str = "2".repeat(100_000).leak();
    for flood in [lines, long] {
        let peer = script(PLAIN, [Expect("MAIL"), Reply(flood), WaitForEnd]);

        assert_eq!(deliver_to_two(&peer).await, ["untried MAIL InvalidReply 0"; 2]);
    }
}
