//! Holds in claims, and pages of the queue.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::base::id::{ApiKeyId, EmailId, Id, TeamId};
use crate::delivery::queue::tests::{ADA, TEAM, put_due, row};
use crate::delivery::queue::{DueKey, QueueSelector, claim_lane};
use crate::delivery::rows::{Class, DueRow, ReceivingHostRow, SiteRow, SmtpAttemptRow};
use crate::emails::{EmailRow, LastEvent, RecipientKind, RecipientRow, RecipientState};
use crate::events;
use crate::store::{Reads as _, WriteTx, name_hash};
use crate::tables::{ATTEMPTS, DUE, EMAILS, RECEIVING_HOSTS, SITES};

const KEY: ApiKeyId = Id::from_bytes([9; 16]);
const HOUR: Duration = Duration::from_secs(3_600);

fn control(context: &Context) -> QueueControl {
    QueueControl::new(context.clone(), QueueNotifier::default(), None)
}

/// Stores `count` emails with one queued group each, sent by `KEY`.
pub(in crate::delivery) async fn put_emails(
    context: &Context,
    team: TeamId,
    domain: &str,
    count: usize,
) -> Vec<EmailId> {
    let ids: Vec<EmailId> = (0..count).map(|_| context.id()).collect();
    let (domain, due_ms, written) = (domain.to_owned(), context.now_ms(), ids.clone());
    let put = move |tx: &WriteTx<'_>| {
        let lane = LaneKey::new(&domain, Class::Transactional, team.cast());
        for id in &written {
            let state = RecipientState::Waiting { due_ms };
            let recipient = RecipientRow::example(&format!("ada@{domain}"), state, LastEvent::Queued);
            let row = EmailRow { key: Some(KEY), ..EmailRow::example(vec![recipient], LastEvent::Queued) };
            tx.put(&EMAILS, &(team, *id), &row)?;
            let key = DueKey { lane, due_ms, email: *id, group: 0 };
            tx.put(&DUE, &key.parts(), &DueRow::fresh(team, domain.clone(), due_ms))?;
        }
        Ok(())
    };
    context.commit(put).await;
    ids
}

async fn claimed(context: &Context, lane: LaneKey, site: Option<&'static str>) -> Vec<EmailId> {
    let claiming = context.clone();
    let claim = context.commit(move |tx| claim_lane(tx, &claiming, lane, site, 8)).await;
    claim.groups.into_iter().map(|group| group.key.email).collect()
}

/// Returns the queued groups in the order of the queue.
fn queued(context: &Context) -> Vec<DueKey> {
    context.keys(&DUE).into_iter().map(DueKey::from_parts).collect()
}

#[tokio::test]
async fn a_lane_of_a_held_domain_team_or_site_is_not_claimed() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, "a.example", 1).await;
    let lane = LaneKey::new("a.example", Class::Transactional, TEAM.cast());
    let control = control(&context);
    for selector in
        [QueueSelector::Domain("a.example".into()), QueueSelector::Team(TEAM), QueueSelector::Site("provider".into())]
    {
        control.pause(TEAM, selector.clone()).await.unwrap().unwrap();
        assert_eq!(claimed(&context, lane, Some("provider")).await, [], "{selector:?}");
        assert!(control.resume(TEAM, selector.clone()).await.unwrap());
        assert!(!control.resume(TEAM, selector).await.unwrap());
    }

    control.pause(TEAM, QueueSelector::Site("other".into())).await.unwrap().unwrap();
    assert_eq!(claimed(&context, lane, Some("provider")).await, ids);
}

