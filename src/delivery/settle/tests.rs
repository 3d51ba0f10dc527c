use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::base::address::EmailAddress;
use crate::base::clock::utc_day;
use crate::delivery::outcome::Deferral;
use crate::delivery::queue::tests::{ADA, BOB, TEAM, put_due, row};
use crate::delivery::queue::{self, claim};
use crate::delivery::retry::RetryDelay;
use crate::delivery::rows::{LeaseRow, SiteRow, WarmUpRow};
use crate::emails::RecipientKind;
use crate::event_bus::BusMessage;
use crate::events::{self, BounceType};
use crate::store::tests::disk::Disk;
use crate::store::{NodeId, name_hash};
use crate::tables::{DUE, EMAILS, SITES, WARM_UP};

/// Claims an email to Ada and Bob in one group, stores `reported` as the outcome of Ada, and settles
/// the group. Returns the email and the number of requeued groups.
async fn settled(context: &Context, reported: LastEvent, dispositions: [RecipientDisposition; 2]) -> (EmailId, usize) {
    let (id, keys) = put_due(context, &[(RecipientKind::To, ADA), (RecipientKind::To, BOB)]).await;
    let mut grouped = row(context, id);
    grouped.recipients[1].group = 0;
    grouped.has_headers = true;
    let (settling, schedule) = (context.clone(), schedule());
    let write = move |tx: &WriteTx<'_>| {
        tx.put(&EMAILS, &(TEAM, id), &grouped)?;
        emails::put_headers(tx, &settling, id, vec![("X-Order".into(), "42".into())])?;
        tx.delete(&DUE, &keys[1].parts())?;
        let mut claimed = claim(tx, &settling, &keys[..1])?.remove(0);
        claimed.due.delays_reported = u8::from(reported == LastEvent::DeliveryDelayed);
        let mut row = claimed.row.clone();
        row.recipients[0].last_event.advance(reported);
        tx.put(&EMAILS, &(TEAM, id), &row)?;
        settle(tx, &settling, &schedule, &Settlement::new(Arc::new(claimed), dispositions.to_vec(), None))
    };
    (id, context.commit(write).await.len())
}

fn schedule() -> RetrySchedule {
    RetrySchedule {
        delays: vec![Duration::from_secs(60)],
        expire_after: Duration::from_secs(3_600),
        expire_broadcasts_after: Duration::from_secs(3_600),
        confirm_after: Duration::from_secs(900),
    }
}

/// Returns the events of the email after `email.sent`, each with its recipients.
fn timeline(context: &Context, id: EmailId) -> Vec<(EmailEventKind, Vec<String>)> {
    let events = context.read(|tx| events::email_timeline(tx, id));
    events.into_iter().skip(1).map(|event| (event.kind, event.recipients)).collect()
}

fn delivered() -> RecipientDisposition {
    RecipientDisposition::Delivered { reply: "250 Taken".into(), complained: false }
}

#[tokio::test]
async fn an_attempt_stores_its_recipients_and_why_one_of_them_waits() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA), (RecipientKind::To, BOB)]).await;
    let (settling, schedule) = (context.clone(), schedule());
    let bounce = Bounce {
        message: String::new(),
        bounce_type: BounceType::Permanent,
        subtype: "NoEmail".into(),
        diagnostic: vec!["550 5.1.1 unknown".into()],
    };
    let dispositions = vec![
        RecipientDisposition::Bounced { bounce, suppresses: false },
        RecipientDisposition::Deferred(Deferral::ordinary(Some("451 4.7.1 later".into()))),
    ];
    let attempt = json!({ "at_ms": 0, "group": 0, "number": 1, "summary": "1 deferred, 1 refused" });
    let attempt: SmtpAttemptRow = serde_json::from_value(attempt).unwrap();
    let mut grouped = row(&context, id);
    grouped.recipients[1].group = 0;
    let write = move |tx: &WriteTx<'_>| {
        tx.put(&EMAILS, &(TEAM, id), &grouped)?;
        tx.delete(&DUE, &keys[1].parts())?;
        let claimed = Arc::new(claim(tx, &settling, &keys[..1])?.remove(0));
        settle(tx, &settling, &schedule, &Settlement::new(claimed, dispositions.clone(), Some(attempt.clone())))
    };
    context.commit(write).await;

    let stored: Vec<_> = context.rows(&ATTEMPTS).into_iter().map(|(_, row)| row).collect();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].tried_recipients, [0, 1]);
    assert_eq!(stored[0].deferral_reason.as_deref(), Some("451 4.7.1 later"));
}

