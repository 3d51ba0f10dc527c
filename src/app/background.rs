//! Background workers of an instance, and the order of retention.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::Parts;
use crate::base::clock::DAY_MS;
use crate::config::Config;
use crate::context::Context;
use crate::delivery::{COUNT_EVERY, capture};
use crate::notices::NoticeWorker;
use crate::store::{StoreError, purge_deleted_cursors};
use crate::workers::{Supervisor, every};
use crate::{audit, contacts, delivery, email_metrics, emails, events, ingest, insights, logs, users, webhooks};

/// Interval of polls for notices. A notification triggers an earlier poll.
const NOTICES_INTERVAL: Duration = Duration::from_secs(60);
/// Interval of comparisons of the rates of all teams with their limits.
const GUARDRAIL_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of sums of the rates by region.
const REGIONS_INTERVAL: Duration = Duration::from_secs(15 * 60);
/// Interval of writes of API key uses.
const KEY_USES_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of measurements of sent messages.
const SEND_FIGURES_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of retention and of the deletion of expired idempotency keys.
const RETENTION_INTERVAL: Duration = Duration::from_secs(3600);
/// Interval of erasure rounds.
const ERASURES_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of rounds of team removals.
const TEAM_REMOVALS_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of measurements of the free disk space.
const DISK_SPACE_INTERVAL: Duration = Duration::from_secs(1);

/// Retention periods in days.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetentionDays {
    /// Content of emails.
    pub(super) content: u32,
    /// Attachments of emails, and captured messages, which contain them. At most as long as the content.
    pub(super) attachments: u32,
    /// Rows and timelines of emails. At least as long as the content.
    pub(super) emails: u32,
    /// SMTP attempts with their transcripts. Those of a deleted email are deleted with it.
    pub(super) attempts: u32,
    /// Webhook deliveries, and events about contacts and suppressions.
    pub(super) deliveries: u32,
    /// Request log.
    pub(super) logs: u32,
    /// Counts of email metrics.
    pub(super) metrics: u32,
    /// Audit log.
    pub(super) audit: u32,
}

impl RetentionDays {
    /// Returns the periods of the settings.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            content: config.content_retention_days,
            attachments: config.attachment_retention_days,
            emails: config.email_retention_days,
            attempts: config.attempt_retention_days,
            deliveries: config.webhook_delivery_retention_days,
            logs: config.log_retention_days,
            metrics: config.metrics_retention_days,
            audit: config.audit_retention_days,
        }
    }

    /// Deletes everything that is older than its retention period. Emails and deliveries that are not
    /// settled are kept.
    async fn apply(self, context: &Context) -> Result<(), StoreError> {
        let before = |days: u32| context.now_ms() - i64::from(days) * DAY_MS;
        purge_deleted_cursors(&context.store, context.now_ms()).await?;
        delivery::purge(context, before(self.attempts)).await?;
        contacts::purge_deleted_topic_choices(context).await?;
        logs::purge(context, before(self.logs)).await?;
        email_metrics::purge(context, before(self.metrics)).await?;
        audit::purge(context, before(self.audit)).await?;
        ingest::purge(context).await?;
        users::purge(context).await?;
        emails::purge(context, before(self.content), before(self.attachments), before(self.emails)).await?;
        insights::purge(context).await?;
        events::purge_audience(context, before(self.deliveries)).await?;
        webhooks::purge(context, before(self.deliveries)).await?;
        capture::purge(context, before(self.attachments.min(self.content))).await
    }
}

/// Waits for a count, and logs its failure: monitoring shows the age of the last count, and the process must not stop.
async fn log_failure(what: &str, count: impl Future<Output = Result<(), StoreError>>) -> Result<(), Infallible> {
    if let Err(error) = count.await {
        warn!(%error, "could not count {what}: {error}");
    }
    Ok(())
}

