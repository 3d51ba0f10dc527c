//! Counts of a broadcast after random histories of its emails.

use proptest::prelude::*;

use super::super::*;
use super::TEAM;
use super::broadcasts::{counts, queue, row, status, write};
use crate::base::address::StoredMailbox;
use crate::broadcast_rows::{BroadcastOutcome, BroadcastStatus, DomainCounts};
use crate::tables::BROADCAST_DOMAINS;

const EVENTS: [LastEvent; 8] = [
    LastEvent::Sent,
    LastEvent::DeliveryDelayed,
    LastEvent::Delivered,
    LastEvent::Bounced,
    LastEvent::Complained,
    LastEvent::Suppressed,
    LastEvent::Failed,
    LastEvent::Canceled,
];

const OUTCOMES: [BroadcastOutcome; 8] = [
    BroadcastOutcome::Queued,
    BroadcastOutcome::Sent,
    BroadcastOutcome::Delivered,
    BroadcastOutcome::Bounced,
    BroadcastOutcome::Complained,
    BroadcastOutcome::Suppressed,
    BroadcastOutcome::Failed,
    BroadcastOutcome::Canceled,
];

/// Returns the numbers of the domain of all recipients.
fn of_domain(context: &Context) -> DomainCounts {
    let mut found: Vec<_> = context.rows(&BROADCAST_DOMAINS).into_iter().map(|(_, row)| row).collect();
    assert!(found.len() <= 1 && found.iter().all(|row| row.domain == "example.com"), "{found:?}");
    found.pop().map_or_else(DomainCounts::default, |row| row.counts)
}

#[tokio::test]
async fn an_erased_recipient_leaves_the_numbers_of_its_domain() {
    let (_directory, context) = Context::temporary();
    let id = queue(&context, 1).await[0].0.email;
    let change = async |event: LastEvent, is_erased: bool| {
        write(&context, move |tx, _| {
            let mut row = emails::find_row(tx, TEAM, id)?.unwrap();
            row.recipients[0].last_event.advance(event);
            if is_erased {
                row.recipients[0].mailbox = StoredMailbox::erased();
            }
            emails::put_row(tx, TEAM, id, &row, 1)
        })
        .await;
    };
    change(LastEvent::Sent, false).await;
    assert_eq!(of_domain(&context), DomainCounts { attempted: 1, waiting: 1, ..DomainCounts::default() });

    change(LastEvent::Canceled, true).await;

    assert_eq!(of_domain(&context), DomainCounts { attempted: 1, ..DomainCounts::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_counts_add_up_to_the_recipients(history in proptest::collection::vec((0_usize..6, 0_usize..8), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_directory, context) = Context::temporary();
            let queued = queue(&context, 6).await;
            let mut attempted = [false; 6];
            for (recipient, event) in history {
                let (id, event) = (queued[recipient].0.email, EVENTS[event]);
                write(&context, move |tx, _| {
                    let mut row = emails::find_row(tx, TEAM, id)?.unwrap();
                    row.recipients[0].last_event.advance(event);
                    row.recipients[0].state = RecipientState::Settled;
                    emails::put_row(tx, TEAM, id, &row, 1)
                })
                .await;
                let last_event = row(&context, id).recipients[0].last_event;
                attempted[recipient] |= BroadcastOutcome::from(last_event).is_attempted();
            }

            let outcome_of = |id| BroadcastOutcome::from(row(&context, id).recipients[0].last_event);
            let outcomes: Vec<_> = queued.iter().map(|(key, _)| outcome_of(key.email)).zip(attempted).collect();
            let number = |is: &dyn Fn(BroadcastOutcome, bool) -> bool| {
                outcomes.iter().filter(|(outcome, attempted)| is(*outcome, *attempted)).count() as u64
            };
            let is_skipped = |outcome, attempted: bool| outcome == BroadcastOutcome::Suppressed && !attempted;
            // An email that is dropped from the queue fails without an attempt.
            let is_canceled = |outcome, attempted: bool| {
                matches!(outcome, BroadcastOutcome::Failed | BroadcastOutcome::Canceled) && !attempted
            };
            let counts = counts(&context);
            for outcome in OUTCOMES {
                assert_eq!(outcome.count(&counts), number(&|it, _| it == outcome), "{outcome:?}");
            }
            assert_eq!(counts.attempted, number(&|_, attempted| attempted));
            assert_eq!(counts.skipped, number(&is_skipped));
            assert_eq!(counts.canceled_before(), number(&is_canceled));
            assert_eq!(counts.total(), 6);
            let expected = DomainCounts {
                attempted: counts.attempted,
                delivered: counts.delivered + counts.complained,
                bounced: counts.bounced,
                waiting: counts.sent,
            };
            assert_eq!(of_domain(&context), expected);
            assert_eq!(status(&context) == BroadcastStatus::Sent, counts.queued == 0);
        });
    }
}
