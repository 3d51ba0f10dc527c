//! `POST /emails` and `POST /emails/batch`.

use std::sync::Arc;

use salvo::oapi::{BasicType, Object, Operation, Parameter, ParameterIn, Required, endpoint};

use salvo::writing::Json;
use salvo::{Request, Writer};

use serde_json::value::RawValue;

use super::fetch::{PlannedEmail, RequestFiles, SendOptions};
use super::request::{ParsedEmail, RequestRules, SendBatchRequest, SendEmailRequest};
use super::response::{SendBatchResponse, SendEmailResponse};
use super::template::RequestTemplates;
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::compat::Compat;
use crate::emails::idempotency::{IdempotentRequest, IdempotentRoute, KEY_CHARS_MAX, KeyConflict};
use crate::emails::{
    ALL_RECIPIENTS_SUPPRESSED, BlockedRecipient, EmailLimits, Emails, ReserveResult, SendBatch, SendBatchError,
    SendError, SuppressedItems,
};
use crate::http::tolerance::EMAIL_ITEM_ECHOES;
use crate::http::{
    ApiError, ApiResult, BatchValidation, Body, ErrorCode, FromParameters, Parameters, State, api_error, body,
    canonical, declare_errors,
};
use crate::preferences::{LinkError, PLACEHOLDERS_MAX};

/// Sends an email.
///
/// The response is sent after the email is stored. The email is delivered in the background.
#[endpoint(tags("Emails"), responses(SendError))]
pub async fn send_email(
    emails: State<Emails>,
    limits: State<EmailLimits>,
    options: SendOptions,
    caller: Caller,
    key: Parameters<IdempotencyKey>,
    email: Body<SendEmailRequest>,
) -> ApiResult<Json<SendEmailResponse>> {
    let (request, raw) = email.into_parts();
    let body_bytes = raw.len();
    let idempotent = key.0.request(IdempotentRoute::Send, raw).await?;
    let reservation = match emails.reserve(caller.into(), idempotent.as_ref()).await? {
        ReserveResult::Replay(response) => return Ok(Json(response.into())),
        ReserveResult::First(reservation) => reservation,
    };
    let rules = limits.rules(emails.now_ms(), options.compat);
    let parsed = blocking::run_sized(body_bytes, move || request.parse(rules)).await?;
    let mut templates = options.templates(caller);
    let parsed = templates.render_one(parsed).await?;
    let mut files = options.files(caller, rules);
    let mut planned = files.plan(parsed)?;
    if planned.has_files() {
        let (email, refusal) = emails.check(caller.into(), vec![planned]).await?.pop().expect("one email was checked");
        refusal.map_or(Ok(()), Err)?;
        planned = email;
    }
    let email = files.complete(planned).await?;
    let response = emails.send_all(caller.into(), SendBatch::of(email), reservation).await;
    Ok(Json(response.map_err(|error| error.error)?.into()))
}

/// Sends up to 100 emails.
///
/// A batch is accepted or rejected as a whole. With `x-batch-validation: permissive` the valid
/// emails are accepted and the others listed in `errors`.
#[endpoint(tags("Emails"), responses(SendError))]
pub async fn send_batch(
    emails: State<Emails>,
    limits: State<EmailLimits>,
    options: SendOptions,
    caller: Caller,
    key: Parameters<IdempotencyKey>,
    validation: Parameters<BatchValidation>,
    batch: Body<SendBatchRequest>,
) -> ApiResult<Json<SendBatchResponse>> {
    let (SendBatchRequest(items), raw) = batch.into_parts();
    let body_bytes = raw.len();
    let idempotent = key.0.request(IdempotentRoute::Batch, raw).await?;
    let reservation = match emails.reserve(caller.into(), idempotent.as_ref()).await? {
        ReserveResult::Replay(response) => return Ok(Json(response.into())),
        ReserveResult::First(reservation) => reservation,
    };
    let rules = limits.rules(emails.now_ms(), options.compat);
    let parsed = blocking::run_sized(body_bytes, move || ParsedBatch::parse(items, validation.0, rules)).await?;
    let mut templates = options.templates(caller);
    let parsed = parsed.render(&mut templates).await?;
    let mut files = options.files(caller, rules);
    let planned = parsed.plan(&mut files)?.check(&emails, caller).await?;
    let batch = planned.complete(&mut files).await?;
    let response = emails.send_all(caller.into(), batch, reservation).await.map_err(|error| {
        let SendBatchError { index, error } = error;
        match error {
            // These errors apply to the request, not to one email.
            error @ (SendError::Store(_) | SendError::Key(_) | SendError::SendingPaused(_)) => error.into(),
            error => at_index(index, error.into()),
        }
    })?;
    Ok(Json(response.into()))
}

/// The items of a batch after a step: those that are left with their indexes, and those that are refused.
struct ParsedBatch<E> {
    left: Vec<(u32, E)>,
    refused: Refusals,
}

