//! Settings of routes: delivery mode, smarthosts, rules, release, source addresses and IPv6.
//!
//! Reading order: this file (the settings and their checks), `password_file.rs`, `error.rs`.

mod error;
mod password_file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

pub use error::RouteError;

use password_file::PasswordFile;

use super::delivery::DeliveryMode;
use super::relay::{RelayText, RelayUrl};
use super::surroundings::Surroundings;
use super::values;
use super::{ConfigError, DeliveryConfig};
use crate::base::address::DomainName;
use crate::delivery::{
    CAPTURE, Class, DIRECT, DeliverOnly, Ipv6Mode, RELAY, RecipientPattern, RouteRule, RouteTargets,
};
use crate::domains::RelayRecords;

/// Prefix of the variables with the passwords of named smarthosts.
pub(super) const PASSWORD_PREFIX: &str = "RINGMAIL_SMARTHOST_PASSWORD_";
/// Maximum length of the name of a smarthost.
const NAME_CHARS_MAX: usize = 32;

/// Settings of routes as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct RouteSettings {
    /// Delivery mode: the route of recipients without a --route.
    #[arg(
        long,
        env = "RINGMAIL_DELIVERY",
        value_name = "MODE",
        value_enum,
        default_value = "capture",
        help_heading = "Delivering"
    )]
    delivery: DeliveryMode,

    #[arg(
        long,
        env = "RINGMAIL_RELAY",
        value_name = "URL",
        hide_env_values = true,
        help_heading = "Delivering",
        help = "Smarthost of relay delivery: \
                  smtp://[USER[:PASSWORD]@]HOST[:PORT][?tls=required|opportunistic|never] or smtps://…; \
                  use --password-file or RINGMAIL_RELAY_PASSWORD for the password. TLS is required, except on this machine: \
                  there it is opportunistic, and off with a user. With ?final=true (or &final=true), the smarthost \
                  serves the recipients itself: its acceptance is the delivery"
    )]
    relay: Option<RelayText>,

    /// Return-path records that the smarthost requires: mx=10 HOST; spf=include:HOST.
    #[arg(long, env = "RINGMAIL_RELAY_RECORDS", value_name = "RECORDS", value_parser = values::relay_records,
          help_heading = "Delivering")]
    relay_records: Option<RelayRecords>,

    /// Further smarthost, for --route and --release; may be repeated. The URL is that of --relay without a password,
    /// which is in --password-file or RINGMAIL_SMARTHOST_PASSWORD_NAME.
    #[arg(
        long,
        env = "RINGMAIL_SMARTHOST",
        value_name = "NAME=URL",
        value_delimiter = ',',
        hide_env_values = true,
        help_heading = "Delivering"
    )]
    smarthost: Vec<RelayText>,

    /// File with the passwords of smarthosts, one NAME=PASSWORD a line; the name of --relay is relay. A variable with a
    /// password has precedence [default: the credential smarthost-passwords of the systemd unit, if it has one].
    #[arg(long, env = "RINGMAIL_PASSWORD_FILE", value_name = "FILE", help_heading = "Delivering")]
    password_file: Option<PathBuf>,

    /// Route of recipients: PATTERN=TARGET, PATTERN,transactional=TARGET or PATTERN,broadcast=TARGET, and a comma with
    /// a second target as the fallback; may be repeated, the variable separates with semicolons. PATTERN is
    /// example.com, *.example.com or *; TARGET is direct, capture, relay or a smarthost. The first match applies.
    #[arg(long, env = "RINGMAIL_ROUTE", value_name = "ROUTE", value_delimiter = ';', value_parser = route,
          help_heading = "Delivering")]
    route: Vec<RouteRule>,

    /// Recipients that are delivered to, while email to the others is captured: example.com, *.example.com or an
    /// address; may be repeated [default: all].
    #[arg(long, env = "RINGMAIL_DELIVER_ONLY", value_name = "PATTERN", value_delimiter = ',',
          value_parser = RecipientPattern::from_str, help_heading = "Delivering")]
    deliver_only: Vec<RecipientPattern>,

    /// Transport of released messages: direct, relay or a smarthost [default: none can be released].
    #[arg(long, env = "RINGMAIL_RELEASE", value_name = "TARGET", help_heading = "Delivering")]
    release: Option<String>,

    /// Address that SMTP sessions start from, with its EHLO name [default name: --hostname]; may be repeated.
    #[arg(long, env = "RINGMAIL_SOURCE", value_name = "ADDRESS[=NAME]", value_delimiter = ',',
          value_parser = source, help_heading = "Delivering")]
    source: Vec<SourceConfig>,

    /// IPv6 in direct delivery: auto uses it while the reverse DNS of this server's address is correct; off; on.
    #[arg(long, env = "RINGMAIL_IPV6", value_name = "MODE", default_value = "auto", value_parser = ipv6_mode,
          help_heading = "Delivering")]
    ipv6: Ipv6Mode,
}

