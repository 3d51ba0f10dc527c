//! Counts, reports, retention and the nightly check against a store.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::model::quarter;
use super::recount::{PAGE_ROWS, Recount};
use super::report::{EmailMetrics, MetricLookups, MetricsQuery};
use super::*;
use crate::base::clock::{DAY_MS, TimestampMs, utc_day};
use crate::base::id::{BroadcastId, DomainId, EmailId, EventId, Id, TeamId};
use crate::context::Context;
use crate::events::{self, EmailEventKind, Event, EventDetail};
use crate::store::{NodeId, ReadTx, Reads as _, WriteTx};
use crate::tables::{EMAIL_COUNT_CHECKS, EMAIL_QUARTER_COUNTS, EVENTS};
use crate::teams;

use CountedRecipients::Real;

const DOMAIN: DomainId = Id::from_bytes([7; 16]);
const BROADCAST: BroadcastId = Id::from_bytes([8; 16]);
const SIMULATED: &str = "delivered@resend.dev";

const LOOKUPS: MetricLookups = MetricLookups {
    source: |_, team, _| Ok(Some(MetricSource { team, domain: DOMAIN, broadcast: None })),
    broadcast_name: |_, _, _| Ok(None),
};

async fn team(context: &Context) -> TeamId {
    teams::create(context, "team").await.unwrap().unwrap().id
}

fn source(team: TeamId) -> MetricSource {
    MetricSource { team, domain: DOMAIN, broadcast: None }
}

/// Records and counts an event at the current time.
async fn record(context: &Context, team: TeamId, email: EmailId, kind: EmailEventKind, address: &str) -> EventId {
    let event =
        Event { kind, at_ms: context.now_ms(), recipients: vec![address.to_owned()], detail: EventDetail::None };
    let recording = context.clone();
    let record = move |tx: &WriteTx<'_>| {
        let counted = CountedEvent::of(source(team), email, &event, |address| address == SIMULATED);
        let unused = || unreachable!("no endpoint is subscribed");
        let (id, _) = events::record(tx, &recording, team, email, event.clone(), unused)?;
        counted.map_or(Ok(()), |counted| count_event(tx, id, counted, false))?;
        Ok(id)
    };
    context.commit(record).await
}

fn totals(context: &Context, team: TeamId, at_ms: TimestampMs) -> DayTotals {
    context.read(|tx| day_totals(tx, team, utc_day(at_ms)..=utc_day(at_ms)))
}

fn counts(context: &Context, team: TeamId, at_ms: TimestampMs) -> EmailCounts {
    let key = (team, quarter(at_ms), DOMAIN, super::store::NO_BROADCAST);
    context.read(|tx| tx.get(&EMAIL_QUARTER_COUNTS, &key)).unwrap_or_default()
}

fn query(team: TeamId, start_ms: TimestampMs, end_ms: TimestampMs) -> MetricsQuery {
    MetricsQuery {
        team,
        start_ms,
        end_ms,
        zone: TimeZone::UTC,
        granularity: None,
        group_by: GroupBy::default(),
        domains: Vec::new(),
        emails: Vec::new(),
        broadcasts: Vec::new(),
    }
}

fn check_row(context: &Context, team: TeamId) -> Option<CountCheckRow> {
    context.read(|tx| tx.get(&EMAIL_COUNT_CHECKS, &(team,)))
}

#[tokio::test]
async fn totals_of_a_day_include_real_recipients_only() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());

    record(&context, team, context.id(), EmailEventKind::Sent, "ada@example.net").await;
    record(&context, team, context.id(), EmailEventKind::Sent, SIMULATED).await;
    context.commit(move |tx| add_score(tx, team, at_ms, 2, 85)).await;

    assert_eq!(counts(&context, team, at_ms).sent, 2);
    let expected = DayTotals { sent: 1, scored_recipients: 2, score_sum: 170, ..DayTotals::default() };
    assert_eq!(totals(&context, team, at_ms), expected);
}

#[tokio::test]
async fn a_count_that_is_taken_back_does_not_fall_below_zero() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    let opened = EmailMetric::UniqueOpened;

    context.commit(move |tx| count(tx, source(team), at_ms, opened, Real(3))).await;
    context.commit(move |tx| take_back(tx, source(team), at_ms, opened, Real(1))).await;
    assert_eq!((counts(&context, team, at_ms).unique_opened, totals(&context, team, at_ms).unique_opened), (2, 2));

    context.commit(move |tx| take_back(tx, source(team), at_ms, opened, Real(5))).await;
    assert_eq!((counts(&context, team, at_ms).unique_opened, totals(&context, team, at_ms).unique_opened), (0, 0));
}

