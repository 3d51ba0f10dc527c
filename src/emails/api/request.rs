//! Request types of emails, and the rules that need no store.

use std::collections::HashSet;
use std::fmt;

use salvo::oapi::schema::OneOf;
use salvo::oapi::{Array, Components, RefOr, Schema, ToSchema};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::template::{PendingTemplate, SendTemplateRequest, SendTemplateSchema, check_parts};
use crate::base::address::Mailbox;
use crate::base::clock::TimestampMs;
use crate::base::compat::{Compat, CompatFeature};
use crate::base::id::{Id, TopicId};
use crate::emails::attachments::{self, ATTACHMENTS_MAX, AttachmentRequest, ParsedAttachments, RemoteAttachment};
use crate::emails::headers::{self, ParsedHeaders, RawHeaders};
use crate::emails::model::{BATCH_MAX, RECIPIENTS_MAX, Recipient, RecipientKind, SUBJECT_CHARS_MAX, SendEmail};
use crate::emails::schedule;
use crate::emails::tags::{self, TAGS_MAX, TagRequest};
use crate::http::schema::{self, MailboxText, NonEmptyLine, NonEmptyList, ScheduleText, UuidText};
use crate::http::{ApiError, AtMost, BodySize, FromBody, JsonBody, body, read_at_most};

/// Maximum number of addresses decoded from one field. More than are accepted, so that the error has their
/// number.
const ADDRESSES_READ_MAX: usize = 1_000;

/// An email to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendEmailRequest {
    /// The sender: `user@example.com` or `Name <user@example.com>`, of a verified domain.
    #[salvo(schema(required = true, value_type = MailboxText))]
    from: Option<String>,
    /// The recipients. With `cc` and `bcc` at most 50.
    #[salvo(schema(required = true, value_type = OneOrMore))]
    to: Option<OneOrMany>,
    /// The subject, up to 998 characters. Required unless `template` has a subject, which it replaces.
    #[salvo(schema(value_type = Option<NonEmptyLine<SUBJECT_CHARS_MAX>>))]
    subject: Option<String>,
    /// The HTML part. At least one of `html`, `text` and `template` is required.
    html: Option<String>,
    /// The text part. Generated from `html` if absent.
    text: Option<String>,
    /// Recipients in copy.
    cc: Option<OneOrMany>,
    /// Recipients in blind copy.
    bcc: Option<OneOrMany>,
    /// The addresses for replies.
    reply_to: Option<OneOrMany>,
    /// Custom header fields: `X-…`, `In-Reply-To`, `References`, `Importance`, `Priority`,
    /// `Comments`, `Keywords`, `Organization`, and the pair `List-Unsubscribe` and
    /// `List-Unsubscribe-Post`.
    headers: Option<RawHeaders>,
    /// Files to attach, with their content.
    attachments: Option<AtMost<ATTACHMENTS_MAX, AttachmentRequest>>,
    /// Tags of the email, as names and values.
    tags: Option<AtMost<TAGS_MAX, TagRequest>>,
    /// When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`.
    #[salvo(schema(value_type = Option<ScheduleText>))]
    scheduled_at: Option<String>,
    /// The topic that a recipient can opt out of.
    #[salvo(schema(value_type = Option<UuidText>))]
    topic_id: Option<String>,
    /// A published template in place of `html` and `text`.
    #[salvo(schema(value_type = Option<SendTemplateSchema>))]
    template: Option<SendTemplateRequest>,
}

impl JsonBody for SendEmailRequest {
    const SIZE: BodySize = BodySize::Email;

    fn rules() -> Map<String, Value> {
        schema::any_of_field_groups(&[&["subject", "html"], &["subject", "text"], &["template"]])
    }
}

/// Up to 100 emails. Each is decoded separately, so that an error names the index of the invalid one.
#[derive(Debug)]
pub struct SendBatchRequest(pub Vec<Box<RawValue>>);

impl ToSchema for SendBatchRequest {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        let email = schema::with_rules::<SendEmailRequest>(components, &<SendEmailRequest as JsonBody>::rules());
        Array::new().items(email).min_items(1).max_items(BATCH_MAX).into()
    }
}

