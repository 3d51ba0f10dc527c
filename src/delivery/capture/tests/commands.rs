//! Commands and their replies.

use proptest::prelude::*;

use super::super::server_session::{ServerAction, ServerSession};
use super::super::{ERRORS_MAX, LINE_BYTES_MAX, MESSAGE_BYTES_MAX, RECIPIENTS_MAX};
use super::{BEGIN, Server, codes};
use crate::delivery::smtp::Envelope;

/// Sends `wire` to a session in pieces. Returns the replies after the greeting, the messages, and
/// whether the server closed. All messages count as stored.
fn exchange(wire: &[u8], piece: usize) -> (String, Vec<(Envelope, Vec<u8>)>, bool) {
    let mut session = ServerSession::new();
    session.replies().clear();
    let mut messages = Vec::new();
    for piece in wire.chunks(piece.max(1)) {
        let mut input = piece.iter();
        loop {
            match session.advance(&mut input) {
                ServerAction::Read => break,
                ServerAction::Store(envelope, message) => {
                    messages.push((envelope, message));
                    session.message_stored(Some(crate::base::id::Id::MIN));
                }
                ServerAction::Close => return (replies(&mut session), messages, true),
            }
        }
    }
    (replies(&mut session), messages, false)
}

fn replies(session: &mut ServerSession) -> String {
    String::from_utf8(std::mem::take(session.replies())).unwrap()
}

#[test]
fn each_command_has_a_reply() {
    for (wire, expected) in [
        ("EHLO client.test", "250"),
        ("HELO client.test", "250"),
        ("ehlo [127.0.0.1]", "250"),
        ("NOOP", "250"),
        ("NOOP anything", "250"),
        ("RSET", "250"),
        ("VRFY a@x.test", "252"),
        ("QUIT", "221"),
        ("EHLO", "501"),
        ("MAIL FROM:<a@x.test>", "503"),
        ("RCPT TO:<a@x.test>", "503"),
        ("DATA", "503"),
        ("AUTH PLAIN AGEAYg==", "502"),
        ("STARTTLS", "502"),
        ("EXPN list", "502"),
        ("HELP", "502"),
        ("BDAT 10 LAST", "502"),
        ("WIZARD", "500"),
        ("", "500"),
        ("\0\u{ff}", "500"),
        ("EHLO a\r\nMAIL FROM:<>", "250 250"),
        ("HELO a\r\nMAIL FROM:<a@x.test>", "250 250"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> SIZE=1000 BODY=8BITMIME SMTPUTF8", "250 250"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> RET=HDRS ENVID=1", "250 250"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> BODY=BINARYMIME", "250 555"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> XYZ=1", "250 555"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> SIZE=x", "250 501"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> SIZE=67108865", "250 552"),
        ("EHLO a\r\nMAIL FROM:<a@x.test> SIZE=99999999999999999999", "250 501"),
        ("EHLO a\r\nMAIL FROM:<a>", "250 553"),
        ("EHLO a\r\nMAIL <a@x.test>", "250 501"),
        ("EHLO a\r\nMAIL FROM:<>\r\nMAIL FROM:<>", "250 250 503"),
        ("EHLO a\r\nMAIL FROM:<>\r\nEHLO a\r\nMAIL FROM:<>", "250 250 250 250"),
        ("EHLO a\r\nMAIL FROM:<>\r\nRSET\r\nRCPT TO:<a@x.test>", "250 250 250 503"),
        ("EHLO a\r\nMAIL FROM:<>\r\nDATA", "250 250 554"),
        ("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<>", "250 250 553"),
        ("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a>", "250 250 553"),
        // The parser rejects address literals. This server never sends to one.
        ("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@[127.0.0.1]>", "250 250 553"),
        ("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<Postmaster>\r\nDATA", "250 250 250 354"),
        ("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@x.test> NOTIFY=NEVER\r\nDATA", "250 250 250 354"),
    ] {
        let (replies, messages, _) = exchange(format!("{wire}\r\n").as_bytes(), usize::MAX);

        assert_eq!(codes(&replies).join(" "), expected, "{wire:?}");
        assert_eq!(messages, []);
    }
}

#[test]
fn addresses_are_stored_as_written_in_the_command() {
    for (written, stored) in [
        ("a@x.test", "a@x.test"),
        ("A.b+c@X.Test", "A.b+c@X.Test"),
        ("é@bücher.test", "é@bücher.test"),
        ("@relay.test:a@x.test", "a@x.test"),
        ("\"a b\"@x.test", "\"a b\"@x.test"),
        ("\"a@b\"@x.test", "\"a@b\"@x.test"),
        ("\"a\"@x.test", "a@x.test"),
        ("\"a\\\"b\\\\c\"@x.test", "\"a\\\"b\\\\c\"@x.test"),
        ("postMASTER", "postmaster"),
    ] {
        let wire = format!("EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<{written}>\r\nDATA\r\n.\r\n");

        let (_, messages, _) = exchange(wire.as_bytes(), usize::MAX);

        let envelope = Envelope { sender: String::new(), recipients: vec![stored.to_owned()] };
        assert_eq!(messages, [(envelope, Vec::new())], "{written}");
    }
}