/// Starts the workers, which end with the stop token of `parts`.
pub(super) fn start_workers(parts: &Parts) -> Supervisor {
    let mut workers =
        Supervisor::new(parts.work.clone(), parts.context.store.clone(), Arc::clone(&parts.worker_failures));
    let store = parts.context.store.clone();
    workers.start("disk space", move |stop| {
        let store = store.clone();
        async move {
            let measure = || async {
                store.measure_space().await;
                Ok::<(), Infallible>(())
            };
            every(DISK_SPACE_INTERVAL, stop, measure).await
        }
    });
    let engine = Arc::clone(&parts.engine);
    workers.start("delivery", move |_| Arc::clone(&engine).run());
    let engine = Arc::clone(&parts.engine);
    workers.start("queue count", move |stop| {
        let engine = Arc::clone(&engine);
        async move { every(COUNT_EVERY, stop, || log_failure("the queue", engine.count_queue())).await }
    });
    let dispatcher = Arc::clone(&parts.dispatcher);
    workers.start("webhook queue count", move |stop| {
        let dispatcher = Arc::clone(&dispatcher);
        async move { every(COUNT_EVERY, stop, || log_failure("the webhook queues", dispatcher.count_queue())).await }
    });
    let domains = Arc::clone(&parts.services.domains);
    workers.start("domains", move |stop| Arc::clone(&domains).run(stop));
    let segments = Arc::clone(&parts.segments);
    workers.start("segments", move |stop| Arc::clone(&segments).run(stop));
    let (idempotency, context) = (Arc::clone(&parts.idempotency), parts.context.clone());
    let retention = parts.retention;
    workers.start("retention", move |stop| {
        let (idempotency, context) = (Arc::clone(&idempotency), context.clone());
        async move {
            idempotency.load().await?;
            every(RETENTION_INTERVAL, stop, || async {
                idempotency.purge().await?;
                retention.apply(&context).await
            })
            .await
        }
    });
    let check = Arc::clone(&parts.count_check);
    workers.start("email count check", move |stop| {
        let check = Arc::clone(&check);
        async move { check.run(stop).await }
    });
    let index = Arc::clone(&parts.email_index);
    workers.start("email search", move |stop| {
        let index = Arc::clone(&index);
        async move { index.run(stop).await }
    });
    let reports = Arc::clone(&parts.health_reports);
    workers.start("checks", move |stop| {
        let reports = Arc::clone(&reports);
        async move { reports.run(stop).await }
    });
    let (doctor, clock) = (Arc::clone(&parts.services.doctor), parts.context.clock.clone());
    workers.start("host names", move |stop| {
        let (doctor, clock) = (Arc::clone(&doctor), clock.clone());
        async move { doctor.watch_host_names(&clock, stop).await }
    });
    let insights = Arc::clone(&parts.insights);
    workers.start("insights", move |stop| {
        let insights = Arc::clone(&insights);
        async move { insights.run(stop).await }
    });
    let broadcasts = Arc::clone(&parts.broadcasts);
    workers.start("broadcast fan-out", move |stop| Arc::clone(&broadcasts).run(stop));
    let figures = Arc::clone(&parts.send_figures);
    workers.start("send figures", move |stop| {
        let figures = Arc::clone(&figures);
        async move { every(SEND_FIGURES_INTERVAL, stop, || figures.record()).await }
    });
    let deliverability = Arc::clone(&parts.services.deliverability);
    workers.start("guardrail", move |stop| {
        let deliverability = Arc::clone(&deliverability);
        async move { every(GUARDRAIL_INTERVAL, stop, || deliverability.run_round()).await }
    });
    let deliverability = Arc::clone(&parts.services.deliverability);
    workers.start("region rates", move |stop| {
        let deliverability = Arc::clone(&deliverability);
        async move { every(REGIONS_INTERVAL, stop, || deliverability.sweep_regions()).await }
    });
    let webhooks = Arc::clone(&parts.webhooks);
    workers.start("webhook removal", move |stop| Arc::clone(&webhooks).run(stop));
    let dispatcher = Arc::clone(&parts.dispatcher);
    workers.start("webhooks", move |stop| Arc::clone(&dispatcher).run(stop));
    let notices = Arc::new(NoticeWorker::new(
        parts.context.clone(),
        Arc::clone(&parts.services.emails),
        parts.system_from.clone(),
    ));
    workers.start("notices", move |stop| Arc::clone(&notices).run(NOTICES_INTERVAL, stop));
    let log = Arc::clone(&parts.log);
    workers.start("request log", move |stop| Arc::clone(&log).run(stop));
    let erasures = Arc::clone(&parts.erasures);
    workers.start("erasure", move |stop| {
        let erasures = Arc::clone(&erasures);
        async move { every(ERASURES_INTERVAL, stop, || erasures.run_round()).await }
    });
    let removals = Arc::clone(&parts.services.team_removals);
    workers.start("team removal", move |stop| {
        let removals = Arc::clone(&removals);
        async move { every(TEAM_REMOVALS_INTERVAL, stop, || removals.run_round()).await }
    });
    let keys = Arc::clone(&parts.services.api_keys);
    workers.start("api key uses", move |stop| {
        let keys = Arc::clone(&keys);
        async move { every(KEY_USES_INTERVAL, stop, || keys.flush_uses()).await }
    });
    workers
}
