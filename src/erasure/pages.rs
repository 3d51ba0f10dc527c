//! One page of a stage: the scan for rows that contain an address, and the erasure of these rows.

use std::sync::Arc;

use super::email_pages;
use super::stages::ErasureStage;
use super::store::{ErasureKey, ErasureRow, ErasureTarget};
use crate::base::address::AddressSet;
use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, EventId, LogId};
use crate::context::Context;
use crate::delivery::{CapturedRow, capture};
use crate::emails::{self, PreparedErasure};
use crate::events::{self, ErasureScope, MessageSubject};
use crate::store::{CHUNKS_PER_COMMIT, Keyring, MatchPage, Reads, StoreError, WriteTx, skip_corrupt};
use crate::tables::ERASURES;
use crate::webhooks::{self, DeliveryKey};
use crate::{logs, suppressions, teams};

/// Requests of the log in one page. Their bodies must be opened.
const REQUESTS_MAX: usize = 100;
/// Rows of another table in one page.
pub(super) const ROWS_MAX: usize = 500;

/// Result of scanning one page.
#[derive(Clone, Debug)]
pub(super) enum StagePage {
    /// No row matches. The next page of the stage starts here.
    NoMatch(ErasureStage),
    /// The page has rows to erase, or the stage ends with it.
    Matches(PageMatches),
    /// None of the pending emails has settled.
    StillPending,
}

/// Rows of one page to erase.
#[derive(Clone, Debug)]
pub(super) struct PageMatches {
    rows: MatchedRows,
    /// Start of the next page; `None` if the stage ends with this page.
    next: Option<ErasureStage>,
}

#[derive(Clone, Debug)]
enum MatchedRows {
    Emails(Arc<Vec<PreparedErasure>>),
    /// The entries of all addresses: they are found by the hash of the address.
    Suppressions,
    Captured(Vec<CapturedId>),
    AudienceEvents(Vec<EventId>),
    Messages(Vec<EventId>),
    Deliveries(Vec<DeliveryKey>),
    Requests(Vec<LogId>),
    /// Pending emails that can be erased or do not exist any more.
    PendingEmails(Arc<Vec<PreparedErasure>>),
}

impl MatchedRows {
    fn emails(prepared: Vec<PreparedErasure>) -> Self {
        Self::Emails(Arc::new(prepared))
    }
}

/// Result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepResult {
    /// There is more to do.
    More,
    /// The erasure waits until a pending email settles.
    Waiting,
    /// The erasure waits until the requests in progress have been logged.
    Logging,
    /// The erasure is complete, and its row is deleted.
    Done,
}

