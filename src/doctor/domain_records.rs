//! SPF, DKIM and DMARC of the domains in use.

use super::listed;
use super::report::SetupCheck;
use crate::base::clock::to_iso;
use crate::base::printable::printable;
use crate::dns::{DnsMatch, Resolver};
use crate::domains::{AuditedDomain, AuditedRecord, DomainAudit, Domains, RecordKind};

const NAME: &str = "domains";
/// Number of domains that are looked up. Each costs up to twelve queries.
const DOMAINS_MAX: usize = 20;
/// Characters of a reply. A stored reply is not longer.
const REPLY_CHARS_MAX: usize = 300;

/// Looks up the records of the domains.
pub(super) async fn checks(domains: Option<&Domains>, resolver: &Resolver) -> Vec<SetupCheck> {
    let Some(domains) = domains else { return vec![SetupCheck::not_checked(NAME, "there is no store yet")] };
    match domains.audit(resolver, DOMAINS_MAX).await {
        Ok(audit) => judge(&audit),
        Err(error) => vec![SetupCheck::not_checked(NAME, error.to_string())],
    }
}

fn judge(audit: &DomainAudit) -> Vec<SetupCheck> {
    let of_domain = |domain: &AuditedDomain| {
        let records = [spf(domain), dkim(domain), dmarc(domain)];
        records.into_iter().chain(authentication(domain))
    };
    let mut checks: Vec<SetupCheck> = audit.domains.iter().flat_map(of_domain).collect();
    if checks.is_empty() {
        checks.push(SetupCheck::not_checked(NAME, "no domain has been verified by lookups"));
    }
    if audit.omitted > 0 {
        checks.push(SetupCheck::not_checked(NAME, format!("{} further domains", audit.omitted)));
    }
    checks
}

fn spf(domain: &AuditedDomain) -> SetupCheck {
    let kinds = [RecordKind::ReturnPathMx, RecordKind::ReturnPathSpf];
    required("spf", domain, &kinds, "the MX and SPF records of the return path are published")
}

fn dkim(domain: &AuditedDomain) -> SetupCheck {
    let rsa = required("dkim", domain, &[RecordKind::DkimRsa], "the keys of both signatures are published");
    if rsa.fix.is_some() || rsa.expected.is_none() {
        return rsa;
    }
    let second = required("dkim", domain, &[RecordKind::DkimEd25519], "the keys of both signatures are published");
    // The RSA signature is enough for every receiver.
    if second.fix.is_some() { second.into_warning() } else { second }
}

fn dmarc(domain: &AuditedDomain) -> SetupCheck {
    let check = required("dmarc", domain, &[RecordKind::Dmarc], "a DMARC policy applies to the domain");
    let policy = domain.records.iter().find_map(|record| record.policy.as_deref());
    match (policy, check.fix.is_some()) {
        (Some(policy), false) => SetupCheck { seen: format!("the policy is {policy}"), ..check },
        // Large providers require it of bulk senders only.
        (_, true) => check.into_warning(),
        (None, false) => check,
    }
}

/// Returns a warning if a server could not authenticate mail of the domain.
fn authentication(domain: &AuditedDomain) -> Option<SetupCheck> {
    let refusal = domain.refusal.as_ref()?;
    let server = refusal.host.as_deref().unwrap_or("a mail server");
    let reply = printable(&refusal.reply, REPLY_CHARS_MAX);
    let seen = format!("{server} refused email {} at {}: {reply}", refusal.email, to_iso(refusal.at_ms));
    let fix = format!(
        "Check SPF, DKIM, and DMARC of the domain: `ringmail domain show {}` prints its records, and `ringmail trace {}` \
         the refused attempt.",
        domain.name, refusal.email
    );
    let expected = "mail servers authenticate the email of the domain";
    Some(SetupCheck::failed("authentication", seen, expected, fix).about(&domain.name).into_warning())
}

