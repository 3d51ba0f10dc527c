//! `/dashboard/login` and `/dashboard/logout`: sign-in with a password and a code, or by a trusted proxy.
//!
//! The pages work without scripts. A correct form gets a 303 redirect, so that reloading the page does not post again.

use maud::{Markup, html};
use salvo::http::StatusCode;
use salvo::{Request, Response, Writer as _, handler};

use super::cookies::AccessCookie;
use super::document::{AccessPage, FormField, submit};
use super::form::PostedForm;
use super::replies::{
    HOME, attempts, busy, enter, next_page, see_other, throttled, write_failure, write_invalid_form, write_message,
};
use super::session::current;
use super::settings::AccessSettings;
use crate::http::State;
use crate::users::{Accounts, CodeResult, Password, PasswordResult, SignInError};

/// Shows the sign-in page. A user with a session, or with the header of a trusted proxy, gets to the next page at once.
#[handler]
pub(crate) async fn show_login(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let next = next_page(req.queries().get("next").map_or("", String::as_str)).to_owned();
    match current(req, &accounts, &settings).await {
        Ok(Some(_)) => return see_other(res, &next),
        Ok(None) => {}
        Err(error) => return write_failure(res, &settings, &error),
    }
    if let Some(email) = settings.proxied_user(req).map(str::to_owned) {
        return match accounts.sign_in_by_proxy(&email, settings.client(req)).await {
            Ok(token) => enter(req, res, &settings, &token, &next),
            Err(SignInError::Store(error)) => write_failure(res, &settings, &error),
            Err(_) => {
                let sentences = [
                    "The proxy in front of this server has signed you in with an address that is no user of a team.",
                    "An owner can add you on the server with `ringmail user create EMAIL`.",
                ];
                write_message(res, &settings, StatusCode::FORBIDDEN, "You have no access", &sentences);
            }
        };
    }
    if settings.is_dev {
        let sentences = [
            "A development server has no accounts. Open the dashboard with the link that `ringmail dev` printed.",
            "The link works once, and in a browser on this machine. Run `ringmail setup-link` for a new one.",
        ];
        return write_message(res, &settings, StatusCode::OK, "Open the link from your terminal", &sentences);
    }
    match accounts.needs_setup().await {
        Ok(true) => {
            let sentences = [
                "This server has no account. On the server, run `ringmail setup-link`.",
                "It prints a link that works once, for 30 minutes.",
            ];
            write_message(res, &settings, StatusCode::OK, "Set up the first account", &sentences);
        }
        Ok(false) => password_page(&settings, "", &next, None).write(&settings, res),
        Err(error) => write_failure(res, &settings, &error),
    }
}

/// Checks a password.
#[handler]
pub(crate) async fn sign_in(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let Some(form) = PostedForm::read(req).await else { return write_invalid_form(res, &settings) };
    let (email, next) = (form.value("email"), next_page(form.value("next")));
    let password = Password::typed(form.value("password"));
    let transport = settings.cookie_transport(req);
    let (status, problem) = match accounts.sign_in(email, password, &settings.network(req), settings.client(req)).await
    {
        Ok(PasswordResult::SignedIn(token)) => return enter(req, res, &settings, &token, next),
        Ok(PasswordResult::NeedsCode(pending)) => {
            AccessCookie::Pending.set(res, &pending, transport);
            return see_other(res, &with_next("/dashboard/login/code", next));
        }
        Err(SignInError::Wrong { attempts_left }) => {
            let sentence = format!("Email and password do not match. {}", attempts(attempts_left));
            (StatusCode::UNPROCESSABLE_ENTITY, sentence)
        }
        Err(SignInError::Throttled { wait_ms }) => (StatusCode::TOO_MANY_REQUESTS, throttled(res, wait_ms)),
        Err(SignInError::Busy) => (StatusCode::SERVICE_UNAVAILABLE, busy(res)),
        Err(SignInError::Expired) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "The account has just changed. Sign in again.".to_owned())
        }
        Err(SignInError::NoTeam) => (StatusCode::FORBIDDEN, "You are not a member of a team.".to_owned()),
        Err(SignInError::Store(error)) => return write_failure(res, &settings, &error),
    };
    AccessPage { status, ..password_page(&settings, email, next, Some(&problem)) }.write(&settings, res);
}

/// Shows the page for the code of the second factor.
#[handler]
pub(crate) async fn show_code(settings: State<AccessSettings>, req: &mut Request, res: &mut Response) {
    let next = next_page(req.queries().get("next").map_or("", String::as_str)).to_owned();
    if AccessCookie::Pending.find(req).is_none_or(str::is_empty) {
        return see_other(res, &with_next("/dashboard/login", &next));
    }
    code_page(&next, None).write(&settings, res);
}

