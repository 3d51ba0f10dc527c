//! The metrics, the counts of a span, and the span of a time. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, DomainId, TeamId};
use crate::events::{BounceType, EmailEventKind, Event, EventDetail};

/// Length of a quarter hour. Every offset of a current time zone is a multiple of it.
pub(super) const QUARTER_MS: i64 = 15 * 60 * 1000;
/// Quarter hours of a UTC day.
pub(super) const QUARTERS_OF_DAY: u32 = 96;

macro_rules! metrics {
    ($($(#[$doc:meta])+ $variant:ident $field:ident;)+) => {
        /// Metric of emails. Each counts recipients.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EmailMetric {
            $($(#[$doc])+ $variant,)+
        }

        impl EmailMetric {
            /// Every metric.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name in the API.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field)),+ }
            }
        }

        /// Numbers of recipients by metric.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct EmailCounts {
            $(#[serde(default, skip_serializing_if = "is_zero")] pub $field: u64,)+
        }

        impl EmailCounts {
            /// Returns the count of a metric.
            pub const fn of(&self, metric: EmailMetric) -> u64 {
                match metric { $(EmailMetric::$variant => self.$field),+ }
            }

            /// Returns the count of a metric, to change it.
            pub(super) const fn of_mut(&mut self, metric: EmailMetric) -> &mut u64 {
                match metric { $(EmailMetric::$variant => &mut self.$field),+ }
            }

            /// Adds the counts of another span.
            pub fn add(&mut self, other: &Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)+
            }
        }
    };
}

metrics! {
    /// The delivery engine took it up for the first time.
    Sent sent;
    /// Accepted by the server of the recipient.
    Delivered delivered;
    /// Temporarily refused.
    DeliveryDelayed delivery_delayed;
    /// Refused permanently.
    BouncedPermanent bounced_permanent;
    /// Refused for a temporary reason.
    BouncedTransient bounced_transient;
    /// Refused; the reply does not state for how long.
    BouncedUndetermined bounced_undetermined;
    /// Reported as spam.
    Complained complained;
    /// Not sent to, because the address is suppressed or has opted out.
    Suppressed suppressed;
    /// Given up for a reason other than the recipient.
    Failed failed;
    /// Opens by people.
    Opened opened;
    /// First opens of a recipient.
    UniqueOpened unique_opened;
    /// Clicks by people.
    Clicked clicked;
    /// First clicks of a recipient.
    UniqueClicked unique_clicked;
    /// Opens and clicks by software.
    Prefetched prefetched;
    /// Opt-outs with the unsubscribe link of an email.
    Unsubscribed unsubscribed;
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The email that a count belongs to: its team, its domain and its broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSource {
    pub team: TeamId,
    /// Domain of the sender.
    pub domain: DomainId,
    /// The broadcast; `None` for an email of the API.
    pub broadcast: Option<BroadcastId>,
}

impl EmailMetric {
    /// Returns the metric of an event; `None` for an event that is not counted. First opens and first clicks are counted
    /// beside their event.
    pub fn of_event(event: &Event) -> Option<Self> {
        Some(match event.kind {
            EmailEventKind::Scheduled | EmailEventKind::Canceled => return None,
            EmailEventKind::Sent => Self::Sent,
            EmailEventKind::Delivered => Self::Delivered,
            EmailEventKind::DeliveryDelayed => Self::DeliveryDelayed,
            EmailEventKind::Bounced => match &event.detail {
                EventDetail::Bounce(bounce) => match bounce.bounce_type {
                    BounceType::Permanent => Self::BouncedPermanent,
                    BounceType::Transient => Self::BouncedTransient,
                    BounceType::Undetermined => Self::BouncedUndetermined,
                },
                _ => Self::BouncedUndetermined,
            },
            EmailEventKind::Complained => Self::Complained,
            EmailEventKind::Opened => Self::Opened,
            EmailEventKind::Clicked => Self::Clicked,
            EmailEventKind::Prefetched => Self::Prefetched,
            EmailEventKind::Failed => Self::Failed,
        })
    }

    /// Returns the metric of the first event of this kind for a recipient.
    pub(super) const fn first(self) -> Option<Self> {
        match self {
            Self::Opened => Some(Self::UniqueOpened),
            Self::Clicked => Some(Self::UniqueClicked),
            _ => None,
        }
    }
}

/// Totals of a UTC day or of several. Simulated recipients are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayTotals {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delivered: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bounced_permanent: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub complained: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unique_opened: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unique_clicked: u64,
    /// Permanent bounces of the recipients that email was sent to on this day, whenever the event was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_and_bounced: u64,
    /// Complaints of the recipients that email was sent to on this day, whenever the event was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_and_complained: u64,
    /// Recipients of the emails with a score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scored_recipients: u64,
    /// Sum of the scores in tenths of a point, each times its recipients.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub score_sum: u64,
}

impl DayTotals {
    /// Returns the total of a metric; `None` for a metric without one.
    pub(super) const fn of_mut(&mut self, metric: EmailMetric) -> Option<&mut u64> {
        Some(match metric {
            EmailMetric::Sent => &mut self.sent,
            EmailMetric::Delivered => &mut self.delivered,
            EmailMetric::BouncedPermanent => &mut self.bounced_permanent,
            EmailMetric::Complained => &mut self.complained,
            EmailMetric::UniqueOpened => &mut self.unique_opened,
            EmailMetric::UniqueClicked => &mut self.unique_clicked,
            EmailMetric::DeliveryDelayed
            | EmailMetric::BouncedTransient
            | EmailMetric::BouncedUndetermined
            | EmailMetric::Suppressed
            | EmailMetric::Failed
            | EmailMetric::Opened
            | EmailMetric::Clicked
            | EmailMetric::Prefetched
            | EmailMetric::Unsubscribed => return None,
        })
    }

    /// Returns the total of a metric by the day of the send; `None` for a metric without one.
    pub(super) const fn of_send_day_mut(&mut self, metric: EmailMetric) -> Option<&mut u64> {
        match metric {
            EmailMetric::BouncedPermanent => Some(&mut self.sent_and_bounced),
            EmailMetric::Complained => Some(&mut self.sent_and_complained),
            _ => None,
        }
    }

    /// Adds the totals of another day.
    pub(super) const fn add(&mut self, other: &Self) {
        let Self {
            sent,
            delivered,
            bounced_permanent,
            complained,
            unique_opened,
            unique_clicked,
            sent_and_bounced,
            sent_and_complained,
            scored_recipients,
            score_sum,
        } = *other;
        self.sent = self.sent.saturating_add(sent);
        self.delivered = self.delivered.saturating_add(delivered);
        self.bounced_permanent = self.bounced_permanent.saturating_add(bounced_permanent);
        self.complained = self.complained.saturating_add(complained);
        self.unique_opened = self.unique_opened.saturating_add(unique_opened);
        self.unique_clicked = self.unique_clicked.saturating_add(unique_clicked);
        self.sent_and_bounced = self.sent_and_bounced.saturating_add(sent_and_bounced);
        self.sent_and_complained = self.sent_and_complained.saturating_add(sent_and_complained);
        self.scored_recipients = self.scored_recipients.saturating_add(scored_recipients);
        self.score_sum = self.score_sum.saturating_add(score_sum);
    }
}

/// Returns the quarter hour of a time, in quarter hours since 1970.
pub(super) fn quarter(at_ms: TimestampMs) -> u32 {
    u32::try_from(at_ms.div_euclid(QUARTER_MS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::events::Bounce;

    #[test]
    fn a_quarter_hour_begins_at_its_first_millisecond_and_none_is_before_1970() {
        for (at_ms, expected) in [
            (0, 0),
            (QUARTER_MS - 1, 0),
            (QUARTER_MS, 1),
            (DAY_MS - 1, 95),
            (DAY_MS, QUARTERS_OF_DAY),
            (-1, 0),
            (i64::MIN, 0),
        ] {
            assert_eq!(quarter(at_ms), expected, "{at_ms}");
        }
    }

    #[test]
    fn each_event_counts_in_its_own_metric() {
        let bounce = |bounce_type| {
            let (message, subtype) = (String::new(), String::new());
            EventDetail::Bounce(Bounce { message, bounce_type, subtype, diagnostic: Vec::new() })
        };
        for (kind, detail, expected) in [
            (EmailEventKind::Scheduled, EventDetail::None, None),
            (EmailEventKind::Canceled, EventDetail::None, None),
            (EmailEventKind::Sent, EventDetail::None, Some("sent")),
            (EmailEventKind::Delivered, EventDetail::None, Some("delivered")),
            (EmailEventKind::DeliveryDelayed, EventDetail::None, Some("delivery_delayed")),
            (EmailEventKind::Bounced, bounce(BounceType::Permanent), Some("bounced_permanent")),
            (EmailEventKind::Bounced, bounce(BounceType::Transient), Some("bounced_transient")),
            (EmailEventKind::Bounced, bounce(BounceType::Undetermined), Some("bounced_undetermined")),
            (EmailEventKind::Bounced, EventDetail::None, Some("bounced_undetermined")),
            (EmailEventKind::Complained, EventDetail::None, Some("complained")),
            (EmailEventKind::Failed, EventDetail::None, Some("failed")),
            (EmailEventKind::Opened, EventDetail::None, Some("opened")),
            (EmailEventKind::Clicked, EventDetail::None, Some("clicked")),
            (EmailEventKind::Prefetched, EventDetail::None, Some("prefetched")),
        ] {
            let event = Event { kind, at_ms: 0, recipients: Vec::new(), detail };
            assert_eq!(EmailMetric::of_event(&event).map(EmailMetric::as_str), expected, "{event:?}");
        }
    }

    #[test]
    fn the_name_of_each_metric_is_the_name_of_its_count() {
        for metric in EmailMetric::ALL {
            let mut counts = EmailCounts::default();
            *counts.of_mut(*metric) = 7;

            assert_eq!(counts.of(*metric), 7);
            let stored = serde_json::to_value(counts).unwrap();
            assert_eq!(stored, serde_json::json!({ metric.as_str(): 7 }), "only {metric:?} is stored");
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.as_str());
        }
    }
}
