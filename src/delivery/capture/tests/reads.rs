//! Lists of one reader, and waits.

use std::time::Duration;

use super::{BEGIN, Server, TEST_TIMEOUT};
use crate::audit::{Actor, AuditFilter, AuditLog};
use crate::base::id::{CapturedId, TeamId};
use crate::delivery::capture::reads::search;
use crate::delivery::capture::{CapturedFilter, MailboxReader};
use crate::store::page::{Cursor, PageQuery};
use crate::store::{ReadTx, ScanLimit};
use crate::tables::CAPTURED_MESSAGES;
use crate::teams;

async fn deliver(server: &Server, to: &str, subject: &str) {
    let replies = server
        .replies_to(&format!(
            "EHLO client.test\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<{to}>\r\nDATA\r\nFrom: Shop <shop@x.test>\r\n\
             Subject: {subject}\r\n\r\nHi\r\n.\r\nQUIT\r\n"
        ))
        .await;
    assert!(replies.contains("250 2.0.0 kept as "), "{replies}");
}

fn filter(to: Option<&str>, subject: Option<&str>) -> CapturedFilter {
    CapturedFilter { to: to.map(str::to_owned), subject: subject.map(str::to_owned) }
}

async fn subjects(server: &Server, reader: MailboxReader, filter: CapturedFilter, limit: usize) -> (Vec<String>, bool) {
    let query = PageQuery { limit, cursor: Cursor::Newest };
    let page = server.mailbox.search(reader, filter, query).await.unwrap();
    (page.rows.into_iter().map(|row| row.subject).collect(), page.has_more)
}

async fn team(server: &Server, name: &str) -> TeamId {
    teams::create(&server.context, name).await.unwrap().unwrap().id
}

#[tokio::test]
async fn messages_are_listed_by_recipient_and_subject() {
    let server = Server::start().await;
    for (to, subject) in [("ada@y.test", "One"), ("Bob@y.test", "Two"), ("ada@z.test", "Three")] {
        deliver(&server, to, subject).await;
    }
    let reader = MailboxReader::Team(team(&server, "Shop").await);

    for (to, subject, expected) in [
        (None, None, vec!["Three", "Two", "One"]),
        (Some("bob@Y.test"), None, vec!["Two"]),
        (Some("da@y.test"), None, vec![]),
        (Some("ada"), None, vec!["Three", "One"]),
        (Some("@y.test"), None, vec!["Two", "One"]),
        (None, Some("T"), vec!["Three", "Two"]),
        (Some("ada"), Some("on"), vec!["One"]),
        (Some(" "), Some(""), vec!["Three", "Two", "One"]),
    ] {
        let found = subjects(&server, reader, filter(to, subject), 10).await;

        assert_eq!(found, (expected.into_iter().map(str::to_owned).collect(), false), "{to:?} {subject:?}");
    }
    assert!(subjects(&server, reader, filter(None, None), 2).await.1, "a message follows");
    let page = server
        .mailbox
        .search(reader, filter(None, None), PageQuery { limit: 10, cursor: Cursor::Newest })
        .await
        .unwrap();
    assert_eq!(page.rows[0].from, "Shop <shop@x.test>");
    let older = PageQuery { limit: 1, cursor: Cursor::After(page.rows[0].id) };
    let older = server.mailbox.search(reader, filter(None, None), older).await.unwrap();
    assert_eq!((older.rows[0].id, older.has_more), (page.rows[1].id, true));
    let newer = PageQuery { limit: 1, cursor: Cursor::Before(page.rows[2].id) };
    let newer = server.mailbox.search(reader, filter(None, None), newer).await.unwrap();
    assert_eq!((newer.rows[0].id, newer.has_more), (page.rows[1].id, true));
    server.stop().await;
}

