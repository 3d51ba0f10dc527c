//! Mail that is held without an attempt, because its destination or site is paused.
//!
//! Groups whose retry period ends are settled as expired, and groups that wait for four hours and for a day report the
//! delay. Groups that the operator holds report the delay and do not expire. Broadcasts of slowed teams do neither before
//! their first attempt. The lanes are read in pages, one transaction each.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tracing::error;

use super::engine::Engine;
use super::outcome::{Deferral, RecipientDisposition};
use super::queue::{DueKey, LaneKey, claim, read_lanes, read_pace, read_row, read_rows, report_held};
use super::retry::{EXPIRED_TEXT, RetryDelay, RetrySchedule, should_report_delay};
use super::rows::{Class, DueRow};
use super::settle::{Settlement, settle};
use super::smtp::FailReason;
use crate::base::clock::TimestampMs;
use crate::context::Context;
use crate::store::{StoreError, WriteTx};
use crate::tables::DUE;

/// Number of queue rows that one transaction reads.
const PAGE_ROWS: usize = 500;
/// Number of groups that one transaction settles or reports. Each has events.
const SETTLED_MAX: usize = 50;
/// Delay of an event after which its group has not been held all the time. The held lanes are settled each minute.
const MISSED_MS: i64 = 60 * 60_000;

/// The settlement of the held lanes. At most one runs.
#[derive(Debug)]
pub(super) struct HeldMail {
    /// The one permit of a running settlement.
    turn: Arc<Semaphore>,
}

impl Default for HeldMail {
    fn default() -> Self {
        Self { turn: Arc::new(Semaphore::new(1)) }
    }
}

impl HeldMail {
    /// Starts to settle the lanes that are held now, unless the last settlement still runs.
    pub(super) fn start_pass(&self, engine: &Arc<Engine>) {
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else { return };
        let lanes = engine.schedule().held_lanes(engine.now());
        let engine = Arc::clone(engine);
        engine.tasks.clone().spawn(async move {
            let _turn = turn;
            let settle = async {
                for lane in lanes {
                    if engine.is_stopping() {
                        return Ok(());
                    }
                    settle_lane(&engine, lane).await?;
                }
                report_operator_holds(&engine).await
            };
            if let Err::<(), StoreError>(error) = settle.await {
                error!(%error, "could not read held deliveries: {error}");
            }
        });
    }
}

/// Reports the delays of the lanes that the operator holds.
async fn report_operator_holds(engine: &Engine) -> Result<(), StoreError> {
    if !engine.schedule().has_holds() {
        return Ok(());
    }
    let mut after = None;
    loop {
        let lanes = engine.context.store.read(move |tx| read_lanes(tx, after, PAGE_ROWS)).await?;
        for lane in &lanes {
            let is_held = engine.schedule().is_held(lane.key.lane);
            if is_held {
                report_lane(engine, lane.key.lane).await?;
            }
        }
        match lanes.last() {
            Some(last) if lanes.len() == PAGE_ROWS && !engine.is_stopping() => after = Some(last.key.lane),
            _ => return Ok(()),
        }
    }
}

/// Reports the delays of the due groups of a lane.
async fn report_lane(engine: &Engine, lane: LaneKey) -> Result<(), StoreError> {
    let now_ms = engine.context.now_ms();
    let mut after = None;
    loop {
        let read = move |tx: &crate::store::ReadTx| read_rows(tx, lane, after, now_ms, PAGE_ROWS);
        let rows = engine.context.store.read(read).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        let is_last = rows.len() < PAGE_ROWS;
        let is_late = |row: &DueRow| should_report_delay(row.delays_reported.max(1), row, now_ms);
        let keys: Vec<DueKey> = rows.iter().filter(|(_, row)| is_late(row)).map(|(key, _)| *key).collect();
        for keys in keys.chunks(SETTLED_MAX) {
            let (context, keys) = (engine.context.clone(), keys.to_vec());
            engine.context.store.write_bulk(move |tx| report_held(tx, &context, &keys)).await?;
        }
        if is_last || engine.is_stopping() {
            return Ok(());
        }
    }
}

async fn settle_lane(engine: &Engine, lane: LaneKey) -> Result<(), StoreError> {
    // Groups that this settlement requeues are due now and come last. They are not read again.
    let now_ms = engine.context.now_ms() - 1;
    let mut after = None;
    loop {
        let schedule = engine.settings.schedule.clone();
        let read = move |tx: &crate::store::ReadTx| {
            let is_slowed = read_pace(tx, lane)?.is_slowed();
            Ok::<_, StoreError>((is_slowed, read_rows(tx, lane, after, now_ms, PAGE_ROWS)?))
        };
        let (is_slowed, rows) = engine.context.store.read(read).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        let is_last = rows.len() < PAGE_ROWS;
        let waits_for_team = |row: &DueRow| is_slowed && is_untried(row);
        let confirmed_ms = engine.context.confirmed_time().now_ms;
        let is_overdue =
            |row: &DueRow| !waits_for_team(row) && event_of(lane.class, row, &schedule, confirmed_ms).is_some();
        let keys: Vec<DueKey> = rows.iter().filter(|(_, row)| is_overdue(row)).map(|(key, _)| *key).collect();
        for keys in keys.chunks(SETTLED_MAX) {
            let (context, schedule, keys) = (engine.context.clone(), schedule.clone(), keys.to_vec());
            engine.context.store.write_bulk(move |tx| settle_page(tx, &context, &schedule, &keys)).await?;
        }
        if is_last || engine.is_stopping() {
            return Ok(());
        }
    }
}

