//! Request bodies, and their validation without the store.

use salvo::oapi::ToSchema;
use serde::Deserialize;
use serde_json::Value;

use super::schema::{EndpointText, EventTypeWord, OverlapHours, SigningSecretText, StatusWord};
use crate::base::compat::{Compat, CompatFeature};
use crate::base::nearest::did_you_mean;
use crate::base::signature::WebhookSecret;
use crate::events::{EventType, EventTypes, ForeignEventType};
use crate::http::body::{self, FromBody};
use crate::http::schema::NonEmptyList;
use crate::http::{ApiError, ApiResult, AtMost, BodyPresence, BodySize, JsonBody};
use crate::http_client::{CustomerUrl, UrlPolicy};
use crate::webhooks::{
    NewWebhook, OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX, SecretRotation, StatusChange, SubscribedEvents,
    WebhookChanges, WebhookStatus,
};

/// Event names of one request, including duplicates.
const EVENTS_MAX: usize = 100;
/// Characters of an invalid event name that the error message repeats.
const NAME_CHARS_MAX: usize = 60;

/// An endpoint to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWebhookRequest {
    /// The `https` URL that events are posted to, up to 2048 characters.
    #[salvo(schema(required = true, value_type = EndpointText))]
    endpoint: Option<String>,
    /// The types of events to subscribe to, at least one.
    #[salvo(schema(required = true, value_type = NonEmptyList<EVENTS_MAX, EventTypeWord>))]
    events: Option<AtMost<EVENTS_MAX, String>>,
    /// `enabled` or `disabled`; enabled if omitted.
    #[salvo(schema(value_type = Option<StatusWord>))]
    status: Option<String>,
    /// The signing secret, `whsec_` and base64 of 24 to 64 bytes; generated if omitted.
    #[salvo(schema(value_type = Option<SigningSecretText>))]
    signing_secret: Option<Value>,
}

impl JsonBody for CreateWebhookRequest {}

/// Changes of an endpoint.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateWebhookRequest {
    /// The `https` URL that events are posted to, up to 2048 characters.
    #[salvo(schema(value_type = Option<EndpointText>))]
    endpoint: Option<String>,
    /// The types of events to subscribe to, at least one.
    #[salvo(schema(value_type = Option<NonEmptyList<EVENTS_MAX, EventTypeWord>>))]
    events: Option<AtMost<EVENTS_MAX, String>>,
    /// `enabled` or `disabled`.
    #[salvo(schema(value_type = Option<StatusWord>))]
    status: Option<String>,
}

impl JsonBody for UpdateWebhookRequest {}

/// A replacement of the signing secret.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotateSecretRequest {
    /// The number of hours that the previous secret continues to sign, 0 to 72; 24 if omitted.
    #[salvo(schema(value_type = Option<OverlapHours>))]
    overlap_hours: Option<Value>,
    /// The new signing secret, `whsec_` and base64 of 24 to 64 bytes; generated if omitted.
    #[salvo(schema(value_type = Option<SigningSecretText>))]
    signing_secret: Option<Value>,
}

/// The type of a test event.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestWebhookRequest {
    /// A type that the endpoint subscribes to. If omitted: `email.delivered`, or the first of its types if it does not
    /// subscribe to that.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type", value_type = Option<EventTypeWord>))]
    event_type: Option<String>,
}

/// Implements a body that can be omitted. An omitted body means `{}`.
macro_rules! optional_body {
    ($($request:ty),+) => { $(
        impl FromBody for $request {
            const SIZE: BodySize = BodySize::Other;
            const PRESENCE: BodyPresence = BodyPresence::Optional;

            fn from_body(raw: &[u8], tolerated: &[&str]) -> ApiResult<Self> {
                body::parse_optional(raw, tolerated)
            }
        }
    )+ };
}
optional_body!(RotateSecretRequest, TestWebhookRequest);

impl CreateWebhookRequest {
    /// Validates the fields.
    pub(crate) fn parse(self, policy: &UrlPolicy, compat: Compat) -> ApiResult<NewWebhook> {
        let Self { endpoint, events, status, signing_secret } = self;
        let endpoint = endpoint.ok_or_else(|| ApiError::missing_field("endpoint"))?;
        let events = events.ok_or_else(|| ApiError::missing_field("events"))?;
        Ok(NewWebhook {
            endpoint: parse_endpoint(&endpoint, policy)?,
            subscription: parse_events(&events.0, compat)?,
            status: parse_status(status)?.unwrap_or(StatusChange::Enable).applied_to(WebhookStatus::Enabled),
            secret: parse_secret(signing_secret)?,
        })
    }
}

