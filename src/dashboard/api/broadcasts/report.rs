//! `GET broadcasts/ID/report`: the progress and the outcomes of a broadcast.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use super::names::TargetNames;
use super::not_found;
use crate::api_keys::Caller;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::resource;
use crate::broadcast_rows::{
    BroadcastCounts, BroadcastDomainRow, BroadcastRow, BroadcastStatus, DomainCounts, OtherDomains, RecipientDomains,
};
use crate::broadcasts::{Broadcast, Broadcasts};
use crate::http::{ApiResult, PathId, State};
use crate::segments::Segments;
use crate::topics::Topics;

const MINUTE_MS: f64 = 60_000.0;
/// Maximum number of domains in a report.
const DOMAINS_MAX: usize = 8;

#[derive(Serialize)]
pub(super) struct ReportView {
    object: &'static str,
    id: String,
    status: &'static str,
    name: String,
    subject: String,
    segment_id: Option<String>,
    segment_name: Option<String>,
    topic_id: Option<String>,
    topic_name: Option<String>,
    created_at: String,
    scheduled_at: Option<String>,
    started_at: Option<String>,
    sent_at: Option<String>,
    finishes_at: Option<String>,
    audience: u64,
    counts: BroadcastCounts,
    /// Emails that a cancellation would stop.
    remaining: u64,
    fan_out: FanOutView,
    rate_per_minute: Option<f64>,
    funnel: Vec<FunnelStep>,
    machines: MachineView,
    /// The domains with the most claimed emails.
    domains: Vec<DomainView>,
    other_domains: Option<OtherDomainsView>,
}

/// Recipients whose email only software opened, or whose links only software followed.
#[derive(Serialize)]
struct MachineView {
    opened: u64,
    clicked: u64,
}

#[derive(Serialize)]
struct DomainView {
    domain: String,
    #[serde(flatten)]
    counts: DomainCounts,
}

#[derive(Serialize)]
struct OtherDomainsView {
    /// Their number; null if they are too many to be counted.
    domains: Option<u64>,
    #[serde(flatten)]
    counts: DomainCounts,
}

/// Progress of the walk over the contacts.
#[derive(Serialize)]
struct FanOutView {
    /// Recipients that have an email.
    queued: u64,
    total: u64,
    complete: bool,
}

#[derive(Serialize)]
struct FunnelStep {
    kind: &'static str,
    count: u64,
}

/// Returns the progress of a broadcast.
#[handler]
pub(super) async fn get_report(
    broadcasts: State<Broadcasts>,
    segments: State<Segments>,
    topics: State<Topics>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
) -> ApiResult<Json<ReportView>> {
    let broadcast = broadcasts.find_without_content(caller.team, id.0).await?.ok_or_else(not_found)?;
    let names = TargetNames::new(caller.team, &segments, &topics).of(&broadcast.row).await?;
    let domains = broadcasts.domains(caller.team, id.0, DOMAINS_MAX).await?;
    Ok(Json(ReportView::of(broadcast, names, domains, broadcasts.now_ms())))
}

impl ReportView {
    fn of(
        broadcast: Broadcast,
        names: (Option<String>, Option<String>),
        domains: RecipientDomains,
        now_ms: TimestampMs,
    ) -> Self {
        let Broadcast { id, row, counts: counts_row, finishes_ms } = broadcast;
        let (segment_name, topic_name) = names;
        let counts = BroadcastCounts::from(counts_row);
        let is_running = matches!(row.status, BroadcastStatus::Scheduled | BroadcastStatus::Queued);
        let remaining = if is_running { row.unsent(&counts_row) } else { 0 };
        let rate_per_minute = row.started_ms.and_then(|started_ms| {
            let until_ms = row.sent_ms.unwrap_or(now_ms);
            rate_per_minute(counts.attempted, until_ms.saturating_sub(started_ms))
        });
        let name = row.shown_name().to_owned();
        let BroadcastRow {
            created_ms,
            subject,
            status,
            scheduled_ms,
            started_ms,
            sent_ms,
            audience,
            is_queued_whole,
            segment,
            topic,
            ..
        } = row;
        let step = |kind, count| FunnelStep { kind, count };
        Self {
            object: "broadcast_report",
            id: id.to_string(),
            status: status.as_str(),
            name,
            subject,
            segment_id: segment.filter(|_| segment_name.is_some()).map(|id| id.to_string()),
            segment_name,
            topic_id: topic.filter(|_| topic_name.is_some()).map(|id| id.to_string()),
            topic_name,
            created_at: to_iso(created_ms),
            scheduled_at: scheduled_ms.map(to_iso),
            started_at: started_ms.map(to_iso),
            sent_at: sent_ms.map(to_iso),
            finishes_at: finishes_ms.map(to_iso),
            audience,
            remaining,
            fan_out: FanOutView { queued: counts_row.total(), total: audience, complete: is_queued_whole },
            rate_per_minute,
            funnel: vec![
                step("audience", audience),
                step("attempted", counts.attempted),
                step("delivered", counts.delivered),
                step("opened", counts.opened),
                step("clicked", counts.clicked),
                step("bounced", counts.bounced),
                step("complained", counts.complained),
                step("suppressed", counts.suppressed),
                step("failed", counts.failed),
                step("canceled", counts.canceled),
            ],
            counts,
            machines: MachineView { opened: counts_row.opened_by_software, clicked: counts_row.clicked_by_software },
            domains: domains.first.into_iter().map(DomainView::from).collect(),
            other_domains: domains.others.map(|OtherDomains { domains, counts }| OtherDomainsView { domains, counts }),
        }
    }
}

impl From<BroadcastDomainRow> for DomainView {
    fn from(BroadcastDomainRow { domain, counts }: BroadcastDomainRow) -> Self {
        Self { domain, counts }
    }
}

/// Returns the average since the start, with one decimal; `None` in the first second.
fn rate_per_minute(attempted: u64, elapsed_ms: i64) -> Option<f64> {
    if elapsed_ms < 1_000 {
        return None;
    }
    let rate = attempted as f64 / (elapsed_ms as f64 / MINUTE_MS);
    Some((rate * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_an_average_since_the_start() {
        for (attempted, elapsed_ms, expected) in
            [(100, 60_000, Some(100.0)), (1, 90_000, Some(0.7)), (0, 60_000, Some(0.0)), (5, 999, None), (5, -1, None)]
        {
            assert_eq!(rate_per_minute(attempted, elapsed_ms), expected, "{attempted} in {elapsed_ms}");
        }
    }
}
