//! Transactions: commands, replies and the results of the recipients.

use std::future::ready;

use super::peer::{PIPELINING, PLAIN, Peer, Step, exchanges, greeting};
use super::{MESSAGE, MESSAGE_ON_THE_WIRE, open, outcomes, to};
use crate::delivery::smtp::ConnectionState;

use Step::{Expect, ExpectMessage, Reply, WaitForEnd};

fn script(extensions: &'static str, after: impl IntoIterator<Item = Step>) -> Peer {
    let mut script = greeting(extensions);
    script.extend(after);
    Peer::new(script)
}

#[tokio::test]
async fn a_session_delivers_two_pipelined_messages_and_stays_open() {
    let peer = script(
        PIPELINING,
        [
            Expect("DATA"),
            Reply("250 ok\r\n250 ok\r\n354 go\r\n"),
            ExpectMessage,
            Reply("250 2.0.0 queued as 1\r\n"),
            Expect("DATA"),
            Reply("250 ok\r\n250 ok\r\n354 go\r\n"),
            ExpectMessage,
            Reply("250 2.0.0 queued as 2\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test"]), &[b"Subject: hi\r\n", &MESSAGE[13..]], ready(true)).await;
    let second = session.deliver(&to(&["b@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&first.recipients), ["accepted 250"]);
    assert_eq!(outcomes(&second.recipients), ["accepted 250"]);
    assert_eq!(second.connection, ConnectionState::Reusable);
    assert_eq!(session.transactions(), 2);
    assert!(session.is_reusable());
    assert!(first.transcript.starts_with("-- connected to mx.example.test at 127.0.0.1:"));
    assert_eq!(
        second.transcript,
        "C: MAIL FROM:<b+1@bounce.example.test> SIZE=26\nC: RCPT TO:<b@x.test>\nC: DATA\n\
         S: 250 ok\nS: 250 ok\nS: 354 go\n-- 26 bytes of message\nS: 250 2.0.0 queued as 2\n"
    );
    drop(session);
    let received = peer.received();
    assert_eq!(received[4], MESSAGE_ON_THE_WIRE);
    assert_eq!(received[8], MESSAGE_ON_THE_WIRE);
}

#[tokio::test]
async fn without_pipelining_each_command_waits_for_its_reply() {
    let replies = exchanges(&[
        ("MAIL", "250 ok\r\n"),
        ("RCPT", "250 ok\r\n"),
        ("RCPT", "251 will forward\r\n"),
        ("DATA", "354 go\r\n"),
    ]);
    let peer = script(PLAIN, replies.into_iter().chain([ExpectMessage, Reply("250 queued\r\n")]));
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250", "accepted 250"]);
}

#[tokio::test]
async fn pipelining_can_be_turned_off() {
    let replies = exchanges(&[("MAIL", "250 ok\r\n"), ("RCPT", "250 ok\r\n"), ("DATA", "354 go\r\n")]);
    let peer = script(PIPELINING, replies.into_iter().chain([ExpectMessage, Reply("250 queued\r\n")]));
    let mut session = open(peer.address).await.unwrap().without_pipelining();

    let transaction = session.deliver(&to(&["a@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250"]);
    assert!(transaction.transcript.contains("S: 250 ok\nC: RCPT"));
}

#[tokio::test]
async fn a_refused_recipient_does_not_affect_the_others() {
    for extensions in [PIPELINING, PLAIN] {
        let replies = if extensions == PIPELINING {
            exchanges(&[("DATA", "250 ok\r\n250 ok\r\n550 5.1.1 no\r\n452 4.5.3 many\r\n250 ok\r\n354 go\r\n")])
        } else {
            exchanges(&[
                ("MAIL", "250 ok\r\n"),
                ("RCPT", "250 ok\r\n"),
                ("RCPT", "550 5.1.1 no\r\n"),
                ("RCPT", "452 4.5.3 many\r\n"),
                ("RCPT", "250 ok\r\n"),
                ("DATA", "354 go\r\n"),
            ])
        };
        let peer = script(extensions, replies.into_iter().chain([ExpectMessage, Reply("250 ok\r\n")]));
        let mut session = open(peer.address).await.unwrap();

        let envelope = to(&["a@x.test", "b@x.test", "c@x.test", "d@x.test"]);
        let transaction = session.deliver(&envelope, &[MESSAGE], ready(true)).await;

        assert_eq!(
            outcomes(&transaction.recipients),
            ["accepted 250", "refused RCPT 550", "refused RCPT 452", "accepted 250"]
        );
        assert_eq!(transaction.connection, ConnectionState::Reusable);
    }
}

#[tokio::test]
async fn a_354_without_accepted_recipients_gets_an_empty_message() {
    let replies = exchanges(&[
        ("DATA", "250 ok\r\n550 5.1.1 no\r\n550 5.1.1 no\r\n354 go\r\n"),
        (".", "554 no valid recipients\r\n"),
        ("RSET", "250 ok\r\n"),
        ("DATA", "250 ok\r\n250 ok\r\n354 go\r\n"),
    ]);
    let peer = script(PIPELINING, replies.into_iter().chain([ExpectMessage, Reply("250 ok\r\n")]));
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;
    assert_eq!(outcomes(&first.recipients), ["refused RCPT 550", "refused RCPT 550"]);
    assert_eq!(first.connection, ConnectionState::NeedsReset);

    let second = session.deliver(&to(&["c@x.test"]), &[MESSAGE], ready(true)).await;
    assert_eq!(outcomes(&second.recipients), ["accepted 250"]);
    drop(session);
    assert_eq!(peer.received()[5], ".");
}

#[tokio::test]
async fn a_refused_sender_refuses_all_recipients_and_later_replies_are_ignored() {
    let replies = exchanges(&[
        ("DATA", "550 5.7.1 go away\r\n503 5.5.1 MAIL first\r\n503 5.5.1 MAIL first\r\n503 5.5.1 RCPT first\r\n"),
        ("RSET", "250 ok\r\n"),
    ]);
    let peer = script(PIPELINING, replies);
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["refused MAIL 550", "refused MAIL 550"]);
    assert!(session.is_reusable());
    session.reset().await;
    assert!(session.is_reusable());
    drop(session);
    peer.received();
}

#[tokio::test]
async fn without_pipelining_a_refusal_ends_the_transaction_early() {
    let replies = exchanges(&[
        ("MAIL", "550 no\r\n"),
        ("RSET", "250 ok\r\n"),
        ("MAIL", "250 ok\r\n"),
        ("RCPT", "550 no\r\n"),
        ("RSET", "250 ok\r\n"),
    ]);
    let peer = script(PLAIN, replies);
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test"]), &[MESSAGE], ready(true)).await;
    let second = session.deliver(&to(&["a@x.test"]), &[MESSAGE], ready(true)).await;
    session.reset().await;

    assert_eq!(outcomes(&first.recipients), ["refused MAIL 550"]);
    assert_eq!(outcomes(&second.recipients), ["refused RCPT 550"]);
    drop(session);
    peer.received();
}

#[tokio::test]
async fn refusals_at_data_and_at_the_final_dot_concern_only_accepted_recipients() {
    let replies = exchanges(&[
        ("DATA", "250 ok\r\n550 no\r\n250 ok\r\n451 4.3.0 later\r\n"),
        ("RSET", "250 ok\r\n"),
        ("DATA", "250 ok\r\n250 ok\r\n550 no\r\n354 go\r\n"),
    ]);
    let peer = script(PIPELINING, replies.into_iter().chain([ExpectMessage, Reply("554 5.7.1 spam\r\n")]));
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;
    let second = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&first.recipients), ["refused RCPT 550", "refused DATA 451"]);
    assert_eq!(outcomes(&second.recipients), ["refused message 554", "refused RCPT 550"]);
    assert_eq!(second.connection, ConnectionState::NeedsReset);
}

#[tokio::test]
async fn a_transaction_refused_by_the_precheck_sends_nothing() {
    let peer = script("250-mx\r\n250 SIZE 5\r\n", [WaitForEnd]);
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["refused precheck 552"]);
    assert_eq!(transaction.connection, ConnectionState::Reusable);
    assert_eq!(session.transactions(), 0);
    let transaction = session.deliver(&to(&["é@x.test"]), &[b"hi"], ready(true)).await;
    assert_eq!(outcomes(&transaction.recipients), ["refused precheck 553"]);
    drop(session);
    assert_eq!(peer.received(), ["EHLO client.example.test"]);
}

