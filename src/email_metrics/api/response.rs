//! The metrics of the API, and the response.

use salvo::oapi::ToSchema;
use serde::Serialize;

use super::request::{Dimension, ShownMetrics};
use crate::base::clock::to_iso;
use crate::email_metrics::model::EmailCounts;
use crate::email_metrics::report::{MetricsQuery, MetricsReport, MetricsReportRow};

macro_rules! reported {
    ($($(#[$doc:meta])+ $variant:ident $field:ident: $type:ty = $value:expr;)+) => {
        /// A metric of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum ReportedMetric {
            $($variant,)+
        }

        impl ReportedMetric {
            /// Every metric.
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name.
            pub(super) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field)),+ }
            }
        }

        /// Numbers of recipients by metric, and rates in percent. Only requested metrics are present.
        #[derive(Default, Serialize, ToSchema)]
        #[salvo(schema(name = "EmailMetricValues"))]
        pub(super) struct MetricValues {
            $($(#[$doc])+ #[serde(skip_serializing_if = "Option::is_none")] $field: Option<$type>,)+
        }

        impl MetricValues {
            fn of(counts: &EmailCounts, metrics: &[ReportedMetric]) -> Self {
                let mut values = Self::default();
                $(if metrics.contains(&ReportedMetric::$variant) {
                    let value: fn(&EmailCounts) -> $type = $value;
                    values.$field = Some(value(counts));
                })+
                values
            }
        }
    };
}

reported! {
    /// Always 0.
    Received received: u64 = |_| 0;
    /// Accepted by the server of the recipient.
    Delivered delivered: u64 = |counts| counts.delivered;
    /// Reported as spam.
    Complained complained: u64 = |counts| counts.complained;
    /// Not sent to, because the address is suppressed or has opted out.
    Suppressed suppressed: u64 = |counts| counts.suppressed;
    /// Sum of the three kinds of bounces.
    Bounced bounced: u64 = bounced;
    /// Refused for a temporary reason.
    BouncedTransient bounced_transient: u64 = |counts| counts.bounced_transient;
    /// Refused permanently.
    BouncedPermanent bounced_permanent: u64 = |counts| counts.bounced_permanent;
    /// Refused; the reply does not state for how long.
    BouncedUndetermined bounced_undetermined: u64 = |counts| counts.bounced_undetermined;
    /// Opens by people.
    Opened opened: u64 = |counts| counts.opened;
    /// Clicks by people.
    Clicked clicked: u64 = |counts| counts.clicked;
    /// Opt-outs with the unsubscribe link of an email.
    Unsubscribed unsubscribed: u64 = |counts| counts.unsubscribed;
    /// Temporarily refused, once for each `email.delivery_delayed`.
    DeliveryDelayed delivery_delayed: u64 = |counts| counts.delivery_delayed;
    /// Given up for a reason other than the recipient.
    Failed failed: u64 = |counts| counts.failed;
    /// The delivery to them has started.
    Sent sent: u64 = |counts| counts.sent;
    /// Recipients who have opened an email.
    UniqueOpened unique_opened: u64 = |counts| counts.unique_opened;
    /// Recipients who have clicked a link.
    UniqueClicked unique_clicked: u64 = |counts| counts.unique_clicked;
    /// `delivered` in percent of `sent`.
    DeliveryRate delivery_rate: f64 = |counts| percent(counts.delivered, counts.sent);
    /// `unique_opened` in percent of `delivered`.
    OpenRate open_rate: f64 = |counts| percent(counts.unique_opened, counts.delivered);
    /// `unique_clicked` in percent of `delivered`.
    ClickRate click_rate: f64 = |counts| percent(counts.unique_clicked, counts.delivered);
    /// `bounced` in percent of `sent`.
    BounceRate bounce_rate: f64 = |counts| percent(bounced(counts), counts.sent);
    /// `complained` in percent of `delivered`.
    ComplaintRate complaint_rate: f64 = |counts| percent(counts.complained, counts.delivered);
    /// `unsubscribed` in percent of `delivered`.
    UnsubscribeRate unsubscribe_rate: f64 = |counts| percent(counts.unsubscribed, counts.delivered);
    /// Opens and clicks by software. Only on request.
    Prefetched prefetched: u64 = |counts| counts.prefetched;
}

impl ReportedMetric {
    /// Returns the metrics of a request without `metrics`: those of the compatible API.
    pub(super) fn defaults() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|metric| *metric != Self::Prefetched).collect()
    }
}

fn bounced(counts: &EmailCounts) -> u64 {
    let (permanent, transient) = (counts.bounced_permanent, counts.bounced_transient);
    permanent.saturating_add(transient).saturating_add(counts.bounced_undetermined)
}

/// Returns a part in percent, rounded to two decimals; 0 without a whole.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let hundredths = (u128::from(part) * 10_000 + u128::from(whole) / 2) / u128::from(whole);
    u32::try_from(hundredths).map_or(f64::from(u32::MAX), f64::from) / 100.0
}

