//! The counts and the lists of a broadcast.

use super::{MINUTE_MS, TEAM, World, put_delivery};
use crate::base::address::EmailAddress;
use crate::base::id::{BroadcastId, EmailId};
use crate::broadcast_rows::{self, BroadcastContent, BroadcastRow};
use crate::broadcasts;
use crate::emails::{
    self, BroadcastEmailList, BroadcastEmailScan, LastEvent, NewBroadcastEmail, RecipientState, broadcast_emails_step,
};
use crate::store::page::{Cursor, PageError, PageQuery};
use crate::store::{ReadTx, WriteTx};
use crate::tables::{BROADCAST_LINKS, BROADCASTS};

/// Content with three links, one with a merge field.
const HTML: &str = "<a href='https://example.org/a'>A</a><a href='https://example.org/b?x=1&amp;y=2'>B</a>\
                    <a href='https://example.org/{{{FIRST_NAME|you}}}?to={{{EMAIL}}}'>C</a>";

/// Stores a broadcast with one email, which has been delivered.
async fn delivered(world: &World) -> (BroadcastId, EmailId) {
    let broadcast = world.context.id();
    let sealed = broadcast_rows::seal_content(
        &world.context.keyring,
        broadcast,
        &BroadcastContent { html: Some(HTML.into()), ..BroadcastContent::default() },
    );
    let write = move |tx: &WriteTx<'_>| {
        let mut row = BroadcastRow::draft("shop@example.com".into(), "Hello".into());
        row.fields = vec!["FIRST_NAME".into()];
        tx.put(&BROADCASTS, &(TEAM, broadcast), &row)?;
        broadcast_rows::put_content(tx, broadcast, &sealed)
    };
    world.context.commit(write).await;
    (broadcast, delivered_to(world, broadcast, "ada", "Ada").await)
}

/// Stores an email of a broadcast, which has been delivered.
async fn delivered_to(world: &World, broadcast: BroadcastId, account: &str, name: &str) -> EmailId {
    let context = world.context.clone();
    let (address, name) = (format!("{account}@example.net"), name.to_owned());
    let write = move |tx: &WriteTx<'_>| {
        let row = broadcast_rows::find_valid(tx, TEAM, broadcast)?.unwrap();
        let new = NewBroadcastEmail {
            contact: context.id(),
            address: EmailAddress::parse(&address).unwrap(),
            values: vec![name.clone()],
            due_ms: context.now_ms(),
        };
        let due = emails::queue_broadcast_email(tx, &context, TEAM, broadcast, &row, new)?.unwrap();
        let id = due.key.email;
        broadcast_rows::count_queued(tx, broadcast, 1, (id, id))?;
        let mut email = emails::find_row(tx, TEAM, id)?.unwrap();
        email.recipients[0].state = RecipientState::Settled;
        email.recipients[0].last_event = LastEvent::Delivered;
        email.last_event = LastEvent::Delivered;
        emails::put_row(tx, TEAM, id, &email, context.now_ms())?;
        put_delivery(tx, &context, id, &email, context.now_ms())?;
        Ok(id)
    };
    world.context.commit(write).await
}

/// Returns the URL, the clicks and the recipients of the clicked links of a broadcast, in the order of the URLs.
fn links(world: &World, broadcast: BroadcastId) -> Vec<(String, u64, u64)> {
    let rows = world.context.rows(&BROADCAST_LINKS).into_iter().filter(|((of, _), _)| *of == broadcast);
    let mut links: Vec<_> = rows.map(|(_, row)| (row.url, row.clicks, row.unique_clicks)).collect();
    links.sort();
    links
}

/// Returns the opened, the clicked and the delivered emails of a broadcast.
fn counts(world: &World, broadcast: BroadcastId) -> (u64, u64, u64) {
    let counts = world.context.read(|tx| broadcast_rows::read_counts(tx, broadcast));
    (counts.opened, counts.clicked, counts.delivered)
}

/// Returns the recipients whose email only software opened, and those whose links only software followed.
fn by_software(world: &World, broadcast: BroadcastId) -> (u64, u64) {
    let counts = world.context.read(|tx| broadcast_rows::read_counts(tx, broadcast));
    (counts.opened_by_software, counts.clicked_by_software)
}

/// Returns the number of recipients in a list of a broadcast.
fn listed(world: &World, broadcast: BroadcastId, list: BroadcastEmailList) -> usize {
    let query = PageQuery { cursor: Cursor::Newest, limit: 20 };
    let step = |tx: &ReadTx| {
        let scan = BroadcastEmailScan::default();
        broadcast_emails_step(tx, TEAM, broadcast, list, query, scan, |_, _| Ok(true))
    };
    world.context.store.read_now::<_, PageError>(step).unwrap().into_page().rows.len()
}