/// Event of a held group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldEvent {
    Expired,
    Delayed,
}

fn event_of(class: Class, row: &DueRow, schedule: &RetrySchedule, now_ms: TimestampMs) -> Option<HeldEvent> {
    if now_ms >= schedule.expires_ms(class, row) {
        return Some(HeldEvent::Expired);
    }
    // The first report belongs to the first attempt. A group without one reports after four hours.
    should_report_delay(row.delays_reported.max(1), row, now_ms).then_some(HeldEvent::Delayed)
}

/// Returns whether a group has neither an attempt nor a report of its delay.
fn is_untried(row: &DueRow) -> bool {
    row.attempts == 0 && row.delays_reported == 0
}

/// Returns whether a group of a broadcast has waited for its team, the operator or its turn. Its event would have been
/// recorded at its time if it had waited for its site.
fn has_missed_event(key: DueKey, row: &DueRow, schedule: &RetrySchedule, now_ms: TimestampMs) -> bool {
    let class = key.lane.class;
    class != Class::Transactional && event_of(class, row, schedule, now_ms - MISSED_MS).is_some()
}

/// Moves the start of the retry period of an untried group that has missed its event. Returns whether it has. The group is
/// not claimed, so that a cancel of its broadcast still stops it.
fn restart_untried(
    tx: &WriteTx<'_>,
    key: DueKey,
    schedule: &RetrySchedule,
    now_ms: TimestampMs,
) -> Result<bool, StoreError> {
    let Some(row) = read_row(tx, key)? else { return Ok(false) };
    if !is_untried(&row) || !has_missed_event(key, &row, schedule, now_ms) {
        return Ok(false);
    }
    tx.put(&DUE, &key.parts(), &DueRow { first_due_ms: now_ms, ..row })?;
    Ok(true)
}

