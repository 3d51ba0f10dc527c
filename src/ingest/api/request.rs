//! Events of a relay: `{type, email_id or message_id, recipient, …}`, one object or an array.
//!
//! A relay retries rejected requests, so everything that a relay may legitimately send is accepted. That includes
//! unknown fields, events of other types with any content, and ids and recipients of other servers. Input that does not
//! have the shape of an event is rejected, because the operator of the relay must correct it.

use chrono::DateTime;
use salvo::oapi::schema::{AllOf, OneOf};
use salvo::oapi::{Array, Components, RefOr, Schema, ToSchema};
use serde::Deserialize;

use super::super::model::{
    DeliveryReport, EmailLocator, FallbackRecipient, RecipientReport, ReportedOutcome, address, one_line,
};
use super::super::report::email_of_message_id;
use super::super::verdict::{ReportedRefusal, reported};
use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::delivery::smtp::FailReason;
use crate::events::BounceType;
use crate::http::body::{parse as parse_json, parse_items};
use crate::http::{ApiError, ApiResult};

/// Events in one request.
const EVENTS_MAX: usize = 1_000;
/// Characters of a reason code or subtype.
const WORD_CHARS_MAX: usize = 64;

/// One event or an array of events, in the OpenAPI document.
pub(super) enum RelayEvents {}

impl ToSchema for RelayEvents {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        let event = AllOf::new().item(AnyEvent::to_schema(components)).item(RelayEvent::to_schema(components));
        let event: RefOr<Schema> = Schema::AllOf(event).into();
        let events = Array::new().items(event.clone()).min_items(1).max_items(EVENTS_MAX);
        Schema::OneOf(OneOf::new().item(event).item(events)).into()
    }
}

/// The type of a relay event.
#[derive(Debug, Deserialize, ToSchema)]
#[salvo(schema(name = "RelayEventType"))]
struct AnyEvent {
    /// `delivered`, `delayed`, `bounced`, `failed` or `complained`, or the same with `email.` before it. An event of
    /// another type is ignored.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type", required = true, value_type = String))]
    event_type: Option<String>,
}

/// Event types with an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayEventType {
    Delivered,
    Delayed,
    Bounced,
    Failed,
    Complained,
}

impl RelayEventType {
    /// Returns the type with this name; `None` for any other type.
    fn parse(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("email.").unwrap_or(name) {
            "delivered" => Self::Delivered,
            "delayed" | "delivery_delayed" => Self::Delayed,
            "bounced" => Self::Bounced,
            "failed" => Self::Failed,
            "complained" => Self::Complained,
            _ => return None,
        })
    }
}

/// An outcome that a relay reports.
#[derive(Debug, Deserialize, ToSchema)]
struct RelayEvent {
    /// The id of the email. Required without `message_id`.
    email_id: Option<String>,
    /// The `Message-ID` of the email.
    message_id: Option<String>,
    /// The address of the recipient.
    #[salvo(schema(required = true, value_type = String))]
    recipient: Option<String>,
    /// The time in ISO 8601; now if absent.
    created_at: Option<String>,
    /// The reply of the other server.
    reply: Option<String>,
    /// The reply of the other server; takes precedence over `reply`.
    diagnostic: Option<String>,
    /// Of `failed`: one word. `rejected` if absent.
    reason: Option<String>,
    /// Of `complained`: one word.
    complaint_feedback_type: Option<String>,
    /// Of `bounced`: the bounce.
    bounce: Option<RelayBounce>,
}

/// A bounce that a relay reports.
#[derive(Debug, Deserialize, ToSchema)]
struct RelayBounce {
    /// `Permanent`, `Transient` or `Undetermined`.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    bounce_type: Option<String>,
    /// The class, such as `General`.
    #[serde(alias = "subType")]
    sub_type: Option<String>,
}

/// Parses a body. An event of another type becomes a report without a finding.
pub(super) fn parse(body: &[u8]) -> ApiResult<Vec<DeliveryReport>> {
    if body.trim_ascii_start().first() != Some(&b'[') {
        return Ok(vec![parse_event(body)?]);
    }
    let items = parse_items(body, EVENTS_MAX, "events")?;
    let report = |(index, item): (usize, &str)| {
        parse_event(item.as_bytes()).map_err(|error| error.prefixed(&format!("events.{index}: ")))
    };
    items.iter().map(|item| item.get()).enumerate().map(report).collect()
}

