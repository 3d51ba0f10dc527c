//! Messages: commands, replies and who they are about.

use super::peer::{PIPELINING, PLAIN, Peer, Step, greeting};
use super::{MESSAGE, MESSAGE_ON_THE_WIRE, open, outcomes, to};
use crate::delivery::smtp::ConnectionState;

use Step::{Hear, HearMessage, Say, WaitForEnd};

fn script(extensions: &'static str, after: impl IntoIterator<Item = Step>) -> Peer {
    let mut script = greeting(extensions);
    script.extend(after);
    Peer::new(script)
}

#[tokio::test]
async fn a_pipelined_message_leaves_in_two_writes_and_the_session_stays_open() {
    let peer = script(
        PIPELINING,
        [
            Hear("DATA"),
            Say("250 ok\r\n250 ok\r\n354 go\r\n"),
            HearMessage,
            Say("250 2.0.0 queued as 1\r\n"),
            Hear("DATA"),
            Say("250 ok\r\n250 ok\r\n354 go\r\n"),
            HearMessage,
            Say("250 2.0.0 queued as 2\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test"]), &[b"Subject: hi\r\n", &MESSAGE[13..]]).await;
    let second = session.deliver(&to(&["b@x.test"]), &[MESSAGE]).await;

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
    let heard = peer.heard();
    assert_eq!(heard[4], MESSAGE_ON_THE_WIRE);
    assert_eq!(heard[8], MESSAGE_ON_THE_WIRE);
}

