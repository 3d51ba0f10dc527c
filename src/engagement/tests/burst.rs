//! Bursts: the retraction of a click, and the counts afterwards.

use super::record::unique;
use super::{MINUTE_MS, TEAM, World};
use crate::base::id::{EventId, WebhookId};
use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::engagement::plan::{PREFETCHES_MAX, RETRACTED_MAX};
use crate::engagement::{Hit, HitTarget};
use crate::events::{self, EmailEventKind, EventDetail, EventType};
use crate::store::Reads as _;
use crate::tables::{EVENT_MESSAGES, EVENT_OUTBOX};

use EmailEventKind::{Clicked, Opened, Prefetched};

const A: &str = "https://example.org/a";
const B: &str = "https://example.org/b";
const C: &str = "https://example.org/c";

fn burst() -> Option<String> {
    Some("burst".into())
}

#[tokio::test]
async fn a_click_of_a_burst_is_recorded_again_with_its_time() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    world.click(id, A, MINUTE_MS).await;
    assert_eq!(unique(&world), (1, 1));

    world.click(id, B, MINUTE_MS + 250).await;

    assert_eq!(world.kinds(id), [(Prefetched, burst()), (Prefetched, burst())]);
    let events = world.engagement(id);
    let clicks: Vec<_> = events
        .iter()
        .map(|(_, event)| match &event.detail {
            EventDetail::Click(click) => (click.link.as_str(), click.at_ms - world.delivered_ms),
            other => panic!("expected a click, found {other:?}"),
        })
        .collect();
    assert_eq!(clicks, [(A, MINUTE_MS), (B, MINUTE_MS + 250)]);
    assert_eq!(world.status(id), (LastEvent::Delivered, LastEvent::Delivered));
    assert_eq!(unique(&world), (0, 0));
    world.assert_counts_agree().await;
}

#[tokio::test]
async fn all_links_of_a_burst_are_software_in_any_order() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    for (link, after_ms) in [(B, 60_100), (A, 60_000), (C, 60_300), (A, 60_310)] {
        world.click(id, link, after_ms).await;
    }

    assert_eq!(world.kinds(id), vec![(Prefetched, burst()); 3]);
    assert_eq!(world.status(id), (LastEvent::Delivered, LastEvent::Delivered));
}

#[tokio::test]
async fn two_links_with_a_pause_are_clicks_of_a_person() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    world.click(id, A, MINUTE_MS).await;
    world.click(id, B, MINUTE_MS + 251).await;

    assert_eq!(world.kinds(id), [(Opened, Some("click".into())), (Clicked, None), (Clicked, None)]);
    assert_eq!(unique(&world), (1, 1));
    world.assert_counts_agree().await;
}

#[tokio::test]
async fn links_of_two_recipients_are_no_burst() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net", "eve@example.net"]).await;

    world.click(id, A, MINUTE_MS).await;
    let hit = Hit { group: 1, ..world.hit(id, HitTarget::Link(B.into()), MINUTE_MS + 1) };
    world.engagement.record(hit).await.unwrap();

    assert_eq!(world.row(id).recipients.iter().filter(|it| it.last_event == LastEvent::Clicked).count(), 2);
    assert_eq!(unique(&world), (2, 2));
}

#[tokio::test]
async fn a_retraction_keeps_what_a_person_did_before() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    world.open(id, MINUTE_MS).await;
    world.click(id, C, 2 * MINUTE_MS).await;

    world.click(id, A, 60 * MINUTE_MS).await;
    world.click(id, B, 60 * MINUTE_MS + 1).await;

    assert_eq!(world.kinds(id), [(Opened, None), (Clicked, None), (Prefetched, burst()), (Prefetched, burst())]);
    assert_eq!(world.status(id), (LastEvent::Clicked, LastEvent::Clicked));
    assert_eq!(unique(&world), (1, 1));
}

#[tokio::test]
async fn a_retraction_falls_back_to_the_open_of_a_person() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net", "eve@example.net"]).await;
    world.open(id, MINUTE_MS).await;

    world.click(id, A, 60 * MINUTE_MS).await;
    world.click(id, B, 60 * MINUTE_MS + 9).await;

    assert_eq!(world.status(id), (LastEvent::Opened, LastEvent::Opened));
    assert_eq!(unique(&world), (1, 0));
    world.assert_counts_agree().await;
}

#[tokio::test]
async fn a_repeat_of_software_retracts_the_click_beside_it() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    world.click(id, B, 5_000).await;
    world.click(id, A, 30_000).await;
    assert_eq!(world.status(id).0, LastEvent::Clicked);

    // The link was prefetched less than a minute ago: this request is dropped, and is part of the burst.
    world.click(id, B, 30_050).await;

    assert_eq!(world.kinds(id), [(Prefetched, Some("timing".into())), (Prefetched, burst())]);
    assert_eq!(world.status(id).0, LastEvent::Delivered);
}

