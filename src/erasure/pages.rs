//! One page of a stage: the scan for rows that contain an address, and the erasure of these rows.

use super::stages::Stage;
use super::store::{ErasureKey, ErasureRow, ErasureTarget};
use crate::base::address::AddressSet;
use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, EmailId, EventId, LogId, TeamId};
use crate::context::Context;
use crate::delivery::{self, CapturedRow, capture};
use crate::emails::{self, EmailErasure, EmailRow};
use crate::events::{self, ErasureScope, MessageSubject};
use crate::store::{Keyring, MatchPage, Reads, StoreError, WriteTx, match_page, skip_corrupt};
use crate::tables::{EMAILS, ERASURES};
use crate::webhooks::{self, DeliveryKey};
use crate::{logs, suppressions, teams};

/// Emails in one page, each with its events and SMTP transcripts.
const EMAILS_MAX: usize = 100;
/// Requests of the log in one page. Their bodies must be opened.
const REQUESTS_MAX: usize = 100;
/// Rows of another table in one page.
const ROWS_MAX: usize = 500;
/// Chunks of content or of captured messages that one transaction deletes: 64 MiB.
const CHUNKS_MAX: usize = 256;
/// Pending emails in one row. If there are more, the scan for the others starts when half of these have
/// settled.
pub(super) const PENDING_EMAILS_MAX: usize = 1_000;

/// Result of scanning one page.
#[derive(Clone, Debug)]
pub(super) enum StagePage {
    /// No row matches. The next page of the stage starts here.
    NoMatch(Stage),
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
    next: Option<Stage>,
}

#[derive(Clone, Debug)]
enum MatchedRows {
    Emails(Vec<EmailId>),
    /// The entries of all addresses: they are found by the hash of the address.
    Suppressions,
    Captured(Vec<CapturedId>),
    AudienceEvents(Vec<EventId>),
    Messages(Vec<EventId>),
    Deliveries(Vec<DeliveryKey>),
    Requests(Vec<LogId>),
    /// Pending emails that have settled or do not exist any more.
    SettledEmails(Vec<EmailId>),
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
        Stage::Emails { after } => {
            let page = match_emails(tx, after, target)?;
            page_scan(page, MatchedRows::Emails, |after| Stage::Emails { after })
        }
        Stage::Suppressions => StagePage::Matches(PageMatches { rows: MatchedRows::Suppressions, next: None }),
        Stage::Captured { after } => {
            let matches = |id, message: &CapturedRow| is_captured_match(tx, id, message, target);
            let page = capture::match_messages(tx, after, ROWS_MAX, matches)?;
            page_scan(page, MatchedRows::Captured, |after| Stage::Captured { after })
        }
        Stage::AudienceEvents { after } => {
            let page = events::match_audience_events(tx, team, after, |id| event_scope(row, target, id), ROWS_MAX)?;
            page_scan(page, MatchedRows::AudienceEvents, |after| Stage::AudienceEvents { after })
        }
        Stage::Messages { after } => {
            let scope = |event, subject| message_scope(row, target, event, subject);
            let page = events::match_messages(tx, team, after, &target.all(), scope, ROWS_MAX)?;
            page_scan(page, MatchedRows::Messages, |after| Stage::Messages { after })
        }
        Stage::Deliveries { after } => {
            let page = webhooks::match_deliveries(tx, team, after, &target.all(), ROWS_MAX)?;
            page_scan(page, MatchedRows::Deliveries, |after| Stage::Deliveries { after })
        }
        Stage::RequestLog { after, until } => {
            let until = match until {
                Some(until) => until,
                None => logs::newest(tx, team)?.unwrap_or(LogId::MIN),
            };
            let page = logs::match_requests(tx, keyring, team, (after, until), &target.all(), REQUESTS_MAX)?;
            page_scan(page, MatchedRows::Requests, |after| Stage::RequestLog { after, until: Some(until) })
        }
        Stage::PendingEmails => match settled_emails(tx, row, target)? {
            settled if settled.is_empty() && !row.pending_emails.is_empty() => StagePage::StillPending,
            settled => StagePage::Matches(PageMatches { rows: MatchedRows::SettledEmails(settled), next: None }),
        },
    };
    Ok(scan)
}