#[tokio::test]
async fn a_recount_agrees_after_a_retraction_and_a_deletion() {
    let (_directory, context) = Context::temporary();
    let (team, email) = (team(&context).await, context.id::<crate::base::id::resource::Email>());
    let at_ms = context.now_ms();
    for kind in [EmailEventKind::Sent, EmailEventKind::Delivered] {
        record(&context, team, email, kind, "ada@example.net").await;
    }
    let retracted = record(&context, team, email, EmailEventKind::Clicked, "ada@example.net").await;
    let deleted = record(&context, team, email, EmailEventKind::Opened, "ada@example.net").await;
    let change = move |tx: &WriteTx<'_>| {
        count(tx, source(team), at_ms, EmailMetric::UniqueOpened, Real(1))?;
        mark_first(tx, team, at_ms, deleted)?;
        tx.delete(&EVENTS, &(email, deleted))?;
        take_back(tx, source(team), at_ms, EmailMetric::Clicked, Real(1))?;
        forget(tx, team, at_ms, retracted)?;
        tx.delete(&EVENTS, &(email, retracted))
    };
    context.commit(change).await;

    let check = CountCheck::new(context.clone());
    check.run_round().await.unwrap();
    assert_eq!(check_row(&context, team), None, "the day is not over");
    context.clock.advance(Duration::from_secs(24 * 3600));
    check.run_round().await.unwrap();

    assert_eq!(check.differences(), 0);
    let row = check_row(&context, team).unwrap();
    assert_eq!((row.day, row.events, row.differences), (utc_day(at_ms), 3, 0));
    check.run_round().await.unwrap();
    assert_eq!(check_row(&context, team), Some(row), "a day is checked once");
}

#[tokio::test]
async fn a_first_click_is_counted_as_unique_with_the_event() {
    let (_directory, context) = Context::temporary();
    let (team, email) = (team(&context).await, context.id::<crate::base::id::resource::Email>());
    let at_ms = context.now_ms();
    for (address, is_first) in [("ada@example.net", true), ("ada@example.net", false), (SIMULATED, true)] {
        let recipients = vec![address.to_owned()];
        let event = Event { kind: EmailEventKind::Clicked, at_ms, recipients, detail: EventDetail::None };
        let recording = context.clone();
        let click = move |tx: &WriteTx<'_>| {
            let counted = CountedEvent::of(source(team), email, &event, |address| address == SIMULATED).unwrap();
            let unused = || unreachable!("no endpoint is subscribed");
            let (id, _) = events::record(tx, &recording, team, email, event.clone(), unused)?;
            count_event(tx, id, counted, is_first)
        };
        context.commit(click).await;
    }

    let counted = counts(&context, team, at_ms);
    assert_eq!((counted.clicked, counted.unique_clicked), (3, 2));
    assert_eq!(totals(&context, team, at_ms).unique_clicked, 1, "the totals include real recipients only");
    context.clock.advance(Duration::from_secs(24 * 3600));
    let check = CountCheck::new(context.clone());
    check.run_round().await.unwrap();
    assert_eq!(check.differences(), 0);
}

#[tokio::test]
async fn a_difference_is_reported_and_not_corrected() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    record(&context, team, context.id(), EmailEventKind::Delivered, "ada@example.net").await;
    context.commit(move |tx| count(tx, source(team), at_ms, EmailMetric::Delivered, Real(4))).await;
    context.clock.advance(Duration::from_secs(24 * 3600));

    let (first, second) = (CountCheck::new(context.clone()), CountCheck::new(context.clone()));
    let (left, right) = tokio::join!(first.run_round(), second.run_round());

    left.and(right).unwrap();
    assert_eq!(first.differences() + second.differences(), 2, "one process reports the quarter hour and the day");
    assert_eq!(check_row(&context, team).unwrap().differences, 2);
    assert_eq!(counts(&context, team, at_ms).delivered, 5);
}

#[tokio::test]
async fn after_the_clock_was_set_back_the_current_day_is_not_compared_and_later_ones_are() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    let stored = CountCheckRow { day: utc_day(at_ms) + 300, checked_ms: 0, events: 0, differences: 0, lease: None };
    context.commit(move |tx| tx.put(&EMAIL_COUNT_CHECKS, &(team,), &stored)).await;
    record(&context, team, context.id(), EmailEventKind::Sent, "ada@example.net").await;
    // The journal of this count was deleted before the clock was set back.
    context.commit(move |tx| count(tx, source(team), at_ms, EmailMetric::Delivered, Real(1))).await;
    let check = CountCheck::new(context.clone());

    check.run_round().await.unwrap();
    assert_eq!(check_row(&context, team).unwrap().day, utc_day(at_ms));
    context.clock.advance(Duration::from_secs(24 * 3600));
    record(&context, team, context.id(), EmailEventKind::Sent, "ada@example.net").await;
    check.run_round().await.unwrap();
    assert_eq!(check_row(&context, team).unwrap().day, utc_day(at_ms), "the next day is not over");
    context.clock.advance(Duration::from_secs(24 * 3600));
    check.run_round().await.unwrap();

    let row = check_row(&context, team).unwrap();
    assert_eq!((row.day, row.events, check.differences()), (utc_day(at_ms) + 1, 1, 0));
}