/// Scans the page at the position of an erasure.
pub(super) fn scan_page(
    tx: &impl Reads,
    keyring: &Keyring,
    row: &ErasureRow,
    target: &ErasureTarget,
) -> Result<StagePage, StoreError> {
    let team = target.team;
    let scan = match row.stage {
        ErasureStage::Queue { after } => {
            let prepared = email_pages::scan_queue(tx, keyring, target, after)?;
            page_scan(prepared, MatchedRows::emails, |after| ErasureStage::Queue { after })
        }
        ErasureStage::Emails { after } => {
            let prepared = email_pages::scan_emails(tx, keyring, target, after)?;
            page_scan(prepared, MatchedRows::emails, |after| ErasureStage::Emails { after })
        }
        ErasureStage::Suppressions => StagePage::Matches(PageMatches { rows: MatchedRows::Suppressions, next: None }),
        ErasureStage::Captured { after } => {
            let matches = |id, message: &CapturedRow| is_captured_match(tx, id, message, target);
            let page = capture::match_messages(tx, after, ROWS_MAX, matches)?;
            page_scan(parts(page), MatchedRows::Captured, |after| ErasureStage::Captured { after })
        }
        ErasureStage::AudienceEvents { after } => {
            let page = events::match_audience_events(tx, team, after, |id| event_scope(row, target, id), ROWS_MAX)?;
            page_scan(parts(page), MatchedRows::AudienceEvents, |after| ErasureStage::AudienceEvents { after })
        }
        ErasureStage::Messages { after } => {
            let scope = |event, subject| message_scope(row, target, event, subject);
            let page = events::match_messages(tx, team, after, &target.all(), scope, ROWS_MAX)?;
            page_scan(parts(page), MatchedRows::Messages, |after| ErasureStage::Messages { after })
        }
        ErasureStage::Deliveries { after } => {
            let page = webhooks::match_deliveries(tx, team, after, &target.all(), ROWS_MAX)?;
            page_scan(parts(page), MatchedRows::Deliveries, |after| ErasureStage::Deliveries { after })
        }
        ErasureStage::RequestLog { after, until } => {
            let until = match until {
                Some(until) => until,
                None => logs::newest(tx, team)?.unwrap_or(LogId::MIN),
            };
            let page = logs::match_requests(tx, keyring, team, (after, until), &target.all(), REQUESTS_MAX)?;
            page_scan(parts(page), MatchedRows::Requests, |after| ErasureStage::RequestLog {
                after,
                until: Some(until),
            })
        }
        ErasureStage::PendingEmails => match email_pages::scan_pending(tx, keyring, row, target)? {
            erasable if erasable.is_empty() && !row.pending_emails.is_empty() => StagePage::StillPending,
            erasable => {
                let rows = MatchedRows::PendingEmails(Arc::new(erasable));
                StagePage::Matches(PageMatches { rows, next: None })
            }
        },
    };
    Ok(scan)
}

/// Returns the result of a scan from its hits and the last row that it read, if the range has more rows.
fn page_scan<H, P>(
    (hits, last): (Vec<H>, Option<P>),
    rows: fn(Vec<H>) -> MatchedRows,
    position: impl Fn(P) -> ErasureStage,
) -> StagePage {
    match last.map(position) {
        Some(stage) if hits.is_empty() => StagePage::NoMatch(stage),
        next => StagePage::Matches(PageMatches { rows: rows(hits), next }),
    }
}

/// Returns the hits of a page, and the last row that it read, if the range has more rows.
pub(super) fn parts<I>(page: MatchPage<I>) -> (Vec<I>, Option<I>) {
    (page.hits, page.next)
}

/// Erases the addresses from the rows of a page and stores the new position in the same transaction.
/// Returns the row of the erasure after that. After the commit of a page of event messages, the event bus
/// notifies the code that holds messages in memory.
pub(super) fn erase_page(
    tx: &WriteTx<'_>,
    context: &Context,
    key: ErasureKey,
    mut row: ErasureRow,
    target: &ErasureTarget,
    page: &PageMatches,
) -> Result<(StepResult, ErasureRow), StoreError> {
    if !tx.contains(&ERASURES, &key)? {
        return Ok((StepResult::Done, row));
    }
    if erase_rows(tx, context, &mut row, target, &page.rows)? {
        match page.next {
            Some(stage) => row.stage = stage,
            None if row.start_next_stage() => {}
            None => {
                tx.delete(&ERASURES, &key)?;
                return Ok((StepResult::Done, row));
            }
        }
    }
    tx.put(&ERASURES, &key, &row)?;
    Ok((StepResult::More, row))
}

