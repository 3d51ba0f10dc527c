//! The DNS servers: whether they answer, and whether they invent addresses for names that do not exist.

use std::net::IpAddr;

use super::listed;
use super::report::SetupCheck;
use crate::base::random;
use crate::dns::{LookupError, Resolver};

const NAME: &str = "resolver";

/// Looks up the mail servers of the first domain, and a name that does not exist.
pub(super) async fn check(resolver: &Resolver, probe: &[String]) -> Vec<SetupCheck> {
    let Some(domain) = probe.first() else { return vec![SetupCheck::not_checked(NAME, "no domain was given")] };
    // RFC 2606 §2: no name below `example.` is registered with this label.
    let missing = format!("doctor-{:016x}.example", random::number());
    let (known, unknown) = tokio::join!(resolver.mx(domain), resolver.published_addresses(&missing));
    vec![judge(domain, &known, &unknown)]
}

/// Returns the failed check of a resolver that cannot be set up.
pub(super) fn not_set_up(error: &str) -> SetupCheck {
    let fix = "Check /etc/resolv.conf, or name a DNS server with --resolver.";
    SetupCheck::failed(NAME, error, "the DNS servers are known", fix)
}

fn judge(
    domain: &str,
    known: &Result<Vec<(u16, String)>, LookupError>,
    unknown: &Result<Vec<IpAddr>, LookupError>,
) -> SetupCheck {
    let expected = "an answer of the DNS, and none for a name that does not exist";
    if let Err(LookupError::Temporary(why)) = known {
        let fix = "Check the network and the DNS servers, or name others with --resolver.";
        return SetupCheck::failed(NAME, format!("no answer about {domain}: {why}"), expected, fix);
    }
    match unknown {
        Ok(addresses) => SetupCheck::failed(
            NAME,
            format!("a name that does not exist has the address {}", listed(addresses)),
            expected,
            "These DNS servers invent addresses, so that mistyped domains do not bounce. Use others with --resolver, or \
             run unbound on this machine.",
        ),
        Err(LookupError::NoSuchName | LookupError::NoRecords) => {
            SetupCheck::ok(NAME, format!("answers about {domain}, and none for a name that does not exist"), expected)
        }
        Err(LookupError::Temporary(why)) => {
            SetupCheck::not_checked(NAME, format!("a name that does not exist could not be looked up: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::tests::authority::Authority;
    use crate::doctor::CheckStatus::{self, Failed, NotChecked, Ok as Passed};

    const HEAD: &str = "$TTL 300\n@ IN SOA ns.example. hostmaster.example. 1 3600 600 86400 1800\n";

    async fn checked(zone: &str, domain: &str) -> (CheckStatus, String) {
        let authority = Authority::serving(&format!("{HEAD}{zone}")).await;
        let resolver = Resolver::with_servers(&[authority.address]).unwrap();
        let check = check(&resolver, &[domain.to_owned()]).await.pop().unwrap();
        (check.status, check.seen)
    }

    #[tokio::test]
    async fn a_resolver_answers_and_invents_nothing() {
        let (status, seen) = checked("mail IN MX 10 mx.example.\n", "mail.example").await;
        assert_eq!((status, seen.contains("mail.example")), (Passed, true), "{seen}");

        let (status, seen) = checked("* IN A 192.0.2.80\n", "mail.example").await;
        assert_eq!((status, seen.contains("192.0.2.80")), (Failed, true), "{seen}");

        let (status, seen) = checked("", "servfail.example").await;
        assert_eq!((status, seen.contains("servfail.example")), (Failed, true), "{seen}");
    }

    #[test]
    fn a_failed_lookup_of_the_missing_name_is_no_verdict() {
        let failed = Err(LookupError::Temporary("refused".into()));
        assert_eq!(judge("a.example", &Ok(Vec::new()), &failed).status, NotChecked);
        assert_eq!(judge("a.example", &Err(LookupError::NoSuchName), &Err(LookupError::NoRecords)).status, Passed);
        assert_eq!(not_set_up("no server").status, Failed);
    }
}
