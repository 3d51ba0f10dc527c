//! The errors of the API: the table of codes and the response body.

use salvo::http::header::{CONTENT_TYPE, USER_AGENT};
use salvo::http::{HeaderValue, StatusCode};
use salvo::oapi::{Components, EndpointOutRegister, Operation, ToSchema};
use salvo::{Depot, Request, Response, Writer, async_trait};
use serde::Serialize;
use tracing::error;

use super::declared_errors::{api_error, declare_failures};
use super::recording::put_detail;
use crate::store::StoreError;
use crate::store::page::PageError;

macro_rules! error_codes {
    ($($(#[doc = $when:literal])+ $variant:ident = $status:literal $name:literal;)+) => {
        /// A code a client can see. The table is a public contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $( $(#[doc = $when])+ $variant, )+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// Returns the name in the error body.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the cause of the code, for the OpenAPI document.
            pub const fn when(self) -> &'static str {
                match self { $(Self::$variant => concat!($($when),+)),+ }
            }
        }
    };
}

error_codes! {
    /// The body is not JSON.
    MalformedJson = 400 "validation_error";
    /// The `Idempotency-Key` header is empty or longer than 256 characters.
    InvalidIdempotencyKey = 400 "invalid_idempotency_key";
    /// There is no bearer token.
    MissingApiKey = 401 "missing_api_key";
    /// The dashboard has no valid session.
    MissingSession = 401 "missing_session";
    /// A delivery report is not signed with the secret of the instance, or its signature is too old.
    InvalidSignature = 401 "invalid_signature";
    /// The key is unknown, revoked or malformed.
    InvalidApiKey = 403 "invalid_api_key";
    /// The key may not do this.
    RestrictedApiKey = 403 "restricted_api_key";
    /// The role of the dashboard's user does not permit this, or the request was not made by a page of the dashboard.
    InvalidAccess = 403 "invalid_access";
    /// The sender's domain is not verified, or the resource is in a state that forbids the call.
    Forbidden = 403 "validation_error";
    /// The bounce or complaint rate crossed the enforcement thresholds.
    SendingPaused = 403 "sending_paused";
    /// The platform's aggregate rate in the region is recovering.
    BroadcastsPaused = 403 "broadcasts_paused";
    /// No active subscription; never on a self-hosted instance.
    PlanRequired = 403 "plan_required";
    /// A new contact would pass the plan's cap; never on a self-hosted instance.
    PlanLimitReached = 403 "plan_limit_reached";
    /// There is no such route or resource.
    NotFound = 404 "not_found";
    /// The route has no such method.
    MethodNotAllowed = 405 "method_not_allowed";
    /// The resource conflicts with another, or is in use.
    Conflict = 409 "validation_error";
    /// A page of the dashboard has changed an older revision of a draft.
    StaleRevision = 409 "stale_revision";
    /// The idempotency key was used with another payload.
    InvalidIdempotentRequest = 409 "invalid_idempotent_request";
    /// The first request with the idempotency key is still running.
    ConcurrentIdempotentRequests = 409 "concurrent_idempotent_requests";
    /// Retention has removed the email's content.
    AttachmentsPurged = 410 "attachments_purged";
    /// The body is larger than the route takes.
    PayloadTooLarge = 413 "payload_too_large";
    /// The request breaks a rule; the message says which.
    Validation = 422 "validation_error";
    /// A required field of the body is absent.
    MissingRequiredField = 422 "missing_required_field";
    /// Every `to` recipient is suppressed or opted out of the topic.
    AllRecipientsSuppressed = 422 "all_recipients_suppressed";
    /// The audience needs more than 24 days of capacity.
    BroadcastTooLarge = 422 "broadcast_too_large";
    /// The key made too many requests within a second.
    RateLimitExceeded = 429 "rate_limit_exceeded";
    /// The day's quota is spent; never on a self-hosted instance.
    DailyQuotaExceeded = 429 "daily_quota_exceeded";
    /// The month's volume is spent; never on a self-hosted instance.
    MonthlyQuotaExceeded = 429 "monthly_quota_exceeded";
    /// Something failed on the server.
    InternalServerError = 500 "internal_server_error";
    /// The instance is out of a resource temporarily. Try again.
    ServiceUnavailable = 503 "service_unavailable";
}

/// Error of the API: a code and a message that names the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub code: ErrorCode,
    /// The problem, the field, and the accepted values.
    pub message: String,
    /// Value of `Retry-After`, in seconds.
    pub retry_after_s: Option<u32>,
    /// More about the cause, for the request log only.
    pub log_detail: Option<String>,
}

/// Value of `Retry-After` while the disk is full. An operator or a retention must make space first.
const DISK_RETRY_AFTER_S: u32 = 30;