#[tokio::test]
async fn without_pipelining_each_command_waits_for_its_reply() {
    let peer = script(
        PLAIN,
        [
            Hear("MAIL"),
            Say("250 ok\r\n"),
            Hear("RCPT"),
            Say("250 ok\r\n"),
            Hear("RCPT"),
            Say("251 will forward\r\n"),
            Hear("DATA"),
            Say("354 go\r\n"),
            HearMessage,
            Say("250 queued\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250", "accepted 250"]);
}

#[tokio::test]
async fn pipelining_can_be_left_out_where_it_is_offered() {
    let peer = script(
        PIPELINING,
        [
            Hear("MAIL"),
            Say("250 ok\r\n"),
            Hear("RCPT"),
            Say("250 ok\r\n"),
            Hear("DATA"),
            Say("354 go\r\n"),
            HearMessage,
            Say("250 queued\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap().without_pipelining();

    let transaction = session.deliver(&to(&["a@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250"]);
    assert!(transaction.transcript.contains("S: 250 ok\nC: RCPT"));
}

#[tokio::test]
async fn one_bad_recipient_does_not_cost_the_good_ones() {
    for extensions in [PIPELINING, PLAIN] {
        let replies = if extensions == PIPELINING {
            vec![Hear("DATA"), Say("250 ok\r\n250 ok\r\n550 5.1.1 no\r\n452 4.5.3 many\r\n250 ok\r\n354 go\r\n")]
        } else {
            vec![
                Hear("MAIL"),
                Say("250 ok\r\n"),
                Hear("RCPT"),
                Say("250 ok\r\n"),
                Hear("RCPT"),
                Say("550 5.1.1 no\r\n"),
                Hear("RCPT"),
                Say("452 4.5.3 many\r\n"),
                Hear("RCPT"),
                Say("250 ok\r\n"),
                Hear("DATA"),
                Say("354 go\r\n"),
            ]
        };
        let peer = script(extensions, replies.into_iter().chain([HearMessage, Say("250 ok\r\n")]));
        let mut session = open(peer.address).await.unwrap();

        let envelope = to(&["a@x.test", "b@x.test", "c@x.test", "d@x.test"]);
        let transaction = session.deliver(&envelope, &[MESSAGE]).await;

        assert_eq!(
            outcomes(&transaction.recipients),
            ["accepted 250", "refused RCPT 550", "refused RCPT 452", "accepted 250"]
        );
        assert_eq!(transaction.connection, ConnectionState::Reusable);
    }
}

#[tokio::test]
async fn a_354_with_no_recipient_behind_it_gets_a_lone_dot() {
    let peer = script(
        PIPELINING,
        [
            Hear("DATA"),
            Say("250 ok\r\n550 5.1.1 no\r\n550 5.1.1 no\r\n354 go\r\n"),
            Hear("."),
            Say("554 no valid recipients\r\n"),
            Hear("RSET"),
            Say("250 ok\r\n"),
            Hear("DATA"),
            Say("250 ok\r\n250 ok\r\n354 go\r\n"),
            HearMessage,
            Say("250 ok\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;
    assert_eq!(outcomes(&first.recipients), ["refused RCPT 550", "refused RCPT 550"]);
    assert_eq!(first.connection, ConnectionState::NeedsReset);

    let second = session.deliver(&to(&["c@x.test"]), &[MESSAGE]).await;
    assert_eq!(outcomes(&second.recipients), ["accepted 250"]);
    drop(session);
    assert_eq!(peer.heard()[5], ".");
}

#[tokio::test]
async fn a_refused_sender_refuses_everyone_and_the_rest_of_the_batch_means_nothing() {
    let peer = script(
        PIPELINING,
        [
            Hear("DATA"),
            Say("550 5.7.1 go away\r\n503 5.5.1 MAIL first\r\n503 5.5.1 MAIL first\r\n503 5.5.1 RCPT first\r\n"),
            Hear("RSET"),
            Say("250 ok\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&transaction.recipients), ["refused MAIL 550", "refused MAIL 550"]);
    assert!(session.is_reusable());
    session.reset().await;
    assert!(session.is_reusable());
    drop(session);
    peer.heard();
}

#[tokio::test]
async fn without_pipelining_a_refusal_ends_the_transaction_early() {
    let peer = script(
        PLAIN,
        [
            Hear("MAIL"),
            Say("550 no\r\n"),
            Hear("RSET"),
            Say("250 ok\r\n"),
            Hear("MAIL"),
            Say("250 ok\r\n"),
            Hear("RCPT"),
            Say("550 no\r\n"),
            Hear("RSET"),
            Say("250 ok\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test"]), &[MESSAGE]).await;
    let second = session.deliver(&to(&["a@x.test"]), &[MESSAGE]).await;
    session.reset().await;

    assert_eq!(outcomes(&first.recipients), ["refused MAIL 550"]);
    assert_eq!(outcomes(&second.recipients), ["refused RCPT 550"]);
    drop(session);
    peer.heard();
}

#[tokio::test]
async fn refusals_at_data_and_at_the_final_dot_are_about_accepted_recipients_only() {
    let peer = script(
        PIPELINING,
        [
            Hear("DATA"),
            Say("250 ok\r\n550 no\r\n250 ok\r\n451 4.3.0 later\r\n"),
            Hear("RSET"),
            Say("250 ok\r\n"),
            Hear("DATA"),
            Say("250 ok\r\n250 ok\r\n550 no\r\n354 go\r\n"),
            HearMessage,
            Say("554 5.7.1 spam\r\n"),
        ],
    );
    let mut session = open(peer.address).await.unwrap();

    let first = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;
    let second = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&first.recipients), ["refused RCPT 550", "refused DATA 451"]);
    assert_eq!(outcomes(&second.recipients), ["refused message 554", "refused RCPT 550"]);
    assert_eq!(second.connection, ConnectionState::NeedsReset);
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_without_a_word() {
    let peer = script("250-mx\r\n250 SIZE 5\r\n", [WaitForEnd]);
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&transaction.recipients), ["refused precheck 552"]);
    assert_eq!(transaction.connection, ConnectionState::Reusable);
    assert_eq!(session.transactions(), 0);
    let transaction = session.deliver(&to(&["é@x.test"]), &[b"hi"]).await;
    assert_eq!(outcomes(&transaction.recipients), ["refused precheck 553"]);
    drop(session);
    assert_eq!(peer.heard(), ["EHLO client.example.test"]);
}

#[tokio::test]
async fn announced_limits_on_recipients_and_messages_are_kept() {
    let peer = script(
        "250-mx\r\n250-PIPELINING\r\n250 LIMITS RCPTMAX=1 MAILMAX=1\r\n",
        [Hear("DATA"), Say("250 ok\r\n250 ok\r\n354 go\r\n"), HearMessage, Say("250 ok\r\n")],
    );
    let mut session = open(peer.address).await.unwrap();

    let transaction = session.deliver(&to(&["a@x.test", "b@x.test"]), &[MESSAGE]).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250", "untried precheck OverRecipientLimit 0"]);
    assert_eq!(transaction.connection, ConnectionState::Reusable);
    assert!(!session.is_reusable(), "MAILMAX is used up");
}

#[tokio::test]
async fn a_large_message_arrives_whole() {
    let peer = script(
        "250-mx\r\n250 PIPELINING\r\n",
        [Hear("DATA"), Say("250 ok\r\n250 ok\r\n354 go\r\n"), HearMessage, Say("250 ok\r\n")],
    );
    let mut session = open(peer.address).await.unwrap();
    let line = ".0123456789 and so on until the line is of a fair length\r\n";
    let message = line.repeat(80_000);

    let pieces: Vec<&[u8]> = message.as_bytes().chunks(100_003).collect();
    let transaction = session.deliver(&to(&["a@x.test"]), &pieces).await;

    assert_eq!(outcomes(&transaction.recipients), ["accepted 250"]);
    assert!(session.bytes().1 > message.len() as u64);
    drop(session);
    let heard = peer.heard();
    assert_eq!(heard[4].len(), message.len() + 80_000 + 3);
    assert!(heard[4] == format!(".{line}").repeat(80_000) + ".\r\n");
}
