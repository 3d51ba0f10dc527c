//! Authentication, permission and rate limit: the checks between a matched route and its handler.

use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::http::Method;
use salvo::http::header::AUTHORIZATION;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, FlowCtrl, Request, Response, handler};

use super::error::{ApiError, ErrorCode};
use super::rate_limit::{RateLimit, RateLimiter};
use super::recording::KnownCaller;
use super::state::service;
use crate::api_keys::{ApiKeyToken, ApiKeys, Caller, Permission};

/// Checks the key (401, 403), its permission (403) and its rate limit (429), in this order.
#[handler]
pub(crate) async fn authenticate(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    match admit(req, depot) {
        Ok(caller) => {
            depot.insert_typed(caller);
        }
        Err(error) => {
            error.render(req, res);
            ctrl.skip_rest();
        }
    }
}

/// Does the same as [`authenticate`]. Returns the key and its team.
///
/// # Errors
/// 401, 403 or 429.
pub(super) fn admit(req: &Request, depot: &mut Depot) -> Result<Caller, ApiError> {
    let keys: Arc<ApiKeys> = service(depot)?;
    let token = bearer(req).ok_or_else(missing_key)?;
    let caller =
        ApiKeyToken::parse(token).and_then(|token| keys.authenticate(&token)).ok_or_else(|| invalid_key(token))?;
    depot.insert_typed(KnownCaller(caller));
    if caller.permission == Permission::SendingAccess && !is_sending(req.method(), req.uri().path()) {
        return Err(ApiError::new(ErrorCode::RestrictedApiKey, "This API key is restricted to only send emails"));
    }
    let limiter: Arc<RateLimiter> = service(depot)?;
    match limiter.admit(caller.key) {
        RateLimit::Admitted(state) => {
            depot.insert_typed(state);
            Ok(caller)
        }
        RateLimit::Refused(state) => {
            depot.insert_typed(state);
            let message = format!(
                "Too many requests. You can only make {} requests per second. \
                 The `ratelimit-*` headers of every answer say how many are left.",
                state.limit
            );
            let retry_after_s = Some(state.reset_s);
            Err(ApiError { retry_after_s, ..ApiError::new(ErrorCode::RateLimitExceeded, message) })
        }
    }
}

/// Returns the errors of [`authenticate`] and of the check of the query parameters after it.
pub(super) fn errors_of(method: &Method, path: &str) -> Vec<ErrorCode> {
    let mut codes =
        vec![ErrorCode::MissingApiKey, ErrorCode::InvalidApiKey, ErrorCode::RateLimitExceeded, ErrorCode::Validation];
    if !is_sending(method, path) {
        codes.push(ErrorCode::RestrictedApiKey);
    }
    codes
}

/// Returns the error of a key whose team has just been removed.
pub(crate) fn revoked_key() -> ApiError {
    ApiError::new(ErrorCode::InvalidApiKey, "API key is invalid.")
}

fn missing_key() -> ApiError {
    ApiError::new(
        ErrorCode::MissingApiKey,
        "Missing API key in the authorization header. Send `Authorization: Bearer rm_…`. \
         The API is described without a key at `/docs/openapi.json`.",
    )
}

/// Returns the error of an unknown key. The keys of Resend begin with `re_`, and no key of this server does.
fn invalid_key(token: &str) -> ApiError {
    let hint = if token.starts_with("re_") {
        " It begins with `re_`, as the keys of Resend do. The keys of this server begin with `rm_`: create one with \
         `ringmail key create`."
    } else {
        ""
    };
    ApiError::new(ErrorCode::InvalidApiKey, format!("API key is invalid.{hint}"))
}

fn bearer(req: &Request) -> Option<&str> {
    let value = req.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns whether a key with the sending permission can make the request: it writes under `/emails`,
/// except for deletion.
fn is_sending(method: &Method, path: &str) -> bool {
    let path = path.trim_start_matches('/');
    let under_emails = matches!(path, "email" | "emails") || path.starts_with("emails/");
    under_emails && (method == Method::POST || method == Method::PATCH)
}

impl<'ex> Extractible<'ex> for Caller {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Caller");
        &METADATA
    }

    async fn extract(_req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        depot.get_typed::<Self>().copied().map_err(|_| missing_key())
    }
}

impl EndpointArgRegister for Caller {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let requirement = salvo::oapi::SecurityRequirement::new("bearer", Vec::<String>::new());
        operation.securities.get_or_insert_default().push(requirement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sending_key_can_only_send_reschedule_and_cancel() {
        for (method, path, allowed) in [
            (Method::POST, "/emails", true),
            (Method::POST, "//emails/", true),
            (Method::POST, "/emails/batch", true),
            (Method::PATCH, "/emails/1", true),
            (Method::POST, "/emails/1/cancel", true),
            (Method::GET, "/emails", false),
            (Method::GET, "/emails/1", false),
            (Method::GET, "/emails/1/attachments", false),
            (Method::DELETE, "/emails/1", false),
            (Method::POST, "/email", true),
            (Method::POST, "/email/1", false),
            (Method::POST, "/emailsx", false),
            (Method::POST, "/domains", false),
        ] {
            assert_eq!(is_sending(&method, path), allowed, "{method} {path}");
        }
    }
}
