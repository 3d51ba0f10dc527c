//! Storing, listing and deleting messages.

use std::future::ready;
use std::time::Duration;

use proptest::prelude::*;

use super::super::purge;
use super::{BEGIN, Server, codes};
use crate::base::clock::DAY_MS;
use crate::base::id::{EmailId, Id};
use crate::delivery::return_path::ReturnPaths;
use crate::delivery::smtp::body::DotStuffer;
use crate::delivery::smtp::{
    Endpoint, Envelope, Identity, RecipientResult, SmtpSession, Timeouts, TlsConfigs, TlsPolicy,
};
use crate::store::page::{Cursor, PageError, PageQuery};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES};

/// Returns the bytes that a client sends after the 354.
fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut stuffer = DotStuffer::default();
    stuffer.push(message, &mut wire);
    stuffer.finish(&mut wire);
    wire
}

/// Sends messages in one session, each after the reply to the previous one.
async fn send_all(server: &Server, messages: &[&[u8]]) {
    let mut client = server.connect().await;
    client.command("EHLO client.test").await;
    for message in messages {
        client.command("MAIL FROM:<a@x.test>").await;
        client.command("RCPT TO:<b@x.test>").await;
        assert_eq!(&client.command("DATA").await[..3], "354");
        client.send(stuffed(message)).await;
        assert!(client.reply().await.starts_with("250 2.0.0 kept as "));
    }
}

/// Returns the number of stored messages and chunks.
fn rows(server: &Server) -> (usize, usize) {
    (server.context.keys(&CAPTURED).len(), server.context.keys(&CAPTURED_MESSAGES).len())
}

#[tokio::test]
async fn a_message_is_returned_byte_for_byte() {
    let server = Server::start().await;
    let large: Vec<u8> =
        (0..700_000_u32).map(|at| if at % 70 > 67 { b"\r\n"[at as usize % 70 - 68] } else { b'.' }).collect();
    let large = [&large[..], b"\r\n"].concat();
    let messages: [&[u8]; 6] = [
        b"",
        b"\r\n",
        b".\r\n..\r\n...a\r\na.\r\n",
        b"Subject: a\r\n\r\n\x00\x7f\x80\xff \xc3\xa9\t\r\n",
        b"no header and a line of many bytes\r\n",
        &large,
    ];

    send_all(&server, &messages).await;

    let mut stored = server.messages().await;
    stored.reverse();
    assert_eq!(stored, messages);
    let (id, row) = server.all().await.into_iter().next().unwrap();
    assert_eq!((row.sender.as_str(), row.recipients), ("a@x.test", vec!["b@x.test".to_owned()]));
    assert_eq!((row.size, row.email), (large.len() as u64, None));
    assert_eq!(row.received_ms, id.created_ms());
    server.stop().await;
}

#[tokio::test]
async fn bare_line_ends_never_split_a_message() {
    let server = Server::start().await;
    for (number, end) in
        ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\n\r.\r\n", "\n"].iter().enumerate()
    {
        let wire = format!("{BEGIN}a{end}MAIL FROM:<evil@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\nb\r\n.\r\nQUIT\r\n");

        let replies = server.replies_to(&wire).await;

        assert_eq!(codes(&replies), ["250", "250", "250", "354", "250", "221"], "{end:?}");
        let all = server.all().await;
        assert_eq!(all.len(), number + 1);
        assert_eq!(all[0].1.sender, "a@x.test");
        let message = server.mailbox.message(all[0].0).await.unwrap().unwrap().1;
        assert!(message.ends_with(b"MAIL FROM:<evil@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\nb\r\n"));
    }
    server.stop().await;
}