#[tokio::test]
async fn a_retraction_falls_back_to_a_delay() {
    let world = World::new();
    let id = world.context.id();
    let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::DeliveryDelayed);
    world.put(id, EmailRow::example(vec![recipient], LastEvent::DeliveryDelayed)).await;
    world.report(id, EmailEventKind::Sent, 0).await;
    world.report(id, EmailEventKind::DeliveryDelayed, 0).await;
    world.click(id, A, MINUTE_MS).await;
    assert_eq!(world.status(id).1, LastEvent::Clicked);

    world.click(id, B, MINUTE_MS + 10).await;

    assert_eq!(world.status(id), (LastEvent::DeliveryDelayed, LastEvent::DeliveryDelayed));
}

#[tokio::test]
async fn a_dropped_repeat_is_part_of_a_burst() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    for (link, after_ms) in [(A, 60_000), (A, 60_400), (B, 60_500)] {
        world.click(id, link, after_ms).await;
    }

    assert_eq!(world.kinds(id), vec![(Prefetched, burst()); 2]);
    assert_eq!(world.status(id).0, LastEvent::Delivered);
    assert_eq!(unique(&world), (0, 0));
}

#[tokio::test]
async fn a_gateway_that_follows_many_links_leaves_no_click_and_keeps_the_limit_of_the_person() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    for number in 0..120 {
        world.click(id, &format!("https://example.org/{number}"), MINUTE_MS + 20 * number).await;
    }

    assert_eq!(world.kinds(id), vec![(Prefetched, burst()); PREFETCHES_MAX]);
    assert_eq!(world.status(id).0, LastEvent::Delivered);
    assert_eq!(unique(&world), (0, 0));
    world.open(id, 60 * MINUTE_MS).await;
    world.click(id, A, 61 * MINUTE_MS).await;
    assert_eq!(world.kinds(id)[PREFETCHES_MAX..], [(Opened, None), (Clicked, None)]);
    assert_eq!(world.status(id).0, LastEvent::Clicked);
    assert_eq!(unique(&world), (1, 1));
}

#[tokio::test]
async fn a_click_is_retracted_at_the_limit_of_prefetches() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    for minute in 1..=60 {
        let hit = Hit { is_prefetch: true, ..world.hit(id, HitTarget::Pixel, minute * MINUTE_MS) };
        world.engagement.record(hit).await.unwrap();
    }
    world.click(id, A, 90 * MINUTE_MS).await;
    assert_eq!(world.status(id).0, LastEvent::Clicked);

    world.click(id, B, 90 * MINUTE_MS + 10).await;

    let kinds = world.kinds(id);
    assert_eq!(kinds[..PREFETCHES_MAX], vec![(Prefetched, Some("prefetch".into())); PREFETCHES_MAX]);
    assert_eq!(kinds[PREFETCHES_MAX..], [(Prefetched, burst())], "the retracted click, and not the second one");
    let events = world.engagement(id);
    assert!(matches!(&events[PREFETCHES_MAX].1.detail, EventDetail::Click(click) if click.link == A));
    assert_eq!(world.status(id).0, LastEvent::Delivered);
    assert_eq!(unique(&world), (0, 0));
}

#[tokio::test]
async fn the_number_of_retracted_clicks_is_bounded() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;

    for minute in 1..=200 {
        world.click(id, A, minute * MINUTE_MS).await;
        world.click(id, B, minute * MINUTE_MS + 10).await;
    }

    assert_eq!(world.kinds(id), vec![(Prefetched, burst()); RETRACTED_MAX]);
    assert_eq!(unique(&world), (0, 0));
}

#[tokio::test]
async fn hits_of_a_burst_at_once_leave_no_click() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    let hit = |link: &str| world.engagement.record(world.hit(id, HitTarget::Link(link.into()), MINUTE_MS));

    let (one, two, three) = tokio::join!(hit(A), hit(B), hit(C));
    [one, two, three].into_iter().for_each(Result::unwrap);

    assert_eq!(world.kinds(id), vec![(Prefetched, burst()); 3]);
    assert_eq!(unique(&world), (0, 0));
    world.assert_counts_agree().await;
}

#[tokio::test]
async fn a_retracted_event_that_waits_for_its_fan_out_is_not_delivered() {
    let world = World::new();
    let id = world.delivered(&["ada@example.net"]).await;
    let (webhook, types): (WebhookId, _) = (world.context.id(), [EventType::EmailClicked, EventType::EmailPrefetched]);
    world.context.commit(move |tx| events::subscribe(tx, TEAM, (webhook, 0), types.into_iter().collect())).await;
    world.click(id, A, MINUTE_MS).await;
    let click = world.engagement(id)[1].0;

    world.click(id, B, MINUTE_MS + 10).await;

    let rows = |event: EventId| {
        let key = (TEAM, event);
        world.context.read(|tx| Ok((tx.contains(&EVENT_OUTBOX, &key)?, tx.contains(&EVENT_MESSAGES, &key)?)))
    };
    assert_eq!(rows(click), (false, false));
    for (event, _) in world.engagement(id) {
        assert_eq!(rows(event), (true, true));
    }
}
