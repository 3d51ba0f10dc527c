//! Scans of groups that cannot be read, and their removal.

use super::super::lanes::UNREADABLE_MAX;
use super::super::*;
use super::broadcasts::write;
use super::{ADA, TEAM, claimed, put_due};
use crate::delivery::rows::Class;
use crate::tables::{EMAILS, SET_ASIDE_ROWS};

/// Returns the key of a group without an email.
fn orphan(due_ms: TimestampMs, group: u16) -> DueKey {
    let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
    DueKey { lane, due_ms, email: Id::MIN, group }
}

/// Stores corrupt queue rows.
async fn put_corrupt(context: &Context, keys: &[DueKey]) {
    for key in keys {
        context.corrupt(&DUE, key.parts()).await;
    }
}

pub(super) async fn remove(context: &Context, keys: &[DueKey]) {
    let keys = keys.to_vec();
    write(context, move |tx, context| remove_unreadable(tx, context, &keys)).await;
}

#[tokio::test]
async fn a_scan_returns_the_groups_of_which_neither_the_row_nor_the_email_can_be_read() {
    let (_directory, context) = Context::temporary();
    let mut keys = Vec::new();
    for has_email in [false, false, true] {
        let (id, put) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        context.corrupt(&DUE, put[0].parts()).await;
        if !has_email {
            context.corrupt(&EMAILS, (TEAM, id)).await;
        }
        keys.push(put[0]);
    }
    let readable = keys.pop().unwrap();
    let scan = || context.read(|tx| scan_lanes(tx, None, 10));

    // The email behind them is found and delivered.
    let first = Due { key: readable, team: TEAM, destination: "example.com".into(), vanished: false };
    assert_eq!(scan(), LanePage { lanes: vec![first.clone()], unreadable: keys.clone(), is_end: true });

    remove(&context, &[keys, vec![readable]].concat()).await;
    assert_eq!(scan(), LanePage { lanes: vec![first], unreadable: Vec::new(), is_end: true });
    assert_eq!(claimed(&context, &[readable]).await, [ADA]);
    // The corrupt bytes of all three are kept.
    assert_eq!(context.rows(&SET_ASIDE_ROWS).len(), 3);
}

#[tokio::test]
async fn a_page_ends_with_the_maximum_of_groups_that_cannot_be_read() {
    let (_directory, context) = Context::temporary();
    let orphans: Vec<DueKey> = (0..).take(UNREADABLE_MAX + 1).map(|group| orphan(0, group)).collect();
    put_corrupt(&context, &orphans).await;
    let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    put_corrupt(&context, &keys).await;
    let scan = || context.read(|tx| scan_lanes(tx, None, 10));

    let (first, last) = orphans.split_at(UNREADABLE_MAX);
    assert_eq!(scan(), LanePage { lanes: Vec::new(), unreadable: first.to_vec(), is_end: false });
    // The other reads have no maximum.
    let readable = Due { key: keys[0], team: TEAM, destination: "example.com".into(), vanished: false };
    assert_eq!(context.read(|tx| read_lanes(tx, None, 10)), std::slice::from_ref(&readable));
    assert!(context.read(|tx| has_groups_of(tx, TEAM)));

    remove(&context, first).await;
    assert_eq!(scan(), LanePage { lanes: vec![readable], unreadable: last.to_vec(), is_end: true });
}

#[tokio::test]
async fn a_group_that_cannot_be_read_is_removed_although_it_is_held_or_not_due() {
    let (_directory, context) = Context::temporary();
    let now_ms = context.now_ms();
    let keys = [orphan(now_ms, 0), orphan(now_ms + 3_600_000, 0)];
    put_corrupt(&context, &keys).await;
    let domain = QueueSelector::Domain("example.com".into());
    context.commit(move |tx| add_hold(tx, &domain, now_ms)).await;

    let page = context.read(|tx| scan_lanes(tx, None, 10));
    assert_eq!(page.unreadable, keys);
    remove(&context, &page.unreadable).await;

    assert!(context.keys(&DUE).is_empty());
    assert_eq!(context.rows(&SET_ASIDE_ROWS).len(), 2);
}
