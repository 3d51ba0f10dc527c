//! The EHLO names: their addresses, and their reverse DNS. Large providers refuse mail from a server without both.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use super::report::{CheckStatus, SetupCheck};
use super::{CheckedDirect, CheckedName, DoctorSettings, listed};
use crate::base::blocking;
use crate::dns::{Guard, LookupError, Resolver};

const NAME: &str = "hostname";
const REVERSE: &str = "reverse_dns";
/// Names that are looked up, and addresses of each whose reverse DNS is checked.
const NAMES_MAX: usize = 4;
const ADDRESSES_MAX: usize = 4;
/// An address outside of this network (RFC 5737). No packet is sent to it.
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// Looks up the EHLO names and the names of their addresses.
pub(super) async fn checks(settings: &DoctorSettings, resolver: &Resolver) -> Vec<SetupCheck> {
    let Some(CheckedDirect { policy, ehlo_names, .. }) = &settings.delivery.direct else {
        let why = "only direct delivery needs a host name that other servers can look up";
        return vec![SetupCheck::not_checked(NAME, why), SetupCheck::not_checked(REVERSE, why)];
    };
    let chosen = blocking::run(own_address).await;
    let mut checks = Vec::new();
    for name in ehlo_names.iter().take(NAMES_MAX) {
        checks.extend(of_name(name, &policy.guard, chosen, resolver).await);
    }
    if ehlo_names.len() > NAMES_MAX {
        checks
            .push(SetupCheck::not_checked(NAME, format!("{} further names of --source", ehlo_names.len() - NAMES_MAX)));
    }
    checks
}

/// Checks one EHLO name. `chosen` is the public address that the system chooses for sessions without a source address.
async fn of_name(name: &CheckedName, guard: &Guard, chosen: Option<IpAddr>, resolver: &Resolver) -> Vec<SetupCheck> {
    let CheckedName { name: hostname, is_local, sources } = name;
    let own: Vec<IpAddr> = match sources.is_empty() {
        true => chosen.into_iter().collect(),
        false => sources.iter().copied().filter(|source| Guard::default().permits(*source)).collect(),
    };
    let addresses = if *is_local { Err(LookupError::NoSuchName) } else { resolver.published_addresses(hostname).await };
    let mut checks = vec![judge_name(hostname, &addresses, guard, &own)];
    let mut addresses = addresses.unwrap_or_default();
    // The addresses that this machine sends from are checked first.
    addresses.sort_by_key(|ip| !own.contains(ip));
    if addresses.is_empty() {
        checks.push(SetupCheck::not_checked(REVERSE, format!("{hostname} has no known address")));
    }
    for ip in addresses.into_iter().take(ADDRESSES_MAX) {
        checks.push(judge_reverse(hostname, ip, &resolver.ptr(ip).await));
    }
    checks
}

/// Returns whether a check of an EHLO name could not run because a lookup failed.
pub(super) fn is_failed_lookup(check: &SetupCheck) -> bool {
    // A check that cannot run for another reason is about no name and no address.
    check.status == CheckStatus::NotChecked && check.subject.is_some()
}

/// Returns the IPv4 address that this machine sends from, if it is public. Sends nothing.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(ELSEWHERE).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    Guard::default().permits(ip).then_some(ip)
}

/// Judges the addresses of the EHLO name. `own` has the public addresses of its sessions; behind NAT, it is empty.
fn judge_name(
    hostname: &str,
    addresses: &Result<Vec<IpAddr>, LookupError>,
    guard: &Guard,
    own: &[IpAddr],
) -> SetupCheck {
    let expected = "the host name has the address of this machine";
    let failed = |seen: String, fix: String| SetupCheck::failed(NAME, seen, expected, fix).about(hostname);
    match addresses {
        Err(LookupError::Temporary(why)) => {
            SetupCheck::not_checked(NAME, format!("{hostname} could not be looked up: {why}")).about(hostname)
        }
        Err(LookupError::NoSuchName | LookupError::NoRecords) => failed(
            format!("{hostname} has no address in the DNS"),
            "Publish an A record with the address of this machine, or set --hostname to a name that has one.".into(),
        ),
        Ok(addresses) if !addresses.iter().any(|ip| guard.permits(*ip)) => failed(
            format!("{hostname} has {}, which other servers cannot reach", listed(addresses)),
            "Publish an A record with the public address of this machine.".into(),
        ),
        Ok(addresses) => match own.iter().find(|own| !addresses.contains(own)) {
            Some(own) if is_public(addresses) => failed(
                format!("{hostname} has {}, and this machine sends from {own}", listed(addresses)),
                format!("Publish an A record of {hostname} with {own}, or set --hostname to the name of {own}."),
            ),
            _ => SetupCheck::ok(NAME, format!("{hostname} has {}", listed(addresses)), expected).about(hostname),
        },
    }
}

fn is_public(addresses: &[IpAddr]) -> bool {
    addresses.iter().any(|ip| Guard::default().permits(*ip))
}

