//! Tests of the planner: tables of single plans, and random histories that compare estimates with the truth.

use super::*;
use crate::base::clock::{DAY_MS, TimestampMs};

/// Start of a slot.
const NOW: TimestampMs = 1_767_600_000_000;
const HORIZON_MS: i64 = 24 * DAY_MS;
const WINDOW_MS: i64 = (WINDOW_SLOTS as i64 + 1) * SLOT_MS;

fn limits(per_second: u32, per_day: u64) -> SendLimits {
    SendLimits { per_second: (per_second > 0).then_some(per_second), per_day: (per_day > 0).then_some(per_day) }
}

fn request(start_ms: TimestampMs, recipients: u64) -> PlanRequest {
    PlanRequest { now_ms: NOW, start_ms, recipients, horizon_ms: HORIZON_MS, measured_rate: 100.0 }
}

fn empty() -> SendSlots {
    SendSlots::starting_at(slot_of(NOW) - WINDOW_SLOTS - 1)
}

/// Places messages as the fan-out does, in pages, and returns their due times.
fn fan_out(slots: &mut SendSlots, capacity: &SendCapacity, start_ms: TimestampMs, recipients: u64) -> Vec<TimestampMs> {
    let mut due_times: Vec<TimestampMs> = Vec::new();
    while (due_times.len() as u64) < recipients {
        let page = (recipients - due_times.len() as u64).min(500);
        let from_ms = due_times.last().map_or(start_ms, |last_ms| start_ms.max(*last_ms));
        let left = slots.place(capacity, from_ms, from_ms + 60 * DAY_MS, page, |run| due_times.extend(run.due_times()));
        assert_eq!(left, 0);
    }
    due_times
}

#[test]
fn a_plan_without_limits_is_the_count_over_the_rate_and_has_no_warning() {
    for (recipients, start_ms, finishes_ms) in [
        (0, NOW, None),
        (1_000, NOW, Some(NOW + 11_000)),
        (1_000, NOW - 5_000, Some(NOW + 11_000)),
        (1_000, NOW + 5_000, Some(NOW + 16_000)),
        (1_000_000_000_000, NOW, Some(NOW + 11_000_000_000_000)),
    ] {
        let planned = plan(None, &mut empty(), &[], request(start_ms, recipients));

        assert_eq!(planned, Ok(SendPlan { finishes_ms, warning: None }), "{recipients} at {start_ms}");
    }
}

#[test]
fn the_capacity_leaves_room_for_transactional_email() {
    assert_eq!(SendCapacity::of(SendLimits::default(), 5), None);
    for (per_second, per_day, transactional, share, interval_ms) in [
        (0, 1_000, 0, Some(700), 0.0),
        (0, 1_000, 280, Some(700), 0.0),
        (0, 1_000, 500, Some(480), 0.0),
        (0, 1_000, 5_000, Some(0), 0.0),
        (0, 1, 0, Some(0), 0.0),
        (10, 0, 0, None, 100.0),
        (10, 0, 432_000, None, 200.0),
        (10, 0, 863_999, None, 2_000.0),
        (1, 1_000_000_000, 0, Some(700_000_000), 1_000.0),
    ] {
        let capacity = SendCapacity::of(limits(per_second, per_day), transactional).unwrap();

        assert_eq!(capacity.share, share, "{per_second} {per_day} {transactional}");
        assert!((capacity.interval_ms - interval_ms).abs() < 1e-6, "{capacity:?}");
    }
}

#[test]
fn a_plan_warns_if_the_room_of_a_day_does_not_suffice() {
    let (paced, behind) = (Some(PlanWarningCode::Paced), Some(PlanWarningCode::QueuedBehind));
    let ahead = |recipients| vec![WaitingSend { start_ms: NOW, recipients }];
    for (per_second, per_day, waiting, recipients, warning, days, after_ms) in [
        // 700 messages fit in a day.
        (0, 1_000, vec![], 700, None, 0, 5_000),
        (0, 1_000, vec![], 701, paced, 2, WINDOW_MS + 5_000),
        (0, 1_000, ahead(300), 400, None, 0, 5_000),
        (0, 1_000, ahead(300), 401, behind, 2, WINDOW_MS + 5_000),
        (0, 1_000, ahead(700), 1, behind, 2, WINDOW_MS + 5_000),
        // One message each 100 ms.
        (10, 0, vec![], 100, None, 0, 9_900 + 5_000),
        (10, 0, ahead(100), 100, None, 0, 19_900 + 5_000),
        (10, 0, vec![], 864_000, None, 0, DAY_MS - 100 + 5_000),
        (10, 0, vec![], 1_000_000, paced, 2, 99_999_900 + 5_000),
        (10, 0, ahead(800_000), 100_000, behind, 2, 89_999_900 + 5_000),
    ] {
        let capacity = SendCapacity::of(limits(per_second, per_day), 0);
        let planned = plan(capacity.as_ref(), &mut empty(), &waiting, request(NOW, recipients)).unwrap();

        let what = format!("{per_second} {per_day} {waiting:?} {recipients}");
        assert_eq!(planned.warning.as_ref().map(|warning| warning.code), warning, "{what}");
        assert_eq!(planned.warning.map_or(0, |warning| warning.days), days, "{what}");
        assert_eq!(planned.finishes_ms.unwrap() - NOW, after_ms, "{what}");
    }
}

