//! What `ringmail dev` makes ready before it serves.

use clap::Args;

use super::values;
use crate::address::DomainName;
use crate::api_keys::{TOKEN_PREFIX, Token};

/// The settings of `ringmail dev` alone, as they are given.
#[derive(Args, Clone, Debug)]
pub struct DevSettings {
    /// The API key to accept, rm_ and 32 letters, digits, - or _ [default: one of the data
    /// directory's own, the same at every start].
    #[arg(long, env = "RINGMAIL_API_KEY", value_name = "KEY", value_parser = token, hide_env_values = true,
          help_heading = "Development")]
    api_key: Option<Token>,

    /// A domain that may be sent from without any DNS record; may be repeated.
    #[arg(long = "domain", env = "RINGMAIL_DOMAINS", value_name = "NAME", value_delimiter = ',',
          default_value = "example.com", value_parser = values::host_name, help_heading = "Development")]
    domains: Vec<DomainName>,
}

/// What a development instance has ready.
#[derive(Clone, Debug, Default)]
pub struct DevSetup {
    /// The key that is accepted; one derived from the master key when none is given.
    pub api_key: Option<Token>,
    /// The domains that count as verified.
    pub domains: Vec<DomainName>,
}

impl From<DevSettings> for DevSetup {
    fn from(settings: DevSettings) -> Self {
        let DevSettings { api_key, domains } = settings;
        Self { api_key, domains }
    }
}

fn token(text: &str) -> Result<Token, String> {
    // The refused text is not repeated: it may be a key of another service.
    Token::parse(text).ok_or_else(|| format!("a key is {TOKEN_PREFIX} and 32 letters, digits, - or _"))
}
