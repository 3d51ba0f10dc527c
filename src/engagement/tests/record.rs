//! Opens and clicks, repeats, statuses and bounds.

use std::time::Duration;

use super::{MINUTE_MS, TEAM, World, delivered_row};
use crate::base::address::{EmailAddress, StoredMailbox};
use crate::email_metrics;
use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::engagement::plan::EVENTS_MAX;
use crate::engagement::{Engagement, Hit, HitTarget};
use crate::erasure::{self, Erasures};
use crate::events::{EmailEventKind, EventDetail};
use crate::logs::PendingEntries;
use crate::tables::{EMAILS, EVENTS};

use EmailEventKind::{Clicked, Opened, Prefetched};

const LINK: &str = "https://example.org/a";

#[tokio::test]
async fn a_first_open_and_a_first_click_change_the_status() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net", "eve@example.net"]).await;

    world.open(id, MINUTE_MS).await;
    assert_eq!(world.kinds(id), [(Opened, None)]);
    assert_eq!(world.status(id), (LastEvent::Opened, LastEvent::Opened));
    world.click(id, LINK, 2 * MINUTE_MS).await;

    assert_eq!(world.kinds(id), [(Opened, None), (Clicked, None)]);
    assert_eq!(world.status(id), (LastEvent::Clicked, LastEvent::Clicked));
    let (row, events) = (world.row(id), world.engagement(id));
    assert_eq!(row.recipients[1].last_event, LastEvent::Delivered);
    let EventDetail::Click(click) = &events[1].1.detail else { panic!("expected a click") };
    assert_eq!(events[1].1.recipients, ["ada@example.net"]);
    assert_eq!((click.link.as_str(), click.ip_address.as_str()), (LINK, "198.51.100.7"));
    assert_eq!(click.at_ms, world.delivered_ms + 2 * MINUTE_MS);
}

#[tokio::test]
async fn a_repeat_within_a_minute_is_dropped() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    for after_ms in [MINUTE_MS, MINUTE_MS, 2 * MINUTE_MS - 1, 2 * MINUTE_MS] {
        world.open(id, after_ms).await;
    }
    assert_eq!(world.kinds(id), [(Opened, None), (Opened, None)]);
    for (link, after_ms) in [(LINK, 5 * MINUTE_MS), (LINK, 5 * MINUTE_MS + 9_000), ("https://example.org/b", 310_000)] {
        world.click(id, link, after_ms).await;
    }

    assert_eq!(world.kinds(id)[2..], [(Clicked, None), (Clicked, None)]);
}

#[tokio::test]
async fn a_click_without_an_open_records_one() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    world.click(id, LINK, MINUTE_MS).await;
    world.click(id, LINK, 9 * MINUTE_MS).await;

    assert_eq!(world.kinds(id), [(Opened, Some("click".into())), (Clicked, None), (Clicked, None)]);
    let events = world.engagement(id);
    assert_eq!(events[0].1.at_ms, world.delivered_ms + MINUTE_MS - 1);
    let EventDetail::Open(open) = &events[0].1.detail else { panic!("expected an open") };
    assert_eq!(open.at_ms, events[0].1.at_ms);
    assert_eq!(world.status(id), (LastEvent::Clicked, LastEvent::Clicked));
}

#[tokio::test]
async fn software_changes_no_status() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    world
        .engagement
        .record(Hit { user_agent: "Mozilla/5.0".into(), ..world.hit(id, HitTarget::Pixel, 90_000) })
        .await
        .unwrap();
    world.click(id, LINK, 1_000).await;
    let prefetch = Hit { is_prefetch: true, ..world.hit(id, HitTarget::Link("https://example.org/b".into()), 95_000) };
    world.engagement.record(prefetch).await.unwrap();

    let reasons = ["apple_mpp", "timing", "prefetch"].map(|reason| (Prefetched, Some(reason.to_owned())));
    assert_eq!(world.kinds(id), reasons);
    assert_eq!(world.status(id), (LastEvent::Delivered, LastEvent::Delivered));
    // The open of a person is no repeat of one by software.
    world.open(id, 91_000).await;
    assert_eq!(world.status(id), (LastEvent::Opened, LastEvent::Opened));
}

