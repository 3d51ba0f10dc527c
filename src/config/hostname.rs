//! Host name of this machine in SMTP and in DNS records.

use crate::base::address::DomainName;

/// Last resort. EHLO needs a name with two labels.
const FALLBACK: &str = "localhost.localdomain";

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
}

/// Returns the host name of the kernel.
pub(super) fn of_machine() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}
