//! Preparation of a development instance before its first request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::request::AdminServices;
use super::response::AdminError;
use crate::api_keys::{ApiKeyToken, NewKey, Permission, TOKEN_PREFIX};
use crate::audit::Actor;
use crate::base::id::TeamId;
use crate::config::{DevSetup, InstanceVerb};
use crate::http::ApiError;
use crate::store::Keyring;
use crate::teams;

/// Name of the API key.
const KEY_NAME: &str = "Development";
/// Length of the derived part of the token. 24 bytes are 32 characters of base64.
const TOKEN_BYTES: usize = 24;

/// Prepared key and domain.
#[derive(Clone, Debug)]
pub struct DevReady {
    /// The first team of the instance.
    pub team: TeamId,
    /// Token of a key with full access.
    pub token: ApiKeyToken,
    /// A verified domain; `None` if no domain was requested.
    pub domain: Option<String>,
}

/// Creates the team, the API key and the verified domains of a development instance, unless they exist.
pub async fn prepare(services: &AdminServices, setup: &DevSetup) -> Result<DevReady, AdminError> {
    let DevSetup { api_key, domains } = setup;
    let team = teams::ensure_any(&services.context).await?.id;
    for domain in domains {
        services.domains.add_verified(Actor::Server.in_team(team), domain.clone()).await?;
    }
    let token = api_key.clone().unwrap_or_else(|| own_token(&services.context.keyring));
    if services.api_keys.authenticate(&token).is_none() {
        let key = NewKey { name: KEY_NAME.to_owned(), permission: Permission::FullAccess, domain: None };
        services.api_keys.create_with_token(Actor::Server.in_team(team), key, &token).await.map_err(ApiError::from)?;
    }
    Ok(DevReady { team, token, domain: domains.first().map(ToString::to_string) })
}

/// Returns the token of the key that [`prepare`] creates; `None` if the instance is no development instance.
pub fn first_key(purpose: &InstanceVerb, keyring: &Keyring) -> Option<ApiKeyToken> {
    match purpose {
        InstanceVerb::Serve => None,
        InstanceVerb::Dev(setup) => Some(setup.api_key.clone().unwrap_or_else(|| own_token(keyring))),
    }
}

/// Returns the token of a data directory. It is derived from the master key, so that it is the same at
/// every start and is not stored.
fn own_token(keyring: &Keyring) -> ApiKeyToken {
    let derived = keyring.derive(b"development api key");
    let text = format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(&derived[..TOKEN_BYTES]));
    ApiKeyToken::parse(&text).expect("24 bytes are 32 characters of URL-safe base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_has_a_different_token_that_is_the_same_at_every_start() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let token = |directory: &tempfile::TempDir| {
            own_token(&Keyring::open(&directory.path().join("master.key")).unwrap()).reveal().to_owned()
        };

        assert_eq!(token(&one), token(&one));
        assert_ne!(token(&one), token(&other));
    }
}