#[tokio::test]
async fn a_window_of_zero_disables_the_rule_of_time() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    let engagement = Engagement::new(world.context.clone()).with_prefetch_window(Duration::ZERO);
    engagement.record(world.hit(id, HitTarget::Pixel, 0)).await.unwrap();

    assert_eq!(world.kinds(id), [(Opened, None)]);
}

#[tokio::test]
async fn a_hit_before_delivery_is_one_of_software() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    world.open(id, -1).await;
    assert_eq!(world.kinds(id), [(Prefetched, Some("before_delivery".into()))]);

    // In flight, without an event of the delivery.
    let in_flight = world.context.id();
    let recipient = RecipientRow::example("ada@example.net", RecipientState::InFlight, LastEvent::Sent);
    world.put(in_flight, EmailRow::example(vec![recipient], LastEvent::Sent)).await;
    world.open(in_flight, 60 * MINUTE_MS).await;
    assert_eq!(world.kinds(in_flight), [(Prefetched, Some("before_delivery".into()))]);
    assert_eq!(world.status(in_flight), (LastEvent::Sent, LastEvent::Sent));
}

#[tokio::test]
async fn a_hit_is_measured_from_the_last_delivery_before_it() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    let hit = world.hit(id, HitTarget::Pixel, 60 * MINUTE_MS + 1_000);
    world.report(id, EmailEventKind::Delivered, 60 * MINUTE_MS).await;

    world.open(id, 30 * MINUTE_MS).await;
    world.engagement.record(hit).await.unwrap();

    assert_eq!(world.kinds(id), [(Opened, None), (Prefetched, Some("timing".into()))]);
}

#[tokio::test]
async fn a_relayed_email_without_a_report_can_be_opened() {
    let world = World::new();
    let id = world.context.id();
    let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::Sent);
    world.put(id, EmailRow::example(vec![recipient], LastEvent::Sent)).await;

    world.open(id, MINUTE_MS).await;

    assert_eq!(world.status(id), (LastEvent::Opened, LastEvent::Opened));
}

#[tokio::test]
async fn a_late_open_does_not_lower_the_status() {
    let world = World::new();
    let id = world.context.id();
    let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::Complained);
    world.put(id, EmailRow::example(vec![recipient], LastEvent::Complained)).await;

    world.click(id, LINK, MINUTE_MS).await;

    assert_eq!(world.kinds(id), [(Opened, Some("click".into())), (Clicked, None)]);
    assert_eq!(world.status(id), (LastEvent::Complained, LastEvent::Complained));
}

#[tokio::test]
async fn nothing_is_recorded_without_a_recipient_to_record_it_for() {
    let world = World::new();
    let row = delivered_row(&["ada@example.net"]);
    let with = |last_event| {
        let recipient = RecipientRow { last_event, ..row.recipients[0].clone() };
        EmailRow { recipients: vec![recipient], last_event, ..row.clone() }
    };
    let mut erased = row.clone();
    erased.recipients[0].mailbox = StoredMailbox::erased();
    let mut shared = delivered_row(&["ada@example.net", "eve@example.net"]);
    shared.recipients[1].group = 0;
    for (what, row) in [
        ("a deleted email", EmailRow { hidden: true, ..row.clone() }),
        ("an erased recipient", erased),
        ("a group of two", shared),
        ("a queued email", with(LastEvent::Queued)),
        ("a suppressed recipient", with(LastEvent::Suppressed)),
        ("a canceled email", with(LastEvent::Canceled)),
    ] {
        let id = world.context.id();
        world.put(id, row).await;
        world.open(id, MINUTE_MS).await;
        assert_eq!(world.kinds(id), [], "{what}");
    }
    let id = world.delivered(&["ada@example.net"]).await;
    world.engagement.record(Hit { group: 1, ..world.hit(id, HitTarget::Pixel, MINUTE_MS) }).await.unwrap();
    let other = world.context.id();
    world.engagement.record(Hit { team: other.cast(), ..world.hit(id, HitTarget::Pixel, MINUTE_MS) }).await.unwrap();
    assert_eq!(world.kinds(id), []);
    world.open(other, MINUTE_MS).await;
}