#[tokio::test]
async fn the_smtp_client_of_the_engine_delivers_to_the_mailbox() {
    let server = Server::start().await;
    let endpoint = Endpoint { address: server.address, host: "localhost".into(), tls: TlsPolicy::Never };
    let identity = Identity { ehlo_name: "client.test".into(), source: None, credentials: None };
    let return_paths = ReturnPaths::new(&server.context.keyring);
    let email: EmailId = server.context.id();
    let message: &[u8] = "Subject: h\u{e9}\r\n\r\n.dot\r\n".as_bytes();

    let mut session = SmtpSession::open(&endpoint, &identity, &Timeouts::default(), &TlsConfigs::new()).await.unwrap();
    for group in 0..3 {
        let envelope = Envelope {
            sender: return_paths.address(email, group, "send.example.test"),
            recipients: vec!["a@x.test".into(), "\u{e9}@x.test".into()],
        };
        let transaction = session.deliver(&envelope, &[b"DKIM-Signature: x\r\n", message], ready(true)).await;

        let accepted = |result: &RecipientResult| matches!(result, RecipientResult::Accepted { .. });
        assert!(transaction.recipients.iter().all(accepted), "{}", transaction.transcript);
        let id = server.all().await[0].0;
        assert!(transaction.transcript.contains(&format!("kept as {id}")));
    }
    assert!(session.is_reusable());
    session.quit().await;

    let all = server.all().await;
    assert_eq!(all.len(), 3);
    for (id, row) in all {
        assert_eq!(row.email, Some(email));
        assert_eq!(row.recipients, ["a@x.test", "\u{e9}@x.test"]);
        let stored = server.mailbox.message(id).await.unwrap().unwrap().1;
        assert_eq!(stored, [b"DKIM-Signature: x\r\n", message].concat());
    }
    server.stop().await;
}

#[tokio::test]
async fn the_mailbox_is_listed_newest_first_in_pages() {
    let server = Server::start().await;
    send_all(&server, &[b"1\r\n", b"2\r\n", b"3\r\n"]).await;
    let all: Vec<_> = server.all().await.into_iter().map(|(id, _)| id).collect();
    let list = async |cursor| {
        let page = server.mailbox.list(PageQuery { limit: 2, cursor }).await?;
        Ok::<_, PageError>((page.rows.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), page.has_more))
    };

    assert_eq!(server.messages().await, [b"3\r\n", b"2\r\n", b"1\r\n"]);
    assert_eq!(list(Cursor::Newest).await.unwrap(), (all[..2].to_vec(), true));
    assert_eq!(list(Cursor::After(all[1])).await.unwrap(), (all[2..].to_vec(), false));
    assert_eq!(list(Cursor::Before(all[2])).await.unwrap(), (all[..2].to_vec(), false));
    assert!(matches!(list(Cursor::After(Id::MAX)).await, Err(PageError::UnknownCursor)));
    assert_eq!(server.mailbox.message(Id::MAX).await.unwrap(), None);
    server.stop().await;
}

#[tokio::test]
async fn delete_all_and_retention_delete_messages_with_their_chunks() {
    let server = Server::start().await;
    let large = [b"a".repeat(100 << 10), b"\r\n".to_vec()].concat();
    let many: Vec<&[u8]> = std::iter::repeat_n(b"small\r\n".as_slice(), 250).chain([large.as_slice()]).collect();
    send_all(&server, &many).await;
    assert_eq!(rows(&server), (251, 252));

    purge(&server.context, server.context.now_ms()).await.unwrap();
    assert_eq!(rows(&server), (251, 252));
    server.context.clock.advance(Duration::from_millis(DAY_MS as u64));
    send_all(&server, &[b"young\r\n"]).await;
    purge(&server.context, server.context.now_ms()).await.unwrap();
    assert_eq!(server.messages().await, [b"young\r\n"]);
    send_all(&server, &many).await;
    server.mailbox.delete_all().await.unwrap();

    assert_eq!(rows(&server), (0, 0));
    server.stop().await;
}

#[test]
fn a_message_without_bare_line_ends_round_trips() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(Server::start());
    let line = proptest::collection::vec(
        prop_oneof![any::<u8>(), Just(b'.')].prop_filter("CR and LF come in pairs", |byte| !b"\r\n".contains(byte)),
        0..40,
    );
    let message = proptest::collection::vec(line, 0..40)
        .prop_map(|lines| lines.into_iter().flat_map(|line| [line, b"\r\n".to_vec()].concat()).collect::<Vec<u8>>());
    proptest!(ProptestConfig::with_cases(64), |(message in message)| {
        let stored = runtime.block_on(async {
            send_all(&server, &[&message]).await;
            let newest = server.mailbox.list(PageQuery { limit: 1, cursor: Cursor::Newest }).await.unwrap();
            server.mailbox.message(newest.rows[0].0).await.unwrap().unwrap().1
        });

        prop_assert_eq!(stored, message);
    });
    runtime.block_on(server.stop());
}
