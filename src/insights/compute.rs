//! The insights of stored emails and broadcasts: reads their content and the facts of the sender's domain.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

use super::evaluate::evaluate;
use super::hosts::web_url;
use super::model::{DmarcFacts, InsightInput, InsightKind, InsightResult, SenderFacts};
use super::rows::InsightRow;
use crate::base::address::StoredMailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, DomainId, EmailId, TeamId};
use crate::broadcast_rows::{self, BroadcastRow};
use crate::delivery::simulated;
use crate::domains::{self, DomainRow, RecordKind};
use crate::emails::{self, EmailRow, LastEvent};
use crate::preferences::PreferenceLinks;
use crate::store::{Keyring, Reads, StoreError, skip_corrupt};

const HOUR_MS: i64 = 60 * 60 * 1_000;
/// Age of a lookup of the DMARC policy, in hours, above which its result is unknown.
const DMARC_HOURS_MAX: u32 = 24;

/// Settings of an instance for its checks, and the checks.
#[derive(Clone, Debug)]
pub(super) struct InsightRules {
    /// Whether header fields that the server generates have one-click unsubscribe.
    has_one_click: bool,
    /// Host of the links that the server makes; `None` if it has no name, or recipients cannot open the links.
    public_host: Option<String>,
    /// The checks. A test replaces them.
    pub(super) evaluate: fn(InsightInput<'_>) -> Vec<InsightResult>,
}

impl InsightRules {
    /// Returns the rules of an instance.
    pub(super) fn new(links: &PreferenceLinks) -> Self {
        let settings = links.settings();
        let url = web_url(&settings.public_url).filter(|_| settings.links_work());
        Self {
            has_one_click: links.have_one_click(),
            public_host: url.and_then(|url| url.host.name().map(str::to_owned)),
            evaluate,
        }
    }
}

/// Computes insights of one team. Reads the facts of each domain once.
pub(super) struct InsightSource<'s, R> {
    tx: &'s R,
    keyring: &'s Keyring,
    team: TeamId,
    now_ms: TimestampMs,
    rules: &'s InsightRules,
    domains: HashMap<DomainId, SenderFacts>,
}

impl<'s, R: Reads> InsightSource<'s, R> {
    pub(super) fn new(
        tx: &'s R,
        keyring: &'s Keyring,
        team: TeamId,
        now_ms: TimestampMs,
        rules: &'s InsightRules,
    ) -> Self {
        Self { tx, keyring, team, now_ms, rules, domains: HashMap::new() }
    }

    /// Returns the insights of an email of the API, and the size of its content; `None` if its content was deleted or is
    /// corrupt.
    pub(super) fn of_email(&mut self, id: EmailId, row: &EmailRow) -> Result<Option<(InsightRow, usize)>, StoreError> {
        let Some(content) = emails::valid_content(self.tx, self.keyring, id)? else { return Ok(None) };
        let domain = self.domain(row.domain, &row.from)?;
        let input = InsightInput {
            html: content.html.as_deref(),
            text: content.text.as_deref(),
            subject: &row.subject,
            from_local: local_part(&row.from),
            has_reply_to: !row.reply_to.is_empty(),
            headers: &content.headers,
            attachments: row.attachments.len(),
            kind: if row.topic.is_some() { InsightKind::Topic } else { InsightKind::Plain },
            has_one_click: self.rules.has_one_click,
            public_host: self.rules.public_host.as_deref(),
            domain: &domain,
        };
        let bytes = [&content.html, &content.text].into_iter().flatten().map(String::len).sum();
        let row = self.evaluated(input).unwrap_or_else(|| {
            error!(email.id = %id, "a check of email {id} panicked");
            InsightRow::unknown(self.now_ms)
        });
        Ok(Some((row, bytes)))
    }