/// The refused items of a batch: index and message.
struct Refusals {
    items: Vec<(u32, String)>,
    validation: BatchValidation,
}

impl Refusals {
    /// Lists an item, or refuses the whole request.
    fn add(&mut self, index: u32, error: ApiError) -> ApiResult<()> {
        match self.validation {
            // Other errors apply to the request, not to one email.
            _ if error.code != ErrorCode::Validation => Err(error),
            BatchValidation::Strict => Err(at_index(index, error)),
            BatchValidation::Permissive => {
                self.items.push((index, error.message));
                Ok(())
            }
        }
    }
}

impl ParsedBatch<ParsedEmail> {
    fn parse(items: Vec<Box<RawValue>>, validation: BatchValidation, rules: RequestRules) -> ApiResult<Self> {
        let refused = Refusals { items: Vec::new(), validation };
        let mut batch = Self { left: Vec::with_capacity(items.len()), refused };
        for (index, item) in (0..).zip(items) {
            let email = body::parse::<SendEmailRequest>(item.get().as_bytes(), EMAIL_ITEM_ECHOES);
            match email.and_then(|email| email.parse(rules)) {
                Ok(email) => batch.left.push((index, email)),
                Err(error) if validation == BatchValidation::Strict => return Err(at_index(index, error)),
                Err(error) => batch.refused.items.push((index, error.message)),
            }
        }
        Ok(batch)
    }

    /// Renders the templates of all emails.
    async fn render(mut self, templates: &mut RequestTemplates<'_>) -> ApiResult<Self> {
        for (index, error) in templates.render_all(&mut self.left).await? {
            let is_of_item = matches!(error.code, ErrorCode::Validation | ErrorCode::MissingRequiredField);
            if self.refused.validation == BatchValidation::Strict || !is_of_item {
                return Err(at_index(index, error));
            }
            self.refused.items.push((index, error.message));
        }
        Ok(self)
    }

    /// Plans the fetches of all emails.
    fn plan(self, files: &mut RequestFiles<'_>) -> ApiResult<ParsedBatch<PlannedEmail>> {
        let Self { left, mut refused } = self;
        let mut planned = Vec::with_capacity(left.len());
        for (index, email) in left {
            match files.plan(email) {
                Ok(email) => planned.push((index, email)),
                Err(error) => refused.add(index, error)?,
            }
        }
        Ok(ParsedBatch { left: planned, refused })
    }
}

impl ParsedBatch<PlannedEmail> {
    /// Checks all emails against the store if files must be fetched for one of them.
    async fn check(self, emails: &Emails, caller: Caller) -> ApiResult<Self> {
        if !self.left.iter().any(|(_, email)| email.has_files()) {
            return Ok(self);
        }
        let Self { left, mut refused } = self;
        let (indexes, planned): (Vec<u32>, Vec<PlannedEmail>) = left.into_iter().unzip();
        let mut left = Vec::with_capacity(indexes.len());
        for (index, (email, refusal)) in indexes.into_iter().zip(emails.check(caller.into(), planned).await?) {
            match refusal {
                None => left.push((index, email)),
                Some(SendError::AllRecipientsSuppressed(_)) if refused.validation == BatchValidation::Permissive => {
                    refused.items.push((index, ALL_RECIPIENTS_SUPPRESSED.to_owned()));
                }
                Some(error) => return Err(at_index(index, error.into())),
            }
        }
        Ok(Self { left, refused })
    }

    /// Fetches the files.
    async fn complete(self, files: &mut RequestFiles<'_>) -> ApiResult<SendBatch> {
        let Self { left, mut refused } = self;
        let (mut emails, mut indexes) = (Vec::with_capacity(left.len()), Vec::with_capacity(left.len()));
        for (index, planned) in left {
            match files.complete(planned).await {
                Ok(email) => {
                    emails.push(email);
                    indexes.push(index);
                }
                Err(error) => refused.add(index, error)?,
            }
        }
        let suppressed = match refused.validation {
            BatchValidation::Strict => SuppressedItems::RefuseAll,
            BatchValidation::Permissive => SuppressedItems::List,
        };
        Ok(SendBatch { emails, indexes, refused: refused.items, suppressed, is_exempt: false })
    }
}

fn at_index(index: u32, error: ApiError) -> ApiError {
    error.prefixed(&format!("emails.{index}: "))
}

