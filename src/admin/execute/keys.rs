//! API keys.

use super::super::response::{AdminError, KeyView, Response, Rows};
use super::super::services::AdminServices;
use super::{Answer, domains, page_after, teams, time};
use crate::api_keys::{ApiKey, CreateKeyError, NewKey, Permission};
use crate::base::id::{ApiKeyId, TeamId};

const NAME_RULE: &str = "a key's name has 1 to 80 characters and no control characters";

pub(super) async fn create(
    services: &AdminServices,
    team: Option<String>,
    name: String,
    permission: Permission,
    domain: Option<String>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let domain = match domain {
        Some(domain) => Some(domains::named(services, team, &domain).await?),
        None => None,
    };
    let (key, token) = services.api_keys.create(team, NewKey { name, permission, domain }).await?;
    Ok(Response::Key(KeyView { token: Some(token.reveal().to_owned()), ..view(key) }))
}

pub(super) async fn list(services: &AdminServices, team: Option<String>, after: Option<ApiKeyId>) -> Answer {
    let team = teams::chosen(services, team).await?;
    let page = services.api_keys.list(team, page_after(after)).await?;
    Ok(Response::Keys(Rows { data: page.rows.into_iter().map(view).collect(), has_more: page.has_more }))
}

pub(super) async fn rename(services: &AdminServices, team: Option<String>, key: &str, name: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let found = named(services, team, key).await?;
    if !services.api_keys.rename(team, found.id, name).await? {
        return Err(unknown(key));
    }
    Ok(Response::Key(view(ApiKey { name: name.trim().to_owned(), ..found })))
}

pub(super) async fn revoke(services: &AdminServices, team: Option<String>, key: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let found = named(services, team, key).await?;
    if !services.api_keys.delete(team, found.id).await? {
        return Err(unknown(key));
    }
    Ok(Response::Key(view(found)))
}

/// Returns the key of that id, or the only one of that name.
async fn named(services: &AdminServices, team: TeamId, text: &str) -> Result<ApiKey, AdminError> {
    let id = ApiKeyId::parse(text);
    let mut found = None;
    let mut after = None;
    loop {
        let page = services.api_keys.list(team, page_after(after)).await?;
        after = page.rows.last().map(|key| key.id);
        for key in page.rows {
            if id == Some(key.id) {
                return Ok(key);
            }
            if key.name == text && found.replace(key).is_some() {
                return Err(AdminError::conflict(format!(
                    "several keys are named `{text}`; give the id that `ringmail key list` shows"
                )));
            }
        }
        if !page.has_more {
            return found.ok_or_else(|| unknown(text));
        }
    }
}

fn unknown(key: &str) -> AdminError {
    AdminError::not_found(format!("the team has no key `{key}`; `ringmail key list` shows those there are"))
}

fn view(key: ApiKey) -> KeyView {
    let ApiKey { id, team: _, name, permission, domain, created_ms, last_used_ms } = key;
    KeyView {
        id,
        name,
        permission: permission.as_str().to_owned(),
        domain_id: domain,
        created_at: time(created_ms),
        last_used_at: last_used_ms.map(time),
        token: None,
    }
}

impl From<CreateKeyError> for AdminError {
    fn from(error: CreateKeyError) -> Self {
        match error {
            CreateKeyError::Name => Self::invalid(NAME_RULE),
            CreateKeyError::DomainNotFound => Self::not_found("the domain has just been removed"),
            CreateKeyError::Store(error) => error.into(),
        }
    }
}