/// A source address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    pub address: IpAddr,
    /// EHLO name; `None` selects the host name of this server.
    pub name: Option<DomainName>,
}

/// Valid settings of routes.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// Smarthosts by name. The one of `--relay` has the name [`RELAY`].
    pub smarthosts: BTreeMap<String, RelayUrl>,
    pub rules: Vec<RouteRule>,
    /// Recipients that are delivered to.
    pub deliver_only: DeliverOnly,
    /// Transport of released messages; `None` if none can be released.
    pub release: Option<String>,
    pub sources: Vec<SourceConfig>,
    pub ipv6: Ipv6Mode,
}

impl RouteConfig {
    /// Returns whether a rule delivers to another place than the built-in mailbox.
    pub fn delivers(&self) -> bool {
        self.rules.iter().any(|rule| rule.targets.names().any(|name| name != CAPTURE))
    }

    /// Returns whether the outcome of an email can come from the report of a smarthost.
    pub fn needs_reports(&self) -> bool {
        let mut targets = named_targets(&self.rules, self.release.as_deref());
        // The smarthost of `--relay` is listed only if it is used.
        targets.insert(RELAY);
        self.smarthosts.iter().any(|(name, smarthost)| !smarthost.is_final && targets.contains(name.as_str()))
    }
}

impl RouteSettings {
    /// Checks the rules about more than one setting.
    ///
    /// # Errors
    /// [`ConfigError`]. Its message names the setting to change.
    pub(super) fn into_config(
        self,
        surroundings: &Surroundings,
    ) -> Result<(DeliveryConfig, Option<RelayRecords>, RouteConfig), ConfigError> {
        let relay = self.relay.map(|text| text.parse().map_err(ConfigError::Relay)).transpose()?;
        let targets = named_targets(&self.route, self.release.as_deref());
        let is_relay = self.delivery == DeliveryMode::Relay;
        let mut file = PasswordFile::new(self.password_file, surroundings.credentials_directory.as_deref());
        let relay = match relay {
            Some(relay) if is_relay || targets.contains(RELAY) => {
                let password = match &surroundings.relay_password {
                    None if relay.needs_password() => file.password(RELAY)?,
                    password => password.clone(),
                };
                Some(relay.with_password(password)?)
            }
            Some(_) => None,
            None if is_relay => return Err(ConfigError::NoRelay),
            None => None,
        };
        let mut smarthosts = smarthosts(&self.smarthost, surroundings, &mut file)?;
        if let Some(relay) = &relay {
            smarthosts.insert(RELAY.to_owned(), relay.clone());
        }
        let is_known = |name: &str| [DIRECT, CAPTURE].contains(&name) || smarthosts.contains_key(name);
        if let Some(name) = targets.iter().find(|name| !is_known(name)) {
            return Err(RouteError::UnknownTarget((*name).to_owned()).into());
        }
        if self.release.as_deref() == Some(CAPTURE) {
            return Err(RouteError::ReleaseToCapture.into());
        }
        let mut addresses = BTreeSet::new();
        if let Some(twice) = self.source.iter().find(|source| !addresses.insert(source.address)) {
            return Err(RouteError::SourceTwice(twice.address).into());
        }
        if self.ipv6 == Ipv6Mode::Off && !addresses.is_empty() && addresses.iter().all(IpAddr::is_ipv6) {
            return Err(RouteError::NoUsableSource.into());
        }
        let delivery = match (self.delivery, relay) {
            (DeliveryMode::Direct, _) => DeliveryConfig::Direct,
            (DeliveryMode::Relay, Some(relay)) => DeliveryConfig::Relay(relay),
            (DeliveryMode::Capture | DeliveryMode::Relay, _) => DeliveryConfig::Capture,
        };
        let config = RouteConfig {
            smarthosts,
            rules: self.route,
            deliver_only: DeliverOnly::new(self.deliver_only),
            release: self.release,
            sources: self.source,
            ipv6: self.ipv6,
        };
        if !config.deliver_only.is_empty() && delivery == DeliveryConfig::Capture && !config.delivers() {
            return Err(RouteError::NothingDelivers.into());
        }
        Ok((delivery, self.relay_records, config))
    }
}

