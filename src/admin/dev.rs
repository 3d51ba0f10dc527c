//! What `ringmail dev` has ready before it takes the first request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::services::AdminServices;
use crate::api_keys::{CreateKeyError, NewKey, Permission, TOKEN_PREFIX, Token};
use crate::config::DevSetup;
use crate::domains::CreateDomainError;
use crate::store::{Keyring, StoreError};
use crate::teams;

/// The name of the key that is made.
const KEY_NAME: &str = "Development";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 24;

/// What is ready.
#[derive(Clone, Debug)]
pub struct DevReady {
    /// A key with full access.
    pub token: Token,
    /// A domain that can be sent from.
    pub domain: Option<String>,
}

/// Why a development instance could not be made ready.
#[derive(Debug)]
pub enum PrepareError {
    /// A domain was refused.
    Domain(CreateDomainError),
    /// The key was refused.
    Key(CreateKeyError),
    /// The store failed.
    Store(StoreError),
}

impl std::fmt::Display for PrepareError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Domain(error) => write!(f, "a domain could not be made ready: {error:?}"),
            Self::Key(error) => write!(f, "the API key could not be made ready: {error:?}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PrepareError {}

impl From<StoreError> for PrepareError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Makes the team, the key and the verified domains of a development instance where they are not
/// there yet.
///
/// # Errors
/// [`PrepareError`].
pub async fn prepare(services: &AdminServices, setup: &DevSetup) -> Result<DevReady, PrepareError> {
    let DevSetup { api_key, domains } = setup;
    let team = teams::ensure_any(&services.context).await?.id;
    for domain in domains {
        services.domains.add_verified(team, domain.clone()).await.map_err(PrepareError::Domain)?;
    }
    let token = api_key.clone().unwrap_or_else(|| own_token(&services.context.keyring));
    if services.api_keys.authenticate(&token).is_none() {
        let key = NewKey { name: KEY_NAME.to_owned(), permission: Permission::FullAccess, domain: None };
        services.api_keys.create_with_token(team, key, &token).await.map_err(PrepareError::Key)?;
    }
    Ok(DevReady { token, domain: domains.first().map(ToString::to_string) })
}

/// Returns the token that belongs to a data directory: derived from its master key, so that it is
/// the same at every start and is stored nowhere.
fn own_token(keyring: &Keyring) -> Token {
    let derived = keyring.derive(b"development api key");
    let text = format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(&derived[..TOKEN_BYTES]));
    Token::parse(&text).expect("24 bytes are 32 characters of URL-safe base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_s_token_is_its_own_and_the_same_at_every_start() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let token = |directory: &tempfile::TempDir| {
            own_token(&Keyring::open(&directory.path().join("master.key")).unwrap()).reveal().to_owned()
        };

        assert_eq!(token(&one), token(&one));
        assert_ne!(token(&one), token(&other));
    }
}