#[tokio::test]
async fn announced_limits_on_recipients_and_transactions_are_applied() {
    let peer = script(
        "250-mx\r\n250-PIPELINING\r\n250 LIMITS RCPTMAX=1 MAILMAX=1\r\n",
        [Expect("DATA"), Reply("250 ok\r\n250 ok\r\n354 go\r\n"), ExpectMessage, Reply("250 ok\r\n")],
    );
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE], ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250", "untried precheck OverRecipientLimit 0"]);
    assert_eq!(transaction.connection, ConnectionState::Reusable);
    assert!(!session.is_reusable(), "MAILMAX is used up");
}

#[tokio::test]
async fn a_large_message_arrives_complete() {
    let peer = script(
        "250-mx\r\n250 PIPELINING\r\n",
        [Expect("DATA"), Reply("250 ok\r\n250 ok\r\n354 go\r\n"), ExpectMessage, Reply("250 ok\r\n")],
    );
    let mut session = open(peer.address).await.unwrap();
    let line = ".0123456789 and so on until the line is of a fair length\r\n";
    let message = line.repeat(80_000);

    let pieces: Vec<&[u8]> = message.as_bytes().chunks(100_003).collect();
    let transaction = session.deliver(&to(&["a@x.test"]), &pieces, ready(true)).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250"]);
    assert!(session.bytes().1 > message.len() as u64);
    drop(session);
    let received = peer.received();
    assert_eq!(received[4].len(), message.len() + 80_000 + 3);
    assert!(received[4] == format!(".{line}").repeat(80_000) + ".\r\n");
}
