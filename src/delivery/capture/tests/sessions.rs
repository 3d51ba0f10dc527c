//! Number, duration and end of sessions.

use std::time::Duration;

use tokio::net::TcpStream;

use super::super::SESSIONS_MAX;
use super::{BEGIN, CaptureMailbox, Client, Server, codes};

#[tokio::test]
async fn a_shutdown_ends_every_session_in_any_state() {
    let server = Server::start().await;
    let mut silent = server.connect().await;
    let mut in_a_line = server.connect().await;
    in_a_line.command("EHLO a").await;
    in_a_line.send("MAIL FR").await;
    let mut in_a_message = server.connect().await;
    in_a_message.send(BEGIN).await;
    for _ in 0..3 {
        in_a_message.reply().await;
    }
    assert_eq!(&in_a_message.reply().await[..3], "354");
    in_a_message.send("half\r\n").await;
    let (mailbox, address) = (server.mailbox.clone(), server.address);

    server.stop().await;

    for client in [&mut silent, &mut in_a_line, &mut in_a_message] {
        assert_eq!(client.rest().await, "421 4.3.2 the mailbox is stopping\r\n");
    }
    assert!(TcpStream::connect(address).await.is_err());
    let page = super::PageQuery { limit: 10, cursor: super::Cursor::Newest };
    assert_eq!(mailbox.list(page).await.unwrap().rows, []);
}

#[tokio::test]
async fn a_client_that_closes_early_stores_nothing() {
    let server = Server::start().await;
    for wire in ["", "EHLO", BEGIN, &format!("{BEGIN}half a message\r\n."), &format!("{BEGIN}a\r\n.\r")] {
        let mut client = server.connect().await;
        client.send(wire).await;
        drop(client);
    }

    assert_eq!(codes(&server.replies_to(&format!("{BEGIN}whole\r\n.\r\nQUIT\r\n")).await).last(), Some(&"221"));

    assert_eq!(server.messages().await, [b"whole\r\n"]);
    server.stop().await;
}

#[tokio::test]
async fn an_idle_client_is_disconnected() {
    let server = Server::start_with(|listener| listener.idle_timeout = Duration::from_millis(20)).await;
    let mut client = server.connect().await;

    assert_eq!(client.rest().await, "421 4.4.2 nothing came for too long\r\n");
    server.stop().await;
}

#[tokio::test]
async fn sessions_over_the_limit_get_a_421() {
    let server = Server::start().await;
    let mut clients = Vec::new();
    for _ in 0..SESSIONS_MAX {
        clients.push(server.connect().await);
    }

    let mut late = Client { stream: TcpStream::connect(server.address).await.unwrap(), unread: Vec::new() };
    assert_eq!(late.rest().await, "421 4.3.2 too many sessions, try again later\r\n");
    let mut leaving = clients.pop().unwrap();
    leaving.command("QUIT").await;
    assert_eq!(leaving.rest().await, "");

    // The server releases the permit shortly after it closes the socket.
    let deadline = tokio::time::Instant::now() + super::TEST_TIMEOUT;
    loop {
        let mut next = Client { stream: TcpStream::connect(server.address).await.unwrap(), unread: Vec::new() };
        if next.reply().await.starts_with("220") {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "no permit was released");
    }
    server.stop().await;
}

#[tokio::test]
async fn concurrent_sessions_store_all_messages() {
    let server = Server::start().await;
    let mut sending = tokio::task::JoinSet::new();
    for session in 0..8 {
        let mut client = server.connect().await;
        sending.spawn(async move {
            client.send("EHLO a\r\n").await;
            client.reply().await;
            for number in 0..20 {
                client.send("MAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n").await;
                for _ in 0..3 {
                    client.reply().await;
                }
                client.send(format!("{session} {number}\r\n.\r\n")).await;
                assert_eq!(&client.reply().await[..3], "250");
            }
        });
    }
    while let Some(ended) = sending.join_next().await {
        ended.unwrap();
    }

    let mut stored = server.messages().await;
    stored.sort();
    stored.dedup();
    assert_eq!(stored.len(), 160);
    server.stop().await;
}

#[tokio::test]
async fn a_closed_store_causes_a_temporary_refusal() {
    let server = Server::start().await;
    server.context.store.close().await;

    let replies = server.replies_to(&format!("{BEGIN}a\r\n.\r\nQUIT\r\n")).await;

    assert_eq!(codes(&replies), ["250", "250", "250", "354", "451", "221"]);
    server.stop().await;
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let server = Server::start().await;

    assert!(CaptureMailbox::bind(server.address).await.is_err());
    server.stop().await;
}