impl FromBody for SendBatchRequest {
    const SIZE: BodySize = BodySize::Email;

    fn from_body(raw: &[u8], _tolerated: &[&str]) -> Result<Self, ApiError> {
        body::parse_items(raw, BATCH_MAX, "emails").map(Self)
    }
}

/// One address or an array of addresses.
#[derive(Debug)]
pub(crate) struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Addresses;
        impl<'de> Visitor<'de> for Addresses {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address or an array of addresses")
            }

            fn visit_str<E>(self, one: &str) -> Result<Self::Value, E> {
                Ok(vec![one.to_owned()])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                read_at_most(seq, ADDRESSES_READ_MAX)
            }

            // PHP encodes a filtered list as an object whose keys are the old indexes.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut addresses = Vec::new();
                while let Some((index, address)) = map.next_entry::<String, String>()? {
                    if index.parse::<u32>().is_err() || addresses.len() == ADDRESSES_READ_MAX {
                        return Err(serde::de::Error::custom("expected an address or an array of addresses"));
                    }
                    addresses.push(address);
                }
                Ok(addresses)
            }
        }
        deserializer.deserialize_any(Addresses).map(Self)
    }
}

impl ToSchema for OneOrMany {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let many = Array::new().items(schema::formatted("mailbox")).max_items(RECIPIENTS_MAX);
        Schema::OneOf(OneOf::new().item(schema::formatted("mailbox")).item(many)).into()
    }
}

/// OpenAPI schema of an address or a non-empty array of addresses.
struct OneOrMore;

impl ToSchema for OneOrMore {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        let many = NonEmptyList::<RECIPIENTS_MAX, MailboxText>::to_schema(components);
        Schema::OneOf(OneOf::new().item(schema::formatted("mailbox")).item(many)).into()
    }
}

/// Parameters of the rules.
#[derive(Clone, Copy, Debug)]
pub struct RequestRules {
    /// Current time.
    pub now_ms: TimestampMs,
    /// Maximum size of all attachments of an email, decoded.
    pub attachment_bytes_max: u64,
    /// Forms of the compatible API that are accepted in addition.
    pub compat: Compat,
}

/// An email whose template is not rendered yet, and whose remote attachments are not fetched yet.
#[derive(Debug)]
pub struct ParsedEmail {
    /// The email without its remote attachments. With a template, it has no content, and no subject unless the request
    /// gives one.
    pub email: SendEmail,
    pub template: Option<PendingTemplate>,
    pub remote: Vec<RemoteAttachment>,
}

impl SendEmailRequest {
    /// Checks all rules that need no store.
    ///
    /// # Errors
    /// 422 for the first broken rule.
    pub fn parse(self, rules: RequestRules) -> Result<ParsedEmail, ApiError> {
        let Self {
            from,
            to,
            subject,
            html,
            text,
            cc,
            bcc,
            reply_to,
            headers,
            attachments,
            tags,
            scheduled_at,
            topic_id,
            template,
        } = self;
        let from = from.ok_or_else(|| ApiError::missing_field("from"))?;
        let to = to.ok_or_else(|| ApiError::missing_field("to"))?;
        let (subject, template) = match template {
            None => (subject.ok_or_else(|| ApiError::missing_field("subject"))?, None),
            // An SDK sends an empty text for an absent subject.
            Some(template) => {
                let subject = subject.unwrap_or_default();
                let template = template.parse(!subject.is_empty())?;
                (subject, Some(template))
            }
        };
        check_parts(html.as_deref(), text.as_deref(), template.is_some())?;
        let from = parse_mailbox("from", &from)?;
        let [cc, bcc, reply_to] = [cc, bcc, reply_to].map(|addresses| unless_empty(addresses, rules.compat));
        let recipients = parse_recipients(to, cc, bcc)?;
        let reply_to = parse_reply_to(reply_to)?;
        if template.is_none() || !subject.is_empty() {
            check_subject(&subject)?;
        }
        let headers = match headers {
            Some(raw) => headers::parse(raw.0, rules.compat).map_err(|error| invalid("headers", error))?,
            None => ParsedHeaders::default(),
        };
        let reply_to = match headers.reply_to {
            Some(header) => with_reply_to_header(reply_to, &header, rules.compat)?,
            None => reply_to,
        };
        let ParsedAttachments { files: attachments, remote } = attachments::parse(
            attachments.map_or_else(Vec::new, |list| list.0),
            rules.attachment_bytes_max,
            rules.compat,
        )
        .map_err(|error| invalid("attachments", error))?;
        let tags = tags::parse(tags.map_or_else(Vec::new, |list| list.0)).map_err(|error| invalid("tags", error))?;
        let scheduled_ms = match scheduled_at.as_deref() {
            None | Some("") => None,
            Some(text) => Some(parse_scheduled_at(text, rules.now_ms)?),
        };
        let topic = topic_id.as_deref().map_or(Ok(None), |text| parse_topic_id(text, rules.compat))?;
        let mut headers = headers.custom;
        if topic.is_some() {
            headers.remove_lone_unsubscribe();
        }
        let email = SendEmail {
            from,
            recipients,
            reply_to,
            subject,
            html,
            text,
            headers,
            attachments,
            tags,
            scheduled_ms,
            topic,
            template: None,
        };
        Ok(ParsedEmail { email, template, remote })
    }
}