    /// Returns the insights of a broadcast before the values of its recipients. Each check is unknown if the content is
    /// corrupt, so that the content is read only once.
    pub(super) fn of_broadcast(&mut self, id: BroadcastId, row: &BroadcastRow) -> Result<InsightRow, StoreError> {
        let content = broadcast_rows::read_content(self.tx, self.keyring, id);
        let Some(content) = skip_corrupt(content, format_args!("content of broadcast {id}"))? else {
            return Ok(InsightRow::unknown(self.now_ms));
        };
        let content = content.unwrap_or_default();
        let domain = self.domain(row.domain.unwrap_or(DomainId::MIN), &row.from)?;
        let input = InsightInput {
            html: content.html.as_deref(),
            text: content.text.as_deref(),
            subject: &row.subject,
            from_local: local_part(&row.from),
            has_reply_to: !row.reply_to.is_empty(),
            headers: &[],
            attachments: 0,
            kind: InsightKind::Broadcast,
            has_one_click: self.rules.has_one_click,
            public_host: self.rules.public_host.as_deref(),
            domain: &domain,
        };
        Ok(self.evaluated(input).unwrap_or_else(|| {
            error!(broadcast.id = %id, "a check of broadcast {id} panicked");
            InsightRow::unknown(self.now_ms)
        }))
    }

    /// Returns the results of the checks; `None` if one panics. The worker would read the same message again at each start.
    fn evaluated(&self, input: InsightInput<'_>) -> Option<InsightRow> {
        let results = catch_unwind(AssertUnwindSafe(|| (self.rules.evaluate)(input))).ok()?;
        Some(InsightRow::new(results, self.now_ms))
    }

    fn domain(&mut self, id: DomainId, from: &StoredMailbox) -> Result<SenderFacts, StoreError> {
        if let Some(known) = self.domains.get(&id) {
            return Ok(known.clone());
        }
        let row = domains::find_valid(self.tx, self.team, id)?;
        let facts = sender_facts(row.as_ref(), from.domain().unwrap_or_default(), self.now_ms);
        self.domains.insert(id, facts.clone());
        Ok(facts)
    }
}

fn local_part(from: &StoredMailbox) -> &str {
    from.address().map(|address| address.local()).unwrap_or_default()
}

/// Returns the number of recipients of an email that are sent to. Simulated recipients do not count.
pub(super) fn recipients(row: &EmailRow) -> u64 {
    let is_sent_to = |event| !matches!(event, LastEvent::Suppressed | LastEvent::Canceled);
    let sent = row.recipients.iter().filter(|recipient| {
        is_sent_to(recipient.last_event) && simulated::outcome(&recipient.mailbox.bare()).is_none()
    });
    sent.count() as u64
}

/// Returns the facts of a domain; `name` is used if the domain was deleted.
fn sender_facts(row: Option<&DomainRow>, name: &str, now_ms: TimestampMs) -> SenderFacts {
    let Some(row) = row else {
        return SenderFacts {
            name: name.to_ascii_lowercase(),
            organization: None,
            dmarc: DmarcFacts::Unknown,
            tracks_opens: false,
            tracks_clicks: false,
            has_tracking_host: false,
        };
    };
    let record = |kind| row.records.iter().find(|record| record.kind == kind);
    SenderFacts {
        name: row.name.clone(),
        organization: record(RecordKind::Dmarc).and_then(|record| record.inherited_from.clone()),
        dmarc: dmarc_facts(row, now_ms),
        tracks_opens: row.open_tracking,
        tracks_clicks: row.click_tracking,
        has_tracking_host: row.tracking_host().is_some(),
    }
}

