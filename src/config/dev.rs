//! What `ringmail dev` makes ready before it serves.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

use super::values;
use crate::api_keys::{TOKEN_PREFIX, Token};
use crate::base::address::DomainName;

/// The settings of `ringmail dev` alone, as they are given.
#[derive(Args, Clone, Debug)]
pub struct DevSettings {
    /// The API key to accept, rm_ and 32 letters, digits, - or _ [default: one of the data
    /// directory's own, the same at every start].
    #[arg(long, env = "RINGMAIL_API_KEY", value_name = "KEY", value_parser = TokenParser, hide_env_values = true,
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

/// Reads a key. A refused one is not repeated, as the command line's own refusal would: it may be
/// a key of another service.
#[derive(Clone)]
struct TokenParser;

impl TypedValueParser for TokenParser {
    type Value = Token;

    fn parse_ref(&self, command: &Command, _arg: Option<&Arg>, value: &OsStr) -> Result<Token, clap::Error> {
        value.to_str().and_then(Token::parse).ok_or_else(|| {
            let form = format!("{TOKEN_PREFIX} and 32 letters, digits, - or _");
            let sentence = format!("--api-key (or RINGMAIL_API_KEY) is no key: one is {form}\n");
            clap::Error::raw(ErrorKind::ValueValidation, sentence).with_cmd(command)
        })
    }
}
