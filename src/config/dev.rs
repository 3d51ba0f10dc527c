//! Settings of `ringmail dev` only.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

use super::values;
use crate::api_keys::{ApiKeyToken, TOKEN_PREFIX};
use crate::base::address::DomainName;

/// Settings of `ringmail dev` as clap parses them.
#[derive(Args, Clone, Debug)]
pub struct DevSettings {
    /// API key to create: rm_ and 32 letters, digits, - or _ [default: a key derived from the data
    /// directory, the same at every start].
    #[arg(long, env = "RINGMAIL_API_KEY", value_name = "KEY", value_parser = TokenParser, hide_env_values = true,
          help_heading = "Development")]
    api_key: Option<ApiKeyToken>,

    /// Domain that is verified without DNS records; may be repeated.
    #[arg(long = "domain", env = "RINGMAIL_DOMAINS", value_name = "NAME", value_delimiter = ',',
          default_value = "example.com", value_parser = values::host_name, help_heading = "Development")]
    domains: Vec<DomainName>,
}

/// API key and domains that a development instance creates at its start.
#[derive(Clone, Debug, Default)]
pub struct DevSetup {
    /// API key; `None` selects a key derived from the master key.
    pub api_key: Option<ApiKeyToken>,
    /// Domains that are verified without DNS records.
    pub domains: Vec<DomainName>,
}

impl From<DevSettings> for DevSetup {
    fn from(settings: DevSettings) -> Self {
        let DevSettings { api_key, domains } = settings;
        Self { api_key, domains }
    }
}

/// Parses an API key. Its error does not contain the value, unlike the default error of clap: the value
/// may be a key of another service.
#[derive(Clone)]
struct TokenParser;

impl TypedValueParser for TokenParser {
    type Value = ApiKeyToken;

    fn parse_ref(&self, command: &Command, _arg: Option<&Arg>, value: &OsStr) -> Result<ApiKeyToken, clap::Error> {
        value.to_str().and_then(ApiKeyToken::parse).ok_or_else(|| {
            let form = format!("{TOKEN_PREFIX} and 32 letters, digits, - or _");
            let sentence = format!("--api-key (or RINGMAIL_API_KEY) is not a key: use {form}\n");
            clap::Error::raw(ErrorKind::ValueValidation, sentence).with_cmd(command)
        })
    }
}
