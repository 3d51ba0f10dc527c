//! Due times under the sending limits.

use super::*;
use crate::base::clock::DAY_MS;
use crate::broadcasts::forecast::LazyForecast;
use crate::tables::SEND_SLOTS;

#[tokio::test]
async fn due_times_keep_the_sending_limits() {
    let instance = Instance::with_limits(SendLimits { per_second: Some(10), per_day: Some(2_000) });
    instance.add(0, 1_000, ContactChanges::default()).await;
    let now_ms = instance.context.now_ms();
    let plan = |recipients| {
        let planned = instance.context.read(|tx| instance.estimates.plan(tx, now_ms, now_ms, recipients));
        planned.unwrap().finishes_ms.unwrap()
    };
    let estimate_ms = plan(1_000);
    let (first, second) = (instance.send_now().await, instance.send_now().await);
    instance.worker().work().await.unwrap();

    let (of_first, of_second) = (instance.due_times(first), instance.due_times(second));
    // The first message is due at once, the others at multiples of 100 ms.
    assert!(of_first[1..].windows(2).all(|pair| pair[1] - pair[0] == 100), "not 10 messages a second");
    assert!(of_first[999] < of_second[0] && estimate_ms - of_first[999] <= 5_000);
    // The share of broadcasts is 1,400 messages a day.
    assert!(of_second[399] < now_ms + DAY_MS && of_second[400] >= of_first[0] + DAY_MS);
    assert_eq!(instance.row(second).0.finishes_ms, of_second.last().map(|due_ms| due_ms + 5_000));

    instance.cancel(second).await;
    instance.worker().work().await.unwrap();
    assert!(plan(400) < now_ms + DAY_MS, "a canceled broadcast gives its room back");
    let messages: u32 = instance.context.rows(&SEND_SLOTS).into_iter().map(|(_, row)| row.messages).sum();
    assert_eq!(messages, 1_000);
}

#[tokio::test]
async fn a_page_with_sending_limits_is_stored_whole_beside_a_request() {
    let instance = Instance::with_limits(SendLimits { per_second: Some(10), per_day: None });
    instance.add(0, 100, ContactChanges::default()).await;
    let id = instance.send_now().await;
    let now_ms = instance.context.now_ms();
    instance.write(move |tx, _| start::start(tx, id, now_ms, &NeverPaused)).await;
    let page = instance.read_page(id);

    // A command of a request: it waits for itself.
    let stored = instance.context.commit(move |tx| page.store(tx, 0)).await;

    assert!(matches!(stored, PageResult::Stored { next: None, finished: Some(_), .. }));
    assert_eq!(instance.addresses(id).len(), 100);
}

#[tokio::test]
async fn stored_emails_get_queue_rows_while_the_limits_have_no_room_for_the_next_ones() {
    let mut instance = Instance::with_limits(SendLimits { per_second: Some(10), per_day: None });
    instance.add(0, 1_700, ContactChanges::default()).await;
    let (id, other) = (instance.send_now().await, instance.send_now().await);
    instance.store_page(id).await;
    instance.store_page(other).await;
    instance.estimates = SendEstimates::new(SendLimits { per_second: None, per_day: Some(1) }, 30);

    instance.worker().work().await.unwrap();

    assert_eq!(instance.addresses(id).len() + instance.addresses(other).len(), 2 * PAGE_RECIPIENTS);
    assert_eq!(instance.queued_groups(), 2 * PAGE_RECIPIENTS);
}

#[tokio::test]
async fn due_times_keep_the_sending_limits_after_the_clock_was_set_back() {
    let instance = Instance::with_limits(SendLimits { per_second: Some(1), per_day: None });
    instance.add(0, 300, ContactChanges::default()).await;
    // The ids of the process stay ahead of the clock.
    instance.context.clock.step(-DAY_MS);
    let now_ms = instance.context.now_ms();
    let id = instance.send_now().await;

    instance.worker().work().await.unwrap();

    let due_times = instance.due_times(id);
    assert_eq!(instance.queued_groups(), 300);
    assert!(due_times[299] - now_ms >= 298_000, "{} ms", due_times[299] - now_ms);
}

/// Compares the estimates of two broadcasts, made before each page and read at changing times, with the due time of the
/// last message of each.
#[tokio::test]
async fn live_estimates_under_limits_are_not_early_and_within_a_fifth() {
    for round in 0_u64..9 {
        let (per_second, per_day) = match round % 3 {
            0 => (Some(3 + u32::try_from(round).unwrap()), None),
            1 => (None, Some(500 + 90 * round)),
            _ => (Some(20), Some(900 + 40 * round)),
        };
        let instance = Instance::with_limits(SendLimits { per_second, per_day });
        let contacts = 1_100 + usize::try_from(60 * round).unwrap();
        instance.add(0, contacts, ContactChanges::default()).await;
        let mut ids = Vec::new();
        for _ in 0..2 {
            ids.push(instance.send(instance.context.now_ms(), json!({ "audience": contacts })).await);
        }
        let mut estimates = Vec::new();
        for id in &ids {
            let mut has_more = true;
            while has_more {
                for id in &ids {
                    estimates.push((*id, instance.context.now_ms(), instance.estimate(*id)));
                }
                has_more = !matches!(instance.store_page(*id).await, PageResult::Stored { finished: Some(_), .. });
                instance.context.clock.advance(Duration::from_millis(700 * (1 + round)));
            }
        }

        for (id, at_ms, estimate_ms) in estimates {
            let truth_ms = *instance.due_times(id).last().unwrap();
            let (estimated, real) = (estimate_ms - at_ms, truth_ms - at_ms);
            assert!(estimated >= real, "round {round}: {} ms too early", real - estimated);
            assert!(real < 60_000 || estimated * 5 <= real * 6, "round {round}: {estimated} ms, {real} ms in truth");
        }
    }
}

#[tokio::test]
async fn email_that_is_late_is_estimated_at_the_rate_of_the_delivery() {
    let instance = Instance::with_limits(SendLimits { per_second: Some(10), per_day: None });
    instance.add(0, 300, ContactChanges::default()).await;
    let id = instance.send_now().await;
    instance.worker().work().await.unwrap();
    instance.context.clock.advance(Duration::from_secs(3_600));

    let left_ms = instance.estimate(id) - instance.context.now_ms();

    // 300 messages at the assumed 100 a second.
    assert!((3_000..=3_600).contains(&left_ms), "{left_ms} ms");
}

impl Instance {
    /// Returns the live estimate of a broadcast.
    fn estimate(&self, id: BroadcastId) -> TimestampMs {
        let read = |tx: &crate::store::ReadTx| {
            let (row, counts) = (find(tx, TEAM, id)?.unwrap(), read_counts(tx, id)?);
            self.estimates.finishes_ms(tx, &LazyForecast::default(), self.context.now_ms(), id, &row, &counts)
        };
        self.context.read(read).unwrap()
    }
}