#[tokio::test]
async fn a_day_that_another_process_checks_is_left_to_it_until_its_lease_ends() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    record(&context, team, context.id(), EmailEventKind::Sent, "ada@example.net").await;
    context.clock.advance(Duration::from_secs(24 * 3600));
    let lease = Some(CountCheckLease { node: NodeId::MAX, expires_ms: context.now_ms() + 60_000 });
    let leased = CountCheckRow { day: utc_day(at_ms) - 1, checked_ms: 0, events: 0, differences: 0, lease };
    context.commit(move |tx| tx.put(&EMAIL_COUNT_CHECKS, &(team,), &leased)).await;
    let check = CountCheck::new(context.clone());

    check.run_round().await.unwrap();
    assert_eq!(check_row(&context, team), Some(leased));
    context.clock.advance(Duration::from_secs(60));
    check.run_round().await.unwrap();

    let row = check_row(&context, team).unwrap();
    assert_eq!((row.day, row.events, row.lease), (utc_day(at_ms), 1, None));
}

#[tokio::test]
async fn a_quarter_hour_with_several_pages_is_recounted_whole() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    let recording = context.clone();
    let events = PAGE_ROWS as u64 * 2 + 1;
    let record_all = move |tx: &WriteTx<'_>| {
        for number in 0..events {
            let address = if number == 0 { SIMULATED } else { "ada@example.net" };
            let (kind, recipients) = (EmailEventKind::Sent, vec![address.to_owned()]);
            let event = Event { kind, at_ms, recipients, detail: EventDetail::None };
            let email = recording.id();
            let counted = CountedEvent::of(source(team), email, &event, |address| address == SIMULATED).unwrap();
            let unused = || unreachable!("no endpoint is subscribed");
            let (id, _) = events::record(tx, &recording, team, email, event, unused)?;
            count_event(tx, id, counted, false)?;
        }
        Ok(())
    };
    context.commit(record_all).await;
    let start = |tx: &ReadTx| Recount::start(tx, team, quarter(at_ms));
    let changed = context.read(start);
    assert_eq!((changed.events, changed.is_complete()), (PAGE_ROWS as u64, false));

    let finish = |mut recount: Recount| {
        while !recount.is_complete() {
            recount = context.read(|tx| recount.read_page(tx));
        }
        recount
    };
    let whole = finish(context.read(start));
    assert_eq!((whole.events, whole.totals.sent, whole.is_stable()), (events, events - 1, true));
    assert_eq!(whole.differences(), []);
    context.commit(move |tx| count(tx, source(team), at_ms, EmailMetric::Sent, Real(1))).await;
    assert!(!finish(changed).is_stable(), "the counts changed between two pages");
    context.commit(move |tx| take_back(tx, source(team), at_ms, EmailMetric::Sent, Real(1))).await;
    context.clock.advance(Duration::from_secs(24 * 3600));
    let check = CountCheck::new(context.clone());
    check.run_round().await.unwrap();
    assert_eq!((check_row(&context, team).unwrap().events, check.differences()), (events, 0));
}

#[tokio::test]
async fn a_report_has_a_row_for_each_group() {
    let (_directory, context) = Context::temporary();
    let (team, start_ms) = (team(&context).await, context.now_ms() / DAY_MS * DAY_MS);
    let of_broadcast = MetricSource { broadcast: Some(BROADCAST), ..source(team) };
    let put = move |tx: &WriteTx<'_>| {
        count(tx, source(team), start_ms, EmailMetric::Sent, Real(1))?;
        count(tx, of_broadcast, start_ms + 2 * DAY_MS, EmailMetric::Sent, Real(5))?;
        count(tx, of_broadcast, start_ms + 3 * DAY_MS, EmailMetric::Sent, Real(9))
    };
    context.commit(put).await;
    let metrics = EmailMetrics::new(context.clone(), LOOKUPS);
    let three_days = query(team, start_ms, start_ms + 3 * DAY_MS);

    let plain = metrics.report(three_days.clone()).await.unwrap();
    assert_eq!((plain.totals.sent, plain.rows.len()), (6, 0));
    let daily = MetricsQuery { granularity: Some(Granularity::Daily), ..three_days.clone() };
    let rows = metrics.report(daily.clone()).await.unwrap().rows;
    assert_eq!(rows.iter().map(|row| row.counts.sent).collect::<Vec<_>>(), [1, 0, 5], "an empty day has a row");
    let by_broadcast = MetricsQuery { group_by: GroupBy { broadcast: true, ..GroupBy::default() }, ..daily };
    let rows = metrics.report(by_broadcast).await.unwrap().rows;
    let broadcasts: Vec<_> = rows.iter().map(|row| row.broadcast.clone().unwrap()).collect();
    assert_eq!(broadcasts, [None, Some((BROADCAST, None))]);
    let filtered = MetricsQuery { broadcasts: vec![BROADCAST], ..three_days };
    assert_eq!(metrics.report(filtered).await.unwrap().totals.sent, 5);
}