#[tokio::test]
async fn an_email_deleted_between_the_read_and_the_write_gets_no_event() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    let (_, recorded) = tokio::join!(
        world.context.commit(move |tx| tx.delete(&EMAILS, &(TEAM, id))),
        world.engagement.record(world.hit(id, HitTarget::Pixel, MINUTE_MS)),
    );
    recorded.unwrap();

    let rows = world.context.read(|tx| crate::emails::find_row(tx, TEAM, id));
    assert!(rows.is_none(), "a late hit does not restore the email");
}

#[tokio::test]
async fn hits_at_once_are_recorded_once() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    let hit = |target| world.engagement.record(world.hit(id, target, MINUTE_MS));

    let (one, two, three, four) = tokio::join!(
        hit(HitTarget::Pixel),
        hit(HitTarget::Pixel),
        hit(HitTarget::Link(LINK.into())),
        hit(HitTarget::Link(LINK.into())),
    );
    [one, two, three, four].into_iter().for_each(Result::unwrap);

    let kinds = world.kinds(id);
    let count = |kind| kinds.iter().filter(|(recorded, _)| *recorded == kind).count();
    assert_eq!((count(Opened), count(Clicked)), (1, 1), "{kinds:?}");
    assert_eq!(unique(&world), (1, 1));
}

#[tokio::test]
async fn the_events_of_a_recipient_are_bounded() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net", "eve@example.net"]).await;

    for minute in 1..=120 {
        world.open(id, minute * MINUTE_MS).await;
    }
    assert_eq!(world.kinds(id).len(), EVENTS_MAX);
    let other = Hit { group: 1, ..world.hit(id, HitTarget::Pixel, 200 * MINUTE_MS) };
    world.engagement.record(other).await.unwrap();

    assert_eq!(world.kinds(id).len(), EVENTS_MAX + 1);
    assert_eq!(unique(&world), (2, 0));
    // The first click is recorded above the limit, the second is not.
    world.click(id, LINK, 300 * MINUTE_MS).await;
    world.click(id, LINK, 302 * MINUTE_MS).await;
    assert_eq!(world.kinds(id).len(), EVENTS_MAX + 2);
    assert_eq!(unique(&world), (2, 1));
    assert_eq!(world.status(id).1, LastEvent::Clicked);
}

#[tokio::test]
async fn a_mapped_address_is_recognized() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    let mapped = Hit { ip_address: "::ffff:40.93.1.1".into(), ..world.hit(id, HitTarget::Pixel, MINUTE_MS) };
    world.engagement.record(mapped).await.unwrap();

    assert_eq!(world.kinds(id), [(Prefetched, Some("scanner".into()))]);
}

#[tokio::test]
async fn a_corrupt_event_does_not_stop_the_recording() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    let event = world.context.id();
    world.context.corrupt(&EVENTS, (id, event)).await;

    world.open(id, MINUTE_MS).await;

    assert_eq!(world.kinds(id), [(Opened, None)]);
}

#[tokio::test]
async fn a_hit_without_consequences_writes_nothing() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    world.open(id, MINUTE_MS).await;
    let count = || world.context.keys(&EVENTS).len();
    let before = count();

    world.open(id, MINUTE_MS + 1).await;

    assert_eq!(count(), before);
}

#[tokio::test]
async fn an_erasure_changes_no_count_of_opens_and_clicks() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net", "eve@example.net"]).await;
    for after_ms in [MINUTE_MS, 3 * MINUTE_MS] {
        world.open(id, after_ms).await;
    }
    world.click(id, LINK, 5 * MINUTE_MS).await;

    let (context, ada) = (world.context.clone(), EmailAddress::parse("ada@example.net").unwrap());
    world.context.commit(move |tx| erasure::request(tx, &context, TEAM, vec![ada.clone()])).await;
    Erasures::new(world.context.clone(), PendingEntries::default()).run_round().await.unwrap();
    assert!(world.row(id).recipients[0].mailbox.is_erased());
    world.click(id, LINK, 60 * MINUTE_MS).await;

    assert_eq!(world.kinds(id), [(Opened, None), (Opened, None), (Clicked, None)]);
    assert_eq!(unique(&world), (1, 1));
    world.assert_counts_agree().await;
}

/// Returns the unique opens and clicks of the team.
pub(super) fn unique(world: &World) -> (u64, u64) {
    let totals = world.context.read(|tx| email_metrics::day_totals(tx, TEAM, 0..=u32::MAX));
    (totals.unique_opened, totals.unique_clicked)
}