#[test]
fn a_broadcast_that_needs_more_than_24_days_is_too_large() {
    let capacity = SendCapacity::of(limits(0, 100), 0);
    let plan_of = |recipients| plan(capacity.as_ref(), &mut empty(), &[], request(NOW + DAY_MS, recipients));

    // 70 messages in each of 24 windows.
    assert!(plan_of(1_680).is_ok());
    assert_eq!(plan_of(1_681), Err(BroadcastTooLarge { days_max: 24 }));
    let no_room = SendCapacity::of(limits(0, 100), 98);
    assert!(plan(no_room.as_ref(), &mut empty(), &[], request(NOW, 1)).is_err());
}

#[test]
fn the_room_of_canceled_messages_is_used_again() {
    let capacity = SendCapacity::of(limits(0, 1_000), 0).unwrap();
    let mut slots = empty();
    let first = fan_out(&mut slots, &capacity, NOW, 1_400);
    let second = fan_out(&mut slots, &capacity, NOW, 700);
    assert_eq!((first[0], first[700], second[0]), (NOW, NOW + WINDOW_MS, NOW + 2 * WINDOW_MS));

    slots.remove(slot_of(NOW), 700);
    slots.remove(slot_of(NOW + WINDOW_MS), 700);

    assert_eq!(fan_out(&mut slots, &capacity, NOW, 1_400), [[NOW; 700], [NOW + WINDOW_MS; 700]].concat());
}

/// Random numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// Compares an estimate, made at `at_ms`, with the time at which the last message went out.
fn assert_close(estimate_ms: TimestampMs, truth_ms: TimestampMs, at_ms: TimestampMs) {
    assert!(estimate_ms >= truth_ms, "the estimate is {} ms too early", truth_ms - estimate_ms);
    let (estimated, real) = (estimate_ms - at_ms, truth_ms - at_ms);
    assert!(real < 60_000 || estimated * 5 <= real * 6, "{estimated} ms estimated, {real} ms in truth");
}

#[test]
fn estimates_of_random_histories_are_not_early_and_within_a_fifth() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let (per_second, per_day) = match seed % 3 {
            0 => (1 + random.below(50), 0),
            1 => (0, 1_000 + random.below(50_000)),
            _ => (1 + random.below(50), 1_000 + random.below(50_000)),
        };
        let limits = limits(u32::try_from(per_second).unwrap(), per_day);
        let mut slots = empty();
        let (mut now_ms, mut due_times) = (NOW, Vec::new());
        for _ in 0..8 {
            now_ms += i64::try_from(random.below(6 * 3_600_000)).unwrap();
            let transactional = random.below(1 + per_day / 5);
            let capacity = SendCapacity::of(limits, transactional).unwrap();
            // A broadcast that waits, and one behind it. Both are estimated before the first is placed.
            let mut sends: Vec<(u64, TimestampMs)> = Vec::new();
            for _ in 0..2 {
                let recipients = 1 + random.below(8_000);
                let waiting = |(recipients, _): &(u64, _)| WaitingSend { start_ms: now_ms, recipients: *recipients };
                let waiting: Vec<WaitingSend> = sends.iter().map(waiting).collect();
                let request = PlanRequest { now_ms, ..request(now_ms, recipients) };
                if let Ok(estimate) = plan(Some(&capacity), &mut slots.clone(), &waiting, request) {
                    sends.push((recipients, estimate.finishes_ms.unwrap()));
                }
            }
            for (recipients, estimate_ms) in sends {
                let placed = fan_out(&mut slots, &capacity, now_ms, recipients);
                let delay_ms = i64::try_from(random.below(5_000)).unwrap();
                assert_close(estimate_ms, placed.last().unwrap() + delay_ms, now_ms);
                due_times.extend(placed);
            }
            if random.below(4) == 0 {
                // The last messages are canceled: a later broadcast uses their room.
                let left = due_times.len() - due_times.len().min(3_000);
                for canceled in due_times.drain(left..).filter(|due_ms| *due_ms > now_ms) {
                    slots.remove(slot_of(canceled), 1);
                }
            }
        }
        due_times.sort_unstable();
        let share = SendCapacity::of(limits, 0).unwrap().share.unwrap_or(u64::MAX);
        let mut first = 0;
        for (last, due_ms) in due_times.iter().enumerate() {
            while due_times[first] + DAY_MS <= *due_ms {
                first += 1;
            }
            assert!(((last - first) as u64) < share, "seed {seed}: more than {share} messages in a day");
        }
    }
}

#[test]
fn live_estimates_from_the_measured_rate_are_not_early_and_within_a_fifth() {
    for seed in 0..50 {
        let mut random = Random(seed);
        let (rate, total) = (20 + random.below(2_000), 100_000 + random.below(1_000_000));
        // Messages that went out until each second. The rate of a second differs by up to 4%.
        let mut sent = vec![0_u64];
        while sent.last().is_some_and(|last| *last < total) {
            let in_second = rate * (960 + random.below(81)) / 1_000;
            sent.push((sent.last().unwrap() + in_second.max(1)).min(total));
        }
        let truth_ms = NOW + i64::try_from(sent.len() - 1).unwrap() * 1_000;
        for (second, attempted) in sent.iter().enumerate().skip(60).step_by(17) {
            let now_ms = NOW + i64::try_from(second).unwrap() * 1_000;
            let measured_rate = *attempted as f64 / second as f64;
            let request = PlanRequest { now_ms, measured_rate, ..request(now_ms, total - attempted) };

            let estimate = plan(None, &mut empty(), &[], request).unwrap().finishes_ms;

            if let Some(estimate_ms) = estimate {
                // The last second of the history can be a part.
                assert_close(estimate_ms + 1_000, truth_ms, now_ms);
            }
        }
    }
}
