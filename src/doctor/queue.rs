//! The age of the queue.

use std::time::Duration;

use super::report::SetupCheck;
use crate::delivery::{ClassDepth, Engine, QueueDepth};

const NAME: &str = "queue";

/// Judges the last count of a running server.
pub(super) fn check(engine: Option<&Engine>, age_max: Option<Duration>) -> SetupCheck {
    match engine.map(Engine::queue_depth) {
        None => SetupCheck::not_checked(NAME, "no server runs, so that no email is delivered"),
        Some(None) => SetupCheck::not_checked(NAME, "the server has not counted its queue yet"),
        Some(Some(depth)) => judge(&depth, age_max),
    }
}

fn judge(depth: &QueueDepth, age_max: Option<Duration>) -> SetupCheck {
    let classes = || depth.sites.iter().map(|(_, site)| site).chain([&depth.other]).flatten();
    let sum = |part: fn(&ClassDepth) -> u64| classes().map(|(_, depth)| part(depth)).sum::<u64>();
    let (due, later) = (sum(|depth| depth.due), sum(|depth| depth.later));
    let waiting = Duration::from_millis(u64::try_from(depth.waiting_ms).unwrap_or(0));
    let seen = format!(
        "{due} due and {later} later recipient groups; the oldest that can be delivered waits for {} min",
        waiting.as_secs() / 60
    );
    match age_max {
        Some(max) if waiting > max => SetupCheck::failed(
            NAME,
            seen,
            format!("no due transactional email waits for more than {} min", max.as_secs() / 60),
            "Read the log for the cause. If all sites work, the server cannot send as fast as it accepts: raise \
             --sessions and --concurrency.",
        ),
        _ => SetupCheck::ok(NAME, seen, "due transactional email is delivered in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_queue_that_waits_longer_than_its_limit_fails() {
        let class = |due, later| ClassDepth { due, later, oldest_due_ms: 0 };
        let site = [("transactional", class(2, 1)), ("bulk", class(3, 0))];
        let other = [("transactional", class(0, 4)), ("bulk", class(0, 0))];
        let depth = |waiting_ms| QueueDepth { sites: vec![("a".into(), site)], other, waiting_ms, counted_ms: 0 };
        let hour = Some(Duration::from_secs(3_600));

        for (waiting_ms, max, status) in [
            (3_600_000, hour, CheckStatus::Ok),
            (3_600_001, hour, CheckStatus::Failed),
            (i64::MAX, None, CheckStatus::Ok),
        ] {
            let check = judge(&depth(waiting_ms), max);
            assert!(check.status == status && check.seen.starts_with("5 due and 5 later"), "{check:?}");
        }
    }
}
