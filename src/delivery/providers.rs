//! The figures of large providers, from the embedded file `assets/providers.csv`.
//!
//! The first column is the name that `dns::provider_of` returns for the hosts of the provider. An empty field selects
//! the default. The last column names the origin of the figures.

use std::sync::LazyLock;

use super::transport::Servers;
use crate::dns;

const FILE: &str = include_str!("../../assets/providers.csv");

/// The providers of the file.
static PROVIDERS: LazyLock<Vec<Provider>> =
    LazyLock::new(|| FILE.lines().skip(1).filter_map(Provider::parse).collect());

/// The limits and links of a provider. `None` selects the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    pub(super) sessions_max: Option<usize>,
    pub(super) session_messages_max: Option<u32>,
    pub(super) messages_per_second: Option<u32>,
    pub(super) connections_per_minute: Option<u32>,
    /// URL to request removal from the blocklist of the provider, or its page for senders.
    pub(super) delisting: Option<&'static str>,
}

impl Provider {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&'static str> = line.split(',').collect();
        let [name, sessions, session_messages, messages, connections, delisting, _source] = fields[..] else {
            return None;
        };
        Some(Self {
            name,
            sessions_max: sessions.parse().ok(),
            session_messages_max: session_messages.parse().ok(),
            messages_per_second: messages.parse().ok(),
            connections_per_minute: connections.parse().ok(),
            delisting: Some(delisting).filter(|url| !url.is_empty()),
        })
    }
}

/// Returns the provider of a destination, by its first host; `None` if it is not one of the file.
pub(super) fn provider_of(servers: &Servers) -> Option<&'static Provider> {
    let name = dns::provider_of(&servers.hosts.first()?.name)?;
    PROVIDERS.iter().find(|provider| provider.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp::TlsPolicy;
    use crate::delivery::transport::MailHost;

    fn provider(host: &str) -> Option<&'static Provider> {
        let hosts = vec![MailHost { name: host.into(), tls: TlsPolicy::Never, addresses: Vec::new() }];
        provider_of(&Servers::new("opaque".into(), hosts))
    }

    #[test]
    fn every_line_of_the_file_is_a_provider_with_an_origin() {
        assert_eq!(PROVIDERS.len(), FILE.lines().count() - 1);
        for (line, provider) in FILE.lines().skip(1).zip(PROVIDERS.iter()) {
            let fields: Vec<&str> = line.split(',').collect();
            assert!(dns::is_provider(provider.name), "no host has the provider {}", provider.name);
            assert!(!fields[6].is_empty(), "{line}");
            assert!(fields[1..=4].iter().all(|field| field.is_empty() || field.parse::<u32>().is_ok_and(|it| it > 0)));
            assert!(provider.delisting.is_none_or(|url| url.starts_with("https://")), "{line}");
        }
    }

    #[test]
    fn a_provider_is_recognized_by_its_hosts() {
        for (host, sessions_max, session_messages_max) in [
            ("gmail-smtp-in.l.google.com", Some(5), Some(50)),
            ("hotmail-com.olc.protection.outlook.com", Some(5), Some(50)),
            ("contoso-com.mail.protection.outlook.com", Some(5), Some(50)),
            ("contoso-com.p-v1.mx.microsoft", Some(5), Some(50)),
            ("mta5.am0.yahoodns.net", None, Some(20)),
            ("mx01.mail.icloud.com", Some(10), Some(5)),
            ("smtp-in.orange.fr", Some(2), None),
            ("mx00.gmx.net", None, None),
        ] {
            let provider = provider(host).unwrap();
            assert_eq!((provider.sessions_max, provider.session_messages_max), (sessions_max, session_messages_max));
            assert!(provider.delisting.is_some(), "{host}");
        }
        assert_eq!(provider("mx.example.net"), None);
        assert_eq!(provider("mx.google.com.evil.example"), None);
    }
}