#[tokio::test]
async fn groups_of_a_held_key_are_postponed_so_that_those_behind_them_are_claimed() {
    let (_directory, context) = Context::temporary();
    let held = put_emails(&context, TEAM, "example.com", 100).await;
    context.clock.advance(Duration::from_millis(1));
    let (free, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let (lane, control) = (keys[0].lane, control(&context));
    control.pause(TEAM, QueueSelector::Key(KEY)).await.unwrap().unwrap();

    let first = claimed(&context, lane, None).await;
    let second = claimed(&context, lane, None).await;

    // One claim postpones a bounded number of groups.
    assert_eq!((first, second), (Vec::new(), vec![free]));
    let postponed = queued(&context);
    assert_eq!(postponed.len(), held.len());
    assert!(postponed.iter().all(|key| key.due_ms == context.now_ms() + 3_600_000));
    let waiting = RecipientState::Waiting { due_ms: postponed[0].due_ms };
    assert_eq!(row(&context, held[0]).recipients[0].state, waiting);
    assert_eq!(row(&context, held[0]).last_event, LastEvent::Queued, "nothing was sent");

    control.resume(TEAM, QueueSelector::Key(KEY)).await.unwrap();
    let released = control.release(QueueSelector::Key(KEY), None).await.unwrap();
    assert_eq!((released.groups, released.next), (held.len(), None));
    assert_eq!(claimed(&context, lane, None).await, held[..8]);
}

#[tokio::test]
async fn a_held_email_reports_its_delay_after_four_hours_and_does_not_expire() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let control = control(&context);
    control.pause(TEAM, QueueSelector::Email { team: TEAM, id }).await.unwrap().unwrap();

    for _ in 0..72 {
        assert_eq!(claimed(&context, keys[0].lane, None).await, []);
        context.clock.advance(HOUR);
    }

    let events = context.read(|tx| events::email_timeline(tx, id));
    let first_ms = keys[0].due_ms;
    let times: Vec<(&str, i64)> =
        events.iter().map(|event| (event.kind.as_str(), (event.at_ms - first_ms) / 3_600_000)).collect();
    assert_eq!(times, [("email.sent", 4), ("email.delivery_delayed", 4), ("email.delivery_delayed", 24)]);
    assert_eq!(queued(&context).len(), 1);
}

#[tokio::test]
async fn pages_find_the_groups_of_a_selector_among_many_others() {
    let (_directory, context) = Context::temporary();
    let other: TeamId = Id::from_bytes([2; 16]);
    put_emails(&context, other, "big.example", 2_500).await;
    let mut ids = put_emails(&context, TEAM, "big.example", 130).await;
    ids.extend(put_emails(&context, TEAM, "small.example", 3).await);
    let control = control(&context);
    for (selector, expected, pages_max) in [
        (QueueSelector::Team(TEAM), 133, 3),
        (QueueSelector::Domain("small.example".into()), 3, 1),
        (QueueSelector::Key(KEY), 2_633, 28),
        (QueueSelector::Key(Id::from_bytes([8; 16])), 0, 3),
        (QueueSelector::Email { team: TEAM, id: ids[0] }, 1, 1),
        (QueueSelector::Site("big".into()), 0, 1),
    ] {
        let (mut found, mut counted, mut after, mut pages) = (Vec::new(), 0, None, 0);
        loop {
            let page = control.groups(selector.clone(), after).await.unwrap();
            assert!(page.groups.len() <= 100);
            found.extend(page.groups.iter().map(|group| group.email));
            (after, pages) = (page.next, pages + 1);
            if after.is_none() {
                break;
            }
        }
        loop {
            let page = control.destinations(Some(selector.clone()), after).await.unwrap();
            counted += page.destinations.iter().map(|row| row.groups).sum::<usize>();
            after = page.next;
            if after.is_none() {
                break;
            }
        }

        found.sort_unstable();
        found.dedup();
        assert_eq!((found.len(), counted), (expected, expected), "{selector:?}");
        assert!(pages <= pages_max, "{selector:?} took {pages} pages");
    }
}

