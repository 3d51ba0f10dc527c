//! Answering requests. Parsing happens here, as in every noun's `api`; the use cases are theirs.

mod contacts;
mod domains;
mod emails;
mod keys;
mod live;
mod teams;
mod themes;
mod users;
mod webhooks;

pub(super) use live::watch;

use super::request::Request;
use super::response::{AdminError, Response, ServerView};
use super::services::AdminServices;
use crate::base::clock::{self, TimestampMs};
use crate::base::id::Id;
use crate::contacts::import::{ImportDefaults, WriteOptions};
use crate::store::StoreError;
use crate::store::page::{Cursor, PageError, PageQuery};
use crate::webhooks::StatusChange;

/// Rows of one page of a list.
const PAGE_ROWS: usize = 100;
/// Names that a refusal lists.
const NAMES_LISTED_MAX: usize = 10;

type Answer = Result<Response, AdminError>;

/// Answers a request.
pub async fn execute(services: &AdminServices, request: Request) -> Response {
    answer(services, request).await.unwrap_or_else(Response::Refused)
}

async fn answer(services: &AdminServices, request: Request) -> Answer {
    match request {
        Request::Ping => {
            let version = env!("CARGO_PKG_VERSION").to_owned();
            Ok(Response::Server(ServerView { version, api: services.api.clone() }))
        }
        Request::TeamCreate { name } => teams::create(services, &name).await,
        Request::TeamList => teams::list(services).await,
        Request::KeyCreate { team, name, permission, domain } => {
            keys::create(services, team, name, permission, domain).await
        }
        Request::KeyList { team, after } => keys::list(services, team, after).await,
        Request::KeyRename { team, key, name } => keys::rename(services, team, &key, &name).await,
        Request::KeyRevoke { team, key } => keys::revoke(services, team, &key).await,
        Request::UserCreate { team, email, role } => users::create(services, team, &email, role).await,
        Request::UserList { team, after } => users::list(services, team, after).await,
        Request::UserRole { team, email, role } => users::change_role(services, team, &email, role).await,
        Request::UserRemove { team, email } => users::remove(services, team, &email).await,
        Request::DomainAdd { team, name, trust } => domains::add(services, team, &name, trust).await,
        Request::DomainList { team, after } => domains::list(services, team, after).await,
        Request::DomainShow { team, domain } => domains::show(services, team, &domain).await,
        Request::DomainCheck { team, domain } => domains::check(services, team, &domain).await,
        Request::DomainRemove { team, domain } => domains::remove(services, team, &domain).await,
        Request::WebhookCreate { team, endpoint, events } => webhooks::create(services, team, endpoint, events).await,
        Request::WebhookList { team, after } => webhooks::list(services, team, after).await,
        Request::WebhookDisable { team, webhook } => {
            webhooks::switch(services, team, &webhook, StatusChange::Disable).await
        }
        Request::WebhookEnable { team, webhook } => {
            webhooks::switch(services, team, &webhook, StatusChange::Enable).await
        }
        Request::WebhookRotate { team, webhook, overlap_hours } => {
            webhooks::rotate(services, team, &webhook, overlap_hours).await
        }
        Request::WebhookDelete { team, webhook } => webhooks::delete(services, team, &webhook).await,
        Request::WebhookTest { team, webhook, event_type } => {
            webhooks::test(services, team, &webhook, event_type).await
        }
        Request::ThemeShow { team } => themes::show(services, team).await,
        Request::ThemeSet { team, texts } => themes::set(services, team, texts).await,
        Request::ThemeReset { team } => themes::reset(services, team).await,
        Request::Send { team, from, to, subject, html, text } => {
            emails::send(services, team, emails::NewEmail { from, to, subject, html, text }).await
        }
        Request::Tail { .. } => {
            Err(AdminError::failed("events are shown by a running server alone; start one with `ringmail serve`"))
        }
        Request::EmailShow { team, email } => emails::show(services, team, email).await,
        Request::ImportBegin { team, segments, topics } => {
            contacts::begin(services, team, ImportDefaults { segments, topics }).await
        }
        Request::ImportContacts { team, existing, run, segments, topics, items } => {
            let options = WriteOptions { existing, run, defaults: ImportDefaults { segments, topics } };
            contacts::import(services, team, options, items).await
        }
        Request::ExportBegin { team } => contacts::begin(services, team, ImportDefaults::default()).await,
        Request::ExportContacts { team, segment, after } => contacts::export(services, team, segment, after).await,
    }
}

/// Returns the query of the page that follows a row.
fn page_after<R>(after: Option<Id<R>>) -> PageQuery<Id<R>> {
    PageQuery { limit: PAGE_ROWS, cursor: after.map_or(Cursor::Newest, Cursor::After) }
}

fn time(ms: TimestampMs) -> String {
    clock::to_iso(ms)
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::failed("the server is shutting down; try again once it runs"),
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<PageError> for AdminError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::conflict("the list changed while it was read; try again"),
            PageError::Store(error) => error.into(),
        }
    }
}
