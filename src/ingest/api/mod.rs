//! `POST /ingest/events` and `POST /ingest/message`. Instead of an API key they require a signature over the whole body
//! (Standard Webhooks). Without a secret, both return 404.
//!
//! `request.rs` parses the events of a relay.

mod request;

use salvo::writing::Json;
use salvo::{Depot, Request, Writer as _, handler};
use serde::Serialize;

use super::store::DedupKey;
use super::{Ingest, IngestResult, report};
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::signature::{self, SignatureError, SignatureHeaders, WebhookSecret};
use crate::http::{ApiError, ApiResult, ErrorCode, State, read_signed_body};

/// Bytes of a body of events: 1,000 events with diagnostic texts.
const EVENTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of a message. A report contains a header, or a message that the sender may omit.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Response of both endpoints.
#[derive(Serialize)]
struct IngestResponse {
    /// Always `ingest`.
    object: &'static str,
    /// Findings that changed something.
    accepted: usize,
    /// Findings that changed nothing.
    ignored: usize,
}

impl From<IngestResult> for IngestResponse {
    fn from(result: IngestResult) -> Self {
        let IngestResult { accepted, ignored } = result;
        Self { object: "ingest", accepted, ignored }
    }
}

/// Applies the events of a relay.
#[handler]
pub(crate) async fn ingest_events(
    req: &mut Request,
    depot: &mut Depot,
    ingest: State<Ingest>,
) -> ApiResult<Json<IngestResponse>> {
    let signed = Signed::read(req, depot, &ingest, EVENTS_BYTES_MAX).await?;
    let dedup_key = DedupKey::of_id(&signed.id);
    let reports = signed.verified(|body| request::parse(&body)).await??;
    Ok(Json(ingest.apply_reports(dedup_key, reports).await?.into()))
}

/// Applies a report message of a mail server.
#[handler]
pub(crate) async fn ingest_message(
    req: &mut Request,
    depot: &mut Depot,
    ingest: State<Ingest>,
) -> ApiResult<Json<IngestResponse>> {
    let signed = Signed::read(req, depot, &ingest, MESSAGE_BYTES_MAX).await?;
    let (dedup_key, report) = signed.verified(|body| (DedupKey::of_message(&body), report::parse(&body))).await?;
    let Some(report) = report else { return Ok(Json(IngestResult { accepted: 0, ignored: 1 }.into())) };
    Ok(Json(ingest.apply_reports(dedup_key, vec![report]).await?.into()))
}

/// Request whose signature has not been verified.
struct Signed {
    secret: WebhookSecret,
    id: String,
    timestamp: String,
    signatures: String,
    body: Vec<u8>,
    now_ms: TimestampMs,
}

impl Signed {
    /// Reads a request. Rejects a missing or outdated signature before it reads the body.
    async fn read(req: &mut Request, depot: &mut Depot, ingest: &Ingest, bytes_max: usize) -> ApiResult<Self> {
        let Some(secret) = ingest.secret().cloned() else {
            return Err(ApiError::new(ErrorCode::NotFound, "The requested endpoint does not exist."));
        };
        let [id, timestamp, signatures] = claim(req).ok_or_else(|| {
            unsigned("There is no signature. Send `webhook-id`, `webhook-timestamp` and `webhook-signature`.")
        })?;
        signature::verify_time(&timestamp, ingest.now_ms())?;
        let body = read_signed_body(req, depot, bytes_max).await?;
        Ok(Self { secret, id, timestamp, signatures, body, now_ms: ingest.now_ms() })
    }

    /// Verifies the signature, then calls `read` with the body. Runs on a blocking thread.
    async fn verified<T: Send + 'static>(self, read: impl FnOnce(Vec<u8>) -> T + Send + 'static) -> ApiResult<T> {
        let Self { secret, id, timestamp, signatures, body, now_ms } = self;
        blocking::run_sized(body.len(), move || {
            let headers = SignatureHeaders { id: &id, timestamp: &timestamp, signatures: &signatures };
            signature::verify(&secret, headers, &body, now_ms)?;
            Ok(read(body))
        })
        .await
    }
}

/// Returns the id, the timestamp and the signatures from the `webhook-` or `svix-` headers.
fn claim(req: &Request) -> Option<[String; 3]> {
    let value = |name: String| {
        let value = req.headers().get(&name)?.to_str().ok()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    ["webhook", "svix"].into_iter().find_map(|set| {
        Some([value(format!("{set}-id"))?, value(format!("{set}-timestamp"))?, value(format!("{set}-signature"))?])
    })
}

fn unsigned(message: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidSignature, message)
}

impl From<SignatureError> for ApiError {
    fn from(error: SignatureError) -> Self {
        unsigned(match error {
            SignatureError::Timestamp => {
                "The timestamp of the signature must be in seconds since 1970-01-01T00:00:00Z."
            }
            SignatureError::Stale => {
                "The timestamp of the signature is more than five minutes from this server's time."
            }
            SignatureError::Signature => {
                "The signature is not one of `{id}.{timestamp}.{body}` with the secret of `RINGMAIL_INGEST_SECRET`."
            }
        })
    }
}