/// Returns whether all rows have been erased. Otherwise the next step scans from the position in `row`.
fn erase_rows(
    tx: &WriteTx<'_>,
    context: &Context,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    rows: &MatchedRows,
) -> Result<bool, StoreError> {
    let (team, now_ms) = (target.team, context.now_ms());
    match rows {
        MatchedRows::Emails(emails) => return email_pages::erase_emails(tx, context, row, target, emails),
        MatchedRows::PendingEmails(emails) => return email_pages::erase_pending(tx, context, row, target, emails),
        MatchedRows::Suppressions => erase_suppressions(tx, row, target, now_ms)?,
        MatchedRows::Captured(ids) => {
            let mut chunks_left = CHUNKS_PER_COMMIT;
            for id in ids {
                if !capture::delete_message(tx, *id, &mut chunks_left, now_ms)? {
                    return Ok(false);
                }
            }
        }
        MatchedRows::AudienceEvents(ids) => {
            for id in ids {
                events::erase_audience_event(tx, team, *id, &event_scope(row, target, *id))?;
            }
        }
        MatchedRows::Messages(ids) => {
            for id in ids {
                let scope = |subject| message_scope(row, target, *id, subject);
                events::erase_message(tx, team, *id, &target.all(), scope)?;
            }
            let (event_bus, has_changed) = (context.event_bus.clone(), !ids.is_empty());
            tx.after_commit(move || {
                if has_changed {
                    event_bus.bump_erasure_generation();
                }
                // Live streams also buffer events without an event message: nothing subscribes to them.
                event_bus.publish_erasure(team);
            });
        }
        MatchedRows::Deliveries(keys) => {
            for key in keys {
                webhooks::erase_delivery(tx, team, *key, &target.all())?;
            }
        }
        MatchedRows::Requests(ids) => {
            for id in ids {
                logs::delete(tx, team, *id, now_ms)?;
            }
        }
    }
    Ok(true)
}

/// Deletes the addresses from their suppressions. The row keeps the ids of entries from after the request. The team can
/// delete such an entry before the stages that erase its events.
pub(super) fn erase_suppressions(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    for (address, request) in &target.hashes {
        let erased = suppressions::erase(tx, target.team, address, *request, now_ms);
        let erased = skip_corrupt(erased, format_args!("a suppression of team {}", target.team))?.flatten();
        row.derived_suppressions.extend(erased.filter(|entry| entry.as_bytes() > request.as_bytes()));
    }
    Ok(())
}

/// Returns whether a captured message is to or about an address. The mailbox is shared by all teams: a
/// message of another team's email does not match.
fn is_captured_match(
    tx: &impl Reads,
    id: CapturedId,
    message: &CapturedRow,
    target: &ErasureTarget,
) -> Result<bool, StoreError> {
    let team = target.team;
    let addresses = message.email.map_or_else(|| target.at(id), |email| target.at(email));
    let mut shown = [&message.from, &message.subject].into_iter().flatten();
    let is_named = message.recipients.iter().chain([&message.sender]).any(|text| addresses.contains(text))
        || shown.any(|text| addresses.is_mentioned_in(text));
    let Some(email) = message.email else { return Ok(is_named) };
    if email > target.last_request() {
        return Ok(false);
    }
    if let Some(row) = emails::find_valid_row(tx, team, email)? {
        // Before this erasure changed the row, a message could name its addresses in the header.
        let is_changed = row.erasure.is_some_and(|mark| target.includes(mark.id));
        return Ok(is_named || is_changed || emails::mentions(&row, &addresses));
    }
    if !is_named {
        return Ok(false);
    }
    for other in teams::list(tx)?.iter().filter(|other| other.id != team) {
        if emails::has_row(tx, other.id, email)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the part of an event about a contact or a suppression to erase.
fn event_scope<'a>(row: &'a ErasureRow, target: &ErasureTarget, event: EventId) -> ErasureScope<'a> {
    ErasureScope { addresses: target.at(event), suppressions: &row.derived_suppressions }
}

/// Returns the addresses to erase from an event message.
fn message_scope(row: &ErasureRow, target: &ErasureTarget, event: EventId, subject: MessageSubject) -> AddressSet {
    match subject {
        MessageSubject::Email(email) => target.at(email),
        MessageSubject::Suppression(entry) if row.derived_suppressions.contains(&entry) => target.all(),
        MessageSubject::Suppression(_) | MessageSubject::Other => target.at(event),
    }
}