/// Parses `scheduled_at`.
///
/// # Errors
/// 422 with the accepted forms.
pub(crate) fn parse_scheduled_at(text: &str, now_ms: TimestampMs) -> Result<TimestampMs, ApiError> {
    schedule::parse(text, now_ms).map_err(|error| invalid("scheduled_at", error))
}

fn parse_topic_id(text: &str, compat: Compat) -> Result<Option<TopicId>, ApiError> {
    let invalid = || ApiError::validation("The `topic_id` must be a valid UUID.");
    match text {
        "" if compat.accepts(CompatFeature::Requests) => Ok(None),
        "" => Err(or_start_with_requests(invalid())),
        text => Id::parse(text).map(Some).ok_or_else(invalid),
    }
}

/// Returns the addresses of an optional field. With [`CompatFeature::Requests`], an empty text equals an absent field.
pub(crate) fn unless_empty(addresses: Option<OneOrMany>, compat: Compat) -> Option<OneOrMany> {
    let is_empty = |OneOrMany(addresses): &OneOrMany| *addresses == [""];
    addresses.filter(|addresses| !(is_empty(addresses) && compat.accepts(CompatFeature::Requests)))
}

/// Parses the addresses of an optional field. The refusal of an empty text names the setting that accepts it.
fn optional_mailboxes(field: &str, addresses: &[String]) -> Result<Vec<Mailbox>, ApiError> {
    let mailboxes: Result<_, _> = addresses.iter().map(|address| parse_mailbox(field, address)).collect();
    mailboxes.map_err(|error| if *addresses == [""] { or_start_with_requests(error) } else { error })
}

/// Adds the setting that accepts an empty text to the message of its refusal.
fn or_start_with_requests(error: ApiError) -> ApiError {
    let advice = CompatFeature::Requests.advice();
    ApiError { message: format!("{} Leave the field out, or {advice}.", error.message), ..error }
}

fn parse_recipients(to: OneOrMany, cc: Option<OneOrMany>, bcc: Option<OneOrMany>) -> Result<Vec<Recipient>, ApiError> {
    let many = |field: Option<OneOrMany>| field.map_or_else(Vec::new, |OneOrMany(addresses)| addresses);
    let (cc, bcc) = (many(cc), many(bcc));
    let count = to.0.len() + cc.len() + bcc.len();
    if to.0.is_empty() {
        return Err(ApiError::missing_field("to"));
    }
    if count > RECIPIENTS_MAX {
        return Err(ApiError::validation(format!(
            "Invalid `to` field: `to`, `cc` and `bcc` together hold {count} recipients; at most {RECIPIENTS_MAX} are accepted."
        )));
    }
    let mut recipients = Vec::with_capacity(count);
    let mut seen = HashSet::with_capacity(count);
    for (field, kind, addresses) in
        [("to", RecipientKind::To, to.0), ("cc", RecipientKind::Cc, cc), ("bcc", RecipientKind::Bcc, bcc)]
    {
        let mailboxes = match kind {
            RecipientKind::To => addresses.iter().map(|address| parse_mailbox(field, address)).collect(),
            RecipientKind::Cc | RecipientKind::Bcc => optional_mailboxes(field, &addresses),
        };
        for mailbox in mailboxes? {
            // If a mailbox is repeated, only its first occurrence counts.
            if seen.insert(mailbox.address().identity()) {
                recipients.push(Recipient { kind, mailbox });
            }
        }
    }
    Ok(recipients)
}

