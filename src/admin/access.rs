//! One-time links to the dashboard: the first account, the way back in, and a development server.

use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::AdminError;
use super::users::address;
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::store::{StoreError, StoreKind};
use crate::users::{LinkPurpose, OneTimeLink};

/// Verbs about access to the dashboard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum AccessVerb {
    /// Returns a link to set up the first account, or on a development server to open the dashboard.
    #[serde(rename = "setup_link")]
    SetupLink {},
}

/// A one-time link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkView {
    pub url: String,
    pub expires_at: String,
}

pub(super) async fn execute(services: &AdminServices, verb: AccessVerb) -> VerbResult {
    let AccessVerb::SetupLink {} = verb;
    match dashboard_link(services, Actor::CommandLine).await? {
        Some(view) => Ok(view.into()),
        None => Err(AdminError::conflict(
            "an account exists already; a user gets back in with `ringmail user link EMAIL`, and `ringmail user create` \
             adds one",
        )),
    }
}

/// Creates a link to set up the first account, or on a development server to open the dashboard; `None` if an account
/// exists.
pub async fn dashboard_link(services: &AdminServices, by: Actor) -> Result<Option<LinkView>, StoreError> {
    let link = match services.kind {
        StoreKind::Dev => Some(services.accounts.issue_open_link().await?),
        StoreKind::Serve => services.accounts.issue_setup_link(by).await?,
    };
    Ok(link.map(|link| view(services, &link)))
}

/// Creates a link with which a user gets back in.
pub(super) async fn user_link(services: &AdminServices, email: &str) -> VerbResult {
    if services.kind == StoreKind::Dev {
        return Err(AdminError::conflict(
            "a development server has no accounts; `ringmail setup-link` prints a link to its dashboard",
        ));
    }
    let link = services.accounts.issue_user_link(Actor::CommandLine, address(email)?).await?;
    let link = link.ok_or_else(|| {
        AdminError::not_found(format!("there is no user {email}; add the user with `ringmail user create {email}`"))
    })?;
    Ok(view(services, &link).into())
}

fn view(services: &AdminServices, link: &OneTimeLink) -> LinkView {
    let page = match link.purpose {
        LinkPurpose::Setup => "setup",
        LinkPurpose::SignIn { .. } => "link",
        LinkPurpose::Open => "open",
    };
    // The link of a development server works on its machine only, under any public URL.
    let dashboard = match (link.purpose, &services.api) {
        (LinkPurpose::Open, Some(api)) => format!("{api}/dashboard/"),
        _ => services.dashboard_url.clone(),
    };
    let url = format!("{dashboard}{page}/{}", link.secret.reveal());
    LinkView { url, expires_at: to_iso(link.expires_ms) }
}