#[tokio::test]
async fn each_of_many_destinations_is_listed_once() {
    let (_directory, context) = Context::temporary();
    for number in 0..230 {
        put_emails(&context, TEAM, &format!("d{number}.example"), 1 + number % 3).await;
    }
    let (control, mut after, mut listed) = (control(&context), None, Vec::new());
    loop {
        let page = control.destinations(None, after).await.unwrap();
        listed.extend(page.destinations.into_iter().map(|row| (row.destination, row.groups)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }

    listed.sort_unstable();
    let mut expected: Vec<(String, usize)> =
        (0..230).map(|number| (format!("d{number}.example"), 1 + number % 3)).collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn dropped_groups_fail_with_an_event_and_a_group_in_flight_stays() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, "a.example", 130).await;
    let lane = LaneKey::new("a.example", Class::Transactional, TEAM.cast());
    let in_flight = claimed(&context, lane, None).await;
    let (control, mut after, mut pages) = (control(&context), None, Vec::new());
    loop {
        let page = control.drop_groups(TEAM, QueueSelector::Team(TEAM), after).await.unwrap();
        pages.push(page.groups);
        after = page.next;
        if after.is_none() {
            break;
        }
    }

    assert_eq!(pages.iter().sum::<usize>(), ids.len() - in_flight.len());
    assert!(pages.iter().all(|groups| *groups <= 50), "{pages:?}");
    assert_eq!(queued(&context), []);
    for id in ids {
        let row = row(&context, id);
        let events = context.read(|tx| events::email_timeline(tx, id));
        if in_flight.contains(&id) {
            assert_eq!(row.recipients[0].state, RecipientState::InFlight);
            continue;
        }
        assert_eq!((row.recipients[0].state, row.last_event), (RecipientState::Settled, LastEvent::Failed));
        let detail = events::EventDetail::Failed { reason: "dropped".into(), diagnostic: Vec::new() };
        assert_eq!(events.into_iter().map(|event| event.detail).collect::<Vec<_>>(), [detail]);
    }
}

#[tokio::test]
async fn a_flush_makes_later_groups_due_except_scheduled_emails() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, "a.example", 2).await;
    let later_ms = context.now_ms() + 60_000;
    let (moving, moved) = (queued(&context), ids.clone());
    let put = move |tx: &WriteTx<'_>| {
        for (key, id) in moving.iter().zip(&moved) {
            let due = tx.get(&DUE, &key.parts())?.unwrap();
            let mut row = tx.get(&EMAILS, &(TEAM, *id))?.unwrap();
            tx.delete(&DUE, &key.parts())?;
            crate::delivery::queue::move_group(tx, *key, later_ms, &due, &mut row)?;
            if *id == moved[1] {
                row.last_event = LastEvent::Scheduled;
            }
            tx.put(&EMAILS, &(TEAM, *id), &row)?;
        }
        Ok(())
    };
    context.commit(put).await;

    let flushed = control(&context).flush(TEAM, QueueSelector::Team(TEAM), None).await.unwrap();

    assert_eq!((flushed.groups, flushed.scheduled), (1, 1));
    let due: Vec<(EmailId, i64)> = queued(&context).into_iter().map(|key| (key.email, key.due_ms)).collect();
    assert_eq!(due, [(ids[0], context.now_ms()), (ids[1], later_ms)]);
}

#[tokio::test]
async fn the_hold_of_a_deleted_email_is_deleted() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, "a.example", 2).await;
    let control = control(&context);
    for id in &ids {
        control.pause(TEAM, QueueSelector::Email { team: TEAM, id: *id }).await.unwrap().unwrap();
    }
    control.pause(TEAM, QueueSelector::Key(KEY)).await.unwrap().unwrap();
    let deleted = ids[0];
    context.commit(move |tx| tx.delete(&EMAILS, &(TEAM, deleted))).await;

    crate::delivery::purge(&context, 0).await.unwrap();

    let left: Vec<String> = control.holds().await.unwrap().into_iter().map(|hold| hold.name).collect();
    assert_eq!(left, [ids[1].to_string(), KEY.to_string()]);
}

#[tokio::test]
async fn the_number_of_holds_is_bounded_and_those_of_a_removed_team_are_deleted() {
    let (_directory, context) = Context::temporary();
    let control = control(&context);
    control.pause(TEAM, QueueSelector::Team(TEAM)).await.unwrap().unwrap();
    for number in 1..1_000 {
        let selector = QueueSelector::Domain(format!("d{number}.example"));
        assert!(control.pause(TEAM, selector).await.unwrap().is_some(), "{number}");
    }

    assert_eq!(control.pause(TEAM, QueueSelector::Domain("more.example".into())).await.unwrap(), None);
    // A repeated hold keeps its time.
    context.clock.advance(HOUR);
    let again = control.pause(TEAM, QueueSelector::Team(TEAM)).await.unwrap().unwrap();
    assert_eq!(again.since_ms, context.now_ms() - 3_600_000);

    assert_eq!(context.commit(|tx| crate::delivery::forget_holds_of_team(tx, TEAM)).await, 1);
    assert_eq!(control.holds().await.unwrap().len(), 999);
}

/// Stores an attempt of an email at a site.
async fn put_attempt(context: &Context, id: EmailId, site: &str) {
    let row = json!({ "at_ms": 0, "group": 0, "number": 1, "site": site, "summary": "1 deferred" });
    let (row, attempt): (SmtpAttemptRow, _) = (serde_json::from_value(row).unwrap(), context.id());
    context.commit(move |tx| tx.put(&ATTEMPTS, &(id, attempt), &row)).await;
}