/// Result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// Returns an error of `code`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_s: None, log_detail: None }
    }

    /// Returns a 422 `validation_error`.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Validation, message)
    }

    /// Returns the 422 for an absent required field.
    pub fn missing_field(field: &str) -> Self {
        Self::new(ErrorCode::MissingRequiredField, format!("Missing `{field}` field."))
    }

    /// Returns the 404 for a resource: `Email not found`. `thing` starts with a capital.
    pub fn not_found(thing: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("{thing} not found"))
    }

    /// Returns the 409 of a change that is based on an older revision. `thing` is in lower case.
    pub fn stale_revision(thing: &str) -> Self {
        let message = format!("This {thing} was changed in another window. Load it again before you continue.");
        Self::new(ErrorCode::StaleRevision, message)
    }

    /// Returns a 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { retry_after_s: Some(1), ..Self::new(ErrorCode::ServiceUnavailable, message) }
    }

    /// Returns the 503 of a disk that is full or failed.
    pub(crate) fn disk_unavailable(message: &str) -> Self {
        Self { retry_after_s: Some(DISK_RETRY_AFTER_S), ..Self::new(ErrorCode::ServiceUnavailable, message) }
    }

    /// Returns the error with `prefix` before its message, for items of batches.
    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        Self { message: format!("{prefix}{}", self.message), ..self }
    }
}

/// Logs the cause. The message for the client does not contain it.
impl From<StoreError> for ApiError {
    fn from(cause: StoreError) -> Self {
        match cause {
            StoreError::Closed | StoreError::Lost(_) => Self::unavailable("The server is shutting down. Try again."),
            // The store logs the failure once.
            cause if cause.is_outage() => Self::disk_unavailable(
                "The server cannot use its disk, which is full or failed. Try again later, with the same \
                 `Idempotency-Key` if the request has one.",
            ),
            cause => {
                error!(%cause, "a request failed: {cause}");
                Self::new(
                    ErrorCode::InternalServerError,
                    "Something went wrong on our side. The `x-request-id` header names this request in the log.",
                )
            }
        }
    }
}

api_error!(PageError {
    PageError::UnknownCursor => {
        ApiError::validation("Invalid cursor. `after` and `before` take the `id` of an item that this list returned.")
    },
});

/// The error body.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Error"))]
pub(crate) struct ErrorBody {
    /// The HTTP status.
    #[serde(rename = "statusCode")]
    status_code: u16,
    /// The name of the error.
    name: &'static str,
    /// The problem and the accepted values.
    message: String,
}

#[derive(Serialize)]
struct PhpErrorBody {
    #[serde(flatten)]
    body: ErrorBody,
    error: ErrorBody,
}

impl ApiError {
    fn body(&self) -> ErrorBody {
        ErrorBody { status_code: self.code.status(), name: self.code.name(), message: self.message.clone() }
    }

    /// Writes the error to `res`.
    pub(crate) fn render(&self, req: &Request, res: &mut Response) {
        res.status_code(StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        if let Some(seconds) = self.retry_after_s {
            res.headers_mut().insert("retry-after", HeaderValue::from(seconds));
        }
        // The PHP SDK treats a body with an unknown error name as success, unless it has an `error` key.
        let bytes = if is_php_sdk(req) {
            serde_json::to_vec(&PhpErrorBody { body: self.body(), error: self.body() })
        } else {
            serde_json::to_vec(&self.body())
        };
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        res.body(bytes.expect("an error body is three plain fields"));
    }
}

fn is_php_sdk(req: &Request) -> bool {
    req.headers()
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .is_some_and(|agent| agent.starts_with("resend-php/"))
}

#[async_trait]
impl Writer for ApiError {
    async fn write(mut self, req: &mut Request, depot: &mut Depot, res: &mut Response) {
        if let Some(detail) = self.log_detail.take() {
            put_detail(depot, detail);
        }
        self.render(req, res);
    }
}

impl EndpointOutRegister for ApiError {
    fn register(components: &mut Components, operation: &mut Operation) {
        declare_failures(components, operation);
    }
}

#[cfg(test)]
mod tests {
    use salvo::conn::{Acceptor as _, Listener as _, TcpListener};
    use salvo::http::Method;
    use salvo::{FlowCtrl, Handler, Router, Server};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::context::Context;
    use crate::store::Store;

    /// Handler that panics in a read of the store; with another method than GET, in a command.
    struct Panicking(Store);

    #[async_trait]
    impl Handler for Panicking {
        async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
            let result = if req.method() == Method::GET {
                self.0.read::<(), ApiError>(|_| panic!("a read of the test")).await
            } else {
                self.0.write::<(), ApiError>(|_| panic!("a command of the test")).await
            };
            match result {
                Ok(()) => res.render("no panic"),
                Err(error) => error.write(req, depot, res).await,
            }
        }
    }

    #[tokio::test]
    async fn a_request_whose_read_or_command_panics_in_the_store_is_answered_500() {
        let (_directory, context) = Context::temporary();
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        let address = acceptor.holdings()[0].local_addr.clone().into_std().unwrap();
        let router = Router::with_path("{**rest}").goal(Panicking(context.store.clone()));
        let tasks = TaskTracker::new();
        tasks.spawn(Server::new(acceptor).serve(router));
        let body = r#"{"statusCode":500,"name":"internal_server_error","message":"Something went wrong on our side."#;

        for method in ["GET", "POST", "GET"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();

            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains(body), "{method}: {answer}");
        }
    }

    #[test]
    fn the_error_table_is_a_public_contract() {
        let table: Vec<String> =
            ErrorCode::ALL.iter().map(|code| format!("{} {}:{}", code.status(), code.name(), code.when())).collect();

        insta::assert_snapshot!(table.join("\n"));
    }
}
