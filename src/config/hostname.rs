//! Host name of this machine in SMTP and in DNS records.

use crate::base::address::DomainName;
use crate::dns::host::is_within;

/// Last resort. EHLO needs a name with two labels.
const FALLBACK: &str = "localhost.localdomain";
/// Domains whose names only this machine or its network knows (RFC 6761 §6.3, RFC 6762 §3).
const LOCAL_DOMAINS: [&str; 3] = ["localhost", "localdomain", "local"];

/// Host name in EHLO and in the DNS records of domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostname {
    pub name: DomainName,
    pub origin: HostnameOrigin,
}

/// Origin of a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostnameOrigin {
    /// `--hostname`.
    Setting,
    /// Host name of the machine, if it is fully qualified.
    Machine,
    /// `localhost.localdomain`, which other servers may refuse.
    Fallback,
}

impl Hostname {
    /// Returns the setting, or else the name of the machine if it is fully qualified, or else the
    /// fallback.
    pub(super) fn choose(setting: Option<DomainName>, machine: Option<&str>) -> Self {
        if let Some(name) = setting {
            return Self { name, origin: HostnameOrigin::Setting };
        }
        match machine.and_then(|name| DomainName::parse(name.trim()).ok()) {
            Some(name) => Self { name, origin: HostnameOrigin::Machine },
            None => Self {
                name: DomainName::parse(FALLBACK).expect("the fallback is two plain labels"),
                origin: HostnameOrigin::Fallback,
            },
        }
    }

    /// Returns whether other servers cannot look up the name. They refuse mail from it.
    pub fn is_local(&self) -> bool {
        LOCAL_DOMAINS.iter().any(|domain| is_within(self.name.as_str(), domain))
    }
}

/// Returns the host name of the kernel.
pub(super) fn of_machine() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_local_below_the_domains_of_one_machine_or_network() {
        for (name, is_local) in [
            ("localhost.localdomain", true),
            ("mail.localdomain", true),
            ("Laptop.local", true),
            ("mail.localhost", true),
            ("mail.example.com", false),
            ("local.example.com", false),
            ("mail.notlocal", false),
        ] {
            assert_eq!(Hostname::choose(DomainName::parse(name).ok(), None).is_local(), is_local, "{name}");
        }
        assert!(Hostname::choose(None, Some("laptop\n")).is_local());
    }
}
