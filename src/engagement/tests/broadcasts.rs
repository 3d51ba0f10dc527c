//! The counts and the lists of a broadcast.

use super::{MINUTE_MS, TEAM, World, put_delivery};
use crate::base::address::EmailAddress;
use crate::base::id::{BroadcastId, EmailId};
use crate::broadcasts::{self, BroadcastRow};
use crate::emails::{
    self, BroadcastEmailList, BroadcastEmailScan, LastEvent, NewBroadcastEmail, RecipientState, broadcast_emails_step,
};
use crate::store::page::{Cursor, PageError, PageQuery};
use crate::store::{ReadTx, StoreError, WriteTx};
use crate::tables::BROADCASTS;

/// Stores a broadcast with one email, which has been delivered.
async fn delivered(world: &World) -> (BroadcastId, EmailId) {
    let (broadcast, context) = (world.context.id(), world.context.clone());
    let write = move |tx: &WriteTx<'_>| {
        let row = BroadcastRow::draft("shop@example.com".into(), "Hello".into());
        tx.put(&BROADCASTS, &(TEAM, broadcast), &row)?;
        let new = NewBroadcastEmail {
            contact: context.id(),
            address: EmailAddress::parse("ada@example.net").unwrap(),
            values: Vec::new(),
            due_ms: context.now_ms(),
        };
        let due = emails::queue_broadcast_email(tx, &context, TEAM, broadcast, &row, new)?.unwrap();
        let id = due.key.email;
        broadcasts::count_queued(tx, broadcast, 1, (id, id))?;
        let mut email = emails::find_row(tx, TEAM, id)?.unwrap();
        email.recipients[0].state = RecipientState::Settled;
        email.recipients[0].last_event = LastEvent::Delivered;
        email.last_event = LastEvent::Delivered;
        emails::put_row(tx, TEAM, id, &email, context.now_ms())?;
        put_delivery(tx, &context, id, &email, context.now_ms())?;
        Ok(id)
    };
    let id = world.context.store.write::<_, StoreError>(write).await.unwrap();
    (broadcast, id)
}

/// Returns the opened, the clicked and the delivered emails of a broadcast.
fn counts(world: &World, broadcast: BroadcastId) -> (u64, u64, u64) {
    let counts = world.context.store.read_now(|tx| broadcasts::read_counts(tx, broadcast)).unwrap();
    (counts.opened, counts.clicked, counts.delivered)
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

    assert_eq!(counts(&world, broadcast), (0, 0, 1));
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

    assert_eq!(counts(&world, broadcast), (0, 0, 1));
}