#[tokio::test]
async fn a_recipient_with_a_reported_outcome_is_settled_without_an_event() {
    let (_directory, context) = Context::temporary();
    for (reported, disposition) in [
        (LastEvent::Delivered, delivered()),
        (LastEvent::Bounced, delivered()),
        (LastEvent::Complained, delivered()),
        (LastEvent::Failed, RecipientDisposition::Failed { reason: "rejected".into(), reply: None }),
    ] {
        let (id, requeued) = settled(&context, reported, [disposition, delivered()]).await;

        assert_eq!(requeued, 0);
        assert_eq!(timeline(&context, id), [(EmailEventKind::Delivered, vec![BOB.to_owned()])], "{reported:?}");
        let ada = &row(&context, id).recipients[0];
        assert_eq!((ada.state, ada.last_event), (RecipientState::Settled, reported));
    }
}

#[tokio::test]
async fn an_outcome_is_stored_although_its_lease_is_corrupt() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let (settling, schedule) = (context.clone(), schedule());
    let write = move |tx: &WriteTx<'_>| {
        let claimed = claim(tx, &settling, &keys)?.remove(0);
        tx.put_encoded(&LEASES, &(id, 0), &Encoded::unreadable())?;
        settle(tx, &settling, &schedule, &Settlement::uniform(Arc::new(claimed), delivered(), None))
    };
    context.commit(write).await;

    assert_eq!(row(&context, id).recipients[0].state, RecipientState::Settled);
    assert!(!context.read(|tx| tx.contains(&LEASES, &(id, 0))));
}

#[tokio::test]
async fn a_relayed_recipient_is_settled_without_an_event_and_its_delay_is_over() {
    let (_directory, context) = Context::temporary();
    for reported in [LastEvent::Sent, LastEvent::DeliveryDelayed] {
        let relayed = [RecipientDisposition::Relayed, RecipientDisposition::Relayed];

        let (id, requeued) = settled(&context, reported, relayed).await;

        assert_eq!((requeued, timeline(&context, id)), (0, Vec::new()), "{reported:?}");
        let row = row(&context, id);
        assert_eq!(row.last_event, LastEvent::Sent, "{reported:?}");
        for recipient in row.recipients {
            assert_eq!((recipient.state, recipient.last_event), (RecipientState::Settled, LastEvent::Sent));
        }
    }
}

#[tokio::test]
async fn a_relayed_recipient_does_not_end_the_delay_of_another_one() {
    let (_directory, context) = Context::temporary();
    let deferred = RecipientDisposition::Deferred(Deferral::ordinary(Some("451 later".into())));

    let (id, requeued) = settled(&context, LastEvent::Sent, [RecipientDisposition::Relayed, deferred]).await;

    assert_eq!(requeued, 1);
    assert_eq!(timeline(&context, id), [(EmailEventKind::DeliveryDelayed, vec![BOB.to_owned()])]);
    let row = row(&context, id);
    assert_eq!((row.recipients[0].state, row.recipients[0].last_event), (RecipientState::Settled, LastEvent::Sent));
    assert!(matches!(row.recipients[1].state, RecipientState::Waiting { .. }));
    assert_eq!(row.last_event, LastEvent::DeliveryDelayed);
}

#[tokio::test]
async fn a_deferral_does_not_requeue_a_recipient_with_a_reported_outcome() {
    let (_directory, context) = Context::temporary();
    let deferred = || RecipientDisposition::Deferred(Deferral::ordinary(Some("451 later".into())));

    let (id, requeued) = settled(&context, LastEvent::Delivered, [deferred(), deferred()]).await;

    assert_eq!(requeued, 1);
    assert_eq!(timeline(&context, id), [(EmailEventKind::DeliveryDelayed, vec![BOB.to_owned()])]);
    let recipients = row(&context, id).recipients;
    assert_eq!((recipients[0].state, recipients[0].last_event), (RecipientState::Settled, LastEvent::Delivered));
    assert!(matches!(recipients[1].state, RecipientState::Waiting { .. }));
}

#[tokio::test]
async fn a_settlement_opens_the_content_once_for_all_its_events() {
    let (_directory, context) = Context::temporary();
    let mut subscription = context.event_bus.subscribe(TEAM);

    let failed = RecipientDisposition::Failed { reason: "rejected".into(), reply: None };
    settled(&context, LastEvent::Sent, [failed, delivered()]).await;

    assert_eq!(context.keyring.opened(), 2, "once for the claim and once for the settlement");
    let bodies: Vec<_> = std::iter::from_fn(|| subscription.try_recv().ok()).map(BusMessage::body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| body.contains("X-Order")), "{bodies:?}");
}

