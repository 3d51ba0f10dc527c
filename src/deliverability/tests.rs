//! Pauses and episodes over a temporary store with a manual clock.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;

use super::*;
use crate::base::clock::{DAY_MS, utc_day};
use crate::base::id::{DomainId, TeamId};
use crate::context::Context;
use crate::delivery;
use crate::email_metrics::{self, CountedRecipients, EmailMetric, MetricSource};
use crate::emails::{SendingGuard as _, SendingPause};
use crate::event_bus::BusMessage;
use crate::events::RateMetric;
use crate::insights::{InsightCheck, InsightDayRow};
use crate::notices::Notice;
use crate::store::{Reads as _, WriteTx};
use crate::tables::{GUARDRAIL_EPISODES, INSIGHT_DAYS, NOTICES};
use crate::teams;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NONE: [&str; 0] = [];

struct Fixture {
    _directory: tempfile::TempDir,
    context: Context,
    team: TeamId,
}

impl Fixture {
    async fn new() -> Self {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        Self { _directory: directory, context, team }
    }

    fn deliverability(&self, mode: GuardrailMode) -> TeamDeliverability {
        TeamDeliverability::new(self.context.clone(), mode, "https://mail.example.com/dashboard/")
    }

    /// Counts recipients of the current day.
    async fn count(&self, sent: u64, bounced: u64, complained: u64) {
        let (team, now_ms) = (self.team, self.context.now_ms());
        let count = move |tx: &WriteTx<'_>| {
            for (metric, by) in [
                (EmailMetric::Sent, sent),
                (EmailMetric::BouncedPermanent, bounced),
                (EmailMetric::Complained, complained),
            ] {
                let source = MetricSource { team, domain: DomainId::MIN, broadcast: None };
                email_metrics::count(tx, source, now_ms, metric, CountedRecipients::Real(by))?;
                email_metrics::count_of_send_day(tx, team, now_ms, metric, by)?;
            }
            Ok(())
        };
        self.context.commit(count).await;
    }

    async fn pause(&self, deliverability: &TeamDeliverability) -> Option<SendingPause> {
        let (team, deliverability) = (self.team, deliverability.clone());
        self.context.commit(move |tx| deliverability.sending_pause(tx, team)).await
    }

    /// Runs a round of the guardrail. Returns whether the broadcasts of the team are slowed down then.
    async fn is_slowed(&self, deliverability: &TeamDeliverability) -> bool {
        deliverability.run_round().await.unwrap();
        self.context.read(|tx| delivery::is_slowed(tx, self.team))
    }

    /// Returns the highest status of the episode.
    fn level(&self) -> Option<EpisodeLevel> {
        self.context.read(|tx| tx.get(&GUARDRAIL_EPISODES, &(self.team,))).map(|row| row.level)
    }

    /// Runs rounds of two processes at once. Returns the statuses of the new events, oldest first.
    async fn events_of_round(&self, stream: &mut Receiver<BusMessage>) -> Vec<&'static str> {
        let [one, other] = [(); 2].map(|()| self.deliverability(GuardrailMode::Enforce));
        let (first, second) = tokio::join!(one.run_round(), other.run_round());
        first.and(second).unwrap();
        let bodies = iter::from_fn(|| stream.try_recv().ok()).map(|message| message.body());
        let status_of = |body: Arc<str>| {
            ["warning", "paused"].into_iter().find(|status| body.contains(&format!("deliverability.{status}")))
        };
        bodies.filter_map(status_of).collect()
    }

    /// Returns the kinds of the stored notices, oldest first.
    fn notices(&self) -> Vec<&'static str> {
        let kind = |notice: &Notice| match notice {
            Notice::DeliverabilityWarning(_) => "warning",
            Notice::DeliverabilityPaused(_) => "paused",
            _ => "other",
        };
        self.context.rows(&NOTICES).iter().map(|(_, row)| kind(&row.notice)).collect()
    }
}

#[tokio::test]
async fn a_pause_ends_when_its_days_leave_the_window() {
    let fixture = Fixture::new().await;
    let deliverability = fixture.deliverability(GuardrailMode::Enforce);
    assert!(!fixture.is_slowed(&deliverability).await);
    fixture.count(200, 9, 0).await;
    assert_eq!(fixture.pause(&deliverability).await, None);
    assert!(fixture.is_slowed(&deliverability).await, "a warning");

    fixture.count(0, 1, 0).await;
    let pause = fixture.pause(&deliverability).await.unwrap();
    // The day of the clock is 2026-01-05.
    let midnight_ms = 1_767_657_600_000;
    assert_eq!((pause.metric, pause.count, pause.sent), (RateMetric::Bounce, 10, 200));
    assert_eq!(pause.resumes_ms, midnight_ms + 86_400_000, "the current day alone reaches the limit");
    assert_eq!(pause.dashboard_url, "https://mail.example.com/dashboard/metrics/deliverability");
    assert!(fixture.is_slowed(&deliverability).await);

    fixture.context.clock.advance(DAY);
    let pause = fixture.pause(&deliverability).await.unwrap();
    assert_eq!(pause.resumes_ms, midnight_ms + 86_400_000, "the next midnight");
    fixture.context.clock.advance(DAY);
    assert_eq!(fixture.pause(&deliverability).await, None);
    assert!(fixture.is_slowed(&deliverability).await, "a warning lasts seven days");
    fixture.context.clock.advance(5 * DAY);
    assert!(!fixture.is_slowed(&deliverability).await);
}