fn dmarc_facts(row: &DomainRow, now_ms: TimestampMs) -> DmarcFacts {
    use crate::domains::RecordStatus::{Failed, NotStarted, Pending, TemporaryFailure, Verified};

    let record = row.records.iter().find(|record| record.kind == RecordKind::Dmarc);
    let (Some(checked_ms), Some(record)) = (row.checked_ms, record) else { return DmarcFacts::Unknown };
    let hours = u32::try_from((now_ms - checked_ms).div_euclid(HOUR_MS)).unwrap_or(0);
    if hours >= DMARC_HOURS_MAX {
        return DmarcFacts::Unknown;
    }
    match record.status {
        Verified | TemporaryFailure => {
            let is_enforced = matches!(record.policy.as_deref(), Some("quarantine" | "reject"));
            DmarcFacts::Published { hours, is_enforced }
        }
        NotStarted | Failed => DmarcFacts::Missing { hours },
        // The lookup failed.
        Pending => DmarcFacts::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::{DkimKeyRow, DomainStatus, RecordState, RecordStatus};

    const NOW_MS: TimestampMs = 1_767_604_353_456;

    fn domain(status: RecordStatus, policy: Option<&str>, checked_ms: Option<TimestampMs>) -> DomainRow {
        let key = || DkimKeyRow { selector: String::new(), record: String::new(), sealed: Vec::new() };
        let record = |kind, status| RecordState {
            kind,
            status,
            live: None,
            detail: None,
            seen: Vec::new(),
            inherited_from: Some("example.com".to_owned()),
            policy: policy.map(str::to_owned),
        };
        DomainRow {
            name: "news.example.com".into(),
            region: String::new(),
            status: DomainStatus::Verified,
            return_path: "send".into(),
            open_tracking: true,
            click_tracking: false,
            tracking_subdomain: Some("t".into()),
            rsa: key(),
            ed25519: key(),
            records: vec![record(RecordKind::Dmarc, status), record(RecordKind::Tracking, RecordStatus::Verified)],
            checked_ms,
            pending_since_ms: None,
            assumed: false,
            refusal: None,
            created_ms: 0,
        }
    }

    #[test]
    fn the_policy_of_a_domain_is_known_for_a_day() {
        use RecordStatus::{NotStarted, Pending, TemporaryFailure, Verified};
        let published = |hours, is_enforced| DmarcFacts::Published { hours, is_enforced };
        for (row, expected) in [
            (domain(Verified, Some("none"), Some(NOW_MS)), published(0, false)),
            (domain(Verified, Some("reject"), Some(NOW_MS - 23 * HOUR_MS)), published(23, true)),
            (domain(TemporaryFailure, Some("quarantine"), Some(NOW_MS)), published(0, true)),
            (domain(Verified, Some("reject"), Some(NOW_MS - 24 * HOUR_MS)), DmarcFacts::Unknown),
            (domain(NotStarted, None, Some(NOW_MS - HOUR_MS)), DmarcFacts::Missing { hours: 1 }),
            (domain(Pending, None, Some(NOW_MS)), DmarcFacts::Unknown),
            (domain(Verified, Some("none"), None), DmarcFacts::Unknown),
            // The clock was set back.
            (domain(Verified, Some("none"), Some(NOW_MS + HOUR_MS)), published(0, false)),
        ] {
            assert_eq!(dmarc_facts(&row, NOW_MS), expected, "{:?}", row.records);
        }
    }

    #[test]
    fn a_domain_has_a_tracking_host_as_long_as_the_links_use_it() {
        let found = || domain(RecordStatus::Verified, None, None);
        let has_host = |row: DomainRow| sender_facts(Some(&row), "", NOW_MS).has_tracking_host;

        assert!(has_host(found()));
        assert!(!has_host(DomainRow { assumed: true, ..found() }));
        assert!(!has_host(DomainRow { status: DomainStatus::Failed, ..found() }));
        assert!(!has_host(DomainRow { tracking_subdomain: None, ..found() }));
    }

    #[test]
    fn a_sender_has_the_facts_of_its_domain_also_after_the_domain_was_deleted() {
        let row = domain(RecordStatus::Verified, Some("none"), Some(NOW_MS));

        let facts = sender_facts(Some(&row), "", NOW_MS);
        let without = sender_facts(None, "News.Example.com", NOW_MS);

        assert_eq!((facts.name.as_str(), facts.organization.as_deref()), ("news.example.com", Some("example.com")));
        assert_eq!((facts.tracks_opens, facts.tracks_clicks, facts.has_tracking_host), (true, false, true));
        assert_eq!((without.name.as_str(), without.dmarc), ("news.example.com", DmarcFacts::Unknown));
    }
}
