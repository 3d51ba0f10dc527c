//! The name this machine goes by in mail.

use crate::base::address::DomainName;

/// What the machine is called when nobody says, so that EHLO still has two labels.
const FALLBACK: &str = "localhost.localdomain";

/// The name said in EHLO and printed in the records of domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostname {
    /// The name.
    pub name: DomainName,
    /// Where it comes from.
    pub origin: HostnameOrigin,
}

/// Where the name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostnameOrigin {
    /// `--hostname`.
    Setting,
    /// The machine's own host name, which is fully qualified.
    Machine,
    /// Neither; `localhost.localdomain` stands in, and other servers may refuse it.
    Fallback,
}

impl Hostname {
    /// Chooses the setting, else the machine's name where it is fully qualified, else the fallback.
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

/// Returns what the kernel calls this machine.
pub(super) fn of_machine() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}
