//! The policy for the URLs of remote attachments.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

use super::InstanceVerb;
use crate::dns::Guard;
use crate::http_client::UrlPolicy;

/// Returns the policy for the URLs of attachments. A caller can read the file, so that the exceptions for webhooks do
/// not apply. Development accepts files of this machine.
pub(super) fn file_policy(purpose: &InstanceVerb) -> UrlPolicy {
    match purpose {
        InstanceVerb::Serve => UrlPolicy::default(),
        InstanceVerb::Dev(_) => UrlPolicy {
            guard: Guard::allowing(loopback().into()),
            plain_http: true,
            local_names: true,
            extra_roots: Vec::new(),
        },
    }
}

/// Returns the addresses of this machine.
pub(super) fn loopback() -> [IpNet; 2] {
    [IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)), IpNet::from(IpAddr::V6(Ipv6Addr::LOCALHOST))]
}