fn parse_event(event: &[u8]) -> ApiResult<DeliveryReport> {
    let AnyEvent { event_type } = parse_json(event, &[])?;
    let event_type = event_type.ok_or_else(|| ApiError::missing_field("type"))?;
    // The type is parsed first, because the fields of other types may contain anything.
    match RelayEventType::parse(&event_type) {
        Some(event_type) => parse_json::<RelayEvent>(event, &[])?.into_report(event_type),
        None => Ok(DeliveryReport { references: Vec::new(), findings: Vec::new(), fallback: FallbackRecipient::None }),
    }
}

impl RelayEvent {
    fn into_report(self, event_type: RelayEventType) -> ApiResult<DeliveryReport> {
        let recipient = self.recipient.as_deref().ok_or_else(|| ApiError::missing_field("recipient"))?;
        if self.email_id.is_none() && self.message_id.is_none() {
            return Err(ApiError::missing_field("email_id"));
        }
        let at_ms = self.created_at.as_deref().map(time).transpose()?;
        let ids = [
            self.email_id.as_deref().and_then(EmailId::parse),
            self.message_id.as_deref().and_then(email_of_message_id),
        ];
        let recipients = address(recipient).into_iter().collect();
        Ok(DeliveryReport {
            references: ids.into_iter().flatten().map(EmailLocator::Email).collect(),
            findings: vec![RecipientReport { recipients, outcome: self.outcome(event_type), at_ms }],
            fallback: FallbackRecipient::None,
        })
    }

    /// Returns the reported outcome.
    fn outcome(&self, event_type: RelayEventType) -> ReportedOutcome {
        let word_of = |text: &Option<String>| text.as_deref().and_then(word);
        match event_type {
            RelayEventType::Delivered => ReportedOutcome::Delivered { reply: self.diagnostic_text() },
            RelayEventType::Delayed => ReportedOutcome::Delayed { reply: self.diagnostic_text() },
            RelayEventType::Bounced => self.bounced(),
            RelayEventType::Failed => ReportedOutcome::Failed {
                reason: word_of(&self.reason).unwrap_or_else(|| FailReason::Rejected.as_str().to_owned()),
                diagnostic: self.diagnostic_text(),
            },
            RelayEventType::Complained => {
                ReportedOutcome::Complained { feedback_type: word_of(&self.complaint_feedback_type) }
            }
        }
    }

    /// Returns the outcome of a bounce. Only a permanent bounce is one: the relay has given up on a transient or an
    /// undetermined one without evidence against the recipient. A permanent one may be a refusal of the content, so a
    /// clear diagnostic text takes precedence. Without a type, only a clear text counts as a bounce.
    fn bounced(&self) -> ReportedOutcome {
        let text = self.diagnostic_text();
        let clear = ReportedRefusal { diagnostic: text.as_deref(), ..ReportedRefusal::default() }.clear_outcome();
        let bounce_type = self.bounce.as_ref().and_then(|bounce| bounce.bounce_type.as_deref());
        let bounce_type = bounce_type.and_then(bounce_type_of);
        let failed = |reason: FailReason| ReportedOutcome::Failed {
            reason: reason.as_str().to_owned(),
            diagnostic: text.clone(),
        };
        match bounce_type {
            Some(BounceType::Transient) => failed(FailReason::Expired),
            Some(BounceType::Undetermined) => failed(FailReason::Rejected),
            Some(BounceType::Permanent) => match clear {
                Some(failed @ ReportedOutcome::Failed { .. }) => failed,
                _ => {
                    let sub_type = self.bounce.as_ref().and_then(|bounce| bounce.sub_type.as_deref()).and_then(word);
                    ReportedOutcome::Bounced {
                        bounce: reported(sub_type.as_deref().unwrap_or("General"), text.clone()),
                    }
                }
            },
            None => clear.unwrap_or_else(|| failed(FailReason::Rejected)),
        }
    }

