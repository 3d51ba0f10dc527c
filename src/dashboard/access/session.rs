//! Check of the session of each request below `/dashboard/api`, and of the role of its user.
//!
//! A change needs the header `x-ringmail-dashboard: 1`. A page of another site cannot send it: a browser asks this server
//! first, which permits no header (CORS). The cookie is not sent from other sites either.

use std::sync::Arc;

use salvo::http::header::CACHE_CONTROL;
use salvo::http::{HeaderValue, Method};
use salvo::{Depot, FlowCtrl, Request, Response, handler};

use super::cookies::AccessCookie;
use super::roles::required_role;
use super::settings::AccessSettings;
use crate::api_keys::{Caller, CallerKind, Permission};
use crate::base::address::EmailAddress;
use crate::base::id::ApiKeyId;
use crate::http::{ApiError, ErrorCode, service};
use crate::store::StoreError;
use crate::users::{Accounts, SessionToken, SignInMethod, SignedIn};

/// Header of every change that a page of the dashboard makes.
const CHANGE_HEADER: &str = "x-ringmail-dashboard";
/// Path before the routes of the table of roles, in a matched path.
const API_PATH: &str = "dashboard/api/";

/// The session of a request: its token and its user. In the depot of each request below `/dashboard/api`.
#[derive(Clone, Debug)]
pub(crate) struct RequestSession {
    pub(crate) token: SessionToken,
    pub(crate) signed_in: SignedIn,
}

/// Checks the session (401), the header of a change (403) and the role (403). Puts the [`Caller`] and the
/// [`RequestSession`] into the depot.
#[handler]
pub(crate) async fn authenticate_session(
    req: &mut Request,
    depot: &mut Depot,
    res: &mut Response,
    ctrl: &mut FlowCtrl,
) {
    // The data of a session is for its browser alone, and each request is checked again.
    res.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    res.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    match admit(req, depot).await {
        Ok(session) => {
            depot.insert_typed(caller_of(&session.signed_in));
            depot.insert_typed(session);
        }
        Err(error) => {
            error.render(req, res);
            ctrl.skip_rest();
        }
    }
}

/// Returns the session of a request from the depot.
///
/// # Errors
/// 401 outside the routes behind [`authenticate_session`].
pub(crate) fn request_session(depot: &Depot) -> Result<&RequestSession, ApiError> {
    depot.get_typed::<RequestSession>().map_err(|_| missing_session())
}

async fn admit(req: &Request, depot: &Depot) -> Result<RequestSession, ApiError> {
    let accounts: Arc<Accounts> = service(depot)?;
    let settings: Arc<AccessSettings> = service(depot)?;
    let session = current(req, &accounts, &settings).await?.ok_or_else(missing_session)?;
    let is_read = *req.method() == Method::GET || *req.method() == Method::HEAD;
    if !is_read && req.headers().get(CHANGE_HEADER).is_none_or(|value| value != "1") {
        let message = format!("A change by the dashboard needs the header `{CHANGE_HEADER}: 1`.");
        return Err(ApiError::new(ErrorCode::InvalidAccess, message));
    }
    let path = req.matched_path();
    let path = path.strip_prefix(API_PATH).unwrap_or(path);
    let role = session.signed_in.role;
    match required_role(req.method(), path) {
        Some(needed) if role.includes(needed) => Ok(session),
        Some(needed) => {
            let message = format!(
                "Your role in this team is {}, and this needs {}. An owner can change it with `ringmail user role`.",
                role.as_str(),
                needed.as_str()
            );
            Err(ApiError::new(ErrorCode::InvalidAccess, message))
        }
        None => Err(ApiError::new(ErrorCode::InvalidAccess, "The dashboard does not use this endpoint.")),
    }
}

/// Returns the session of a request; `None` without a valid one. A session of a development server is valid only for
/// programs on this machine. A session of a trusted proxy is valid only while the proxy names the same user.
pub(super) async fn current(
    req: &Request,
    accounts: &Accounts,
    settings: &AccessSettings,
) -> Result<Option<RequestSession>, StoreError> {
    let Some(token) = AccessCookie::Session.find(req).and_then(SessionToken::parse) else { return Ok(None) };
    let Some(signed_in) = accounts.authenticate(&token, &settings.client(req)).await? else { return Ok(None) };
    let is_valid = match signed_in.session.method {
        SignInMethod::Password => true,
        SignInMethod::Open => settings.is_dev && settings.is_local(req),
        SignInMethod::Proxy => {
            let named = settings.proxied_user(req).and_then(identity);
            named.is_some() && named == signed_in.user.as_ref().and_then(|user| identity(&user.email))
        }
    };
    Ok(is_valid.then_some(RequestSession { token, signed_in }))
}

fn identity(email: &str) -> Option<String> {
    EmailAddress::parse(email).ok().map(|address| address.identity())
}

/// Returns the caller of the API's handlers. The role is checked before the handler, so that the permission is complete.
/// No API key has its id, which is that of the user, or of the session on a development server.
fn caller_of(signed_in: &SignedIn) -> Caller {
    let key: ApiKeyId = match &signed_in.user {
        Some(user) => user.id.cast(),
        None => signed_in.session.id.cast(),
    };
    Caller { kind: CallerKind::Session, key, team: signed_in.team, permission: Permission::FullAccess, domain: None }
}

fn missing_session() -> ApiError {
    ApiError::new(ErrorCode::MissingSession, "There is no valid session. Sign in at `/dashboard/login`.")
}