#[test]
fn recipients_over_the_limit_are_deferred_and_the_others_accepted() {
    let mut wire = "EHLO a\r\nMAIL FROM:<>\r\n".to_owned();
    wire.extend((0..RECIPIENTS_MAX + 30).map(|number| format!("RCPT TO:<a{number}@x.test>\r\n")));
    wire.push_str("DATA\r\n.\r\n");

    let (replies, messages, closed) = exchange(wire.as_bytes(), usize::MAX);

    assert_eq!(codes(&replies).iter().filter(|code| **code == "452").count(), 30);
    assert_eq!(messages[0].0.recipients.len(), RECIPIENTS_MAX);
    assert!(!closed);
}

#[test]
fn a_line_over_the_limit_is_an_error_and_the_next_line_is_read() {
    let fits = format!("NOOP {}\r\n", "a".repeat(LINE_BYTES_MAX - 7));
    let too_long = format!("NOOP {}\r\n", "a".repeat(LINE_BYTES_MAX - 6));
    let far_too_long = format!("NOOP {}\r\n", "a".repeat(10 * LINE_BYTES_MAX));
    let wire = format!("{fits}{too_long}{far_too_long}{fits}");
    for piece in [10_000, 60_000] {
        let (replies, _, _) = exchange(wire.as_bytes(), piece);

        assert_eq!(codes(&replies), ["250", "500", "500", "250"]);
    }
}

#[test]
fn a_client_with_too_many_errors_is_disconnected() {
    for wire in ["WIZARD\r\n".repeat(1_000), "a".repeat(10_000_000)] {
        let (replies, _, closed) = exchange(wire.as_bytes(), 64 << 10);

        assert!(closed);
        assert!(replies.ends_with("421 4.7.0 too many errors\r\n"));
        assert!(replies.lines().count() <= ERRORS_MAX as usize + 1);
    }
}

#[test]
fn a_message_over_the_limit_is_read_and_refused() {
    let mut wire = BEGIN.as_bytes().to_vec();
    wire.resize(wire.len() + MESSAGE_BYTES_MAX - 1, b'a');
    wire.extend_from_slice(b"\r\n.\r\n");
    wire.extend_from_slice(b"MAIL FROM:<>\r\n");

    let (replies, messages, closed) = exchange(&wire, 1 << 20);

    assert_eq!(codes(&replies), ["250", "250", "250", "354", "552", "250"]);
    assert_eq!(messages, []);
    assert!(!closed);
}

#[test]
fn nothing_is_read_after_an_ambiguous_end_of_a_message() {
    let wire =
        format!("{BEGIN}a\r\n.\r\r\nRSET\r\nMAIL FROM:<evil@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\nb\r\n.\r\n");

    let (replies, messages, closed) = exchange(wire.as_bytes(), usize::MAX);

    assert_eq!(codes(&replies), ["250", "250", "250", "354", "554"]);
    assert_eq!(messages, []);
    assert!(closed);
}

#[tokio::test]
async fn pipelined_commands_get_the_same_replies_as_single_commands() {
    let server = Server::start().await;
    let commands = ["EHLO a", "MAIL FROM:<a@x.test>", "RCPT TO:<b@x.test>", "RCPT TO:<c@x.test>", "DATA"];
    let mut client = server.connect().await;

    let mut one_by_one = Vec::new();
    for command in commands {
        one_by_one.push(client.command(command).await);
    }
    client.send("one\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("250 2.0.0 kept as "));
    assert_eq!(client.command("QUIT").await, "221 2.0.0 bye");
    assert_eq!(client.rest().await, "");
    let mut client = server.connect().await;
    client.send(commands.map(|command| format!("{command}\r\n")).concat()).await;
    let mut batch = Vec::new();
    for _ in commands {
        batch.push(client.reply().await);
    }
    client.send("two\r\n.\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<d@x.test>\r\nDATA\r\n").await;
    assert!(client.reply().await.starts_with("250 2.0.0 kept as "));
    for code in ["250", "250", "354"] {
        assert_eq!(&client.reply().await[..3], code);
    }
    client.send("three\r\n.\r\nQUIT\r\n").await;
    assert_eq!(codes(&client.rest().await), ["250", "221"]);

    assert_eq!(batch, one_by_one);
    assert_eq!(server.messages().await, [b"three\r\n".to_vec(), b"two\r\n".to_vec(), b"one\r\n".to_vec()]);
    server.stop().await;
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic_and_the_result_does_not_depend_on_the_pieces(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("EHLO a\r\n".to_owned()),
                Just("MAIL FROM:<a@x.test>\r\n".to_owned()),
                Just("RCPT TO:<\"b\\\" c\"@x.test>\r\n".to_owned()),
                Just("DATA\r\n".to_owned()),
                Just(".\r\n".to_owned()),
                Just("\r\n.\r\n".to_owned()),
                "(MAIL|RCPT|NOOP|BDAT|[A-Z]{4}) [ -~\\x00-\\x1f]{0,20}\r?\n",
                "[\\x00-\\xff\r\n.]{0,10}",
            ],
            0..20,
        ),
        piece in 1_usize..40,
    ) {
        let wire = parts.concat();

        prop_assert_eq!(exchange(wire.as_bytes(), piece), exchange(wire.as_bytes(), usize::MAX));
    }
}
