//! Every place that an address of a team's recipients lies in, and what becomes of it there.
//!
//! | Place | What becomes of it |
//! |---|---|
//! | the suppression list | the address goes from its entry, whose hash goes on blocking |
//! | emails: sender, recipients, answers | the mailbox, with its name, reads `[erased]` |
//! | emails: subject, names of files | one that mentions it reads `[erased]` |
//! | emails: content, attachments | removed, when every recipient has been erased |
//! | the timeline of an email | recipients, and texts that mention it, read `[erased]` |
//! | SMTP conversations | a text that mentions it reads `[erased]` |
//! | the built-in mailbox | a message to it, or of an email that named it, is removed |
//! | events about contacts and suppressions | the address reads `[erased]`; names go |
//! | what webhooks deliver | a text that mentions it reads `[erased]`; names of contacts go |
//! | what webhook endpoints answered | an answer that mentions it, whenever it came, reads `[erased]` |
//! | the log of requests | a request that mentions it is removed, whenever it was made |
//!
//! A place that is added to the store is added here: to the list, to [`scan_stage`], which only reads, and
//! to [`erase_matches`], which changes what was found. The queue names emails by their ids, and the contact
//! goes with the request. What the team wrote down about something else can mention the address, and
//! outlasts it: a segment's filter, values and names of other contacts, a property's fallback, names
//! and descriptions; changing those would change what they say. An idempotency row can quote, for the
//! day it lives, the start of a tag that a permissive batch refused. `tests/tables.rs` says of every
//! table which of these it is.

