//! Requests of broadcasts.

use salvo::oapi::ToSchema;
use serde::Deserialize;

use crate::base::clock::TimestampMs;
use crate::base::compat::Compat;
use crate::base::id::{Id, SegmentId, TopicId};
use crate::base::patch::Patch;
use crate::broadcast_rows::BroadcastContent;
use crate::broadcasts::model::{
    BroadcastChanges, BroadcastName, NAME_CHARS_MAX, NewBroadcast, PREVIEW_CHARS_MAX, PreviewText,
};
use crate::emails::SUBJECT_CHARS_MAX;
use crate::emails::api::request::{
    OneOrMany, check_subject, parse_mailbox, parse_reply_to, parse_scheduled_at, unless_empty,
};
use crate::http::schema::{LineText, MailboxText, NonEmptyLine, ScheduleText, UuidText};
use crate::http::{ApiError, ApiResult, BodyPresence, BodySize, FromBody, JsonBody, body};

/// A broadcast to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBroadcastRequest {
    /// The sender: `user@example.com` or `Name <user@example.com>`. To send the broadcast, its domain must be verified.
    #[salvo(schema(required = true, value_type = MailboxText))]
    from: Option<String>,
    /// The subject, up to 998 characters, with merge fields.
    #[salvo(schema(required = true, value_type = NonEmptyLine<SUBJECT_CHARS_MAX>))]
    subject: Option<String>,
    /// The name, up to 255 characters, which recipients do not see; the subject by default.
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    name: Option<String>,
    /// The segment of the recipients. Without it, all contacts of the team are recipients.
    #[salvo(schema(value_type = Option<UuidText>))]
    segment_id: Option<String>,
    /// The older name of `segment_id`.
    #[salvo(schema(value_type = Option<UuidText>))]
    audience_id: Option<String>,
    /// The topic that the recipients must receive. Without it, every subscribed contact is a recipient.
    #[salvo(schema(value_type = Option<UuidText>))]
    topic_id: Option<String>,
    /// The addresses for replies.
    reply_to: Option<OneOrMany>,
    /// The text that mail clients show beside the subject, up to 500 characters, with merge fields.
    #[salvo(schema(value_type = Option<LineText<PREVIEW_CHARS_MAX>>))]
    preview_text: Option<String>,
    /// The HTML part, with merge fields. A draft without `html` and `text` cannot be sent.
    html: Option<String>,
    /// The text part, with merge fields. Generated from `html` if absent.
    text: Option<String>,
    /// Whether to send the broadcast. If it cannot be sent, the draft remains.
    send: Option<bool>,
    /// When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`. Requires `send`.
    #[salvo(schema(value_type = Option<ScheduleText>))]
    scheduled_at: Option<String>,
}

impl JsonBody for CreateBroadcastRequest {}

/// Changes to a draft.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateBroadcastRequest {
    /// The sender.
    #[salvo(schema(value_type = Option<MailboxText>))]
    from: Option<String>,
    /// The subject, up to 998 characters, with merge fields.
    #[salvo(schema(value_type = Option<NonEmptyLine<SUBJECT_CHARS_MAX>>))]
    subject: Option<String>,
    /// The name, up to 255 characters; null or an empty text for the subject.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    name: Patch<String>,
    /// The segment of the recipients; null for all contacts of the team.
    #[serde(default)]
    #[salvo(schema(value_type = Option<UuidText>))]
    segment_id: Patch<String>,
    /// The older name of `segment_id`.
    #[salvo(schema(value_type = Option<UuidText>))]
    audience_id: Option<String>,
    /// The topic that the recipients must receive; null for every subscribed contact.
    #[serde(default)]
    #[salvo(schema(value_type = Option<UuidText>))]
    topic_id: Patch<String>,
    /// The addresses for replies; null or an empty array removes them.
    #[serde(default)]
    #[salvo(schema(value_type = Option<OneOrMany>))]
    reply_to: Patch<OneOrMany>,
    /// The text that mail clients show beside the subject; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LineText<PREVIEW_CHARS_MAX>>))]
    preview_text: Patch<String>,
    /// The HTML part; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<String>))]
    html: Patch<String>,
    /// The text part; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<String>))]
    text: Patch<String>,
}

impl JsonBody for UpdateBroadcastRequest {}

/// A draft to send.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendBroadcastRequest {
    /// When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`. Now by default.
    #[salvo(schema(value_type = Option<ScheduleText>))]
    scheduled_at: Option<String>,
}

// An omitted body means `{}`.
impl FromBody for SendBroadcastRequest {
    const SIZE: BodySize = BodySize::Other;
    const PRESENCE: BodyPresence = BodyPresence::Optional;

    fn from_body(raw: &[u8], tolerated: &[&str]) -> ApiResult<Self> {
        body::parse_optional(raw, tolerated)
    }
}

/// Whether and when a new broadcast is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendChoice {
    /// It stays a draft.
    Draft,
    /// It is sent at this time; now without one.
    Send(Option<TimestampMs>),
}

