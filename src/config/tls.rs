//! Settings of TLS in direct delivery.

use clap::Args;

use super::values;
use crate::base::address::DomainName;
use crate::delivery::smtp::RequiredTls;

/// Value of an empty list.
const NONE: &str = "none";

/// Settings of TLS as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct TlsSettings {
    /// MX hosts and recipient domains, with their subdomains, that get no email without TLS in direct delivery; none
    /// is an empty list.
    #[arg(long, env = "RINGMAIL_REQUIRE_TLS", value_name = "HOST", value_delimiter = ',',
          default_value = "google.com,googlemail.com", value_parser = tls_host, help_heading = "Delivering")]
    require_tls: Vec<TlsHost>,
}

/// One value of the list.
#[derive(Clone, Debug)]
struct TlsHost(Option<DomainName>);

impl From<TlsSettings> for RequiredTls {
    fn from(settings: TlsSettings) -> Self {
        Self(settings.require_tls.into_iter().filter_map(|TlsHost(name)| name).collect())
    }
}

fn tls_host(text: &str) -> Result<TlsHost, String> {
    let text = text.trim();
    if text == NONE {
        return Ok(TlsHost(None));
    }
    values::host_name(text).map(|name| TlsHost(Some(name)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        settings: TlsSettings,
    }

    fn required(line: &[&str]) -> Result<Vec<String>, String> {
        let line = ["ringmail"].iter().chain(line);
        let settings = Line::try_parse_from(line).map_err(|error| error.to_string())?.settings;
        Ok(RequiredTls::from(settings).0.iter().map(|name| name.as_str().to_owned()).collect())
    }

    #[test]
    fn the_list_has_names_or_is_empty() {
        for (line, expected) in [
            (&[][..], &["google.com", "googlemail.com"][..]),
            (&["--require-tls", "Bank.example,b\u{fc}cher.example"], &["bank.example", "xn--bcher-kva.example"]),
            (&["--require-tls", "a.example", "--require-tls", "b.example"], &["a.example", "b.example"]),
            (&["--require-tls", "none"], &[]),
        ] {
            assert_eq!(required(line).unwrap(), expected, "{line:?}");
        }
        let refusal = required(&["--require-tls", "*.example.com"]).unwrap_err();
        assert!(refusal.contains("`*.example.com` is not a fully qualified host name"), "{refusal}");
    }
}
