//! A signed request, before its signature is verified.

use std::marker::PhantomData;

use salvo::extract::Metadata;
use salvo::oapi::{
    Components, Content, EndpointArgRegister, Operation, Parameter, ParameterIn, RequestBody, Required,
    SecurityRequirement,
};
use salvo::{Depot, Extractible, Request};

use super::request::RelayEvents;
use super::unsigned;
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::signature::{self, SignatureHeaders, WebhookSecret};
use crate::http::{ApiError, ApiResult, ErrorCode, State, declare_errors, read_signed_body, schema};
use crate::ingest::Ingest;

/// Bytes of a body of events: 1,000 events with diagnostic texts.
const EVENTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of a message. A report contains a header, or a message that the sender may omit.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The headers of a signature, in the OpenAPI document.
const HEADERS: [(&str, &str); 3] = [
    ("webhook-id", "The id of the request. A repetition within a week is ignored."),
    ("webhook-timestamp", "The time in seconds since 1970-01-01T00:00:00Z."),
    ("webhook-signature", "`v1,` and the HMAC of `{id}.{timestamp}.{body}`, as Standard Webhooks defines it."),
];

/// Form of a signed body.
pub(crate) trait SignedBody: Send + 'static {
    /// Maximum size.
    const BYTES_MAX: usize;

    /// Describes the body.
    fn describe(components: &mut Components) -> RequestBody;

    /// Returns the errors of the body.
    fn errors() -> &'static [ErrorCode];
}

/// Events of a relay.
pub(crate) enum EventsBody {}

impl SignedBody for EventsBody {
    const BYTES_MAX: usize = EVENTS_BYTES_MAX;

    fn describe(components: &mut Components) -> RequestBody {
        use salvo::oapi::ToSchema as _;

        RequestBody::new().add_content("application/json", Content::new(RelayEvents::to_schema(components)))
    }

    fn errors() -> &'static [ErrorCode] {
        &[ErrorCode::MalformedJson, ErrorCode::PayloadTooLarge, ErrorCode::Validation]
    }
}

/// The message of a mail server.
pub(crate) enum MessageBody {}

impl SignedBody for MessageBody {
    const BYTES_MAX: usize = MESSAGE_BYTES_MAX;

    fn describe(_components: &mut Components) -> RequestBody {
        let about = "A delivery status (RFC 3464) or a complaint (RFC 5965). Any other message has no effect.";
        RequestBody::new().description(about).add_content("message/rfc822", Content::new(schema::text()))
    }

    fn errors() -> &'static [ErrorCode] {
        &[ErrorCode::MalformedJson, ErrorCode::PayloadTooLarge]
    }
}

/// Extractor of a request whose signature has not been verified. Rejects a missing or outdated signature before it
/// reads the body.
pub(crate) struct Signed<B> {
    secret: WebhookSecret,
    id: String,
    timestamp: String,
    signatures: String,
    body: Vec<u8>,
    now_ms: TimestampMs,
    form: PhantomData<B>,
}

impl<B> Signed<B> {
    /// Returns the id of the request.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Verifies the signature, then calls `read` with the body. Runs on a blocking thread.
    pub(super) async fn verified<T: Send + 'static>(
        self,
        read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
    ) -> ApiResult<T> {
        let Self { secret, id, timestamp, signatures, body, now_ms, form: PhantomData } = self;
        blocking::run_sized(body.len(), move || {
            let headers = SignatureHeaders { id: &id, timestamp: &timestamp, signatures: &signatures };
            signature::verify(&secret, headers, &body, now_ms)?;
            Ok(read(body))
        })
        .await
    }
}

impl<'ex, B: SignedBody> Extractible<'ex> for Signed<B> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Signed");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let ingest = State::<Ingest>::extract(&mut *req, &mut *depot).await?;
        let Some(secret) = ingest.secret().cloned() else {
            return Err(ApiError::new(ErrorCode::NotFound, "The requested endpoint does not exist."));
        };
        let [id, timestamp, signatures] = claim(req).ok_or_else(|| {
            unsigned("There is no signature. Send `webhook-id`, `webhook-timestamp` and `webhook-signature`.")
        })?;
        signature::verify_time(&timestamp, ingest.now_ms())?;
        let body = read_signed_body(req, depot, B::BYTES_MAX).await?;
        Ok(Self { secret, id, timestamp, signatures, body, now_ms: ingest.now_ms(), form: PhantomData })
    }
}

impl<B: SignedBody> EndpointArgRegister for Signed<B> {
    fn register(components: &mut Components, operation: &mut Operation, _arg: &str) {
        // An empty requirement: no key.
        operation.securities = Some(vec![SecurityRequirement::default()]);
        for (name, about) in HEADERS {
            let parameter = Parameter::new(name)
                .location(ParameterIn::Header)
                .required(Required::True)
                .description(about)
                .schema(schema::text());
            operation.parameters.insert(parameter);
        }
        operation.request_body = Some(B::describe(components).required(Required::True));
        declare_errors(operation, B::errors());
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