impl CreateBroadcastRequest {
    /// Checks all rules that need no store.
    pub(super) fn parse(self, now_ms: TimestampMs, compat: Compat) -> ApiResult<(NewBroadcast, SendChoice)> {
        let Self {
            from,
            subject,
            name,
            segment_id,
            audience_id,
            topic_id,
            reply_to,
            preview_text,
            html,
            text,
            send,
            scheduled_at,
        } = self;
        let from = from.ok_or_else(|| ApiError::missing_field("from"))?;
        let subject = subject.ok_or_else(|| ApiError::missing_field("subject"))?;
        let from = parse_mailbox("from", &from)?;
        check_subject(&subject)?;
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let new = NewBroadcast {
            name: given(name).as_deref().map(parse_name).transpose()?,
            from,
            subject,
            reply_to: parse_reply_to(unless_empty(reply_to, compat))?,
            preview_text: given(preview_text).as_deref().map(parse_preview_text).transpose()?,
            segment: one_segment(
                segment_id.as_deref().map(parse_segment_id).transpose()?,
                audience_id.as_deref().map(parse_audience_id).transpose()?,
            )?,
            topic: topic_id.as_deref().map(parse_topic_id).transpose()?,
            content: BroadcastContent { html: non_empty(html), text: non_empty(text), source: None },
        };
        let scheduled_at = scheduled_at.filter(|text| !text.is_empty());
        let choice = match (send.unwrap_or_default(), scheduled_at) {
            (true, scheduled_at) => SendChoice::Send(parse_due_time(scheduled_at.as_deref(), now_ms)?),
            (false, None) => SendChoice::Draft,
            (false, Some(_)) => {
                return Err(ApiError::validation(
                    "Invalid `scheduled_at` field: it requires `send: true`. Leave it out, and give it when you send \
                     the draft.",
                ));
            }
        };
        Ok((new, choice))
    }
}

impl UpdateBroadcastRequest {
    /// Checks all rules that need no store.
    pub(crate) fn parse(self, compat: Compat) -> ApiResult<BroadcastChanges> {
        let Self { from, subject, name, segment_id, audience_id, topic_id, reply_to, preview_text, html, text } = self;
        if let Some(subject) = &subject {
            check_subject(subject)?;
        }
        let segment = parse_patch(segment_id, parse_segment_id)?;
        let audience = audience_id.as_deref().map(parse_audience_id).transpose()?;
        // An SDK sends a null `audience_id` beside the new name.
        let segment = match (segment, audience) {
            (Patch::Set(segment), Some(audience)) if segment != audience => return Err(different_segments()),
            (_, Some(audience)) => Patch::Set(audience),
            (segment, None) => segment,
        };
        Ok(BroadcastChanges {
            name: parse_patch(cleared_if_blank(name), parse_name)?,
            from: from.map(|from| parse_mailbox("from", &from)).transpose()?,
            subject,
            reply_to: match reply_to {
                Patch::Keep => None,
                Patch::Clear => Some(Vec::new()),
                Patch::Set(addresses) => Some(parse_reply_to(unless_empty(Some(addresses), compat))?),
            },
            preview_text: parse_patch(cleared_if_blank(preview_text), parse_preview_text)?,
            segment,
            topic: parse_patch(topic_id, parse_topic_id)?,
            html: cleared_if_empty(html),
            text: cleared_if_empty(text),
            source: Patch::Keep,
            revision: None,
        })
    }
}

impl SendBroadcastRequest {
    /// Returns the due time; `None` to send now.
    pub(super) fn parse(self, now_ms: TimestampMs) -> ApiResult<Option<TimestampMs>> {
        parse_due_time(self.scheduled_at.as_deref(), now_ms)
    }
}

/// An SDK sends an empty text for a broadcast that is sent now.
fn parse_due_time(text: Option<&str>, now_ms: TimestampMs) -> ApiResult<Option<TimestampMs>> {
    text.filter(|text| !text.is_empty()).map(|text| parse_scheduled_at(text, now_ms)).transpose()
}

fn one_segment(segment: Option<SegmentId>, audience: Option<SegmentId>) -> ApiResult<Option<SegmentId>> {
    match (segment, audience) {
        (Some(segment), Some(audience)) if segment != audience => Err(different_segments()),
        (segment, audience) => Ok(segment.or(audience)),
    }
}

fn different_segments() -> ApiError {
    ApiError::validation("Use either `segment_id` or `audience_id`: they name different segments.")
}

fn parse_segment_id(text: &str) -> ApiResult<SegmentId> {
    parse_id("segment_id", text)
}

fn parse_audience_id(text: &str) -> ApiResult<SegmentId> {
    parse_id("audience_id", text)
}

fn parse_topic_id(text: &str) -> ApiResult<TopicId> {
    parse_id("topic_id", text)
}

fn parse_id<R>(field: &str, text: &str) -> ApiResult<Id<R>> {
    Id::parse(text).ok_or_else(|| ApiError::validation(format!("The `{field}` must be a valid UUID.")))
}