fn page_scan<I>(page: MatchPage<I>, rows: fn(Vec<I>) -> MatchedRows, position: impl Fn(I) -> Stage) -> StagePage {
    let (has_hits, next) = (!page.hits.is_empty(), page.next.map(position));
    match next {
        Some(stage) if !has_hits => StagePage::NoMatch(stage),
        next => StagePage::Matches(PageMatches { rows: rows(page.hits), next }),
    }
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
        MatchedRows::Emails(ids) => return erase_emails(tx, row, target, ids),
        MatchedRows::SettledEmails(ids) => return erase_settled_emails(tx, context, row, target, ids),
        MatchedRows::Suppressions => erase_suppressions(tx, row, target, now_ms)?,
        MatchedRows::Captured(ids) => {
            let mut chunks_left = CHUNKS_MAX;
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

/// Scans a page of the emails that were accepted before the requests.
fn match_emails(tx: &impl Reads, after: EmailId, target: &ErasureTarget) -> Result<MatchPage<EmailId>, StoreError> {
    let team = target.team;
    let matches = |(_, id): (TeamId, EmailId), email: Option<EmailRow>| {
        let addresses = &target.at(id);
        Ok(email.is_some_and(|email| emails::mentions(&email, addresses))
            || events::email_events_mention(tx, id, addresses)?
            || delivery::attempts_mention(tx, id, addresses)?)
    };
    let page = match_page(tx, &EMAILS, (team, after), (team, target.last_request()), EMAILS_MAX, matches)?;
    Ok(page.map(|(_, id)| id))
}

fn erase_emails(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    emails: &[EmailId],
) -> Result<bool, StoreError> {
    let Stage::Emails { mut after } = row.stage else { return Ok(false) };
    let mut chunks_left = CHUNKS_MAX;
    for id in emails {
        match erase_email(tx, target, *id, &mut chunks_left)? {
            EmailErasure::Erased => {}
            EmailErasure::NotSettled if row.pending_emails.len() < PENDING_EMAILS_MAX => row.pending_emails.push(*id),
            EmailErasure::NotSettled => {
                row.resume_after.get_or_insert(after);
            }
            EmailErasure::Unfinished => {
                row.stage = Stage::Emails { after };
                return Ok(false);
            }
        }
        after = *id;
    }
    Ok(true)
}

/// Erases an email with its timeline and SMTP transcripts. If the row of the email is corrupt, only
/// these are erased.
fn erase_email(
    tx: &WriteTx<'_>,
    target: &ErasureTarget,
    id: EmailId,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let addresses = &target.at(id);
    let erased = emails::erase(tx, target.team, id, addresses, chunks_left)?;
    if erased == EmailErasure::Erased {
        events::erase_email_events(tx, id, addresses)?;
        delivery::erase_attempts(tx, id, addresses)?;
    }
    Ok(erased)
}

/// Returns up to [`EMAILS_MAX`] pending emails that have settled or have been deleted.
fn settled_emails(tx: &impl Reads, row: &ErasureRow, target: &ErasureTarget) -> Result<Vec<EmailId>, StoreError> {
    let mut settled = Vec::new();
    for id in &row.pending_emails {
        if tx.get_valid(&EMAILS, &(target.team, *id))?.is_none_or(|email| emails::is_settled(&email)) {
            settled.push(*id);
            if settled.len() == EMAILS_MAX {
                break;
            }
        }
    }
    Ok(settled)
}

/// Erases pending emails that have settled, and the suppressions that they caused. Returns whether the
/// second run can start.
fn erase_settled_emails(
    tx: &WriteTx<'_>,
    context: &Context,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    emails: &[EmailId],
) -> Result<bool, StoreError> {
    let mut chunks_left = CHUNKS_MAX;
    let mut erased = Vec::new();
    for id in emails {
        if erase_email(tx, target, *id, &mut chunks_left)? != EmailErasure::Erased {
            break;
        }
        erased.push(*id);
    }
    if !erased.is_empty() {
        erase_suppressions(tx, row, target, context.now_ms())?;
    }
    row.pending_emails.retain(|id| !erased.contains(id));
    let pending_max = if row.resume_after.is_some() { PENDING_EMAILS_MAX / 2 } else { 0 };
    Ok(row.pending_emails.len() <= pending_max)
}

/// Deletes the addresses from their suppressions. The row keeps the ids of entries from after the request,
/// because the team can delete such an entry before the stages that erase its events.
fn erase_suppressions(
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
    let is_named = message.recipients.iter().chain([&message.sender]).any(|text| addresses.contains(text));
    let Some(email) = message.email else { return Ok(is_named) };
    if email > target.last_request() {
        return Ok(false);
    }
    if let Some(row) = tx.get_valid(&EMAILS, &(team, email))? {
        return Ok(is_named || emails::is_erased_or_mentions(&row, &addresses));
    }
    if !is_named {
        return Ok(false);
    }
    for other in teams::list(tx)?.iter().filter(|other| other.id != team) {
        if tx.contains(&EMAILS, &(other.id, email))? {
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