#[tokio::test]
async fn a_warning_ends_with_the_seventh_day() {
    let fixture = Fixture::new().await;
    let deliverability = fixture.deliverability(GuardrailMode::Enforce);
    fixture.count(200, 9, 0).await;
    let status = async || deliverability.report(fixture.team).await.unwrap().status;
    let now_ms = fixture.context.now_ms();
    let end_ms = (now_ms.div_euclid(DAY_MS) + 7) * DAY_MS;

    let remaining_ms = u64::try_from(end_ms - now_ms).unwrap();
    fixture.context.clock.advance(Duration::from_millis(remaining_ms - 1));
    assert!(fixture.is_slowed(&deliverability).await, "the last millisecond of the seventh day");
    assert_eq!(status().await, GuardrailStatus::Warning);
    fixture.context.clock.advance(Duration::from_millis(1));
    assert!(!fixture.is_slowed(&deliverability).await);
    assert_eq!(status().await, GuardrailStatus::Ok);
}

#[tokio::test]
async fn late_complaints_count_on_the_day_of_the_send() {
    let fixture = Fixture::new().await;
    let deliverability = fixture.deliverability(GuardrailMode::Enforce);
    fixture.count(10_000, 0, 0).await;
    let (team, sent_ms) = (fixture.team, fixture.context.now_ms());
    fixture.context.clock.advance(2 * DAY);
    fixture.count(100, 0, 0).await;
    let now_ms = fixture.context.now_ms();

    let report = move |tx: &WriteTx<'_>| {
        let source = MetricSource { team, domain: DomainId::MIN, broadcast: None };
        email_metrics::count(tx, source, now_ms, EmailMetric::Complained, CountedRecipients::Real(4))?;
        email_metrics::count_of_send_day(tx, team, sent_ms, EmailMetric::Complained, 4)
    };
    fixture.context.commit(report).await;

    assert_eq!(fixture.pause(&deliverability).await, None, "4 of 100 would be 4%");
    let report = deliverability.report(fixture.team).await.unwrap();
    assert_eq!((report.status, report.totals.complained), (GuardrailStatus::Ok, 4), "4 of 10,100 in seven days");
}

#[tokio::test]
async fn nothing_is_refused_while_the_guardrail_observes() {
    let fixture = Fixture::new().await;
    let deliverability = fixture.deliverability(GuardrailMode::Observe);
    fixture.count(200, 50, 50).await;

    assert_eq!(fixture.pause(&deliverability).await, None);
    assert!(!fixture.is_slowed(&deliverability).await);
    assert_eq!(deliverability.report(fixture.team).await.unwrap().status, GuardrailStatus::Warning);
    deliverability.run_round().await.unwrap();
    assert_eq!(fixture.notices(), ["warning"]);
}

#[tokio::test]
async fn an_episode_notifies_the_owners_once_of_each_status_also_with_two_processes() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.deliverability(GuardrailMode::Enforce), fixture.deliverability(GuardrailMode::Enforce));
    let round = async || {
        let (first, second) = tokio::join!(one.run_round(), other.run_round());
        first.and(second).unwrap();
    };
    round().await;
    assert_eq!((fixture.level(), fixture.notices().len()), (None, 0));

    fixture.count(200, 9, 0).await;
    round().await;
    round().await;
    assert_eq!((fixture.level(), fixture.notices()), (Some(EpisodeLevel::Warning), vec!["warning"]));

    fixture.count(0, 1, 0).await;
    round().await;
    assert_eq!((fixture.level(), fixture.notices()), (Some(EpisodeLevel::Paused), vec!["warning", "paused"]));

    // The pause ends, and begins again in the same episode.
    fixture.context.clock.advance(2 * DAY);
    round().await;
    assert_eq!(fixture.level(), Some(EpisodeLevel::Paused));
    fixture.count(100, 10, 0).await;
    round().await;
    assert_eq!(fixture.notices(), ["warning", "paused"]);

    fixture.context.clock.advance(8 * DAY);
    round().await;
    assert_eq!(fixture.level(), None, "nothing was sent for seven days");
    fixture.count(100, 10, 0).await;
    round().await;
    assert_eq!(
        fixture.notices(),
        ["warning", "paused", "paused"],
        "a new episode, whose one notice is about the pause"
    );
}

