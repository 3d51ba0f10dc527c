//! The EHLO name: its addresses, and their reverse DNS. Large providers refuse mail from a server without both.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use super::report::Check;
use super::{CheckedDelivery, DoctorSettings, listed};
use crate::base::blocking;
use crate::dns::{Guard, LookupError, Resolver};

const NAME: &str = "hostname";
const REVERSE: &str = "reverse_dns";
/// Addresses of the name whose reverse DNS is checked.
const ADDRESSES_MAX: usize = 4;
/// An address outside of this network (RFC 5737). No packet is sent to it.
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// Looks up the EHLO name and the names of its addresses.
pub(super) async fn checks(settings: &DoctorSettings, resolver: &Resolver) -> Vec<Check> {
    let hostname = &settings.hostname;
    let CheckedDelivery::Direct { policy, .. } = &settings.delivery else {
        let why = "only direct delivery needs a host name that other servers can look up";
        return vec![Check::not_checked(NAME, why), Check::not_checked(REVERSE, why)];
    };
    let addresses = if settings.hostname_is_local {
        Err(LookupError::NoSuchName)
    } else {
        resolver.published_addresses(hostname).await
    };
    let own = blocking::run(own_address).await;
    let mut checks = vec![judge_name(hostname, &addresses, &policy.guard, own)];
    let addresses = addresses.unwrap_or_default();
    if addresses.is_empty() {
        checks.push(Check::not_checked(REVERSE, format!("{hostname} has no known address")));
    }
    for ip in addresses.into_iter().take(ADDRESSES_MAX) {
        checks.push(judge_reverse(hostname, ip, &resolver.ptr(ip).await));
    }
    checks
}

/// Returns the IPv4 address that this machine sends from, if it is public. Sends nothing.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(ELSEWHERE).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    Guard::default().permits(ip).then_some(ip)
}

/// Judges the addresses of the EHLO name. `own` is the public address of this machine; `None` behind NAT.
fn judge_name(
    hostname: &str,
    addresses: &Result<Vec<IpAddr>, LookupError>,
    guard: &Guard,
    own: Option<IpAddr>,
) -> Check {
    let expected = "the host name has the address of this machine";
    let failed = |seen: String, fix: String| Check::failed(NAME, seen, expected, fix).about(hostname);
    match addresses {
        Err(LookupError::Temporary(why)) => {
            Check::not_checked(NAME, format!("{hostname} could not be looked up: {why}")).about(hostname)
        }
        Err(LookupError::NoSuchName | LookupError::NoRecords) => failed(
            format!("{hostname} has no address in the DNS"),
            "Publish an A record with the address of this machine, or set --hostname to a name that has one.".into(),
        ),
        Ok(addresses) if !addresses.iter().any(|ip| guard.permits(*ip)) => failed(
            format!("{hostname} has {}, which other servers cannot reach", listed(addresses)),
            "Publish an A record with the public address of this machine.".into(),
        ),
        Ok(addresses) => match own {
            Some(own) if !addresses.contains(&own) && is_public(addresses) => failed(
                format!("{hostname} has {}, and this machine sends from {own}", listed(addresses)),
                format!("Publish an A record of {hostname} with {own}, or set --hostname to the name of {own}."),
            ),
            _ => Check::ok(NAME, format!("{hostname} has {}", listed(addresses)), expected).about(hostname),
        },
    }
}

fn is_public(addresses: &[IpAddr]) -> bool {
    addresses.iter().any(|ip| Guard::default().permits(*ip))
}

/// Judges the names of an address of the EHLO name.
fn judge_reverse(hostname: &str, ip: IpAddr, names: &Result<Vec<String>, LookupError>) -> Check {
    let expected = format!("{ip} has the name {hostname}");
    let seen = match names {
        Ok(names) if names.iter().any(|name| name.eq_ignore_ascii_case(hostname)) => {
            return Check::ok(REVERSE, expected.clone(), expected).about(ip.to_string());
        }
        Err(LookupError::Temporary(why)) => {
            return Check::not_checked(REVERSE, format!("{ip} could not be looked up: {why}")).about(ip.to_string());
        }
        Ok(names) if !names.is_empty() => format!("{ip} has the name {}", listed(names)),
        Ok(_) | Err(LookupError::NoSuchName | LookupError::NoRecords) => format!("{ip} has no name"),
    };
    let fix = format!(
        "Set the reverse DNS of {ip} to {hostname} in the control panel of the server's provider, or ask the provider."
    );
    Check::failed(REVERSE, seen, expected, fix).about(ip.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus::{Failed, NotChecked, Ok as Passed};

    const HOST: &str = "mail.example.com";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_name_has_the_address_that_this_machine_sends_from() {
        let temporary = || LookupError::Temporary("SERVFAIL".into());
        for (addresses, own, status, words) in [
            (Ok(vec![ip("9.9.9.9")]), None, Passed, "has 9.9.9.9"),
            (Ok(vec![ip("9.9.9.9"), ip("2620:fe::fe")]), Some("9.9.9.9"), Passed, "2620:fe::fe"),
            (Ok(vec![ip("9.9.9.9")]), Some("9.9.9.10"), Failed, "sends from 9.9.9.10"),
            (Ok(vec![ip("10.0.0.1")]), Some("9.9.9.9"), Failed, "cannot reach"),
            // The operator allows this range.
            (Ok(vec![ip("127.0.0.1")]), Some("9.9.9.9"), Passed, "has 127.0.0.1"),
            (Err(LookupError::NoSuchName), None, Failed, "no address"),
            (Err(LookupError::NoRecords), None, Failed, "no address"),
            (Err(temporary()), None, NotChecked, "SERVFAIL"),
        ] {
            let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap()]);
            let check = judge_name(HOST, &addresses, &guard, own.map(ip));
            assert!(check.status == status && check.seen.contains(words), "{check:?}");
            assert_eq!(check.fix.is_some(), status == Failed, "{check:?}");
        }
    }

    #[test]
    fn the_reverse_dns_leads_back_to_the_name() {
        let names = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        for (names, status, words) in [
            (names(&["Mail.Example.com"]), Passed, "has the name mail.example.com"),
            (names(&["other.example", "mail.example.com"]), Passed, "has the name mail.example.com"),
            (names(&["host-1.provider.example"]), Failed, "host-1.provider.example"),
            (names(&[]), Failed, "no name"),
            (Err(LookupError::NoSuchName), Failed, "no name"),
            (Err(LookupError::Temporary("timeout".into())), NotChecked, "timeout"),
        ] {
            let check = judge_reverse(HOST, ip("198.51.100.1"), &names);
            assert!(check.status == status && check.seen.contains(words), "{check:?}");
            assert_eq!(check.fix.is_some(), status == Failed, "{check:?}");
        }
    }
}