#[tokio::test]
async fn a_report_of_emails_is_made_from_their_events() {
    let (_directory, context) = Context::temporary();
    let (team, email) = (team(&context).await, context.id::<crate::base::id::resource::Email>());
    for kind in [EmailEventKind::Sent, EmailEventKind::Opened, EmailEventKind::Opened] {
        record(&context, team, email, kind, "ada@example.net").await;
    }
    let corrupt = record(&context, team, email, EmailEventKind::Complained, "ada@example.net").await;
    context.corrupt(&EVENTS, (email, corrupt)).await;
    let metrics = EmailMetrics::new(context.clone(), LOOKUPS);
    let now_ms = context.now_ms();
    let by_email = GroupBy { email: true, ..GroupBy::default() };
    let of_email =
        MetricsQuery { group_by: by_email, emails: vec![email, email], ..query(team, now_ms - DAY_MS, now_ms + 1) };

    let report = metrics.report(of_email).await.unwrap();

    assert_eq!((report.totals.sent, report.totals.opened, report.totals.unique_opened), (1, 2, 1), "each email once");
    assert_eq!(report.totals.complained, 0, "a corrupt event is skipped");
    assert_eq!(report.rows.iter().map(|row| row.email).collect::<Vec<_>>(), [Some(email)]);
}

#[tokio::test]
async fn old_counts_are_deleted_and_newer_ones_stay() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    for days in [0, 3] {
        let at_ms = at_ms + days * DAY_MS;
        context.commit(move |tx| count(tx, source(team), at_ms, EmailMetric::Sent, Real(1))).await;
    }
    context.clock.advance(Duration::from_secs(100 * 24 * 3600));

    purge(&context, at_ms + 2 * DAY_MS).await.unwrap();

    assert_eq!((counts(&context, team, at_ms).sent, totals(&context, team, at_ms).sent), (0, 0));
    let kept_ms = at_ms + 3 * DAY_MS;
    assert_eq!((counts(&context, team, kept_ms).sent, totals(&context, team, kept_ms).sent), (1, 1));
}

#[tokio::test]
async fn the_shortest_retention_keeps_three_days_of_counts_and_a_month_of_totals() {
    let (_directory, context) = Context::temporary();
    context.clock.advance(Duration::from_secs(100 * 24 * 3600));
    let (team, now_ms) = (team(&context).await, context.now_ms());
    for days in [0, 3, 4, 31, 32] {
        let at_ms = now_ms - days * DAY_MS;
        context.commit(move |tx| count(tx, source(team), at_ms, EmailMetric::Sent, Real(1))).await;
    }

    purge(&context, now_ms).await.unwrap();

    for (days, expected) in [(0, (1, 1)), (3, (1, 1)), (4, (0, 1)), (31, (0, 1)), (32, (0, 0))] {
        let at_ms = now_ms - days * DAY_MS;
        let kept = (counts(&context, team, at_ms).sent, totals(&context, team, at_ms).sent);
        assert_eq!(kept, expected, "{days} days ago");
    }
}

#[tokio::test]
async fn counts_of_an_unchecked_day_are_kept_until_its_check() {
    let (_directory, context) = Context::temporary();
    let (team, at_ms) = (team(&context).await, context.now_ms());
    record(&context, team, context.id(), EmailEventKind::Sent, "ada@example.net").await;
    context.clock.advance(Duration::from_secs(100 * 24 * 3600));

    purge(&context, context.now_ms()).await.unwrap();
    assert_eq!((counts(&context, team, at_ms).sent, totals(&context, team, at_ms).sent), (1, 1));
    let check = CountCheck::new(context.clone());
    check.run_round().await.unwrap();
    assert_eq!(check.differences(), 0);
    purge(&context, context.now_ms()).await.unwrap();

    assert_eq!((counts(&context, team, at_ms).sent, totals(&context, team, at_ms).sent), (0, 0));
}