#[tokio::test]
async fn each_limit_has_one_event_in_an_episode_also_with_two_processes() {
    let fixture = Fixture::new().await;
    let mut stream = fixture.context.event_bus.subscribe(fixture.team);

    fixture.count(100, 10, 0).await;
    assert_eq!(fixture.events_of_round(&mut stream).await, ["warning", "paused"], "both limits are crossed");
    assert_eq!(fixture.events_of_round(&mut stream).await, NONE);
    assert_eq!(fixture.notices(), ["paused"]);

    fixture.context.clock.advance(8 * DAY);
    assert_eq!(fixture.events_of_round(&mut stream).await, NONE);
    assert_eq!(fixture.level(), None);
    for (bounced, expected) in [(9, "warning"), (1, "paused")] {
        fixture.count(if bounced == 9 { 200 } else { 0 }, bounced, 0).await;
        assert_eq!(fixture.events_of_round(&mut stream).await, [expected]);
        assert_eq!(fixture.events_of_round(&mut stream).await, NONE);
    }
}

#[tokio::test]
async fn a_warning_during_a_pause_or_after_it_has_an_event_and_no_notice() {
    // The rate of two days crosses its limit, and that of seven days does not: 10 of 2,200 recipients.
    for (days, bounced) in [(0, 90), (2, 0)] {
        let fixture = Fixture::new().await;
        let mut stream = fixture.context.event_bus.subscribe(fixture.team);
        fixture.count(2_000, 0, 0).await;
        fixture.context.clock.advance(5 * DAY);
        fixture.count(200, 10, 0).await;
        assert_eq!(fixture.events_of_round(&mut stream).await, ["paused"]);

        // Late bounces, or the first day leaves the window.
        fixture.context.clock.advance(days * DAY);
        fixture.count(0, bounced, 0).await;

        assert_eq!(fixture.events_of_round(&mut stream).await, ["warning"]);
        assert_eq!(fixture.events_of_round(&mut stream).await, NONE);
        assert_eq!((fixture.level(), fixture.notices()), (Some(EpisodeLevel::Paused), vec!["paused"]));
    }
}

#[tokio::test]
async fn a_report_covers_thirty_days() {
    let fixture = Fixture::new().await;
    let deliverability = fixture.deliverability(GuardrailMode::Enforce);
    fixture.count(1_000, 35, 0).await;

    fixture.context.clock.advance(29 * DAY);
    let report = deliverability.report(fixture.team).await.unwrap();
    assert_eq!((report.totals.sent, report.status), (1_000, GuardrailStatus::Ok));
    assert_eq!(report.score.headline.map(tenths).unwrap().to_string(), "8");
    let overview = deliverability.overview(fixture.team).await.unwrap();
    assert_eq!((overview.days.len(), overview.days[0].totals.sent), (30, 1_000));
    assert!(overview.is_enforced && !overview.is_region_paused && overview.factors.is_empty());
    assert!(!fixture.deliverability(GuardrailMode::Observe).overview(fixture.team).await.unwrap().is_enforced);

    fixture.context.clock.advance(DAY);
    let report = deliverability.report(fixture.team).await.unwrap();
    assert_eq!((report.totals.sent, report.score.headline), (0, None));
}

#[tokio::test]
async fn the_factors_are_the_failing_checks_of_thirty_days_with_the_largest_gain_first() {
    let fixture = Fixture::new().await;
    let (team, now_ms) = (fixture.team, fixture.context.now_ms());
    let fill = move |tx: &WriteTx<'_>| {
        email_metrics::add_score(tx, team, now_ms, 100, 70)?;
        let today = utc_day(now_ms);
        for (check, day, recipients, lost_tenths) in [
            (InsightCheck::DmarcRecord, today, 5, 100),
            (InsightCheck::LinkDomainsMatch, today, 12, 200),
            (InsightCheck::LinkDomainsMatch, today - 29, 8, 100),
            (InsightCheck::NoShorteners, today - 30, 100, 1_250),
            (InsightCheck::BodySize, today, 10, 100),
            (InsightCheck::PlainText, today - 1, 25, 250),
            (InsightCheck::SubjectLint, today, 60, 0),
        ] {
            tx.put(&INSIGHT_DAYS, &(team, day, check.number()), &InsightDayRow { recipients, lost_tenths })?;
        }
        Ok(())
    };
    fixture.context.commit(fill).await;

    let overview = fixture.deliverability(GuardrailMode::Enforce).overview(team).await.unwrap();

    // Without outcomes, the content is the score: 7.0 for 100 recipients.
    let factors = overview.factors.iter();
    let factors: Vec<(&str, u64, String)> =
        factors.map(|factor| (factor.check.check, factor.check.recipients, format!("{:.2}", factor.gain))).collect();
    let expected = [
        ("link_domains_match", 20, "0.30"),
        ("plain_text", 25, "0.25"),
        ("dmarc_record", 5, "0.10"),
        ("body_size", 10, "0.10"),
        ("subject_lint", 60, "0.00"),
    ];
    assert_eq!(factors, expected.map(|(check, recipients, gain)| (check, recipients, gain.to_owned())));
}