fn parse_name(text: &str) -> ApiResult<BroadcastName> {
    BroadcastName::parse(text).ok_or_else(|| too_long("name", NAME_CHARS_MAX))
}

fn parse_preview_text(text: &str) -> ApiResult<PreviewText> {
    PreviewText::parse(text).ok_or_else(|| too_long("preview_text", PREVIEW_CHARS_MAX))
}

fn too_long(field: &str, chars_max: usize) -> ApiError {
    ApiError::validation(format!(
        "Invalid `{field}` field: it may have {chars_max} characters, and no control characters."
    ))
}

fn parse_patch<T>(given: Patch<String>, parse: impl FnOnce(&str) -> ApiResult<T>) -> ApiResult<Patch<T>> {
    Ok(match given {
        Patch::Keep => Patch::Keep,
        Patch::Clear => Patch::Clear,
        Patch::Set(text) => Patch::Set(parse(&text)?),
    })
}

/// A form sends an empty text for an empty field.
fn cleared_if_blank(given: Patch<String>) -> Patch<String> {
    match given {
        Patch::Set(text) if text.trim().is_empty() => Patch::Clear,
        given => given,
    }
}

fn cleared_if_empty(given: Patch<String>) -> Patch<String> {
    match given {
        Patch::Set(text) if text.is_empty() => Patch::Clear,
        given => given,
    }
}

fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW_MS: TimestampMs = 1_767_604_353_456;

    fn create(fields: &Value) -> ApiResult<(NewBroadcast, SendChoice)> {
        let mut body = json!({ "from": "Ada <ada@example.com>", "subject": "June" });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        body::parse::<CreateBroadcastRequest>(body.to_string().as_bytes(), &[])?.parse(NOW_MS, Compat::NONE)
    }

    #[test]
    fn a_due_time_requires_send_and_an_empty_one_is_absent() {
        let later = Some(NOW_MS + 3_600_000);
        for (fields, expected) in [
            (json!({}), Some(SendChoice::Draft)),
            (json!({ "send": false, "scheduled_at": "" }), Some(SendChoice::Draft)),
            (json!({ "send": null, "scheduled_at": null }), Some(SendChoice::Draft)),
            (json!({ "send": true }), Some(SendChoice::Send(None))),
            (json!({ "send": true, "scheduled_at": "" }), Some(SendChoice::Send(None))),
            (json!({ "send": true, "scheduled_at": "in 1 hour" }), Some(SendChoice::Send(later))),
            (json!({ "scheduled_at": "in 1 hour" }), None),
            (json!({ "send": false, "scheduled_at": "in 1 hour" }), None),
            (json!({ "send": true, "scheduled_at": "soon" }), None),
        ] {
            let choice = create(&fields);

            assert_eq!(choice.as_ref().ok().map(|(_, choice)| *choice), expected, "{fields}");
            assert!(expected.is_some() || choice.unwrap_err().code.status() == 422, "{fields}");
        }
    }

    #[test]
    fn an_audience_is_a_segment_under_its_older_name() {
        let (one, other) = ("0190a6c0-0000-7000-8000-000000000001", "0190a6c0-0000-7000-8000-000000000002");
        for (fields, expected) in [
            (json!({ "audience_id": one }), Ok(Some(one))),
            (json!({ "segment_id": one, "audience_id": one }), Ok(Some(one))),
            (json!({ "segment_id": null, "audience_id": null }), Ok(None)),
            (
                json!({ "segment_id": one, "audience_id": other }),
                Err("Use either `segment_id` or `audience_id`: they name different segments."),
            ),
            (json!({ "audience_id": "x" }), Err("The `audience_id` must be a valid UUID.")),
        ] {
            let segment = create(&fields).map(|(new, _)| new.segment.map(|id| id.to_string()));

            let segment = segment.as_ref().map(Option::as_deref).map_err(|error| error.message.as_str());
            assert_eq!(segment, expected, "{fields}");
        }
    }

    #[test]
    fn null_and_an_empty_text_remove_a_field_of_a_draft() {
        let update = |fields: Value| {
            let request = body::parse::<UpdateBroadcastRequest>(fields.to_string().as_bytes(), &[]).unwrap();
            request.parse(Compat::NONE).unwrap()
        };
        let kept = update(json!({}));
        assert!(!kept.has_content() && kept.reply_to.is_none() && kept.segment == Patch::Keep);
        for empty in [json!(null), json!("")] {
            let cleared = update(json!({ "name": empty, "preview_text": empty, "html": empty, "text": empty }));
            assert_eq!((cleared.name, cleared.preview_text), (Patch::Clear, Patch::Clear), "{empty}");
            assert_eq!((cleared.html, cleared.text), (Patch::Clear, Patch::Clear), "{empty}");
        }
        assert_eq!(update(json!({ "audience_id": null })).segment, Patch::Keep);
        let everyone = update(json!({ "segment_id": null, "topic_id": null, "reply_to": [] }));
        assert_eq!((everyone.segment, everyone.topic), (Patch::Clear, Patch::Clear));
        assert_eq!(everyone.reply_to.map(|addresses| addresses.len()), Some(0));
    }
}
