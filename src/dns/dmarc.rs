//! The DMARC policy that applies to a domain: its own or an inherited one.

use super::error::LookupError;
use super::host;
use super::records::RecordVerdict;
use super::resolver::Resolver;

/// RFC 9989 §4.10: the tree walk skips to a parent with at most this many labels. A long name therefore does not cost
/// more queries than a short one.
const WALK_LABELS_MAX: usize = 7;

/// The policy that receivers apply to mail from a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dmarc {
    /// `none`, `quarantine` or `reject`.
    pub policy: &'static str,
    /// The parent domain that publishes the policy; `None` if the domain itself publishes it.
    pub inherited_from: Option<String>,
}

impl Resolver {
    /// Finds the policy that applies to `domain`, without the cache. Looks it up at the domain and, if it has no
    /// record, at its parents: at most eight sequential lookups. `Ok(None)` if no policy is published.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError::Temporary`] if a lookup fails.
    pub async fn dmarc(&self, domain: &str) -> Result<Option<Dmarc>, LookupError> {
        let Some(domain) = host::normalize(domain) else {
            return Ok(None);
        };
        if let Some(own) = self.dmarc_record(&domain).await? {
            return Ok(Some(Dmarc { policy: own.policy, inherited_from: None }));
        }
        let mut published = Vec::new();
        for parent in parents(&domain) {
            if let Some(record) = self.dmarc_record(parent).await? {
                published.push((parent.to_owned(), record));
            }
        }
        Ok(inherit(published))
    }

    async fn dmarc_record(&self, domain: &str) -> Result<Option<Record>, LookupError> {
        match self.txt(&format!("_dmarc.{domain}")).await {
            Ok(texts) => Ok(parse(&texts)),
            Err(LookupError::NoSuchName | LookupError::NoRecords) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the verdict for the result of [`Resolver::dmarc`]. Any policy is accepted, because a stricter policy
/// than the
/// recommended one is not a mistake.
pub fn compare_dmarc(seen: &Result<Option<Dmarc>, LookupError>) -> RecordVerdict {
    match seen {
        Ok(Some(_)) => RecordVerdict::found(),
        Ok(None) => RecordVerdict::missing("DMARC record"),
        Err(error) => RecordVerdict::absent("DMARC record", error),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    policy: &'static str,
    subdomains: &'static str,
    role: Role,
}

/// The `psd` tag (RFC 9989 §4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// `n`: the organizational domain. The walk ends here.
    Organization,
    /// `y`: a public suffix. Its policy does not apply to a customer's domain.
    PublicSuffix,
    Unstated,
}

/// Returns the parents of `domain` that the walk visits, longest first, without top-level domains.
fn parents(domain: &str) -> impl Iterator<Item = &str> {
    domain.match_indices('.').map(|(at, _)| &domain[at + 1..]).filter(|parent| {
        let dots = parent.bytes().filter(|byte| *byte == b'.').count();
        (1..WALK_LABELS_MAX).contains(&dots)
    })
}

/// Returns the policy of the organizational domain: the first one with `psd=n`, else the one with the fewest labels
/// (RFC 9989 §4.10.2). `published` is sorted by length, longest name first.
fn inherit(published: Vec<(String, Record)>) -> Option<Dmarc> {
    let mut organization = None;
    for (parent, record) in published {
        match record.role {
            Role::PublicSuffix => break,
            Role::Organization => {
                organization = Some((parent, record));
                break;
            }
            Role::Unstated => organization = Some((parent, record)),
        }
    }
    organization.map(|(parent, record)| Dmarc { policy: record.subdomains, inherited_from: Some(parent) })
}

/// Parses the DMARC record among `texts`. `None` if there is no record or more than one (RFC 7489 §6.6.3).
fn parse(texts: &[String]) -> Option<Record> {
    let mut records = texts.iter().filter_map(|text| parse_one(text));
    let record = records.next()?;
    records.next().is_none().then_some(record)
}

fn parse_one(text: &str) -> Option<Record> {
    let mut tags =
        text.split(';').filter_map(|tag| tag.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
    if tags.next()? != ("v", "DMARC1") {
        return None;
    }
    let (mut policy, mut subdomains, mut role) = (None, None, Role::Unstated);
    for (name, value) in tags {
        match name {
            "p" => policy = parse_policy(value),
            "sp" => subdomains = parse_policy(value),
            "psd" if value.eq_ignore_ascii_case("n") => role = Role::Organization,
            "psd" if value.eq_ignore_ascii_case("y") => role = Role::PublicSuffix,
            _ => {}
        }
    }
    // RFC 7489 §6.6.3: a record with an invalid policy counts as `p=none`.
    let policy = policy.unwrap_or("none");
    Some(Record { policy, subdomains: subdomains.unwrap_or(policy), role })
}

fn parse_policy(value: &str) -> Option<&'static str> {
    ["none", "quarantine", "reject"].into_iter().find(|policy| value.eq_ignore_ascii_case(policy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(texts: &[&str]) -> Option<(&'static str, &'static str)> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        parse(&texts).map(|record| (record.policy, record.subdomains))
    }

    #[test]
    fn a_single_dmarc_record_has_its_policies_and_other_text_has_none() {
        for (texts, want) in [
            (&["v=DMARC1; p=none"][..], Some(("none", "none"))),
            (&["v=DMARC1;p=Reject;sp=quarantine;"], Some(("reject", "quarantine"))),
            (&[" v = DMARC1 ; p = reject"], Some(("reject", "reject"))),
            (&["v=DMARC1; rua=mailto:a@example.com"], Some(("none", "none"))),
            (&["unrelated", "v=DMARC1; p=reject"], Some(("reject", "reject"))),
            (&["v=DMARC1; p=reject", "v=DMARC1; p=none"], None),
            (&["v=DMARC2; p=reject"], None),
            (&["p=reject; v=DMARC1"], None),
            (&["v=spf1 -all"], None),
            (&[], None),
        ] {
            assert_eq!(read(texts), want, "{texts:?}");
        }
    }

    #[test]
    fn the_walk_visits_parents_down_to_two_labels() {
        assert_eq!(parents("a.b.example.com").collect::<Vec<_>>(), ["b.example.com", "example.com"]);
        assert_eq!(parents("example.com").count(), 0);
        let long = "1.2.3.4.5.6.7.8.9.example.com";
        assert_eq!(parents(long).next(), Some("5.6.7.8.9.example.com"));
        assert_eq!(parents(long).count(), 6);
    }

    #[test]
    fn the_organizational_domain_is_the_shortest_name_unless_psd_sets_it() {
        let record = |text: &str| parse_one(text).unwrap();
        let dmarc = |policy, parent: &str| Some(Dmarc { policy, inherited_from: Some(parent.to_owned()) });
        let deep = || ("b.example.com".to_owned(), record("v=DMARC1; p=none"));
        let top = || ("example.com".to_owned(), record("v=DMARC1; p=reject; sp=quarantine"));

        assert_eq!(inherit(vec![deep(), top()]), dmarc("quarantine", "example.com"));
        let own_organization = ("b.example.com".to_owned(), record("v=DMARC1; p=none; psd=n"));
        assert_eq!(inherit(vec![own_organization, top()]), dmarc("none", "b.example.com"));
        let suffix = ("co.example".to_owned(), record("v=DMARC1; p=reject; psd=y"));
        assert_eq!(inherit(vec![suffix]), None);
        assert_eq!(inherit(vec![]), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,200}") {
            let _ = parse(&[text.clone(), format!("v=DMARC1;{text}")]);
        }
    }
}