#[tokio::test]
async fn the_messages_of_other_programs_belong_to_the_first_team() {
    let server = Server::start().await;
    deliver(&server, "ada@y.test", "One").await;
    let (first, second) = (team(&server, "Shop").await, team(&server, "Other").await);
    let id = server.all().await[0].0;

    for (reader, count) in
        [(MailboxReader::Operator, 1), (MailboxReader::Team(first), 1), (MailboxReader::Team(second), 0)]
    {
        assert_eq!(subjects(&server, reader, CapturedFilter::default(), 10).await.0.len(), count, "{reader:?}");
        assert_eq!(server.mailbox.read(reader, id).await.unwrap().is_some(), count == 1, "{reader:?}");
        assert_eq!(server.mailbox.find(reader, id).await.unwrap().is_some(), count == 1, "{reader:?}");
    }
    assert!(!server.mailbox.delete(MailboxReader::Team(second), Actor::Server, id).await.unwrap());
    assert_eq!(server.mailbox.clear(MailboxReader::Team(second), Actor::Server).await.unwrap(), 0);
    assert_eq!(server.mailbox.clear(MailboxReader::Team(first), Actor::Server).await.unwrap(), 1);
    assert!(server.all().await.is_empty());
    let log = AuditLog::new(server.context.clone());
    for (team, expected) in [(first, 1), (second, 0)] {
        let filter = AuditFilter { action: Some("captured.deleted".into()), ..AuditFilter::default() };
        assert_eq!(log.list(team, filter, None, 10).await.unwrap().rows.len(), expected);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_message_is_deleted_alone() {
    let server = Server::start().await;
    for subject in ["One", "Two"] {
        deliver(&server, "ada@y.test", subject).await;
    }
    let newest = server.all().await[0].0;

    assert!(server.mailbox.delete(MailboxReader::Operator, Actor::Server, newest).await.unwrap());
    assert!(!server.mailbox.delete(MailboxReader::Operator, Actor::Server, newest).await.unwrap());

    assert_eq!(subjects(&server, MailboxReader::Operator, CapturedFilter::default(), 10).await.0, ["One"]);
    server.stop().await;
}

#[tokio::test]
async fn a_wait_ends_with_the_message_that_arrives() {
    let server = Server::start().await;
    let selected = || filter(Some("ada@y.test"), None);
    let waiting = server.mailbox.wait(MailboxReader::Operator, selected(), None, 10, TEST_TIMEOUT);
    let delivering = async {
        deliver(&server, "bob@y.test", "Other").await;
        deliver(&server, "ada@y.test", "Welcome").await;
    };

    let (page, ()) = tokio::join!(waiting, delivering);

    let page = page.unwrap();
    assert_eq!(page.rows.len(), 1);
    assert_eq!(page.rows[0].subject, "Welcome");
    // A message that is there already ends a wait at once, unless only newer ones are asked for.
    let again = server.mailbox.wait(MailboxReader::Operator, selected(), None, 10, TEST_TIMEOUT).await.unwrap();
    assert_eq!(again.rows[0].id, page.rows[0].id);
    let newer = Some(page.rows[0].id);
    let none = server.mailbox.wait(MailboxReader::Operator, selected(), newer, 10, Duration::ZERO).await.unwrap();
    assert!(none.rows.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_stop_ends_waits() {
    let server = Server::start().await;

    let waiting = server.mailbox.wait(MailboxReader::Operator, CapturedFilter::default(), None, 1, TEST_TIMEOUT);
    let (page, ()) = tokio::join!(waiting, async { server.mailbox.end_waits() });

    assert!(page.unwrap().rows.is_empty());
    let none = server.mailbox.find(MailboxReader::Operator, CapturedId::MIN).await.unwrap();
    assert!(none.is_none());
    server.stop().await;
}

#[tokio::test]
async fn pages_that_end_at_a_bound_skip_no_message() {
    let server = Server::start().await;
    for number in 0..5 {
        deliver(&server, "ada@y.test", &format!("Number {number}")).await;
    }
    let (mut found, mut cursor) = (Vec::new(), Cursor::Newest);

    loop {
        let bounds = ScanLimit { rows_max: 2, time_max: TEST_TIMEOUT };
        let query = PageQuery { limit: 10, cursor };
        let read = |tx: &ReadTx| {
            search(tx, MailboxReader::Operator, &CapturedFilter::default(), query, CapturedId::MIN, bounds)
        };
        let page = server.context.read(read);
        found.extend(page.rows.into_iter().map(|row| row.subject));
        match page.position {
            Some(position) => cursor = Cursor::After(position),
            None => break,
        }
    }

    assert_eq!(found, ["Number 4", "Number 3", "Number 2", "Number 1", "Number 0"]);
    server.stop().await;
}

#[tokio::test]
async fn large_and_numerous_messages_are_cleared() {
    let server = Server::start().await;
    let large = "a".repeat(998) + "\r\n";
    let wire = format!("{BEGIN}{}.\r\nQUIT\r\n", large.repeat(4_500));
    assert!(server.replies_to(&wire).await.contains("250 2.0.0 kept as "));
    for number in 0..3 {
        deliver(&server, "ada@y.test", &format!("Number {number}")).await;
    }

    assert_eq!(server.mailbox.clear(MailboxReader::Operator, Actor::Server).await.unwrap(), 4);

    assert!(server.all().await.is_empty());
    assert_eq!(server.context.keys(&CAPTURED_MESSAGES).len(), 0);
    server.stop().await;
}