#[tokio::test]
async fn a_missing_destination_keeps_its_first_time_until_an_attempt_has_another_result() {
    let (_directory, context) = Context::temporary();
    let reply = || Some("4.1.2 the domain does not exist".into());
    let missing = || Deferral { delay: RetryDelay::Confirm, ..Deferral::ordinary(reply()) };
    for (known_ms, deferral, expected_ms) in [
        (None, missing(), Some(context.now_ms())),
        (Some(7), missing(), Some(7)),
        (Some(7), Deferral::immediate(None), Some(7)),
        (Some(7), Deferral::ordinary(reply()), None),
    ] {
        let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        let (settling, schedule, disposition) = (context.clone(), schedule(), deferral.clone());
        let write = move |tx: &WriteTx<'_>| {
            let mut claimed = claim(tx, &settling, &keys)?.remove(0);
            claimed.due.vanished_ms = known_ms;
            let disposition = RecipientDisposition::Deferred(disposition.clone());
            let requeued =
                settle(tx, &settling, &schedule, &Settlement::uniform(Arc::new(claimed), disposition, None))?;
            tx.get(&DUE, &requeued[0].key.parts())
        };

        let due = context.commit(write).await.unwrap();

        assert_eq!(due.vanished_ms, expected_ms, "{known_ms:?} {deferral:?}");
    }
}

#[tokio::test]
async fn a_deferral_with_a_limit_of_hours_fails_after_them() {
    const HOUR_MS: i64 = 3_600_000;
    let (_directory, context) = Context::temporary();
    for (age_ms, is_queued) in [(24 * HOUR_MS - 1, true), (24 * HOUR_MS, false)] {
        let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        let full = Deferral { hours_max: Some(24), ..Deferral::ordinary(Some("452 4.2.2 full".into())) };
        let schedule = RetrySchedule { expire_after: Duration::from_secs(48 * 3_600), ..schedule() };
        let (settling, now_ms) = (context.clone(), context.now_ms());
        let write = move |tx: &WriteTx<'_>| {
            let mut claimed = claim(tx, &settling, &keys)?.remove(0);
            claimed.due.first_due_ms = now_ms - age_ms;
            let disposition = RecipientDisposition::Deferred(full.clone());
            settle(tx, &settling, &schedule, &Settlement::uniform(Arc::new(claimed), disposition, None))
        };

        let requeued = context.commit(write).await;

        assert_eq!(!requeued.is_empty(), is_queued, "{age_ms}");
    }
}

#[tokio::test]
async fn a_message_without_a_reply_is_a_possible_duplicate_and_goes_to_the_same_host_next() {
    let (_directory, context) = Context::temporary();
    let host = || Some("mx.example.com".to_owned());
    let ambiguous = || Deferral { ambiguous_host: host(), ..Deferral::ordinary(None) };
    for (before, deferral, is_duplicate, after) in [
        (None, Deferral::ordinary(None), false, None),
        (None, ambiguous(), true, host()),
        (host(), Deferral::free(None), false, host()),
        (host(), Deferral::ordinary(None), false, None),
    ] {
        let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        let (settling, schedule, disposition) = (context.clone(), schedule(), deferral.clone());
        let write = move |tx: &WriteTx<'_>| {
            let mut claimed = claim(tx, &settling, &keys)?.remove(0);
            claimed.due.ambiguous_host = before.clone();
            let disposition = RecipientDisposition::Deferred(disposition.clone());
            let requeued =
                settle(tx, &settling, &schedule, &Settlement::uniform(Arc::new(claimed), disposition, None))?;
            tx.get(&DUE, &requeued[0].key.parts())
        };

        let due = context.commit(write).await.unwrap();

        assert_eq!((due.possible_duplicate, due.ambiguous_host), (is_duplicate, after), "{deferral:?}");
    }
}

#[tokio::test]
async fn a_bounce_that_suppresses_does_so_despite_a_reported_outcome() {
    let (_directory, context) = Context::temporary();
    let bounce = Bounce {
        message: "Refused.".into(),
        bounce_type: BounceType::Permanent,
        subtype: "NoEmail".into(),
        diagnostic: Vec::new(),
    };

    let disposition = RecipientDisposition::Bounced { bounce, suppresses: true };
    settled(&context, LastEvent::Failed, [disposition, delivered()]).await;

    let hash = EmailAddress::parse(ADA).unwrap().identity_hash();
    let kind = suppressions::SendKind::Transactional;
    assert!(context.read(|tx| suppressions::blocks(tx, TEAM, &hash, kind)));
}

