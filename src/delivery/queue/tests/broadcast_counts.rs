//! Counts of a broadcast after random histories of its emails.

use proptest::prelude::*;

use super::super::*;
use super::TEAM;
use super::broadcasts::{counts, queue, row, status, write};
use crate::broadcasts::{BroadcastOutcome, BroadcastStatus};

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
                attempted[recipient] |= BroadcastOutcome::of(last_event).is_attempted();
            }

            let outcome_of = |id| BroadcastOutcome::of(row(&context, id).recipients[0].last_event);
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
            assert_eq!(status(&context) == BroadcastStatus::Sent, counts.queued == 0);
        });
    }
}