api_error!(
    SendError: Forbidden, RestrictedApiKey, SendingPaused, NotFound, Validation, AllRecipientsSuppressed,
    InvalidIdempotentRequest, ConcurrentIdempotentRequests
{
    SendError::SendingPaused(pause) => ApiError::new(ErrorCode::SendingPaused, pause.to_string()),
    SendError::DomainNotVerified(domain) => ApiError::new(
        ErrorCode::Forbidden,
        format!("The {domain} domain is not verified. Please, add and verify your domain."),
    ),
    SendError::KeyOfAnotherDomain => ApiError::new(
        ErrorCode::RestrictedApiKey,
        "This API key is restricted to another domain. Send from an address of that domain, or use another key.",
    ),
    SendError::TopicNotFound => ApiError::not_found("Topic"),
    SendError::Link(LinkError::Loopback(public_url)) => ApiError::validation(format!(
        "Invalid `topic_id` field: an email under a topic carries an unsubscribe link, and recipients cannot \
         open {public_url}. Start the server with `--public-url` (or `RINGMAIL_PUBLIC_URL`) set to the \
         address they reach it under."
    )),
    SendError::Link(LinkError::PlaceholderLoopback(public_url)) => ApiError::validation(format!(
        "Invalid `html` or `text` field: an unsubscribe placeholder becomes a link, and recipients cannot open \
         {public_url}. Start the server with `--public-url` (or `RINGMAIL_PUBLIC_URL`) set to the address \
         they reach it under."
    )),
    SendError::Link(LinkError::TooManyPlaceholders) => ApiError::validation(format!(
        "Invalid `html` or `text` field: together they hold more than {PLACEHOLDERS_MAX} unsubscribe \
         placeholders."
    )),
    SendError::AllRecipientsSuppressed(blocked) => ApiError {
        log_detail: Some(one_per_recipient(&blocked)),
        ..ApiError::new(ErrorCode::AllRecipientsSuppressed, ALL_RECIPIENTS_SUPPRESSED)
    },
    SendError::Key(KeyConflict::OtherPayload) => ApiError::new(
        ErrorCode::InvalidIdempotentRequest,
        "This idempotency key has been used on this endpoint with another payload. Use a new key, or send the \
         original payload.",
    ),
    SendError::Key(KeyConflict::Running) => ApiError::new(
        ErrorCode::ConcurrentIdempotentRequests,
        "The first request with this idempotency key is still running. Try again in a moment.",
    ),
});

/// Returns the reason of each blocked recipient, for the request log.
fn one_per_recipient(blocked: &[BlockedRecipient]) -> String {
    let reasons: Vec<String> = blocked.iter().map(ToString::to_string).collect();
    format!("{}.", reasons.join("; "))
}

/// The `Idempotency-Key` header.
pub(super) struct IdempotencyKey(Option<String>);

impl IdempotencyKey {
    /// Combines the key with the hash of the body.
    async fn request(self, route: IdempotentRoute, raw: Arc<Vec<u8>>) -> ApiResult<Option<IdempotentRequest>> {
        let Some(key) = self.0 else { return Ok(None) };
        let body_hash = blocking::run_sized(raw.len(), move || canonical::hash(&raw)).await;
        // A key must not be ignored: its caller expects that a repeat sends no email.
        let unreadable = || {
            let message = "The request body is not valid JSON: a value is nested too deeply or a number too large.";
            ApiError::new(ErrorCode::MalformedJson, message)
        };
        Ok(Some(IdempotentRequest::new(route, &key, body_hash.ok_or_else(unreadable)?)))
    }
}

impl FromParameters for IdempotencyKey {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let Some(value) = req.headers().get("idempotency-key") else { return Ok(Self(None)) };
        let key = String::from_utf8_lossy(value.as_bytes());
        let length = key.chars().count();
        if (1..=KEY_CHARS_MAX).contains(&length) {
            Ok(Self(Some(key.into_owned())))
        } else {
            let message = format!("The `Idempotency-Key` header must be between 1 and {KEY_CHARS_MAX} characters.");
            Err(ApiError::new(ErrorCode::InvalidIdempotencyKey, message))
        }
    }

    fn declare(operation: &mut Operation) {
        let schema = Object::with_type(BasicType::String).min_length(1).max_length(KEY_CHARS_MAX);
        let about = "A repeat with the same key gets the response to the first request, without a second send.";
        let parameter = Parameter::new("Idempotency-Key")
            .location(ParameterIn::Header)
            .required(Required::False)
            .description(about)
            .schema(schema);
        operation.parameters.insert(parameter);
        declare_errors(operation, &[ErrorCode::InvalidIdempotencyKey]);
    }
}

impl EmailLimits {
    fn rules(&self, now_ms: i64, compat: Compat) -> RequestRules {
        RequestRules { now_ms, attachment_bytes_max: self.attachment_bytes_max, compat }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_with_a_body_without_a_hash_is_rejected() {
        let key = || IdempotencyKey(Some("key".to_owned()));

        for body in [r#"{"created_at":1e999}"#.to_owned(), format!("{{\"a\":{}}}", "[".repeat(200))] {
            let error = key().request(IdempotentRoute::Send, Arc::new(body.into_bytes())).await.unwrap_err();

            assert_eq!(error.code, ErrorCode::MalformedJson);
        }
        assert!(key().request(IdempotentRoute::Send, Arc::new(b"{}".to_vec())).await.unwrap().is_some());
    }
}