impl UpdateWebhookRequest {
    /// Validates the fields.
    pub(super) fn parse(self, policy: &UrlPolicy, compat: Compat) -> ApiResult<WebhookChanges> {
        let Self { endpoint, events, status } = self;
        Ok(WebhookChanges {
            endpoint: endpoint.map(|text| parse_endpoint(&text, policy)).transpose()?,
            subscription: events.map(|AtMost(events)| parse_events(&events, compat)).transpose()?,
            status: parse_status(status)?,
        })
    }
}

impl RotateSecretRequest {
    /// Validates the fields.
    pub(crate) fn parse(self) -> ApiResult<SecretRotation> {
        let Self { overlap_hours, signing_secret } = self;
        let hours = |hours: Value| {
            // In JSON, `24.0` is the same number as `24`.
            let given = hours.as_f64();
            (0..=OVERLAP_HOURS_MAX).find(|hours| given == Some(f64::from(*hours))).ok_or_else(|| {
                ApiError::validation(format!(
                    "Invalid `overlap_hours` field: it must be a whole number from 0 to {OVERLAP_HOURS_MAX}."
                ))
            })
        };
        Ok(SecretRotation {
            overlap_hours: overlap_hours.map_or(Ok(OVERLAP_HOURS_DEFAULT), hours)?,
            secret: parse_secret(signing_secret)?,
        })
    }
}

impl TestWebhookRequest {
    /// Validates the fields.
    pub(crate) fn parse(self) -> ApiResult<Option<EventType>> {
        self.event_type.map(|name| EventType::parse(&name).ok_or_else(|| refused("type", &name))).transpose()
    }
}

fn parse_endpoint(text: &str, policy: &UrlPolicy) -> ApiResult<CustomerUrl> {
    CustomerUrl::parse(text, policy)
        .map_err(|error| ApiError::validation(format!("Invalid `endpoint` field: {error}.")))
}

fn parse_status(status: Option<String>) -> ApiResult<Option<StatusChange>> {
    let parse = |word: String| {
        StatusChange::parse(&word)
            .ok_or_else(|| ApiError::validation("Invalid `status` field: use `enabled` or `disabled`."))
    };
    status.map(parse).transpose()
}

/// Parses a secret. A value of every wrong type gets the same error as a wrong text.
fn parse_secret(secret: Option<Value>) -> ApiResult<Option<WebhookSecret>> {
    let parse = |secret: Value| {
        let secret = secret.as_str().and_then(WebhookSecret::parse);
        secret.ok_or_else(|| ApiError::validation("signing_secret must be whsec_ followed by base64 of 24-64 bytes"))
    };
    secret.map(parse).transpose()
}

fn parse_events(names: &[String], compat: Compat) -> ApiResult<SubscribedEvents> {
    if names.is_empty() {
        return Err(ApiError::validation(format!(
            "Invalid `events` field: the array is empty; give at least one of {}.",
            known()
        )));
    }
    let one = |(index, name): (usize, &String)| parse_event(&format!("events[{index}]"), name, compat);
    names.iter().enumerate().map(one).collect::<ApiResult<EventTypes>>().map(SubscribedEvents::Named)
}

fn parse_event(field: &str, name: &str, compat: Compat) -> ApiResult<EventTypes> {
    if let Some(event_type) = EventType::parse(name) {
        return Ok(event_type.into());
    }
    match ForeignEventType::parse(name) {
        Some(foreign) if compat.accepts(CompatFeature::Events) => Ok(foreign.into()),
        Some(_) => {
            let ApiError { message, .. } = refused(field, name);
            let advice = CompatFeature::Events.advice();
            Err(ApiError::validation(format!("{message} To store it anyway, {advice}.")))
        }
        None => Err(refused(field, name)),
    }
}

/// Returns the 422 for a type that is unknown or never occurs here.
fn refused(field: &str, name: &str) -> ApiError {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    let is_foreign = ForeignEventType::parse(name).is_some();
    let problem = if is_foreign { "is never emitted by this server" } else { "is no type of event" };
    let suggestion =
        if is_foreign { String::new() } else { did_you_mean(name, EventType::all().map(EventType::as_str)) };
    ApiError::validation(format!("Invalid `{field}` field: `{shown}` {problem}; there are {}.{suggestion}", known()))
}

