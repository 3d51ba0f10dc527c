//! The check of a broadcast before it is sent, its preview, and its test email.
//!
//! Data flow: [`BroadcastChecks::check`] reads the broadcast, the properties and the sender's domain in one
//! transaction. The rules for the texts and the domain are pure. The audience is counted in many short transactions,
//! and the links are requested if the caller asks for it, at the same time.
//!
//! Files in reading order:
//! - `model.rs`: findings and counts;
//! - `findings.rs`: the first findings;
//! - `content.rs`, `html_tags.rs`: rules for the texts;
//! - `sender.rs`: rules for the domain;
//! - `audience.rs`: the walk over the contacts;
//! - `links.rs`: requests;
//! - `sample.rs`: the contact of a preview;
//! - `preview.rs`: previews and test emails.
//!
//! Invariants:
//! - A check changes nothing.
//! - A check keeps a bounded number of findings in memory.
//! - A process runs a bounded number of checks, one of each team. Each has a time limit, and a result beyond it says
//!   so.
//! - Links are requested only through `http_client`, whose guard refuses private addresses.

mod audience;
mod content;
mod findings;
mod html_tags;
mod links;
mod model;
mod preview;
mod sample;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use model::{
    AudienceFunnel, BroadcastCheck, BroadcastFinding, FindingKind, FindingPart, FindingPlace, FindingSeverity,
    HTML_BYTES_CLIPPED, LinkSummary,
};
pub use preview::{BroadcastPreview, PreviewBroadcastError, TEST_RECIPIENTS_MAX, TestBroadcastError};
pub use sample::{SampleContact, SampleValues};

use crate::base::blocking;
use crate::base::id::{BroadcastId, TeamId};
use crate::broadcast_rows::{self, BroadcastContent, BroadcastRow, read_content};
use crate::contact_properties::{self, PropertyDefinitions};
use crate::context::Context;
use crate::domains::{self, DomainRow};
use crate::emails::Emails;
use crate::http_client::{HttpClient, UrlPolicy};
use crate::segments::{ScanLimiter, SegmentScanError};
use crate::store::{ReadTx, StoreError, from_store_error};
use audience::{AudienceCount, AudienceWalk};
use content::{CheckedTexts, ContentReport};

/// Longest wait for the start of a check.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a check requests the links of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRequests {
    Skip,
    Send,
}

/// Error of a check.
#[derive(Debug)]
pub enum CheckBroadcastError {
    /// The team has no broadcast of that id.
    NotFound,
    /// Other checks were running for as long as the request waits.
    Busy,
    Store(StoreError),
}

from_store_error!(CheckBroadcastError);

/// Checks broadcasts.
pub struct BroadcastChecks {
    context: Context,
    emails: Arc<Emails>,
    client: HttpClient,
    limiter: ScanLimiter,
}

/// Rows that a check reads.
struct CheckedRows {
    row: BroadcastRow,
    content: BroadcastContent,
    definitions: PropertyDefinitions,
    /// Domain of the sender's address, and the team's row of it.
    domain: (String, Option<DomainRow>),
}

impl BroadcastChecks {
    /// Returns the policy for the links of broadcasts, from that for the files of customers. A link may have http, but
    /// only development accepts local names.
    pub fn link_policy(files: UrlPolicy) -> UrlPolicy {
        UrlPolicy { plain_http: true, ..files }
    }

    /// Returns the checks of an instance. `client` requests the links.
    pub fn new(context: Context, emails: Arc<Emails>, client: HttpClient) -> Self {
        Self { context, emails, client, limiter: ScanLimiter::new(QUEUE_TIMEOUT) }
    }

    /// Checks a broadcast of any status. Needs at most 20 seconds.
    pub async fn check(
        &self,
        team: TeamId,
        id: BroadcastId,
        links: LinkRequests,
    ) -> Result<BroadcastCheck, CheckBroadcastError> {
        let permit = self.limiter.acquire(team).await;
        let _permit = permit.map_err(|error| match error {
            SegmentScanError::Busy => CheckBroadcastError::Busy,
            SegmentScanError::Store(error) => CheckBroadcastError::Store(error),
        })?;
        let CheckedRows { row, content, definitions, domain: (domain, domain_row) } = self.read(team, id).await?;
        let html_bytes = content.html.as_deref().map_or(0, str::len);
        let bytes = content.bytes();
        let checked = blocking::run_sized(bytes, move || {
            let report = content::check(CheckedTexts {
                subject: &row.subject,
                preview_text: row.preview_text.as_deref(),
                html: content.html.as_deref(),
                text: content.text.as_deref(),
                source: content.source.as_deref(),
                definitions: &definitions,
            });
            (report, row, definitions)
        });
        let (report, row, definitions) = checked.await;
        let ContentReport { mut findings, links: found, without_fallback } = report;
        findings.extend(sender::check(&domain, domain_row.as_ref()));
        let names = without_fallback.into_iter().collect();
        let requests = async {
            match links {
                LinkRequests::Skip => None,
                LinkRequests::Send => Some(links::request(&self.client, found, self.context.now_ms()).await),
            }
        };
        let (count, requested) = tokio::join!(self.count(team, row, names, definitions), requests);
        let AudienceCount { funnel, without_value } = count?;
        let links = requested.map(|(summary, dead)| {
            findings.extend(dead);
            summary
        });
        if funnel.will_receive == 0 && funnel.is_complete {
            let message = "No contact would receive the broadcast.";
            findings.push(BroadcastFinding::new(FindingKind::AudienceEmpty, message));
        }
        let mut findings = findings.into_ordered();
        for finding in findings.iter_mut().filter(|finding| finding.kind == FindingKind::FallbackMissing) {
            let contacts = finding.name.as_ref().map(|name| without_value.get(name).copied().unwrap_or_default());
            finding.contacts = contacts;
        }
        Ok(BroadcastCheck { audience: funnel, findings, html_bytes, links })
    }

    async fn count(
        &self,
        team: TeamId,
        row: BroadcastRow,
        names: Vec<String>,
        definitions: PropertyDefinitions,
    ) -> Result<AudienceCount, StoreError> {
        let start = move |tx: &ReadTx| AudienceWalk::of(tx, team, &row, names, definitions);
        match self.context.store.read::<_, StoreError>(start).await? {
            Some(walk) => walk.count(&self.context).await,
            // Without its segment or topic, the broadcast cannot be sent to anyone.
            None => Ok(AudienceCount {
                funnel: AudienceFunnel { is_complete: true, ..AudienceFunnel::default() },
                ..AudienceCount::default()
            }),
        }
    }

    async fn read(&self, team: TeamId, id: BroadcastId) -> Result<CheckedRows, CheckBroadcastError> {
        let keyring = self.context.keyring.clone();
        let read = move |tx: &ReadTx| {
            let row = broadcast_rows::find(tx, team, id)?.ok_or(CheckBroadcastError::NotFound)?;
            let content = read_content(tx, &keyring, id)?.unwrap_or_default();
            let definitions = contact_properties::definitions(tx, team)?;
            let name = row.from.address().map(|address| address.domain().as_str().to_owned()).unwrap_or_default();
            let domain = match domains::find_sender(tx, team, &name)? {
                Some(sender) => domains::find(tx, team, sender.id)?,
                None => None,
            };
            Ok(CheckedRows { row, content, definitions, domain: (name, domain) })
        };
        self.context.store.read(read).await
    }
}
