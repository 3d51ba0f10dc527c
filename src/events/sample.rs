//! Sample event messages for endpoint tests, of every type and without data of a recipient. Their ids end in zeros,
//! as no generated id does, and their texts state that they are tests.

use super::audience::{
    AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, ContactSnapshot, SuppressionSnapshot, TopicSnapshot,
};
use super::model::{Bounce, BounceType, ClickDetail, EmailEventKind, Event, EventDetail, OpenDetail};
use super::payload::{self, EmailEventData};
use super::team::{DeliverabilityDetail, QuotaDetail, QuotaPeriod, RateMetric, TeamEvent};
use super::types::EventType;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::Id;

const ADDRESS: &str = "test@example.com";
const TEXT: &str = "A test of this webhook endpoint";
const LINK: &str = "https://example.com/";
/// Address for examples (RFC 5737).
const IP_ADDRESS: &str = "192.0.2.1";

/// Returns a sample event message with the time `at_ms`, as JSON.
pub fn sample(event_type: EventType, at_ms: TimestampMs) -> String {
    match event_type {
        EventType::EmailScheduled => email(event_type, EmailEventKind::Scheduled, EventDetail::None, at_ms),
        EventType::EmailSent => email(event_type, EmailEventKind::Sent, EventDetail::None, at_ms),
        EventType::EmailDelivered => email(event_type, EmailEventKind::Delivered, EventDetail::None, at_ms),
        EventType::EmailDeliveryDelayed => email(event_type, EmailEventKind::DeliveryDelayed, EventDetail::None, at_ms),
        EventType::EmailBounced => email(event_type, EmailEventKind::Bounced, EventDetail::Bounce(bounce()), at_ms),
        EventType::EmailComplained => email(
            event_type,
            EmailEventKind::Complained,
            EventDetail::Complaint { feedback_type: Some("abuse".into()) },
            at_ms,
        ),
        EventType::EmailOpened => {
            email(event_type, EmailEventKind::Opened, EventDetail::Open(open(None, at_ms)), at_ms)
        }
        EventType::EmailClicked => email(event_type, EmailEventKind::Clicked, EventDetail::Click(click(at_ms)), at_ms),
        EventType::EmailPrefetched => {
            email(event_type, EmailEventKind::Prefetched, EventDetail::Open(open(Some("apple_mpp"), at_ms)), at_ms)
        }
        EventType::EmailFailed => {
            let detail = EventDetail::Failed { reason: "expired".into(), diagnostic: Vec::new() };
            email(event_type, EmailEventKind::Failed, detail, at_ms)
        }
        EventType::ContactCreated => contact(AudienceKind::ContactCreated, at_ms),
        EventType::ContactUpdated => contact(AudienceKind::ContactUpdated, at_ms),
        EventType::ContactDeleted => contact(AudienceKind::ContactDeleted, at_ms),
        EventType::ContactUnsubscribed => contact(AudienceKind::ContactUnsubscribed, at_ms),
        EventType::ContactResubscribed => contact(AudienceKind::ContactResubscribed, at_ms),
        EventType::ContactTopicOptIn => contact(AudienceKind::TopicOptIn, at_ms),
        EventType::ContactTopicOptOut => contact(AudienceKind::TopicOptOut, at_ms),
        EventType::SuppressionAdded => suppression(AudienceKind::SuppressionAdded, at_ms),
        EventType::SuppressionRemoved => suppression(AudienceKind::SuppressionRemoved, at_ms),
        EventType::DeliverabilityWarning => TeamEvent::DeliverabilityWarning(deliverability()).body(at_ms),
        EventType::DeliverabilityPaused => TeamEvent::DeliverabilityPaused(deliverability()).body(at_ms),
        EventType::QuotaWarning => TeamEvent::QuotaWarning(quota(80, at_ms)).body(at_ms),
        EventType::QuotaReached => TeamEvent::QuotaReached(quota(100, at_ms)).body(at_ms),
        EventType::QuotaPaused => TeamEvent::QuotaPaused(quota(150, at_ms)).body(at_ms),
    }
}

