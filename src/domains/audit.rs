//! Lookup of the records of all domains in use, for the operator. Stores nothing.

use tokio::task::JoinSet;

use super::model::{DomainStatus, RecordKind};
use super::refusal::DomainRefusal;
use super::service::Domains;
use super::store::DomainRow;
use super::verify;
use crate::base::id::Id;
use crate::dns::{DnsMatch, Resolver};
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::DOMAINS;

/// Rows that one audit reads at most.
const ROWS_MAX: usize = 10_000;

/// One record of a domain, as published now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedRecord {
    pub kind: RecordKind,
    pub live: DnsMatch,
    /// One line that explains the problem.
    pub detail: Option<String>,
    /// DMARC policy that applies to the domain.
    pub policy: Option<String>,
}

/// The records of one domain, as published now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedDomain {
    pub name: String,
    pub records: Vec<AuditedRecord>,
    /// Refusal of its mail in the last two days, because a server could not authenticate the sender.
    pub refusal: Option<DomainRefusal>,
}

/// The records of some domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainAudit {
    /// In the order of their names.
    pub domains: Vec<AuditedDomain>,
    /// Number of domains that were not looked up.
    pub omitted: usize,
}

impl Domains {
    /// Looks up the records of up to `domains_max` domains that are verified or were.
    pub async fn audit(&self, resolver: &Resolver, domains_max: usize) -> Result<DomainAudit, StoreError> {
        let mut rows = self.context.store.read(used_domains).await?;
        let omitted = rows.len().saturating_sub(domains_max);
        rows.truncate(domains_max);
        let now_ms = self.context.now_ms();
        let mut lookups = JoinSet::new();
        for row in rows {
            let (resolver, settings) = (resolver.clone(), self.settings.clone());
            lookups.spawn(async move {
                let checks = verify::check_records(&resolver, &row, &settings).await;
                let records = checks.into_iter().map(|check| AuditedRecord {
                    kind: check.record.kind,
                    live: check.live,
                    detail: check.detail,
                    policy: check.policy,
                });
                let refusal = row.recent_refusal(now_ms);
                AuditedDomain { name: row.name, records: records.collect(), refusal }
            });
        }
        let mut domains = lookups.join_all().await;
        domains.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(DomainAudit { domains, omitted })
    }
}

/// Returns the domains of all teams that are verified by checks, or were.
fn used_domains(tx: &impl Reads) -> Result<Vec<DomainRow>, StoreError> {
    let mut used = Vec::new();
    let mut rows = 0;
    tx.scan_valid(&DOMAINS, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, row| {
        if !row.assumed && matches!(row.status, DomainStatus::Verified | DomainStatus::Failed) {
            used.push(row);
        }
        rows += 1;
        if rows == ROWS_MAX { STOP } else { NEXT }
    })?;
    Ok(used)
}