    fn diagnostic_text(&self) -> Option<String> {
        self.diagnostic.as_deref().or(self.reply.as_deref()).and_then(one_line)
    }
}

fn bounce_type_of(word: &str) -> Option<BounceType> {
    let known = [BounceType::Permanent, BounceType::Transient, BounceType::Undetermined];
    known.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(word))
}

/// Returns the text if it is one word of bounded length.
fn word(text: &str) -> Option<String> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let fits = (1..=WORD_CHARS_MAX).contains(&text.len()) && text.chars().all(is_word);
    fits.then(|| text.to_owned())
}

fn time(text: &str) -> ApiResult<TimestampMs> {
    let time = DateTime::parse_from_rfc3339(text).map_err(|_| {
        ApiError::validation("Invalid `created_at` field. It must be an ISO 8601 time with its offset from UTC, such as `2026-01-05T09:12:33.456Z`.")
    })?;
    Ok(time.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const EMAIL: &str = "019b8d6d-f9b0-7000-8000-000000000002";

    fn event(fields: &Value) -> Value {
        let mut event = json!({ "type": "bounced", "email_id": EMAIL, "recipient": "ada@example.net" });
        for (name, value) in fields.as_object().unwrap() {
            event[name] = value.clone();
        }
        event
    }

    fn outcome(fields: &Value) -> Option<ReportedOutcome> {
        let reports = parse(event(fields).to_string().as_bytes()).unwrap();
        reports[0].findings.first().map(|finding| finding.outcome.clone())
    }

    #[test]
    fn a_type_is_parsed_with_and_without_its_prefix() {
        for (event_type, expected) in [
            ("delivered", Some("Delivered")),
            ("email.delivered", Some("Delivered")),
            ("delayed", Some("Delayed")),
            ("email.delivery_delayed", Some("Delayed")),
            ("email.bounced", Some("Bounced")),
            ("failed", Some("Failed")),
            ("email.complained", Some("Complained")),
            ("opened", None),
            ("email.clicked", None),
            ("", None),
        ] {
            let fields = json!({ "type": event_type, "bounce": { "type": "Permanent" } });
            let found = outcome(&fields).map(|outcome| format!("{outcome:?}"));
            assert_eq!(found.as_ref().map(|found| found.split(' ').next().unwrap()), expected, "{event_type}");
        }
    }

    #[test]
    fn only_a_permanent_bounce_that_the_text_does_not_contradict_is_a_bounce() {
        for (fields, expected) in [
            (json!({}), "rejected"),
            (json!({ "bounce": { "type": "Permanent", "sub_type": "NoEmail" } }), "Permanent NoEmail"),
            (json!({ "bounce": { "type": "permanent", "subType": "General" } }), "Permanent General"),
            (json!({ "bounce": { "type": "Transient", "sub_type": "MailboxFull" } }), "expired"),
            (json!({ "bounce": { "type": "Undetermined" } }), "rejected"),
            (json!({ "bounce": { "type": "Odd", "sub_type": "no word" } }), "rejected"),
            (json!({ "diagnostic": "550 5.1.1 No such user" }), "Permanent NoEmail"),
            (json!({ "reply": "554 5.7.1 spam" }), "content_rejected"),
            (json!({ "diagnostic": "550 No" }), "rejected"),
            (json!({ "diagnostic": "550 No", "bounce": { "type": "Permanent" } }), "Permanent General"),
            (json!({ "diagnostic": "554 5.7.1 spam", "bounce": { "type": "Permanent" } }), "content_rejected"),
            (json!({ "diagnostic": "550 5.1.1 Unknown", "bounce": { "type": "Transient" } }), "expired"),
        ] {
            let found = match outcome(&fields).unwrap() {
                ReportedOutcome::Bounced { bounce } => {
                    format!("{} {}", bounce.bounce_type.as_str(), bounce.subtype)
                }
                ReportedOutcome::Failed { reason, .. } => reason,
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected, "{fields}");
        }
    }

    #[test]
    fn an_email_is_located_by_its_id_or_message_id() {
        let id = EmailId::parse(EMAIL).unwrap();
        for (fields, expected) in [
            (json!({}), vec![id]),
            (json!({ "email_id": null, "message_id": format!("<{EMAIL}@example.com>") }), vec![id]),
            (json!({ "email_id": null, "message_id": format!("{EMAIL}@example.com") }), vec![id]),
            (json!({ "email_id": "42" }), vec![]),
            (json!({ "email_id": null, "message_id": "<42@example.org>" }), vec![]),
        ] {
            let reports = parse(event(&fields).to_string().as_bytes()).unwrap();
            let expected: Vec<EmailLocator> = expected.into_iter().map(EmailLocator::Email).collect();
            assert_eq!(reports[0].references, expected, "{fields}");
        }
    }

    #[test]
    fn an_event_of_another_type_has_no_finding() {
        let other =
            r#"{"type":"domain.updated","recipient":{"id":7},"email_id":[],"created_at":7,"bounce":0,"bounce":1}"#;
        let events = format!("[{{\"type\":\"opened\"}},{other},{}]", event(&json!({})));

        let alone = parse(other.as_bytes()).unwrap();
        let among_others = parse(events.as_bytes()).unwrap();

        assert_eq!(
            alone,
            [DeliveryReport { references: Vec::new(), findings: Vec::new(), fallback: FallbackRecipient::None }]
        );
        assert_eq!(among_others.iter().map(|report| report.findings.len()).collect::<Vec<_>>(), [0, 0, 1]);
    }

    #[test]
    fn a_body_with_an_invalid_event_is_rejected() {
        let refused = |body: String| {
            let error = parse(body.as_bytes()).unwrap_err();
            format!("{} {}", error.code.status(), error.message)
        };
        for (body, expected) in [
            ("", "400 The request body is not valid JSON"),
            ("{", "400 The request body is not valid JSON"),
            ("7", "422 Invalid request body"),
            ("[]", "422 Invalid request body: it holds 0 events"),
            ("[7]", "422 events.0: Invalid request body"),
            ("{}", "422 Missing `type` field."),
            (r#"[{"type":"delivered"}]"#, "422 events.0: Missing `recipient` field."),
            (r#"{"type":"delivered","recipient":"a@example.net"}"#, "422 Missing `email_id` field."),
            (r#"{"type":7}"#, "422 Invalid `type` field"),
            (r#"{"type":"failed","recipient":{}}"#, "422 Invalid `recipient` field"),
            (r#"{"recipient":{}}"#, "422 Missing `type` field."),
        ] {
            assert!(refused(body.into()).starts_with(expected), "{body}: {}", refused(body.into()));
        }
        let late = event(&json!({ "created_at": "yesterday" })).to_string();
        assert!(refused(late).starts_with("422 Invalid `created_at` field."));
        let many = Value::Array(vec![event(&json!({})); EVENTS_MAX + 1]).to_string();
        assert!(refused(many).starts_with("422 Invalid request body: it holds 1001 events"));
    }

    #[test]
    fn events_keep_their_order_and_unknown_fields_are_ignored() {
        let events: Vec<Value> = (0..EVENTS_MAX)
            .map(|number| event(&json!({ "recipient": format!("r{number}@example.net"), "tags": [number] })))
            .collect();

        let reports = parse(Value::Array(events).to_string().as_bytes()).unwrap();

        assert_eq!(reports.len(), EVENTS_MAX);
        assert_eq!(reports[999].findings[0].recipients, ["r999@example.net"]);
    }

    #[test]
    fn the_time_of_an_event_is_parsed_with_its_offset() {
        let at_ms = |text: &str| {
            let reports = parse(event(&json!({ "created_at": text })).to_string().as_bytes()).unwrap();
            reports[0].findings[0].at_ms
        };

        assert_eq!(at_ms("2026-01-05T09:12:33.456Z"), Some(1_767_604_353_456));
        assert_eq!(at_ms("2026-01-05T10:12:33.456+01:00"), Some(1_767_604_353_456));
    }

    proptest! {
        #[test]
        fn no_body_causes_a_panic(body in "\\PC{0,80}") {
            let _ = parse(body.as_bytes());
        }
    }
}