fn settle_page(
    tx: &WriteTx<'_>,
    context: &Context,
    schedule: &RetrySchedule,
    keys: &[DueKey],
) -> Result<(), StoreError> {
    // The time of a step forward that has not lasted does not count for a retry period.
    let now_ms = context.confirmed_time().now_ms;
    let mut overdue = Vec::with_capacity(keys.len());
    for key in keys {
        if !restart_untried(tx, *key, schedule, now_ms)? {
            overdue.push(*key);
        }
    }
    for mut claimed in claim(tx, context, &overdue)? {
        if has_missed_event(claimed.key, &claimed.due, schedule, now_ms) {
            claimed.due.exclude_wait(now_ms - claimed.key.due_ms);
        }
        let disposition = match event_of(claimed.key.lane.class, &claimed.due, schedule, now_ms) {
            Some(HeldEvent::Expired) => RecipientDisposition::Failed {
                reason: FailReason::Expired.as_str().to_owned(),
                reply: Some(EXPIRED_TEXT.to_owned()),
            },
            Some(HeldEvent::Delayed) | None => {
                claimed.due.delays_reported = claimed.due.delays_reported.max(1);
                let reply_text = "4.3.2 the destination is paused after failures, or has reached its limit; the email \
                                  waits without an attempt";
                let held = Deferral { delay: RetryDelay::Held, ..Deferral::free(Some(reply_text.into())) };
                RecipientDisposition::Deferred(held)
            }
        };
        // The lane is held, so that no notification is needed.
        settle(tx, context, schedule, &Settlement::uniform(Arc::new(claimed), disposition, None))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::delivery::control::tests::put_emails;
    use crate::delivery::engine::EngineSettings;
    use crate::delivery::engine::tests::settings;
    use crate::delivery::notifier::QueueNotifier;
    use crate::delivery::queue::tests::{TEAM, broadcasts};
    use crate::delivery::queue::{claim_lane, set_slowed};
    use crate::events::{self, EventDetail};

    const HOUR: Duration = Duration::from_secs(3_600);

    fn engine(context: &Context) -> Arc<Engine> {
        let delays = vec![Duration::from_secs(60)];
        let (expire_after, expire_broadcasts_after) = (48 * HOUR, 72 * HOUR);
        let schedule = RetrySchedule { delays, expire_after, expire_broadcasts_after, confirm_after: HOUR };
        let settings = EngineSettings { schedule, ..settings(context) };
        Engine::new(context.clone(), settings, QueueNotifier::default(), CancellationToken::new())
    }

    async fn slow(context: &Context, is_slow: bool) {
        let now_ms = context.now_ms();
        context.commit(move |tx| set_slowed(tx, TEAM, is_slow, now_ms)).await;
    }

    fn queued(context: &Context, lane: LaneKey) -> Vec<(DueKey, DueRow)> {
        context.read(|tx| read_rows(tx, lane, None, i64::MAX, PAGE_ROWS))
    }

    /// Settles a lane each hour until it is empty. Returns the events of its email, with the hours since `first_ms`.
    async fn settled(engine: &Engine, lane: LaneKey, first_ms: i64) -> Vec<(String, i64)> {
        let context = &engine.context;
        let id = queued(context, lane)[0].0.email;
        for _ in 0..200 {
            settle_lane(engine, lane).await.unwrap();
            context.clock.advance(HOUR + Duration::from_millis(1));
        }
        assert!(queued(context, lane).is_empty());
        let events = context.read(|tx| events::email_timeline(tx, id));
        events.iter().map(|event| (event.kind.as_str().to_owned(), (event.at_ms - first_ms) / 3_600_000)).collect()
    }

    /// Returns the events of an email of a broadcast that is tried after `first` hours, or not at all, and is held from `held`
    /// hours on. An email that was not tried is sent with its first event.
    fn expected(first: Option<i64>, held: i64) -> Vec<(String, i64)> {
        let tried = first.map(|hour| [("email.sent", hour), ("email.delivery_delayed", hour)]);
        let untried = first.is_none().then_some(("email.sent", held + 4));
        let delayed = |hours| ("email.delivery_delayed", held + hours);
        let settled = [delayed(4), delayed(24), ("email.failed", held + 72)];
        let events = tried.into_iter().flatten().chain(untried).chain(settled);
        events.map(|(kind, hour)| (kind.to_owned(), hour)).collect()
    }

    #[tokio::test]
    async fn a_first_attempt_that_waits_for_a_slowed_team_does_not_expire_and_gets_a_whole_retry_period() {
        for waited in [30, 80] {
            let (_directory, context) = Context::temporary();
            let engine = engine(&context);
            let (key, first_ms) = (broadcasts::queue(&context, 1).await[0].0, context.now_ms());
            slow(&context, true).await;
            context.clock.advance(Duration::from_millis(1));
            let before = queued(&context, key.lane);
            for _ in 0..waited {
                settle_lane(&engine, key.lane).await.unwrap();
                context.clock.advance(HOUR);
            }
            assert_eq!(queued(&context, key.lane), before);

            slow(&context, false).await;
            let events = settled(&engine, key.lane, first_ms).await;

            assert_eq!(events, expected(None, i64::from(waited)));
        }
    }

    #[tokio::test]
    async fn a_retry_of_a_slowed_team_expires_at_a_paused_site_and_its_wait_for_the_pace_does_not_count() {
        for waited in [0_u32, 30, 80] {
            let (_directory, context) = Context::temporary();
            let engine = engine(&context);
            let (lane, first_ms) = (broadcasts::queue(&context, 1).await[0].0.lane, context.now_ms());
            slow(&context, true).await;
            let (attempting, schedule) = (context.clone(), engine.settings.schedule.clone());
            let attempt = move |tx: &WriteTx<'_>| {
                let claimed = claim_lane(tx, &attempting, lane, None, 8)?.groups.remove(0);
                let deferred = RecipientDisposition::Deferred(Deferral::ordinary(None));
                settle(tx, &attempting, &schedule, &Settlement::uniform(Arc::new(claimed), deferred, None)).map(drop)
            };
            context.commit(attempt).await;
            context.clock.advance(waited * HOUR + Duration::from_millis(1));

            let events = settled(&engine, lane, first_ms).await;

            assert_eq!(events, expected(Some(0), i64::from(waited)));
        }
    }

    #[tokio::test]
    async fn email_for_a_paused_destination_reports_its_delay_after_four_hours_and_a_day_and_expires() {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context);
        let (lane, first_ms) = (LaneKey::new("a.example", Class::Transactional, TEAM.cast()), context.now_ms());
        // The last one is on the second page.
        let ids = put_emails(&context, TEAM, "a.example", PAGE_ROWS + 1).await;
        context.clock.advance(Duration::from_millis(1));

        for _ in 0..=48 {
            settle_lane(&engine, lane).await.unwrap();
            context.clock.advance(HOUR);
        }

        for id in [ids[0], ids[PAGE_ROWS]] {
            let events = context.read(|tx| events::email_timeline(tx, id));
            let expired = EventDetail::Failed { reason: "expired".into(), diagnostic: vec![EXPIRED_TEXT.into()] };
            assert_eq!(events.last().unwrap().detail, expired);
            let times: Vec<(&str, i64)> =
                events.iter().map(|event| (event.kind.as_str(), (event.at_ms - first_ms) / 3_600_000)).collect();
            let delayed = |hours| ("email.delivery_delayed", hours);
            assert_eq!(times, [("email.sent", 4), delayed(4), delayed(24), ("email.failed", 48)]);
        }
        let left = context.read(|tx| read_rows(tx, lane, None, context.now_ms(), PAGE_ROWS));
        assert!(left.is_empty(), "{left:?}");
    }
}