/// Judges records that must all be found.
fn required(name: &str, domain: &AuditedDomain, kinds: &[RecordKind], expected: &str) -> SetupCheck {
    let records: Vec<&AuditedRecord> = domain.records.iter().filter(|record| kinds.contains(&record.kind)).collect();
    let details = |wanted: &dyn Fn(DnsMatch) -> bool| -> Vec<&str> {
        let wanted = records.iter().filter(|record| wanted(record.live));
        wanted.map(|record| record.detail.as_deref().unwrap_or("the record is missing")).collect()
    };
    let wrong = details(&|live| matches!(live, DnsMatch::Missing | DnsMatch::Mismatch));
    let unknown = details(&|live| live == DnsMatch::Unknown);
    let check = if !wrong.is_empty() {
        let fix = format!("Publish the records that `ringmail domain show {}` prints.", domain.name);
        SetupCheck::failed(name, listed(&wrong), expected, fix)
    } else if !unknown.is_empty() {
        SetupCheck::not_checked(name, listed(&unknown))
    } else {
        SetupCheck::ok(name, expected, expected)
    };
    check.about(&domain.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::doctor::CheckStatus;
    use crate::domains::DomainRefusal;
    use DnsMatch::{Found, Mismatch, Missing, Unknown};

    /// Returns the statuses of the three checks of a domain with these records.
    fn statuses(live: [DnsMatch; 5]) -> [CheckStatus; 3] {
        let kinds = [
            RecordKind::ReturnPathMx,
            RecordKind::ReturnPathSpf,
            RecordKind::DkimRsa,
            RecordKind::DkimEd25519,
            RecordKind::Dmarc,
        ];
        let records = kinds.into_iter().zip(live).map(|(kind, live)| AuditedRecord {
            kind,
            live,
            detail: (live != Found).then(|| "a problem".to_owned()),
            policy: (kind == RecordKind::Dmarc && live == Found).then(|| "reject".to_owned()),
        });
        let domain = AuditedDomain { name: "shop.example".into(), records: records.collect(), refusal: None };
        let checks = judge(&DomainAudit { domains: vec![domain], omitted: 0 });
        for check in &checks {
            assert_eq!(check.subject.as_deref(), Some("shop.example"));
            let is_problem = matches!(check.status, CheckStatus::Failed | CheckStatus::Warning);
            assert_eq!(check.fix.is_some(), is_problem, "{check:?}");
        }
        std::array::from_fn(|index| checks[index].status)
    }

    #[test]
    fn each_record_has_its_verdict() {
        use CheckStatus::{Failed, NotChecked, Ok as Passed, Warning};

        for (live, expected) in [
            ([Found, Found, Found, Found, Found], [Passed, Passed, Passed]),
            ([Missing, Found, Found, Found, Found], [Failed, Passed, Passed]),
            ([Found, Mismatch, Found, Found, Found], [Failed, Passed, Passed]),
            ([Found, Unknown, Found, Found, Found], [NotChecked, Passed, Passed]),
            ([Missing, Unknown, Found, Found, Found], [Failed, Passed, Passed]),
            ([Found, Found, Missing, Found, Found], [Passed, Failed, Passed]),
            ([Found, Found, Unknown, Missing, Found], [Passed, NotChecked, Passed]),
            ([Found, Found, Found, Missing, Found], [Passed, Warning, Passed]),
            ([Found, Found, Found, Found, Missing], [Passed, Passed, Warning]),
            ([Found, Found, Found, Found, Unknown], [Passed, Passed, NotChecked]),
        ] {
            assert_eq!(statuses(live), expected, "{live:?}");
        }
    }

    #[test]
    fn a_refusal_for_authentication_is_a_warning_with_the_reply() {
        let reply = "550 5.7.26 unauthenticated".to_owned();
        let refusal = DomainRefusal { at_ms: 1_767_604_353_456, email: Id::MIN, host: Some("mx.test".into()), reply };
        let domain = AuditedDomain { name: "shop.example".into(), records: Vec::new(), refusal: Some(refusal) };

        let checks = judge(&DomainAudit { domains: vec![domain], omitted: 0 });

        let check = checks.iter().find(|check| check.check == "authentication").unwrap();
        assert_eq!((check.status, check.subject.as_deref()), (CheckStatus::Warning, Some("shop.example")));
        for words in ["mx.test", "2026-01-05T09:12:33.456Z", "550 5.7.26 unauthenticated"] {
            assert!(check.seen.contains(words), "no {words:?} in {check:?}");
        }
        let fix = check.fix.as_deref().unwrap();
        assert!(fix.contains("SPF, DKIM, and DMARC") && fix.contains("domain show shop.example"), "{fix}");
    }

    #[test]
    fn no_domain_and_too_many_domains_are_not_checked() {
        let none = judge(&DomainAudit { domains: Vec::new(), omitted: 0 });
        assert_eq!((none.len(), none[0].status), (1, CheckStatus::NotChecked));

        let many = judge(&DomainAudit { domains: Vec::new(), omitted: 3 });
        assert!(many.iter().any(|check| check.seen == "3 further domains"), "{many:?}");
    }
}
