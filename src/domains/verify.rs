//! Looking for a domain's records: every question at once, each with its own end.

use std::time::Duration;

use tokio::task::JoinSet;

use super::decide::RecordCheck;
use super::records::{ExpectedRecord, dmarc_advice, expected, full_name};
use super::settings::DomainSettings;
use super::store::DomainRow;
use crate::dns::{self, LookupError, Resolver};

/// The search for a DMARC policy asks at the domain and then at its parents, one after the other.
const DMARC_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks for every record of a domain and says what there is. Ends within [`DMARC_TIMEOUT`]:
/// the other questions have shorter bounds of their own.
pub(super) async fn check_records(resolver: &Resolver, row: &DomainRow, settings: &DomainSettings) -> Vec<RecordCheck> {
    let mut asked = JoinSet::new();
    for record in expected(row, settings) {
        let resolver = resolver.clone();
        asked.spawn(async move { find(&resolver, record).await });
    }
    let policy = find_policy(resolver, row).await;
    let mut findings = asked.join_all().await;
    findings.push(policy);
    findings
}

async fn find(resolver: &Resolver, record: ExpectedRecord) -> RecordCheck {
    let dns::RecordVerdict { live, detail } = resolver.check(&record.expected).await;
    let detail = located(detail, &record);
    RecordCheck { record, live, detail, inherited_from: None, policy: None }
}

/// Puts the complete name before a detail: the printed one is relative, and a control panel may
/// have put the record under another zone than was meant.
fn located(detail: Option<String>, record: &ExpectedRecord) -> Option<String> {
    detail.map(|detail| format!("{}: {detail}", full_name(&record.expected)))
}

async fn find_policy(resolver: &Resolver, row: &DomainRow) -> RecordCheck {
    let seen = tokio::time::timeout(DMARC_TIMEOUT, resolver.dmarc(&row.name)).await;
    let late = || format!("no answer within {} s", DMARC_TIMEOUT.as_secs());
    let seen = seen.unwrap_or_else(|_| Err(LookupError::Temporary(late())));
    let dns::RecordVerdict { live, detail } = dns::compare_dmarc(&seen);
    let (policy, inherited_from) = match seen {
        Ok(Some(dns::Dmarc { policy, inherited_from })) => (Some(policy.to_owned()), inherited_from),
        Ok(None) | Err(_) => (None, None),
    };
    let record = dmarc_advice(row);
    let detail = located(detail, &record);
    RecordCheck { record, live, detail, inherited_from, policy }
}