/// Email metrics of a range of time.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "EmailMetrics"))]
pub(super) struct MetricsResponse {
    /// Always `metrics`.
    object: &'static str,
    /// Start of the range.
    start_date: String,
    /// End of the range, excluding it.
    end_date: String,
    /// The metrics of the response.
    metrics: Vec<&'static str>,
    /// The dimensions of `data`.
    dimensions: Vec<&'static str>,
    /// Length of a period.
    granularity: &'static str,
    /// The metrics of the whole range.
    totals: MetricValues,
    /// One row for each combination of the dimensions, in the order of the periods. Absent without dimensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Vec<MetricsRowResponse>>,
}

/// The metrics of one combination of the dimensions. Only the fields of requested dimensions are present.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "EmailMetricsRow"))]
struct MetricsRowResponse {
    /// Start of the period in the time zone: a date such as `2026-07-01`, or a date and an hour such as
    /// `2026-07-01T13:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<String>,
    /// Id of the domain of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain_id: Option<String>,
    /// Name of the domain; null if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(value_type = Option<String>))]
    domain_name: Option<Option<String>>,
    /// Id of the email.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_id: Option<String>,
    /// Id of the broadcast; null for emails without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(value_type = Option<String>))]
    broadcast_id: Option<Option<String>>,
    /// Name of the broadcast; null if it is deleted, and for emails without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(value_type = Option<String>))]
    broadcast_name: Option<Option<String>>,
    #[serde(flatten)]
    values: MetricValues,
}

impl MetricsResponse {
    pub(super) fn of(report: MetricsReport, query: &MetricsQuery, shown: ShownMetrics) -> Self {
        let ShownMetrics { end_ms, metrics, dimensions, granularity } = shown;
        let MetricsReport { totals, rows } = report;
        let data = rows.into_iter().map(|row| MetricsRowResponse::of(row, &metrics));
        Self {
            object: "metrics",
            start_date: to_iso(query.start_ms),
            end_date: to_iso(end_ms),
            metrics: metrics.iter().map(|metric| metric.as_str()).collect(),
            granularity: granularity.as_str(),
            totals: MetricValues::of(&totals, &metrics),
            data: (!dimensions.is_empty()).then(|| data.collect()),
            dimensions: dimensions.into_iter().map(Dimension::as_str).collect(),
        }
    }
}

impl MetricsRowResponse {
    fn of(row: MetricsReportRow, metrics: &[ReportedMetric]) -> Self {
        let MetricsReportRow { period, domain, email, broadcast, counts } = row;
        let (domain_id, domain_name) = domain.map(|(id, name)| (id.to_string(), name)).unzip();
        let broadcast = broadcast.map(|broadcast| broadcast.map(|(id, name)| (id.to_string(), name)).unzip());
        let (broadcast_id, broadcast_name) = broadcast.map(|(id, name)| (id, name.flatten())).unzip();
        let email_id = email.map(|id| id.to_string());
        let values = MetricValues::of(&counts, metrics);
        Self { period, domain_id, domain_name, email_id, broadcast_id, broadcast_name, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_percentage_with_two_decimals() {
        for (part, whole, expected) in [
            (0, 0, 0.0),
            (5, 0, 0.0),
            (1, 2, 50.0),
            (1, 3, 33.33),
            (2, 3, 66.67),
            (1, 800, 0.13),
            (3, 1, 300.0),
            (u64::MAX, 1, 42_949_672.95),
        ] {
            assert!((percent(part, whole) - expected).abs() < 1e-9, "{part}/{whole}: {}", percent(part, whole));
        }
    }

    #[test]
    fn each_metric_shows_its_own_count() {
        let counts = EmailCounts {
            sent: 100,
            delivered: 40,
            delivery_delayed: 1,
            bounced_permanent: 2,
            bounced_transient: 3,
            bounced_undetermined: 4,
            complained: 5,
            suppressed: 6,
            failed: 7,
            opened: 30,
            unique_opened: 20,
            clicked: 15,
            unique_clicked: 10,
            prefetched: 8,
            unsubscribed: 12,
        };

        let shown = serde_json::to_value(MetricValues::of(&counts, ReportedMetric::ALL)).unwrap();

        let expected = serde_json::json!({
            "received": 0, "sent": 100, "delivered": 40, "delivery_delayed": 1, "bounced": 9, "bounced_permanent": 2,
            "bounced_transient": 3, "bounced_undetermined": 4, "complained": 5, "suppressed": 6, "failed": 7,
            "opened": 30, "unique_opened": 20, "clicked": 15, "unique_clicked": 10, "prefetched": 8,
            "unsubscribed": 12, "delivery_rate": 40.0, "bounce_rate": 9.0, "complaint_rate": 12.5, "open_rate": 50.0,
            "click_rate": 25.0, "unsubscribe_rate": 30.0,
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_requested_metrics_are_shown() {
        let counts =
            EmailCounts { sent: 4, delivered: 3, bounced_transient: 1, prefetched: 9, ..EmailCounts::default() };
        let shown = |metrics: &[ReportedMetric]| serde_json::to_value(MetricValues::of(&counts, metrics)).unwrap();

        let two = shown(&[ReportedMetric::Bounced, ReportedMetric::DeliveryRate]);
        assert_eq!(two, serde_json::json!({ "bounced": 1, "delivery_rate": 75.0 }));
        let defaults = shown(&ReportedMetric::defaults());
        assert_eq!(defaults.as_object().unwrap().len(), ReportedMetric::ALL.len() - 1);
        assert!(defaults.get("prefetched").is_none());
    }
}
