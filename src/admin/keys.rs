//! API keys.

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::domains;
use super::pages::{find_one, page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::api_keys::{ApiKey, NewKey, Permission};
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{ApiKeyId, DomainId, TeamId};
use crate::http::ApiError;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum KeyVerb {
    /// Create a key and print its token. The token is shown only this once.
    #[serde(rename = "key_create")]
    Create {
        /// Name of the key.
        name: String,
        /// Permission of the key.
        #[arg(long, default_value = "full_access", value_parser = permissions())]
        permission: Permission,
        /// Name or id of the only domain that the key may send from.
        #[arg(long, value_name = "DOMAIN")]
        domain: Option<String>,
    },
    /// List the keys.
    #[serde(rename = "key_list")]
    List {
        #[arg(skip)]
        after: Option<ApiKeyId>,
    },
    /// Rename a key.
    #[serde(rename = "key_rename")]
    Rename {
        /// Name or id of the key.
        key: String,
        /// New name.
        name: String,
    },
    /// Revoke a key. It stops working immediately.
    #[serde(rename = "key_revoke")]
    Revoke {
        /// Name or id of the key.
        key: String,
    },
}

fn permissions() -> impl TypedValueParser<Value = Permission> {
    let permissions = [
        PossibleValue::new("full_access").help("Access to everything"),
        PossibleValue::new("sending_access").help("Sending only"),
    ];
    PossibleValuesParser::new(permissions).map(|word| Permission::parse(&word).expect("every value is a permission"))
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyView {
    pub id: ApiKeyId,
    pub name: String,
    pub permission: String,
    /// The only domain that the key may send from.
    pub domain_id: Option<DomainId>,
    pub created_at: String,
    pub last_used_at: Option<String>,
    /// Secret of the key, only in the response that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        let ApiKey { id, team: _, name, permission, domain, created_ms, last_used_ms } = key;
        Self {
            id,
            name,
            permission: permission.as_str().to_owned(),
            domain_id: domain,
            created_at: to_iso(created_ms),
            last_used_at: last_used_ms.map(to_iso),
            token: None,
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: KeyVerb) -> VerbResult {
    let (keys, by) = (&services.api_keys, Actor::CommandLine.in_team(team));
    match verb {
        KeyVerb::Create { name, permission, domain } => {
            let domain = match domain {
                Some(domain) => Some(domains::find(services, team, &domain).await?),
                None => None,
            };
            let (key, token) = keys.create(by, NewKey { name, permission, domain }).await.map_err(ApiError::from)?;
            Ok(KeyView { token: Some(token.reveal().to_owned()), ..key.into() }.into())
        }
        KeyVerb::List { after } => Ok(Rows::of(keys.list(team, page_after(after)).await?, KeyView::from).into()),
        KeyVerb::Rename { key, name } => {
            let found = find(services, team, &key).await?;
            if !keys.rename(by, found.id, &name).await.map_err(ApiError::from)? {
                return Err(unknown("key", &key));
            }
            Ok(KeyView::from(ApiKey { name: name.trim().to_owned(), ..found }).into())
        }
        KeyVerb::Revoke { key } => {
            let found = find(services, team, &key).await?;
            if !keys.delete(by, found.id).await? {
                return Err(unknown("key", &key));
            }
            Ok(KeyView::from(found).into())
        }
    }
}

/// Returns the key with the given id, or the only key with the given name.
async fn find(services: &AdminServices, team: TeamId, text: &str) -> Result<ApiKey, AdminError> {
    let list = |query| services.api_keys.list(team, query);
    find_one(list, |key: &ApiKey| key.id, |key| &key.name, ("key", text)).await
}