use super::store::{ErasureKey, ErasureRow, ErasureTarget, LogSpan, Stage};
use super::{audience, captured, webhook_data};
use crate::base::id::{CapturedId, EmailId, EventId, Id, LogId};
use crate::delivery;
use crate::emails::{self, EmailErasure};
use crate::event_bus::EventBus;
use crate::events;
use crate::logs;
use crate::store::{Keyring, NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{EMAILS, ERASURES};
use crate::webhooks::DeliveryPlace;

/// Emails looked at in one read, each with its events and its conversations.
const EMAILS_MAX: usize = 100;
/// Other rows looked at in one read.
pub(super) const ROWS_MAX: usize = 500;
/// Requests looked at in one read, each with its bodies, which have to be opened.
const REQUESTS_MAX: usize = 100;
/// Chunks of content or of messages removed in one transaction: 64 MiB, after which the writer is
/// free for others.
pub(super) const CHUNKS_MAX: usize = 256;
/// Emails that are waited for. Where there are more, the others are come to when half of these have
/// settled.
pub(super) const ON_THEIR_WAY_MAX: usize = 1_000;

/// What a look at the present place found.
#[derive(Clone, Debug)]
pub(super) enum StageMatches {
    /// The suppression list is asked address by address.
    Suppressions,
    /// Emails that hold an address.
    Emails(MatchPage<EmailId>),
    /// Messages to be removed.
    Captured(MatchPage<CapturedId>),
    /// Events that hold an address.
    AudienceEvents(MatchPage<EventId>),
    /// What webhooks deliver that holds an address.
    Messages(MatchPage<EventId>),
    /// Deliveries whose answers hold an address.
    Deliveries(MatchPage<DeliveryPlace>),
    /// The log of requests is next, and nothing of it has been read.
    RequestLogAhead,
    /// Requests that mention an address.
    Requests(MatchPage<LogId>),
    /// Emails that were waited for and have settled.
    Settled(Vec<EmailId>),
    /// Emails are waited for, and none of them has settled.
    StillPending,
}

/// A page of one place.
#[derive(Clone, Debug)]
pub(super) struct MatchPage<I> {
    /// The rows that hold an address, in order.
    pub(super) hits: Vec<I>,
    /// Where the next page begins; none after the last.
    pub(super) next: Option<I>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepResult {
    /// There is more to do.
    More,
    /// Nothing can be done before another email has settled.
    Waiting,
    /// Nothing can be done before requests that are under way have been logged.
    Logging,
    /// Nothing of the addresses is left, nor of the erasure.
    Done,
}

/// Looks at the place that an erasure has come to.
pub(super) fn scan_stage(
    tx: &impl Reads,
    keyring: &Keyring,
    row: &ErasureRow,
    target: &ErasureTarget,
) -> Result<StageMatches, StoreError> {
    match row.stage {
        Stage::Suppressions => Ok(StageMatches::Suppressions),
        Stage::Emails { after } => page_of_emails(tx, after, target).map(StageMatches::Emails),
        Stage::Captured { after } | Stage::RecheckCaptured { after } => {
            captured::page(tx, target, after).map(StageMatches::Captured)
        }
        Stage::AudienceEvents { after } | Stage::RecheckAudienceEvents { after } => {
            audience::page_of_events(tx, row, target, after).map(StageMatches::AudienceEvents)
        }
        Stage::PendingEmails => arrived(tx, row, target),
        Stage::Messages { after } | Stage::RecheckMessages { after } => {
            webhook_data::messages(tx, row, target, after).map(StageMatches::Messages)
        }
        Stage::Deliveries { after } | Stage::RecheckDeliveries { after } => {
            webhook_data::deliveries(tx, target, after).map(StageMatches::Deliveries)
        }
        Stage::RequestLog(span) | Stage::RecheckRequestLog(span) => {
            let LogSpan { after, until: Some(until) } = span else { return Ok(StageMatches::RequestLogAhead) };
            let span = (after, until);
            let (hits, next) = logs::page_that_mentions(tx, keyring, target.team, span, &target.all(), REQUESTS_MAX)?;
            Ok(StageMatches::Requests(MatchPage { hits, next }))
        }
    }
}

impl StageMatches {
    /// Returns where a page that holds none of the addresses leads. Where it leads on within its place,
    /// there is nothing to write.
    pub(super) fn skip_to(&self, stage: Stage) -> Option<Stage> {
        match (self, stage) {
            (Self::Emails(page), Stage::Emails { .. }) => page.passed().map(|after| Stage::Emails { after }),
            (Self::Captured(page), Stage::Captured { .. }) => page.passed().map(|after| Stage::Captured { after }),
            (Self::Captured(page), Stage::RecheckCaptured { .. }) => {
                page.passed().map(|after| Stage::RecheckCaptured { after })
            }
            (Self::AudienceEvents(page), Stage::AudienceEvents { .. }) => {
                page.passed().map(|after| Stage::AudienceEvents { after })
            }
            (Self::AudienceEvents(page), Stage::RecheckAudienceEvents { .. }) => {
                page.passed().map(|after| Stage::RecheckAudienceEvents { after })
            }
            (Self::Messages(page), Stage::Messages { .. }) => page.passed().map(|after| Stage::Messages { after }),
            (Self::Messages(page), Stage::RecheckMessages { .. }) => {
                page.passed().map(|after| Stage::RecheckMessages { after })
            }
            (Self::Deliveries(page), Stage::Deliveries { .. }) => {
                page.passed().map(|after| Stage::Deliveries { after })
            }
            (Self::Deliveries(page), Stage::RecheckDeliveries { .. }) => {
                page.passed().map(|after| Stage::RecheckDeliveries { after })
            }
            (Self::Requests(page), Stage::RequestLog(span)) => {
                page.passed().map(|after| Stage::RequestLog(LogSpan { after, ..span }))
            }
            (Self::Requests(page), Stage::RecheckRequestLog(span)) => {
                page.passed().map(|after| Stage::RecheckRequestLog(LogSpan { after, ..span }))
            }
            _ => None,
        }
    }
}

impl<I: Copy> MatchPage<I> {
    fn passed(&self) -> Option<I> {
        self.next.filter(|_| self.hits.is_empty())
    }
}

/// Takes the addresses out of what was found from `row` on, and writes down how far that brought the
/// erasure. Returns its row as it is then. `announcer` tells those who hold in memory what has changed.
pub(super) fn erase_matches(
    tx: &WriteTx<'_>,
    announcer: &EventBus,
    key: ErasureKey,
    mut row: ErasureRow,
    target: &ErasureTarget,
    found: &StageMatches,
) -> Result<(StepResult, ErasureRow), StoreError> {
    if !tx.contains(&ERASURES, &key)? {
        return Ok((StepResult::Done, row));
    }
    let progress = match found {
        StageMatches::Suppressions => {
            audience::erase_listed(tx, target)?;
            row.stage = Stage::Emails { after: Id::MIN };
            StepResult::More
        }
        StageMatches::Emails(page) => erase_emails(tx, &mut row, target, page)?,
        StageMatches::Captured(page) => captured::erase(tx, &mut row, page)?,
        StageMatches::AudienceEvents(page) => audience::erase_events(tx, &mut row, target, page)?,
        StageMatches::Messages(page) => webhook_data::erase_messages(tx, announcer, &mut row, target, page)?,
        StageMatches::Deliveries(page) => webhook_data::erase_deliveries(tx, &mut row, target, page)?,
        StageMatches::RequestLogAhead => begin_requests(tx, &mut row, target)?,
        StageMatches::Requests(page) => erase_requests(tx, &mut row, target, page)?,
        StageMatches::Settled(emails) => erase_arrived(tx, &mut row, target, emails)?,
        StageMatches::StillPending => return Ok((StepResult::Waiting, row)),
    };
    match progress {
        StepResult::Done => {
            tx.delete(&ERASURES, &key)?;
        }
        StepResult::Waiting | StepResult::Logging => {}
        StepResult::More => tx.put(&ERASURES, &key, &row)?,
    }
    Ok((progress, row))
}

/// Reads a page of the emails that were accepted before the requests.
fn page_of_emails(tx: &impl Reads, after: EmailId, target: &ErasureTarget) -> Result<MatchPage<EmailId>, StoreError> {
    let team = target.team;
    let mut page = MatchPage { hits: Vec::new(), next: None };
    let mut seen = 0;
    tx.scan(&EMAILS, &(team, after), &(team, target.until()), Order::Ascending, |(_, id), email| {
        if id == after {
            return NEXT;
        }
        let addresses = &target.at(id);
        let email = skip_corrupt(email.decode(), format_args!("email {id}"))?;
        if email.is_some_and(|email| emails::mentions(&email, addresses))
            || events::email_events_mention(tx, id, addresses)?
            || delivery::attempts_hold(tx, id, addresses)?
        {
            page.hits.push(id);
        }
        seen += 1;
        if seen < EMAILS_MAX {
            return NEXT;
        }
        page.next = Some(id);
        STOP
    })?;
    Ok(page)
}

fn erase_emails(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    page: &MatchPage<EmailId>,
) -> Result<StepResult, StoreError> {
    let Stage::Emails { mut after } = row.stage else { return Ok(StepResult::More) };
    let mut chunks_left = CHUNKS_MAX;
    for id in &page.hits {
        match erase_email(tx, target, *id, &mut chunks_left)? {
            EmailErasure::Erased => {}
            EmailErasure::NotSettled => {
                row.had_pending = true;
                if row.pending_emails.len() < ON_THEIR_WAY_MAX {
                    row.pending_emails.push(*id);
                } else {
                    row.resume_after.get_or_insert(after);
                }
            }
            EmailErasure::Unfinished => {
                row.stage = Stage::Emails { after };
                return Ok(StepResult::More);
            }
        }
        after = *id;
    }
    row.stage = match page.next {
        Some(after) => Stage::Emails { after },
        None => {
            // Each of them was open to reports until it was come to, and those that have settled are open no
            // more: what came meanwhile is all there will be of it.
            audience::erase_derived_entries(tx, row, target)?;
            Stage::Captured { after: Id::MIN }
        }
    };
    Ok(StepResult::More)
}

/// Takes the addresses out of an email and of all that is kept under it. Where the email itself does
/// not read, they go from the rest.
fn erase_email(
    tx: &WriteTx<'_>,
    target: &ErasureTarget,
    id: EmailId,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let addresses = &target.at(id);
    let erased = emails::erase(tx, target.team, id, addresses, chunks_left);
    let erased = skip_corrupt(erased, format_args!("email {id}"))?.unwrap_or(EmailErasure::Erased);
    if erased == EmailErasure::Erased {
        events::erase_email_events(tx, id, addresses)?;
        delivery::erase_attempts(tx, id, addresses)?;
    }
    Ok(erased)
}

/// Fixes how far the log is gone through. Whoever asks has seen every request written that could have
/// read what the places before this one held.
fn begin_requests(tx: &WriteTx<'_>, row: &mut ErasureRow, target: &ErasureTarget) -> Result<StepResult, StoreError> {
    let newest = logs::newest(tx, target.team)?;
    let (Stage::RequestLog(span) | Stage::RecheckRequestLog(span)) = &mut row.stage else {
        return Ok(StepResult::More);
    };
    span.until = Some(newest.unwrap_or(LogId::MIN));
    Ok(StepResult::More)
}

fn erase_requests(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    page: &MatchPage<LogId>,
) -> Result<StepResult, StoreError> {
    for id in &page.hits {
        logs::remove(tx, target.team, *id)?;
    }
    let is_late = matches!(row.stage, Stage::RecheckRequestLog(_));
    let (Stage::RequestLog(span) | Stage::RecheckRequestLog(span)) = &mut row.stage else {
        return Ok(StepResult::More);
    };
    match page.next {
        Some(after) => span.after = after,
        None if !is_late && row.had_pending => row.stage = Stage::PendingEmails,
        None => return Ok(StepResult::Done),
    }
    Ok(StepResult::More)
}

/// Returns the emails that were waited for and have settled, or are gone.
fn arrived(tx: &impl Reads, row: &ErasureRow, target: &ErasureTarget) -> Result<StageMatches, StoreError> {
    let mut arrived = Vec::new();
    for id in &row.pending_emails {
        let email = skip_corrupt(tx.get(&EMAILS, &(target.team, *id)), format_args!("email {id}"))?.flatten();
        if email.is_none_or(|email| emails::is_settled(&email)) {
            arrived.push(*id);
        }
    }
    if arrived.is_empty() && !row.pending_emails.is_empty() {
        return Ok(StageMatches::StillPending);
    }
    arrived.truncate(EMAILS_MAX);
    Ok(StageMatches::Settled(arrived))
}

/// Takes the addresses out of emails that have settled at last, and out of what came of them.
fn erase_arrived(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    emails: &[EmailId],
) -> Result<StepResult, StoreError> {
    let mut chunks_left = CHUNKS_MAX;
    let mut done = Vec::new();
    for id in emails {
        if erase_email(tx, target, *id, &mut chunks_left)? != EmailErasure::Erased {
            break;
        }
        done.push(*id);
    }
    if !done.is_empty() {
        audience::erase_derived_entries(tx, row, target)?;
    }
    row.pending_emails.retain(|id| !done.contains(id));
    match row.resume_after {
        // There is room for as many again.
        Some(after) if row.pending_emails.len() <= ON_THEIR_WAY_MAX / 2 => {
            row.resume_after = None;
            row.stage = Stage::Emails { after };
        }
        None if row.pending_emails.is_empty() => row.stage = Stage::RecheckCaptured { after: Id::MIN },
        Some(_) | None => {}
    }
    Ok(StepResult::More)
}