/// Judges the names of an address of the EHLO name.
fn judge_reverse(hostname: &str, ip: IpAddr, names: &Result<Vec<String>, LookupError>) -> SetupCheck {
    let expected = format!("{ip} has the name {hostname}");
    let seen = match names {
        Ok(names) if names.iter().any(|name| name.eq_ignore_ascii_case(hostname)) => {
            return SetupCheck::ok(REVERSE, expected.clone(), expected).about(ip.to_string());
        }
        Err(LookupError::Temporary(why)) => {
            return SetupCheck::not_checked(REVERSE, format!("{ip} could not be looked up: {why}"))
                .about(ip.to_string());
        }
        Ok(names) if !names.is_empty() => format!("{ip} has the name {}", listed(names)),
        Ok(_) | Err(LookupError::NoSuchName | LookupError::NoRecords) => format!("{ip} has no name"),
    };
    let fix = format!(
        "Set the reverse DNS of {ip} to {hostname} in the control panel of the server's provider, or ask the provider."
    );
    SetupCheck::failed(REVERSE, seen, expected, fix).about(ip.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dns::RoutePolicy;
    use crate::dns::tests::authority::Authority;
    use crate::doctor::CheckStatus::{Failed, NotChecked, Ok as Passed};
    use crate::doctor::CheckedDelivery;
    use crate::store::DiskReserve;

    const HOST: &str = "mail.example.com";

    /// Returns the settings of direct delivery from source addresses with one EHLO name.
    pub(in crate::doctor) fn direct_from(name: &str, sources: &[&str]) -> DoctorSettings {
        let sources = sources.iter().copied().map(ip).collect();
        let name = CheckedName { name: name.to_owned(), is_local: false, sources };
        let direct = CheckedDirect { port: 25, policy: RoutePolicy::default(), ehlo_names: vec![name] };
        DoctorSettings {
            delivery: CheckedDelivery { direct: Some(direct), smarthosts: Vec::new(), has_links: true },
            public_url: None,
            data_dir: "data".into(),
            master_key_file: "data/master.key".into(),
            disk_reserve: DiskReserve::Bytes(0),
            sessions_max: 1,
            queue_age_max: None,
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_name_has_the_address_that_this_machine_sends_from() {
        let temporary = || LookupError::Temporary("SERVFAIL".into());
        for (addresses, own, status, words) in [
            (Ok(vec![ip("9.9.9.9")]), &[][..], Passed, "has 9.9.9.9"),
            (Ok(vec![ip("9.9.9.9"), ip("2620:fe::fe")]), &["9.9.9.9"], Passed, "2620:fe::fe"),
            (Ok(vec![ip("9.9.9.9")]), &["9.9.9.10"], Failed, "sends from 9.9.9.10"),
            // Two source addresses have the name.
            (Ok(vec![ip("9.9.9.9")]), &["9.9.9.9", "9.9.9.10"], Failed, "sends from 9.9.9.10"),
            (Ok(vec![ip("9.9.9.9"), ip("9.9.9.10")]), &["9.9.9.9", "9.9.9.10"], Passed, "9.9.9.10"),
            (Ok(vec![ip("10.0.0.1")]), &["9.9.9.9"], Failed, "cannot reach"),
            // The operator allows this range.
            (Ok(vec![ip("127.0.0.1")]), &["9.9.9.9"], Passed, "has 127.0.0.1"),
            (Err(LookupError::NoSuchName), &[], Failed, "no address"),
            (Err(LookupError::NoRecords), &[], Failed, "no address"),
            (Err(temporary()), &[], NotChecked, "SERVFAIL"),
        ] {
            let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap()]);
            let own: Vec<IpAddr> = own.iter().copied().map(ip).collect();
            let check = judge_name(HOST, &addresses, &guard, &own);
            assert!(check.status == status && check.seen.contains(words), "{check:?}");
            assert_eq!(is_failed_lookup(&check), status == NotChecked, "{check:?}");
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
            assert_eq!(is_failed_lookup(&check), status == NotChecked, "{check:?}");
        }
    }

    #[tokio::test]
    async fn the_reverse_dns_of_a_source_address_is_checked_among_many_addresses() {
        let addresses: Vec<String> = (1..=9).map(|host| format!("{HOST}. 300 IN A 9.9.9.{host}\n")).collect();
        let zone = format!("@ 300 IN SOA ns. hostmaster. 1 3600 600 86400 300\n{}", addresses.concat());
        let dns = Authority::serving_root(&zone).await;
        let resolver = Resolver::with_servers(&[dns.address]).unwrap();

        let checks = checks(&direct_from(HOST, &["9.9.9.9"]), &resolver).await;

        let reverse: Vec<&str> =
            checks.iter().filter(|check| check.check == REVERSE).filter_map(|check| check.subject.as_deref()).collect();
        assert!(reverse.len() == ADDRESSES_MAX && reverse[0] == "9.9.9.9", "{reverse:?}");
    }

    #[test]
    fn a_name_without_an_address_is_no_failed_lookup() {
        assert!(!is_failed_lookup(&SetupCheck::not_checked(REVERSE, "mail.example.com has no known address")));
    }
}
