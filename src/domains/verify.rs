//! Lookup of a domain's records: all records concurrently, each with its own timeout.

use std::time::Duration;

use tokio::task::JoinSet;

use super::decide::RecordCheck;
use super::records::{ExpectedRecord, expected, full_name, recommended_dmarc};
use super::settings::DomainSettings;
use super::store::DomainRow;
use crate::dns::{self, LookupError, Resolver};

/// Timeout of the DMARC lookup, which queries the domain and then its parents sequentially.
const DMARC_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks up all records of a domain and compares them. Returns within [`DMARC_TIMEOUT`], because the other lookups have
/// shorter timeouts.
pub(super) async fn check_records(resolver: &Resolver, row: &DomainRow, settings: &DomainSettings) -> Vec<RecordCheck> {
    let mut lookups = JoinSet::new();
    for record in expected(row, settings) {
        let resolver = resolver.clone();
        lookups.spawn(async move { check_record(&resolver, record).await });
    }
    let dmarc = check_dmarc(resolver, row).await;
    let mut checks = lookups.join_all().await;
    checks.push(dmarc);
    checks
}

async fn check_record(resolver: &Resolver, record: ExpectedRecord) -> RecordCheck {
    let dns::RecordVerdict { live, detail, seen } = resolver.check(&record.expected).await;
    let detail = with_full_name(detail, &record);
    RecordCheck { record, live, detail, seen, inherited_from: None, policy: None }
}

/// Adds the complete name of the record before a detail. The API shows the relative name only, and some control panels
/// create the record in another zone.
fn with_full_name(detail: Option<String>, record: &ExpectedRecord) -> Option<String> {
    detail.map(|detail| format!("{}: {detail}", full_name(&record.expected)))
}

async fn check_dmarc(resolver: &Resolver, row: &DomainRow) -> RecordCheck {
    let seen = tokio::time::timeout(DMARC_TIMEOUT, resolver.dmarc(&row.name)).await;
    let timed_out = || format!("no answer within {} s", DMARC_TIMEOUT.as_secs());
    let seen = seen.unwrap_or_else(|_| Err(LookupError::Temporary(timed_out())));
    let dns::RecordVerdict { live, detail, seen: published } = dns::compare_dmarc(&seen);
    let (policy, inherited_from) = match seen {
        Ok(Some(dns::Dmarc { policy, inherited_from })) => (Some(policy.to_owned()), inherited_from),
        Ok(None) | Err(_) => (None, None),
    };
    let record = recommended_dmarc(row);
    let detail = with_full_name(detail, &record);
    RecordCheck { record, live, detail, seen: published, inherited_from, policy }
}