#[tokio::test]
async fn the_lease_of_a_corrupt_email_is_deleted() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let settling = context.clone();
    let write = move |tx: &WriteTx<'_>| {
        let claimed = Arc::new(claim(tx, &settling, &keys)?.remove(0));
        tx.put_encoded(&EMAILS, &(TEAM, id), &Encoded::unreadable())?;
        settle(tx, &settling, &schedule(), &Settlement::uniform(claimed, delivered(), None))
    };

    assert_eq!(context.commit(write).await, []);

    assert!(!context.read(|tx| tx.contains(&LEASES, &(id, 0))));
}

#[tokio::test]
async fn a_settlement_under_the_lease_of_another_node_changes_nothing() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let (settling, schedule) = (context.clone(), schedule());
    let write = move |tx: &WriteTx<'_>| {
        let claimed = claim(tx, &settling, &keys)?.remove(0);
        // Another node has recovered the group and leased it again.
        let lease = tx.get(&LEASES, &(id, 0))?.expect("a lease");
        tx.put(&LEASES, &(id, 0), &LeaseRow { node: NodeId::new(99), ..lease })?;
        settle(tx, &settling, &schedule, &Settlement::uniform(Arc::new(claimed), delivered(), None))
    };

    assert_eq!(context.commit(write).await, []);

    assert_eq!(row(&context, id).recipients[0].state, RecipientState::InFlight);
    assert!(context.read(|tx| tx.contains(&LEASES, &(id, 0))));
}

// After each start, groups that are due later than their wait allows become due. The pause that a reply names is longer
// than the delay of the schedule, so that a restart ended it.
#[tokio::test]
async fn a_start_does_not_end_the_pause_that_a_reply_names() {
    let (_directory, context) = Context::temporary();
    let delay = RetryDelay::Named { pause: Duration::from_secs(3_000) };
    let named = || RecipientDisposition::Deferred(Deferral { delay, ..Deferral::ordinary(Some("451 later".into())) });

    let (id, requeued) = settled(&context, LastEvent::Sent, [named(), named()]).await;

    assert_eq!(requeued, 1);
    let now_ms = context.now_ms();
    let page = context.read(|tx| queue::read_ahead(tx, queue::QUEUE_START, now_ms));
    assert!(page.keys.is_empty(), "{:?} {:?}", row(&context, id).recipients, page.keys);
}

#[tokio::test]
async fn a_kill_leaves_the_outcome_with_the_rows_of_its_site_or_none_of_them() {
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let claiming = context.clone();
    let claimed = context.commit(move |tx| Ok(claim(tx, &claiming, &keys)?.remove(0))).await;
    let lease = (claimed.key.email, claimed.key.group);
    let row = json!({ "name": "google", "sessions": 3, "paused_until_ms": 0, "changed_ms": 0 });
    let row: SiteRow = serde_json::from_value(row).unwrap();
    let counts = WarmUpRow { sent: 1, ..WarmUpRow::default() };
    let site = SiteUpdate { row: Some(row), warm_up: Some(("google".into(), counts)) };
    let settlement = Settlement { site, ..Settlement::new(Arc::new(claimed), vec![delivered()], None) };
    let (settling, schedule, day) = (context.clone(), schedule(), utc_day(context.now_ms()));

    let recording = disk.record();
    context.commit(move |tx| settle(tx, &settling, &schedule, &settlement)).await;

    let mut settled = BTreeSet::new();
    recording.each_kill(|store| {
        let read = store.read_now::<_, StoreError>(|tx| {
            let is_leased = tx.contains(&LEASES, &lease)?;
            let (site, day) =
                (tx.get(&SITES, &(name_hash("google"),))?, tx.get(&WARM_UP, &(name_hash("google"), day))?);
            Ok((is_leased, site.map(|row| row.sessions), day.map(|row| row.sent)))
        });
        let state = read.unwrap();
        assert!([(true, None, None), (false, Some(3), Some(1))].contains(&state), "{state:?}");
        settled.insert(!state.0);
    });
    assert_eq!(settled.len(), 2, "a kill before the commit, and one after it");
}

// Attempts and return paths name the group, so that a group that was released lost its earlier attempts.
#[tokio::test]
async fn a_whole_group_with_an_immediate_retry_keeps_its_number_and_a_part_gets_a_new_one() {
    let (_directory, context) = Context::temporary();
    let immediate = || RecipientDisposition::Deferred(Deferral::immediate(None));
    for (first, groups) in [(immediate(), [0, 0]), (delivered(), [0, 1])] {
        let (id, requeued) = settled(&context, LastEvent::Sent, [first, immediate()]).await;

        assert_eq!(requeued, 1);
        let row = row(&context, id);
        assert_eq!([row.recipients[0].group, row.recipients[1].group], groups);
        assert!(matches!(row.recipients[1].state, RecipientState::Waiting { .. }));
    }
}
