//! Emails that are on their way finish first.

use super::*;
use crate::erasure::places::ON_THEIR_WAY_MAX;
use crate::events::{AudienceEvent, AudienceKind, AudienceSubject, Source};
use crate::store::tables::AUDIENCE_EVENTS;
use crate::suppressions::{self, Cause, Origin};

async fn settle(context: &Context, id: EmailId) {
    let mut row = email_row(context, id);
    for recipient in &mut row.recipients {
        recipient.state = DeliveryState::Settled;
    }
    write(context, move |tx| tx.put(&EMAILS, &(TEAM, id), &row)).await;
}

fn listed(context: &Context) -> Vec<String> {
    let mut listed = Vec::new();
    let read = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&AUDIENCE_EVENTS, &(TEAM, Id::MIN), &(TEAM, Id::MAX), Order::Ascending, |_, row| {
            let AudienceEvent { subject: AudienceSubject::Suppression(entry), .. } = row.decode()? else {
                panic!("no other events")
            };
            listed.push(entry.email);
            NEXT
        })
    });
    read.unwrap();
    listed
}

#[tokio::test]
async fn an_email_on_its_way_is_left_alone_until_it_has_settled() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], DeliveryState::Waiting { due_ms: 1 })).await;
    let under_way = put_email(&context, email(&["ada@example.com"], DeliveryState::InFlight)).await;
    let settled = put_email(&context, email(&["ada@example.com"], DeliveryState::Settled)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let advance = async || {
        for _ in 0..3 {
            Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();
        }
    };

    advance().await;
    assert_eq!(mailboxes(&context, settled), ["[erased]"]);
    assert_eq!(mailboxes(&context, waiting), ["ada@example.com"]);
    assert_eq!(erasure(&context, key).unwrap().on_their_way, [waiting, under_way]);
    settle(&context, under_way).await;
    advance().await;
    assert_eq!(mailboxes(&context, under_way), ["[erased]"]);
    assert_eq!(erasure(&context, key).unwrap().on_their_way, [waiting]);
    write(&context, move |tx| tx.delete(&EMAILS, &(TEAM, waiting))).await;
    advance().await;

    assert!(erasure(&context, key).is_none());
}

#[tokio::test]
async fn a_bounce_of_an_email_that_was_on_its_way_leaves_no_address() {
    let (_directory, context) = Context::temporary();
    let bounced = put_email(&context, email(&["ada@example.com"], DeliveryState::InFlight)).await;
    request(&context, &["ada@example.com", "bob@example.com"]).await;
    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();
    let listing = context.clone();
    write(&context, move |tx| {
        suppressions::add(tx, &listing, TEAM, &address("ada@example.com"), Cause::bounce(bounced))?;
        // The team lists this one anew.
        let anew = Cause::listed(Origin::Manual, Source::Api);
        suppressions::add(tx, &listing, TEAM, &address("bob@example.com"), anew)
    })
    .await;
    settle(&context, bounced).await;

    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();

    assert_eq!(listed(&context), ["[erased]", "bob@example.com"]);
    assert_eq!(count(&context, &ERASURES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX)), 0);
}

#[tokio::test]
async fn more_emails_on_their_way_than_are_remembered_are_come_to_later() {
    let (_directory, context) = Context::temporary();
    let count = ON_THEIR_WAY_MAX + 5;
    let ids: Vec<EmailId> = (0..count).map(|_| context.id()).collect();
    let (writing, row) = (ids.clone(), email(&["ada@example.com"], DeliveryState::InFlight));
    write(&context, move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    let key = request(&context, &["ada@example.com"]).await;

    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();
    assert_eq!(erasure(&context, key).unwrap().on_their_way, ids[..ON_THEIR_WAY_MAX]);
    let (writing, row) = (ids.clone(), email(&["ada@example.com"], DeliveryState::Settled));
    write(&context, move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert!(ids.iter().all(|id| mailboxes(&context, *id) == ["[erased]"]));
}

#[tokio::test]
async fn nothing_else_waits_for_emails_that_are_on_their_way() {
    let (_directory, context) = Context::temporary();
    let row = email(&["ada@example.com"], DeliveryState::Waiting { due_ms: 1 });
    let scheduled: Vec<EmailId> = (0..ON_THEIR_WAY_MAX + 150).map(|_| context.id()).collect();
    let writing = scheduled.clone();
    write(&context, move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    let settled = put_email(&context, email(&["ada@example.com"], DeliveryState::Settled)).await;
    let captured = scrubbing::capture(&context, None, &["ada@example.com"]).await;
    scrubbing::tell(&context, AudienceKind::ContactDeleted, "ada@example.com").await;
    let key = request(&context, &["ada@example.com"]).await;

    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();

    assert_eq!(mailboxes(&context, settled), ["[erased]"]);
    assert_eq!(scrubbing::is_captured(&context, captured), [false; 2]);
    assert_eq!(scrubbing::told(&context), ["\"[erased]\" null null"]);
    let row = erasure(&context, key).unwrap();
    assert_eq!(row.on_their_way, scheduled[..ON_THEIR_WAY_MAX]);
    assert_eq!(row.rest_after, Some(scheduled[ON_THEIR_WAY_MAX - 1]));
    // Half of those that are remembered are enough to come to the others.
    let half = scheduled[..ON_THEIR_WAY_MAX / 2].to_vec();
    let row = email(&["ada@example.com"], DeliveryState::Settled);
    let last = scheduled[ON_THEIR_WAY_MAX + 149];
    write(&context, move |tx| half.iter().chain([&last]).try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    Erasures::new(context.clone(), Unwritten::default()).advance().await.unwrap();

    assert_eq!(mailboxes(&context, last), ["[erased]"]);
    let row = erasure(&context, key).unwrap();
    assert_eq!(row.on_their_way, scheduled[ON_THEIR_WAY_MAX / 2..ON_THEIR_WAY_MAX + 149]);
    assert_eq!(row.rest_after, None);
}

#[tokio::test]
async fn an_erasure_that_waits_is_looked_at_ever_more_rarely() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], DeliveryState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let erasures = Erasures::new(context.clone(), Unwritten::default());
    for _ in 0..20 {
        erasures.advance().await.unwrap();
    }
    settle(&context, waiting).await;

    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.advance().await.unwrap();
        rounds += 1;
        assert!(rounds <= 64);
    }

    assert!(rounds > 5, "{rounds}");
}