#[tokio::test]
async fn without_a_server_the_last_attempt_names_the_site_of_a_lane() {
    let (_directory, context) = Context::temporary();
    // More than one page. Only the first email has an attempt.
    let tried = put_emails(&context, TEAM, "a.example", 130).await;
    let elsewhere = put_emails(&context, TEAM, "b.example", 1).await;
    put_emails(&context, TEAM, "c.example", 2).await;
    put_attempt(&context, tried[0], "other").await;
    put_attempt(&context, tried[0], "provider").await;
    put_attempt(&context, elsewhere[0], "other").await;
    let (control, site) = (control(&context), QueueSelector::Site("provider".into()));

    let (mut found, mut unknown, mut after) = (Vec::new(), 0, None);
    loop {
        let page = control.groups(site.clone(), after).await.unwrap();
        found.extend(page.groups.into_iter().map(|group| group.email));
        (unknown, after) = (unknown + page.unknown, page.next);
        if after.is_none() {
            break;
        }
    }
    let listed = control.destinations(Some(site), None).await.unwrap();

    assert_eq!(found, tried);
    assert_eq!(unknown, 1, "the site of c.example is not known");
    let rows = listed.destinations.iter().map(|row| (row.destination.as_str(), row.site.as_deref(), row.groups));
    assert_eq!(rows.collect::<Vec<_>>(), [("a.example", Some("provider"), 130)]);
}

#[tokio::test]
async fn a_flush_ends_the_stored_pause_of_the_site() {
    let (_directory, context) = Context::temporary();
    let (now_ms, until_ms) = (context.now_ms(), context.now_ms() + 7_200_000);
    let ids = put_emails(&context, TEAM, "a.example", 1).await;
    put_attempt(&context, ids[0], "provider").await;
    let row = |name: &str| -> SiteRow {
        let row = json!({
            "name": name, "sessions": 1, "failures": 1, "stops": 1, "is_stopped": true, "changed_ms": now_ms,
            "paused_until_ms": until_ms, "suspended_until_ms": until_ms,
        });
        serde_json::from_value(row).unwrap()
    };
    let stored = |name: &str| context.read(|tx| tx.get(&SITES, &(name_hash(name),))).unwrap();
    for selector in [QueueSelector::Domain("a.example".into()), QueueSelector::Site("provider".into())] {
        let rows = ["provider", "other"].map(row);
        context.commit(move |tx| rows.iter().try_for_each(|row| tx.put(&SITES, &(name_hash(&row.name),), row))).await;
        context.clock.advance(Duration::from_secs(1));

        control(&context).flush(TEAM, selector, None).await.unwrap();

        let ended_ms = context.now_ms();
        let ended = SiteRow {
            paused_until_ms: ended_ms,
            failures_changed_ms: Some(ended_ms),
            changed_ms: ended_ms,
            ..row("provider")
        };
        assert_eq!(stored("provider"), ended);
        assert_eq!(stored("other"), row("other"));
    }
}

#[tokio::test]
async fn a_flush_ends_the_stored_pause_of_the_host_of_the_last_attempt() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, "a.example", 1).await;
    let (now_ms, until_ms) = (context.now_ms(), context.now_ms() + 60_000);
    let attempt = json!({
        "at_ms": now_ms, "group": 0, "number": 1, "site": "provider", "host": "mx", "address": "192.0.2.1:2525",
        "summary": "refused",
    });
    let attempt: SmtpAttemptRow = serde_json::from_value(attempt).unwrap();
    let names = ["mx:2525", "mx:2525 with TLS", "mx", "mx2:2525"];
    let rows: Vec<ReceivingHostRow> = names
        .iter()
        .map(|name| json!({ "name": name, "pause": { "failures": 1, "until_ms": until_ms, "changed_ms": now_ms } }))
        .map(|row| serde_json::from_value(row).unwrap())
        .collect();
    let key = (ids[0], context.id());
    let put = move |tx: &WriteTx<'_>| {
        tx.put(&ATTEMPTS, &key, &attempt)?;
        rows.iter().try_for_each(|row| tx.put(&RECEIVING_HOSTS, &(name_hash(&row.name),), row))
    };
    context.commit(put).await;

    control(&context).flush(TEAM, QueueSelector::Site("provider".into()), None).await.unwrap();

    let until = names.map(|name| {
        let row = context.read(|tx| tx.get(&RECEIVING_HOSTS, &(name_hash(name),)));
        row.unwrap().pause.unwrap().until_ms
    });
    assert_eq!(until, [now_ms, now_ms, until_ms, until_ms]);
}