fn known() -> String {
    let names: Vec<String> = EventType::all().map(|event_type| format!("`{}`", event_type.as_str())).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const URL: &str = "https://hooks.example.com/mail";

    fn created(body: &serde_json::Value) -> ApiResult<NewWebhook> {
        let request = body::parse::<CreateWebhookRequest>(body.to_string().as_bytes(), &[])?;
        request.parse(&UrlPolicy::default(), Compat::NONE)
    }

    fn rotated(raw: &str) -> ApiResult<SecretRotation> {
        RotateSecretRequest::from_body(raw.as_bytes(), &[])?.parse()
    }

    fn refusal<T: std::fmt::Debug>(parsed: ApiResult<T>) -> (u16, String) {
        let error = parsed.unwrap_err();
        (error.code.status(), error.message)
    }

    #[test]
    fn event_names_are_a_set() {
        let body = serde_json::json!({
            "endpoint": URL, "events": ["email.opened", "email.sent", "email.opened"], "signing_secret": SECRET,
        });

        let new = created(&body).unwrap();

        assert_eq!(new.endpoint.to_string(), URL);
        let types = [EventType::EmailSent, EventType::EmailOpened].into_iter().collect();
        assert_eq!(new.subscription, SubscribedEvents::Named(types));
        assert_eq!(new.secret.unwrap().reveal(), SECRET);
    }

    #[test]
    fn every_event_type_can_be_named() {
        let names: Vec<&str> = EventType::all().map(EventType::as_str).collect();

        let new = created(&serde_json::json!({ "endpoint": URL, "events": names })).unwrap();

        assert!(EventType::all().all(|event_type| new.subscription.types().contains(event_type)));
        assert_eq!(new.secret, None);
    }

    #[test]
    fn an_invalid_endpoint_is_refused_with_the_invalid_field() {
        let missing = |field: &str| (422, format!("Missing `{field}` field."));
        for (body, refused) in [
            (serde_json::json!({}), missing("endpoint")),
            (serde_json::json!({ "endpoint": null, "events": ["email.sent"] }), missing("endpoint")),
            (serde_json::json!({ "endpoint": URL }), missing("events")),
            (serde_json::json!({ "endpoint": URL, "events": null }), missing("events")),
        ] {
            assert_eq!(refusal(created(&body)), refused, "{body}");
        }
        for url in ["", "hooks.example.com", "http://hooks.example.com/", "ftp://hooks.example.com/"] {
            let (status, message) = refusal(created(&serde_json::json!({ "endpoint": url, "events": ["email.sent"] })));
            assert_eq!(status, 422);
            assert!(message.starts_with("Invalid `endpoint` field: "), "{url}: {message}");
        }
        for (events, start) in [
            (serde_json::json!([]), "Invalid `events` field: the array is empty; give at least one of `email."),
            (
                serde_json::json!(["email.sent", "email.received"]),
                "Invalid `events[1]` field: `email.received` is never emitted by this server; there are `email.",
            ),
            (serde_json::json!(["domain.created"]), "Invalid `events[0]` field: `domain.created` is never emitted"),
            (serde_json::json!(["email.suppressed"]), "Invalid `events[0]` field: `email.suppressed` is never emitted"),
            (serde_json::json!(["EMAIL.SENT"]), "Invalid `events[0]` field: `EMAIL.SENT` is no type of event; there"),
            (serde_json::json!(["*"]), "Invalid `events[0]` field: `*` is no type of event"),
            (serde_json::json!([""]), "Invalid `events[0]` field: `` is no type of event"),
            (serde_json::json!(["a\u{1b}b"]), "Invalid `events[0]` field: `ab` is no type of event"),
            (serde_json::json!([1]), "Invalid `events[0]` field: invalid type: integer `1`, expected a string."),
            (serde_json::json!("email.sent"), "Invalid `events` field: invalid type: string \"email.sent\", expected"),
            (serde_json::json!(vec!["email.sent"; 101]), "Invalid `events` field: more than 100 items"),
        ] {
            let (status, message) = refusal(created(&serde_json::json!({ "endpoint": URL, "events": events })));
            assert_eq!(status, 422, "{events}");
            assert!(message.starts_with(start), "{events}: {message}");
            assert!(message.len() < 1_000, "{message}");
        }
        let long = "x".repeat(10_000);
        let (_, message) = refusal(created(&serde_json::json!({ "endpoint": URL, "events": [long] })));
        assert!(message.len() < 1_000, "{message}");
    }

    #[test]
    fn an_invalid_secret_of_any_type_is_refused_with_the_documented_message() {
        use serde_json::json;

        let expected = (422, "signing_secret must be whsec_ followed by base64 of 24-64 bytes".to_owned());
        let without_prefix = SECRET.replace("whsec_", "");
        let texts = ["", "whsec_", "secret", &without_prefix, "whsec_c2hvcnQ=", &format!("{SECRET} ")].map(Value::from);
        let others = [json!(7), json!(-1.5), json!(true), json!([SECRET]), json!({ "secret": SECRET })];
        for secret in texts.into_iter().chain(others) {
            let body = json!({ "endpoint": URL, "events": ["email.sent"], "signing_secret": secret });
            assert_eq!(refusal(created(&body)), expected, "{secret}");
            let body = json!({ "signing_secret": secret });
            assert_eq!(refusal(rotated(&body.to_string())), expected, "{secret}");
        }
    }

    #[test]
    fn a_rotation_overlaps_for_0_to_72_hours_and_by_default_for_24() {
        for (raw, overlap_hours) in [
            ("", 24),
            (" \r\n", 24),
            ("[]", 24),
            ("null", 24),
            ("{}", 24),
            (r#"{"overlap_hours": null, "signing_secret": null}"#, 24),
            (r#"{"overlap_hours": 0}"#, 0),
            (r#"{"overlap_hours": 1}"#, 1),
            (r#"{"overlap_hours": 72}"#, 72),
            (r#"{"overlap_hours": 27.0}"#, 27),
        ] {
            assert_eq!(rotated(raw).unwrap(), SecretRotation { overlap_hours, secret: None }, "{raw}");
        }
        let range = "Invalid `overlap_hours` field: it must be a whole number from 0 to 72.";
        for raw in [
            r#"{"overlap_hours": 73}"#,
            r#"{"overlap_hours": -1}"#,
            r#"{"overlap_hours": 256}"#,
            r#"{"overlap_hours": 9223372036854775807}"#,
            r#"{"overlap_hours": 1.5}"#,
            r#"{"overlap_hours": 1e300}"#,
            r#"{"overlap_hours": 18446744073709551616}"#,
            r#"{"overlap_hours": "24"}"#,
            r#"{"overlap_hours": true}"#,
        ] {
            assert_eq!(refusal(rotated(raw)), (422, range.to_owned()), "{raw}");
        }
        for raw in [r#"{"overlap": 24}"#, "[24]", "24"] {
            assert_eq!(refusal(rotated(raw)).0, 422, "{raw}");
        }
        for raw in ["{", "\u{0}", "nope", "{}{}"] {
            assert_eq!(refusal(rotated(raw)).0, 400, "{raw:?}");
        }
    }

    #[test]
    fn a_test_names_one_type() {
        let tested = |raw: &str| TestWebhookRequest::from_body(raw.as_bytes(), &[])?.parse();

        assert_eq!(tested("").unwrap(), None);
        assert_eq!(tested(r#"{"type": null}"#).unwrap(), None);
        assert_eq!(tested(r#"{"type": "quota.paused"}"#).unwrap(), Some(EventType::QuotaPaused));
        let (status, message) = refusal(tested(r#"{"type": "domain.created"}"#));
        assert_eq!(status, 422);
        assert!(message.starts_with("Invalid `type` field: `domain.created` is never emitted"), "{message}");
    }

    #[test]
    fn an_update_contains_the_changes() {
        let updated = |body: serde_json::Value| {
            body::parse::<UpdateWebhookRequest>(body.to_string().as_bytes(), &[])?
                .parse(&UrlPolicy::default(), Compat::NONE)
        };

        assert_eq!(updated(serde_json::json!({})).unwrap(), WebhookChanges::default());
        let nothing = serde_json::json!({ "endpoint": null, "events": null, "status": null });
        assert_eq!(updated(nothing).unwrap(), WebhookChanges::default());
        let disabled = updated(serde_json::json!({ "status": "disabled" })).unwrap();
        assert_eq!(disabled, WebhookChanges { status: Some(StatusChange::Disable), ..WebhookChanges::default() });
        for (body, start) in [
            (serde_json::json!({ "status": "paused" }), "Invalid `status` field: use `enabled` or `disabled`."),
            (serde_json::json!({ "events": [] }), "Invalid `events` field: the array is empty"),
            (serde_json::json!({ "endpoint": "" }), "Invalid `endpoint` field: "),
            (serde_json::json!({ "signing_secret": SECRET }), "Invalid `signing_secret` field: unknown field"),
        ] {
            let (status, message) = refusal(updated(body.clone()));
            assert_eq!(status, 422, "{body}");
            assert!(message.starts_with(start), "{body}: {message}");
        }
    }
}