#[tokio::test]
async fn the_recipients_of_a_broadcast_count_once() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;

    for minute in [1, 5, 9] {
        world.open(id, minute * MINUTE_MS).await;
    }
    assert_eq!(counts(&world, broadcast), (1, 0, 1));
    assert_eq!(listed(&world, broadcast, BroadcastEmailList::Opened), 1);
    assert_eq!(listed(&world, broadcast, BroadcastEmailList::Clicked), 0);
    world.click(id, "https://example.org/a", 20 * MINUTE_MS).await;
    world.click(id, "https://example.org/b", 30 * MINUTE_MS).await;

    assert_eq!(counts(&world, broadcast), (1, 1, 1));
    assert_eq!(listed(&world, broadcast, BroadcastEmailList::Clicked), 1);
    let send = world.row(id).broadcast.unwrap();
    assert_eq!((send.is_opened, send.is_clicked), (true, true));
    assert_eq!(world.status(id), (LastEvent::Clicked, LastEvent::Clicked));
}

#[tokio::test]
async fn a_burst_takes_back_the_counts_of_a_broadcast() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;
    world.click(id, "https://example.org/a", MINUTE_MS).await;
    assert_eq!(counts(&world, broadcast), (1, 1, 1));

    world.click(id, "https://example.org/b", MINUTE_MS + 20).await;

    assert_eq!((counts(&world, broadcast), by_software(&world, broadcast)), ((0, 0, 1), (0, 1)));
    let send = world.row(id).broadcast.unwrap();
    assert_eq!((send.is_opened, send.is_clicked), (false, false));
    assert_eq!(world.status(id), (LastEvent::Delivered, LastEvent::Delivered));
}

#[tokio::test]
async fn software_does_not_count_for_a_broadcast() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;

    world.open(id, 100).await;
    world.click(id, "https://example.org/a", 200).await;

    assert_eq!((counts(&world, broadcast), by_software(&world, broadcast)), ((0, 0, 1), (1, 1)));
    world.open(id, 10 * MINUTE_MS).await;
    assert_eq!((counts(&world, broadcast), by_software(&world, broadcast)), ((1, 0, 1), (0, 1)));
    world.click(id, "https://example.org/b", 20 * MINUTE_MS).await;
    assert_eq!((counts(&world, broadcast), by_software(&world, broadcast)), ((1, 1, 1), (0, 0)));
}

#[tokio::test]
async fn the_clicks_of_all_recipients_count_for_the_link_of_the_content() {
    let world = World::new();
    let (broadcast, ada) = delivered(&world).await;
    let bob = delivered_to(&world, broadcast, "bob", "").await;

    world.click(ada, "https://example.org/Ada?to=ada@example.net", 10 * MINUTE_MS).await;
    world.click(ada, "https://example.org/Ada?to=ada@example.net", 20 * MINUTE_MS).await;
    world.click(bob, "https://example.org/you?to=bob@example.net", 30 * MINUTE_MS).await;
    world.click(bob, "https://example.org/b?x=1&y=2", 40 * MINUTE_MS).await;
    world.click(ada, "https://example.org/b?x=1&y=2", 50 * MINUTE_MS).await;
    // No link of the content.
    world.click(ada, "https://example.org/c", 60 * MINUTE_MS).await;

    let expected = [
        ("https://example.org/b?x=1&y=2".to_owned(), 2, 2),
        ("https://example.org/{{{FIRST_NAME|you}}}?to={{{EMAIL}}}".to_owned(), 3, 2),
    ];
    assert_eq!(links(&world, broadcast), expected);
    assert_eq!(counts(&world, broadcast), (2, 2, 2));
}

#[tokio::test]
async fn a_burst_takes_back_the_clicks_of_a_link() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;
    let link = "https://example.org/Ada?to=ada@example.net";
    let counted =
        |clicks, people| ("https://example.org/{{{FIRST_NAME|you}}}?to={{{EMAIL}}}".to_owned(), clicks, people);
    world.click(id, link, MINUTE_MS).await;
    world.click(id, link, 10 * MINUTE_MS).await;
    assert_eq!(links(&world, broadcast), [counted(2, 1)]);

    world.click(id, "https://example.org/a", 10 * MINUTE_MS + 20).await;

    assert_eq!(links(&world, broadcast), [counted(1, 1)]);
    assert_eq!(counts(&world, broadcast), (1, 1, 1));
}

#[tokio::test]
async fn an_opened_email_leaves_the_list_with_its_retraction() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;
    world.click(id, "https://example.org/a", MINUTE_MS).await;
    for list in [BroadcastEmailList::Opened, BroadcastEmailList::Clicked] {
        assert_eq!(listed(&world, broadcast, list), 1, "{list:?}");
    }

    world.click(id, "https://example.org/b", MINUTE_MS + 20).await;

    for list in [BroadcastEmailList::Opened, BroadcastEmailList::Clicked] {
        assert_eq!(listed(&world, broadcast, list), 0, "{list:?}");
    }
}

#[tokio::test]
async fn the_links_are_deleted_with_the_broadcast() {
    let world = World::new();
    let (broadcast, id) = delivered(&world).await;
    world.click(id, "https://example.org/a", MINUTE_MS).await;
    assert_eq!(links(&world, broadcast), [("https://example.org/a".to_owned(), 1, 1)]);

    assert_eq!(world.context.commit(|tx| broadcasts::delete_page_of_team(tx, TEAM)).await, 1);

    assert_eq!(links(&world, broadcast), []);
}
