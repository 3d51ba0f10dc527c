//! `POST /ingest/events` and `POST /ingest/message`. Instead of an API key they require a signature over the whole body
//! (Standard Webhooks). Without a secret, both return 404.
//!
//! `request.rs` parses the events of a relay, and `signed.rs` reads a signed request.

mod request;
mod signed;

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::Serialize;

use self::signed::{EventsBody, MessageBody, Signed};

use super::store::DedupKey;
use super::{Ingest, IngestResult, report};
use crate::base::signature::SignatureError;
use crate::http::{ApiError, ApiResult, ErrorCode, State, declares_errors};

/// The effect of reports.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "IngestResult"))]
pub(crate) struct IngestResponse {
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
///
/// The request needs no API key. Without `RINGMAIL_INGEST_SECRET`, the endpoint does not exist.
#[endpoint(tags("Reports"), responses(SignatureError))]
pub(crate) async fn ingest_events(
    ingest: State<Ingest>,
    signed: Signed<EventsBody>,
) -> ApiResult<Json<IngestResponse>> {
    let dedup_key = DedupKey::of_id(signed.id());
    let reports = signed.verified(|body| request::parse(&body)).await??;
    Ok(Json(ingest.apply_reports(dedup_key, reports).await?.into()))
}

/// Applies a report message of a mail server.
///
/// The request needs no API key. Without `RINGMAIL_INGEST_SECRET`, the endpoint does not exist.
#[endpoint(tags("Reports"), responses(SignatureError))]
pub(crate) async fn ingest_message(
    ingest: State<Ingest>,
    signed: Signed<MessageBody>,
) -> ApiResult<Json<IngestResponse>> {
    let (dedup_key, report) = signed.verified(|body| (DedupKey::of_message(&body), report::parse(&body))).await?;
    let Some(report) = report else { return Ok(Json(IngestResult { accepted: 0, ignored: 1 }.into())) };
    Ok(Json(ingest.apply_reports(dedup_key, vec![report]).await?.into()))
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

declares_errors!(SignatureError: InvalidSignature, NotFound);