/// Returns a UUIDv7 (RFC 9562 §5.7) of the time without random bits.
fn sample_id<R>(at_ms: TimestampMs) -> Id<R> {
    let mut bytes = *Id::<R>::first_at(at_ms).as_bytes();
    (bytes[6], bytes[8]) = (0x70, 0x80);
    Id::from_bytes(bytes)
}

fn email(event_type: EventType, kind: EmailEventKind, detail: EventDetail, at_ms: TimestampMs) -> String {
    let event = Event { kind, at_ms, recipients: vec![ADDRESS.to_owned()], detail };
    let data = EmailEventData {
        id: sample_id(at_ms),
        message_id: "<test@example.com>".to_owned(),
        created_ms: at_ms,
        from: format!("Test <{ADDRESS}>"),
        subject: TEXT.to_owned(),
        tags: vec![("test".to_owned(), "true".to_owned())],
        headers: Vec::new(),
        broadcast: None,
        template: None,
    };
    payload::email(event_type, &event, &data)
}

fn bounce() -> Bounce {
    Bounce {
        message: TEXT.to_owned(),
        bounce_type: BounceType::Permanent,
        subtype: "General".to_owned(),
        diagnostic: vec!["smtp; 550 5.1.1 test".to_owned()],
    }
}

fn open(reason: Option<&str>, at_ms: TimestampMs) -> OpenDetail {
    OpenDetail { ip_address: IP_ADDRESS.into(), user_agent: "Test/1".into(), at_ms, reason: reason.map(Into::into) }
}

fn click(at_ms: TimestampMs) -> ClickDetail {
    let (ip_address, user_agent) = (IP_ADDRESS.to_owned(), "Test/1".to_owned());
    ClickDetail { link: LINK.to_owned(), ip_address, user_agent, at_ms, reason: None }
}

fn contact(kind: AudienceKind, at_ms: TimestampMs) -> String {
    let contact = ContactSnapshot {
        id: sample_id(at_ms),
        email: ADDRESS.to_owned(),
        first_name: Some("Test".to_owned()),
        last_name: None,
        unsubscribed: kind == AudienceKind::ContactUnsubscribed,
        updated_ms: at_ms,
        segments: Vec::new(),
    };
    let topic = matches!(kind, AudienceKind::TopicOptIn | AudienceKind::TopicOptOut)
        .then(|| TopicSnapshot { id: sample_id(at_ms), name: TEXT.to_owned() });
    audience(kind, AudienceSubject::Contact { contact, source: ChangeSource::Dashboard, topic }, at_ms)
}

fn suppression(kind: AudienceKind, at_ms: TimestampMs) -> String {
    let entry = SuppressionSnapshot {
        id: sample_id(at_ms),
        email: ADDRESS.to_owned(),
        origin: "manual".to_owned(),
        source: Some(ChangeSource::Dashboard),
        created_ms: at_ms,
    };
    audience(kind, AudienceSubject::Suppression(entry), at_ms)
}

fn audience(kind: AudienceKind, subject: AudienceSubject, at_ms: TimestampMs) -> String {
    AudienceEvent { kind, at_ms, subject }.payload(sample_id(at_ms)).to_string()
}

fn deliverability() -> DeliverabilityDetail {
    DeliverabilityDetail {
        metric: RateMetric::Bounce,
        rate: 0.05,
        limit: 0.04,
        window_days: 7,
        dashboard_url: LINK.to_owned(),
    }
}

fn quota(used: u64, at_ms: TimestampMs) -> QuotaDetail {
    QuotaDetail {
        used,
        limit: 100,
        period: QuotaPeriod::Day { ceiling: 150 },
        resets_ms: at_ms - at_ms.rem_euclid(DAY_MS) + DAY_MS,
        dashboard_url: LINK.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_sample_with_its_type_and_time() {
        let at_ms = 1_767_604_353_456;
        let samples: Vec<serde_json::Value> =
            EventType::all().map(|event_type| serde_json::from_str(&sample(event_type, at_ms)).unwrap()).collect();

        for (event_type, sample) in EventType::all().zip(&samples) {
            assert_eq!(sample["type"], event_type.as_str());
            assert_eq!(sample["created_at"], "2026-01-05T09:12:33.456Z", "{sample}");
            assert_eq!(sample.as_object().unwrap().len(), 3, "{sample}");
        }
        insta::assert_json_snapshot!(samples);
    }
}