/// Returns the names of the transports that the rules and the release use.
fn named_targets<'a>(rules: &'a [RouteRule], release: Option<&'a str>) -> BTreeSet<&'a str> {
    rules.iter().flat_map(|rule| rule.targets.names()).chain(release).collect()
}

/// Parses the named smarthosts, and adds their passwords.
fn smarthosts(
    texts: &[RelayText],
    surroundings: &Surroundings,
    file: &mut PasswordFile,
) -> Result<BTreeMap<String, RelayUrl>, RouteError> {
    let mut smarthosts = BTreeMap::new();
    let mut passwords = surroundings.smarthost_passwords.clone();
    for text in texts {
        let (name, url) = text.named().ok_or(RouteError::SmarthostForm)?;
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !is_name || [DIRECT, CAPTURE, RELAY].contains(&name) {
            return Err(RouteError::SmarthostName);
        }
        let name = name.to_owned();
        let mut url: RelayUrl = url.parse().map_err(|error| RouteError::Smarthost { name: name.clone(), error })?;
        let password = match passwords.remove(&password_variable(&name)) {
            None if url.needs_password() => file.password(&name)?,
            password => password,
        };
        match (&mut url.credentials, password) {
            (Some(credentials), _) if !credentials.password.reveal().is_empty() => {
                return Err(RouteError::PasswordInUrl(name));
            }
            (Some(credentials), Some(password)) => credentials.password = password,
            (Some(_), None) => return Err(RouteError::UserWithoutPassword(name)),
            (None, Some(_)) => return Err(RouteError::PasswordWithoutUser(name)),
            (None, None) => {}
        }
        if smarthosts.insert(name.clone(), url).is_some() {
            return Err(RouteError::SmarthostTwice(name));
        }
    }
    // Another verb can have the passwords of the server in its environment, without its flags.
    match passwords.into_keys().next() {
        Some(variable) if !smarthosts.is_empty() => Err(RouteError::PasswordWithoutSmarthost(variable)),
        _ => Ok(smarthosts),
    }
}

/// Returns the variable with the password of a smarthost.
fn password_variable(name: &str) -> String {
    format!("{PASSWORD_PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Parses a route: `PATTERN[,CLASS]=TARGET[,FALLBACK]`.
fn route(text: &str) -> Result<RouteRule, String> {
    let wrong = |why: &str| {
        format!(
            "`{text}` is not a route: {why}; use PATTERN=TARGET, such as example.com=direct or *,broadcast=NAME,direct"
        )
    };
    let (of, to) = text.split_once('=').ok_or_else(|| wrong("it has no ="))?;
    let (pattern, class) = match of.split_once(',') {
        Some((pattern, class)) => (pattern, Some(class.trim())),
        None => (of, None),
    };
    let pattern: RecipientPattern = pattern.parse()?;
    if matches!(pattern, RecipientPattern::Address(_)) {
        return Err(wrong("a route is for a domain, not for one address"));
    }
    let class = match class {
        None => None,
        Some("transactional") => Some(Class::Transactional),
        Some("broadcast") => Some(Class::Broadcast),
        Some(_) => return Err(wrong("the class is transactional or broadcast")),
    };
    let (first, fallback) = match to.split_once(',') {
        Some((first, fallback)) => (first.trim(), Some(fallback.trim())),
        None => (to.trim(), None),
    };
    if first.is_empty() || fallback == Some("") {
        return Err(wrong("a target is missing"));
    }
    if fallback == Some(first) {
        return Err(wrong("the fallback is the same transport"));
    }
    let targets = RouteTargets { first: first.to_owned(), fallback: fallback.map(str::to_owned) };
    Ok(RouteRule { pattern, class, targets })
}

/// Parses a source address with an optional EHLO name.
fn source(text: &str) -> Result<SourceConfig, String> {
    let (address, name) = match text.split_once('=') {
        Some((address, name)) => (address, Some(values::host_name(name.trim())?)),
        None => (text, None),
    };
    let address: IpAddr = address.trim().trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
        format!(
            "`{text}` is not a source address; use an IP address, or one with its EHLO name: 192.0.2.1=mx.example.com"
        )
    })?;
    if address.is_unspecified() || address.is_multicast() {
        return Err(format!("`{address}` cannot be a source address; use an address of this machine"));
    }
    Ok(SourceConfig { address, name })
}

fn ipv6_mode(text: &str) -> Result<Ipv6Mode, String> {
    match text {
        "auto" => Ok(Ipv6Mode::Auto),
        "off" => Ok(Ipv6Mode::Off),
        "on" => Ok(Ipv6Mode::On),
        _ => Err(format!("`{text}` is not a mode of IPv6; use auto, off or on")),
    }
}
