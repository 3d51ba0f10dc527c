//! Access to the dashboard: sign-in pages, sessions and roles.
//!
//! The server renders the pages, and they work without scripts. A sign-in sets the cookie of a session. Each request
//! below `/dashboard/api` passes [`authenticate_session`], which checks the session, the header of changes and the
//! role. It passes the [`Caller`](crate::api_keys::Caller) to the same handlers that API keys use.
//!
//! Files in reading order:
//! - `settings.rs`: kind of server, proxies, URL;
//! - `cookies.rs`;
//! - `session.rs`: check of each request;
//! - `roles.rs`: role of each route;
//! - `sessions.rs`: the list of sessions;
//! - `document.rs`: the HTML around a form;
//! - `form.rs`: posted forms;
//! - `origin.rs`: the origin of posted forms;
//! - `replies.rs`: redirects and errors;
//! - `login.rs`: the sign-in;
//! - `links.rs`: one-time links;
//! - `account.rs`, `account_page.rs`: the own account.
//!
//! Invariants:
//! - No change is made without a check of its origin: the header of changes, the origin of a form, or the secret of a
//!   link.
//! - A page contains no script, and its URL with a secret reaches no other site and no log.

mod account;
mod account_page;
mod cookies;
mod document;
mod form;
mod links;
mod login;
mod origin;
mod replies;
pub(crate) mod roles;
pub(crate) mod session;
mod sessions;
mod settings;

use salvo::Router;

use origin::own_forms;
pub(crate) use session::authenticate_session;
pub use settings::AccessSettings;

/// Returns the routes of the pages. Each posted form passes [`own_forms`].
pub(crate) fn pages() -> Router {
    Router::with_path("dashboard")
        .hoop(own_forms)
        .push(Router::with_path("login").get(login::show_login).post(login::sign_in))
        .push(Router::with_path("login/code").get(login::show_code).post(login::enter_code))
        .push(Router::with_path("logout").post(login::sign_out))
        .push(Router::with_path("setup/{token}").get(links::show_setup).post(links::set_up))
        .push(Router::with_path("link/{token}").get(links::show_link).post(links::use_link))
        .push(Router::with_path("open/{token}").get(links::open))
        .push(Router::with_path("account").get(account::show_account).post(account::change_account))
}

/// Returns the routes of sessions, below `/dashboard/api` and behind [`authenticate_session`].
pub(crate) fn session_routes() -> Router {
    Router::new()
        .push(Router::with_path("sessions").get(sessions::list_sessions).delete(sessions::delete_other_sessions))
        .push(Router::with_path("sessions/{id}").delete(sessions::delete_session))
        .push(Router::with_path("me/team").post(sessions::choose_team))
}