/// Checks a code of the second factor, or a recovery code.
#[handler]
pub(crate) async fn enter_code(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let Some(form) = PostedForm::read(req).await else { return write_invalid_form(res, &settings) };
    let next = next_page(form.value("next"));
    let pending = AccessCookie::Pending.find(req).unwrap_or_default();
    let (network, client) = (settings.network(req), settings.client(req));
    let transport = settings.cookie_transport(req);
    let (status, problem) = match accounts.sign_in_with_code(pending, form.value("code"), &network, client).await {
        Ok(CodeResult { token, recovery_left }) => {
            AccessCookie::Pending.clear(res, transport);
            // The page shows how many recovery codes are left.
            let location = if recovery_left.is_some() { "/dashboard/account" } else { next };
            return enter(req, res, &settings, &token, location);
        }
        Err(SignInError::Wrong { attempts_left }) => {
            let sentence = format!("The code is wrong, or was used before. {}", attempts(attempts_left));
            (StatusCode::UNPROCESSABLE_ENTITY, sentence)
        }
        Err(SignInError::Throttled { wait_ms }) => (StatusCode::TOO_MANY_REQUESTS, throttled(res, wait_ms)),
        Err(SignInError::Expired | SignInError::NoTeam) => {
            AccessCookie::Pending.clear(res, transport);
            let page = password_page(&settings, "", next, Some("The time for the code is over. Sign in again."));
            return AccessPage { status: StatusCode::UNPROCESSABLE_ENTITY, ..page }.write(&settings, res);
        }
        Err(SignInError::Busy) => (StatusCode::SERVICE_UNAVAILABLE, busy(res)),
        Err(SignInError::Store(error)) => return write_failure(res, &settings, &error),
    };
    AccessPage { status, ..code_page(next, Some(&problem)) }.write(&settings, res);
}

/// Ends the session of the request.
#[handler]
pub(crate) async fn sign_out(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let ended = match current(req, &accounts, &settings).await {
        Ok(Some(session)) => {
            let id = session.signed_in.session.id;
            accounts.end_session(&session.signed_in, id).await.map(drop)
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        return write_failure(res, &settings, &error);
    }
    AccessCookie::Session.clear(res, settings.cookie_transport(req));
    if settings.proxied_user(req).is_some() {
        // The sign-in page would start another session at once.
        let sentences = [
            "Your session has ended. The proxy in front of this server signs you in again when you open the dashboard.",
            "Sign out there too, if other people use this browser.",
        ];
        return write_message(res, &settings, StatusCode::OK, "You are signed out", &sentences);
    }
    see_other(res, "/dashboard/login");
}

/// Returns a path with the page after the sign-in as its query.
fn with_next(path: &str, next: &str) -> String {
    if next == HOME { path.to_owned() } else { format!("{path}?next={}", query_value(next)) }
}

/// Escapes the characters that end a value of a query.
fn query_value(text: &str) -> String {
    text.replace('%', "%25").replace('&', "%26").replace('#', "%23").replace('+', "%2B")
}

fn password_page(settings: &AccessSettings, email: &str, next: &str, problem: Option<&str>) -> AccessPage {
    let title = format!("Sign in to {}", settings.name);
    let address = FormField { autocomplete: "username", value: email, ..FormField::new("email", "Email", "email") };
    let password = FormField {
        autocomplete: "current-password",
        error: problem,
        ..FormField::new("password", "Password", "password")
    };
    let card = html! {
        form.auth-card method="post" action="/dashboard/login" {
            h1 { (title) }
            (address.render(email.is_empty()))
            (password.render(!email.is_empty()))
            input type="hidden" name="next" value=(next);
            (submit("Sign in"))
        }
    };
    AccessPage { below: way_back(), ..AccessPage::new(title, card) }
}

fn way_back() -> Markup {
    html! {
        details.auth-help #forgot {
            summary { "Forgotten the password?" }
            p {
                "On the server, run " code { "ringmail user link EMAIL" }
                ". It prints a link that works once, for 30 minutes. No email is needed."
            }
        }
    }
}

fn code_page(next: &str, problem: Option<&str>) -> AccessPage {
    let code = FormField {
        autocomplete: "one-time-code",
        hint: Some("Without the app, enter one of your recovery codes."),
        error: problem,
        ..FormField::new("code", "Code of your authenticator app", "text")
    };
    let card = html! {
        form.auth-card method="post" action="/dashboard/login/code" {
            h1 { "Enter the code" }
            (code.render(true))
            input type="hidden" name="next" value=(next);
            (submit("Sign in"))
        }
    };
    AccessPage { below: way_back(), ..AccessPage::new("Enter the code", card) }
}
