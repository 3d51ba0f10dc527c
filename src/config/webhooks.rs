//! Settings of webhooks.

use std::path::{Path, PathBuf};

use clap::builder::BoolishValueParser;
use clap::{Args, value_parser};
use ipnet::IpNet;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::remote_files::loopback;
use super::{ConfigError, InstanceVerb, values};
use crate::dns::Guard;
use crate::http_client::UrlPolicy;
use crate::webhooks::DispatchSettings;

/// Settings of webhooks as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct WebhookSettings {
    /// Maximum number of requests per second to one webhook endpoint, up to 100000; 0 is no limit.
    #[arg(long, env = "RINGMAIL_WEBHOOK_RATE", value_name = "N", default_value_t = 50,
          value_parser = value_parser!(u32).range(0..=100_000), help_heading = "Webhooks")]
    webhook_rate: u32,

    /// Allow endpoints with http:// URLs, localhost, names without a dot, and names of the hosts file, for
    /// development.
    #[arg(long, env = "RINGMAIL_WEBHOOK_ALLOW_HTTP", value_parser = BoolishValueParser::new(),
          help_heading = "Webhooks")]
    webhook_allow_http: bool,

    /// Range of private addresses that webhooks may be posted to; may be repeated.
    #[arg(long, env = "RINGMAIL_WEBHOOK_ALLOW_ADDRESS", value_name = "CIDR", value_delimiter = ',',
          value_parser = values::cidr, help_heading = "Webhooks")]
    webhook_allow_address: Vec<IpNet>,

    /// File with additional trusted certificates in PEM, for endpoints with certificates of a private
    /// authority [default: none].
    #[arg(long, env = "RINGMAIL_WEBHOOK_CA_FILE", value_name = "FILE", help_heading = "Webhooks")]
    webhook_ca_file: Option<PathBuf>,
}

/// Settings of webhook deliveries.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    pub dispatch: DispatchSettings,
    pub policy: UrlPolicy,
}

impl WebhookSettings {
    pub(super) fn into_config(self, purpose: &InstanceVerb) -> Result<WebhookConfig, ConfigError> {
        let Self { webhook_rate, webhook_allow_http, webhook_allow_address, webhook_ca_file } = self;
        let mut allowed = webhook_allow_address;
        let is_development = matches!(purpose, InstanceVerb::Dev(_));
        if is_development {
            allowed.extend(loopback());
        }
        let policy = UrlPolicy {
            guard: Guard::allowing(allowed),
            plain_http: webhook_allow_http || is_development,
            local_names: webhook_allow_http || is_development,
            extra_roots: webhook_ca_file.as_deref().map(certificates).transpose()?.unwrap_or_default(),
        };
        Ok(WebhookConfig { dispatch: DispatchSettings { per_second: webhook_rate }, policy })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let invalid = |why: String| ConfigError::WebhookCertificates { path: path.to_owned(), why };
    let file = CertificateDer::pem_file_iter(path).map_err(|error| invalid(error.to_string()))?;
    let certificates: Vec<_> = file.collect::<Result<_, _>>().map_err(|error| invalid(error.to_string()))?;
    if certificates.is_empty() {
        return Err(invalid("the file contains no certificate".to_owned()));
    }
    Ok(certificates)
}