/// Parses the addresses for replies.
///
/// # Errors
/// 422 for too many addresses, or for the first invalid one.
pub(crate) fn parse_reply_to(reply_to: Option<OneOrMany>) -> Result<Vec<Mailbox>, ApiError> {
    let addresses = reply_to.map_or_else(Vec::new, |OneOrMany(addresses)| addresses);
    if addresses.len() > RECIPIENTS_MAX {
        return Err(too_many_reply_to());
    }
    optional_mailboxes("reply_to", &addresses)
}

/// Combines `reply_to` with the header `Reply-To`. An echo of the field has no effect. Without the field, the header is
/// used if the instance accepts [`CompatFeature::Headers`].
fn with_reply_to_header(reply_to: Vec<Mailbox>, header: &str, compat: Compat) -> Result<Vec<Mailbox>, ApiError> {
    let given = Mailbox::parse_list(header).map_err(|error| {
        ApiError::validation(format!(
            "Invalid `headers` field: the value of `Reply-To` is not a list of addresses: {error}."
        ))
    })?;
    let identities = |mailboxes: &[Mailbox]| -> HashSet<String> {
        mailboxes.iter().map(|mailbox| mailbox.address().identity()).collect()
    };
    if reply_to.is_empty() && compat.accepts(CompatFeature::Headers) {
        return if given.len() > RECIPIENTS_MAX { Err(too_many_reply_to()) } else { Ok(given) };
    }
    if identities(&reply_to) == identities(&given) {
        return Ok(reply_to);
    }
    let advice = match reply_to.is_empty() {
        true => format!("give the addresses in `reply_to`, or {}", CompatFeature::Headers.advice()),
        false => "give the addresses only in `reply_to`".to_owned(),
    };
    Err(ApiError::validation(format!("Invalid `headers` field: `Reply-To` differs from `reply_to`; {advice}.")))
}

fn too_many_reply_to() -> ApiError {
    ApiError::validation(format!("Invalid `reply_to` field: at most {RECIPIENTS_MAX} addresses are accepted."))
}

/// Checks a subject.
///
/// # Errors
/// 422 if it is empty, too long, or has a control character.
pub(crate) fn check_subject(subject: &str) -> Result<(), ApiError> {
    if subject.is_empty() {
        return Err(ApiError::missing_field("subject"));
    }
    if subject.chars().count() > SUBJECT_CHARS_MAX {
        return Err(ApiError::validation(format!(
            "Invalid `subject` field: at most {SUBJECT_CHARS_MAX} characters are accepted."
        )));
    }
    if subject.chars().any(char::is_control) {
        return Err(ApiError::validation(
            "Invalid `subject` field: line breaks and other control characters are not accepted.",
        ));
    }
    Ok(())
}

/// Parses one address, with or without a display name.
///
/// # Errors
/// 422 that names `field`.
pub(crate) fn parse_mailbox(field: &str, text: &str) -> Result<Mailbox, ApiError> {
    Mailbox::parse(text).map_err(|error| {
        ApiError::validation(format!(
            "Invalid `{field}` field. The email address needs to follow the `email@example.com` or \
             `Name <email@example.com>` format: {error}."
        ))
    })
}

pub(super) fn invalid(field: &str, error: impl fmt::Display) -> ApiError {
    ApiError::validation(format!("Invalid `{field}` field: {error}."))
}
