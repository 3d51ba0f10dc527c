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
//! A place that is added to the store is added here: to the list, to [`look`], which only reads, and
//! to [`erase`], which changes what was found. The queue names emails by their ids, and the contact
//! goes with the request. What the team wrote down about something else can mention the address, and
//! outlasts it: a segment's filter, values and names of other contacts, a property's fallback, names
//! and descriptions; changing those would change what they say. An idempotency row can quote, for the
//! day it lives, the start of a tag that a permissive batch refused. `tests/tables.rs` says of every
//! table which of these it is.

use super::store::{ErasureKey, ErasureRow, LogSpan, Stage, Target};
use super::{audience, captured, told};
use crate::announcer::Announcer;
use crate::delivery;
use crate::emails::{self, EmailErasure};
use crate::events;
use crate::id::{CapturedId, EmailId, EventId, Id, LogId};
use crate::logs;
use crate::store::tables::{EMAILS, ERASURES};
use crate::store::{Keyring, NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
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
pub(super) enum Found {
    /// The suppression list is asked address by address.
    Suppressions,
    /// Emails that hold an address.
    Emails(Page<EmailId>),
    /// Messages to be removed.
    Captured(Page<CapturedId>),
    /// Events that hold an address.
    AudienceEvents(Page<EventId>),
    /// What webhooks deliver that holds an address.
    Messages(Page<EventId>),
    /// Deliveries whose answers hold an address.
    Deliveries(Page<DeliveryPlace>),
    /// The log of requests is next, and nothing of it has been read.
    RequestLogAhead,
    /// Requests that mention an address.
    Requests(Page<LogId>),
    /// Emails that were waited for and have settled.
    Arrived(Vec<EmailId>),
    /// Emails are waited for, and none of them has settled.
    Nothing,
}

/// A page of one place.
#[derive(Clone, Debug)]
pub(super) struct Page<I> {
    /// The rows that hold an address, in order.
    pub(super) hits: Vec<I>,
    /// Where the next page begins; none after the last.
    pub(super) next: Option<I>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
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
pub(super) fn look(tx: &impl Reads, keyring: &Keyring, row: &ErasureRow, target: &Target) -> Result<Found, StoreError> {
    match row.stage {
        Stage::Suppressions => Ok(Found::Suppressions),
        Stage::Emails { after } => page_of_emails(tx, after, target).map(Found::Emails),
        Stage::Captured { after } | Stage::LateCaptured { after } => {
            captured::page(tx, target, after).map(Found::Captured)
        }
        Stage::AudienceEvents { after } | Stage::LateAudienceEvents { after } => {
            audience::page_of_events(tx, row, target, after).map(Found::AudienceEvents)
        }
        Stage::OnTheirWay => arrived(tx, row, target),
        Stage::Messages { after } | Stage::LateMessages { after } => {
            told::messages(tx, row, target, after).map(Found::Messages)
        }
        Stage::Deliveries { after } | Stage::LateDeliveries { after } => {
            told::deliveries(tx, target, after).map(Found::Deliveries)
        }
        Stage::RequestLog(span) | Stage::LateRequestLog(span) => {
            let LogSpan { after, until: Some(until) } = span else { return Ok(Found::RequestLogAhead) };
            let span = (after, until);
            let (hits, next) = logs::page_that_mentions(tx, keyring, target.team, span, &target.all(), REQUESTS_MAX)?;
            Ok(Found::Requests(Page { hits, next }))
        }
    }
}

impl Found {
    /// Returns where a page that holds none of the addresses leads. Where it leads on within its place,
    /// there is nothing to write.
    pub(super) fn passed(&self, stage: Stage) -> Option<Stage> {
        match (self, stage) {
            (Self::Emails(page), Stage::Emails { .. }) => page.passed().map(|after| Stage::Emails { after }),
            (Self::Captured(page), Stage::Captured { .. }) => page.passed().map(|after| Stage::Captured { after }),
            (Self::Captured(page), Stage::LateCaptured { .. }) => {
                page.passed().map(|after| Stage::LateCaptured { after })
            }
            (Self::AudienceEvents(page), Stage::AudienceEvents { .. }) => {
                page.passed().map(|after| Stage::AudienceEvents { after })
            }
            (Self::AudienceEvents(page), Stage::LateAudienceEvents { .. }) => {
                page.passed().map(|after| Stage::LateAudienceEvents { after })
            }
            (Self::Messages(page), Stage::Messages { .. }) => page.passed().map(|after| Stage::Messages { after }),
            (Self::Messages(page), Stage::LateMessages { .. }) => {
                page.passed().map(|after| Stage::LateMessages { after })
            }
            (Self::Deliveries(page), Stage::Deliveries { .. }) => {
                page.passed().map(|after| Stage::Deliveries { after })
            }
            (Self::Deliveries(page), Stage::LateDeliveries { .. }) => {
                page.passed().map(|after| Stage::LateDeliveries { after })
            }
            (Self::Requests(page), Stage::RequestLog(span)) => {
                page.passed().map(|after| Stage::RequestLog(LogSpan { after, ..span }))
            }
            (Self::Requests(page), Stage::LateRequestLog(span)) => {
                page.passed().map(|after| Stage::LateRequestLog(LogSpan { after, ..span }))
            }
            _ => None,
        }
    }
}

impl<I: Copy> Page<I> {
    fn passed(&self) -> Option<I> {
        self.next.filter(|_| self.hits.is_empty())
    }
}

/// Takes the addresses out of what was found from `row` on, and writes down how far that brought the
/// erasure. Returns its row as it is then. `announcer` tells those who hold in memory what has changed.
pub(super) fn erase(
    tx: &WriteTx<'_>,
    announcer: &Announcer,
    key: ErasureKey,
    mut row: ErasureRow,
    target: &Target,
    found: &Found,
) -> Result<(Progress, ErasureRow), StoreError> {
    if !tx.contains(&ERASURES, &key)? {
        return Ok((Progress::Done, row));
    }
    let progress = match found {
        Found::Suppressions => {
            audience::erase_listed(tx, target)?;
            row.stage = Stage::Emails { after: Id::MIN };
            Progress::More
        }
        Found::Emails(page) => erase_emails(tx, &mut row, target, page)?,
        Found::Captured(page) => captured::erase(tx, &mut row, page)?,
        Found::AudienceEvents(page) => audience::erase_events(tx, &mut row, target, page)?,
        Found::Messages(page) => told::erase_messages(tx, announcer, &mut row, target, page)?,
        Found::Deliveries(page) => told::erase_deliveries(tx, &mut row, target, page)?,
        Found::RequestLogAhead => begin_requests(tx, &mut row, target)?,
        Found::Requests(page) => erase_requests(tx, &mut row, target, page)?,
        Found::Arrived(emails) => erase_arrived(tx, &mut row, target, emails)?,
        Found::Nothing => return Ok((Progress::Waiting, row)),
    };
    match progress {
        Progress::Done => {
            tx.delete(&ERASURES, &key)?;
        }
        Progress::Waiting | Progress::Logging => {}
        Progress::More => tx.put(&ERASURES, &key, &row)?,
    }
    Ok((progress, row))
}

/// Reads a page of the emails that were accepted before the requests.
fn page_of_emails(tx: &impl Reads, after: EmailId, target: &Target) -> Result<Page<EmailId>, StoreError> {
    let team = target.team;
    let mut page = Page { hits: Vec::new(), next: None };
    let mut seen = 0;
    tx.scan(&EMAILS, &(team, after), &(team, target.until()), Order::Ascending, |(_, id), email| {
        if id == after {
            return NEXT;
        }
        let addresses = &target.at(id);
        let email = skip_corrupt(email.decode(), format_args!("email {id}"))?;
        if email.is_some_and(|email| emails::holds(&email, addresses))
            || events::of_email_hold(tx, id, addresses)?
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
    target: &Target,
    page: &Page<EmailId>,
) -> Result<Progress, StoreError> {
    let Stage::Emails { mut after } = row.stage else { return Ok(Progress::More) };
    let mut chunks_left = CHUNKS_MAX;
    for id in &page.hits {
        match erase_email(tx, target, *id, &mut chunks_left)? {
            EmailErasure::Erased => {}
            EmailErasure::OnItsWay => {
                row.waited = true;
                if row.on_their_way.len() < ON_THEIR_WAY_MAX {
                    row.on_their_way.push(*id);
                } else {
                    row.rest_after.get_or_insert(after);
                }
            }
            EmailErasure::Unfinished => {
                row.stage = Stage::Emails { after };
                return Ok(Progress::More);
            }
        }
        after = *id;
    }
    row.stage = match page.next {
        Some(after) => Stage::Emails { after },
        None => {
            // Each of them was open to reports until it was come to, and those that have settled are open no
            // more: what came meanwhile is all there will be of it.
            audience::erase_brought(tx, row, target)?;
            Stage::Captured { after: Id::MIN }
        }
    };
    Ok(Progress::More)
}

/// Takes the addresses out of an email and of all that is kept under it. Where the email itself does
/// not read, they go from the rest.
fn erase_email(
    tx: &WriteTx<'_>,
    target: &Target,
    id: EmailId,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let addresses = &target.at(id);
    let erased = emails::erase(tx, target.team, id, addresses, chunks_left);
    let erased = skip_corrupt(erased, format_args!("email {id}"))?.unwrap_or(EmailErasure::Erased);
    if erased == EmailErasure::Erased {
        events::erase_of_email(tx, id, addresses)?;
        delivery::erase_attempts(tx, id, addresses)?;
    }
    Ok(erased)
}

/// Fixes how far the log is gone through. Whoever asks has seen every request written that could have
/// read what the places before this one held.
fn begin_requests(tx: &WriteTx<'_>, row: &mut ErasureRow, target: &Target) -> Result<Progress, StoreError> {
    let newest = logs::newest(tx, target.team)?;
    let (Stage::RequestLog(span) | Stage::LateRequestLog(span)) = &mut row.stage else { return Ok(Progress::More) };
    span.until = Some(newest.unwrap_or(LogId::MIN));
    Ok(Progress::More)
}

fn erase_requests(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &Target,
    page: &Page<LogId>,
) -> Result<Progress, StoreError> {
    for id in &page.hits {
        logs::remove(tx, target.team, *id)?;
    }
    let is_late = matches!(row.stage, Stage::LateRequestLog(_));
    let (Stage::RequestLog(span) | Stage::LateRequestLog(span)) = &mut row.stage else { return Ok(Progress::More) };
    match page.next {
        Some(after) => span.after = after,
        None if !is_late && row.waited => row.stage = Stage::OnTheirWay,
        None => return Ok(Progress::Done),
    }
    Ok(Progress::More)
}

/// Returns the emails that were waited for and have settled, or are gone.
fn arrived(tx: &impl Reads, row: &ErasureRow, target: &Target) -> Result<Found, StoreError> {
    let mut arrived = Vec::new();
    for id in &row.on_their_way {
        let email = skip_corrupt(tx.get(&EMAILS, &(target.team, *id)), format_args!("email {id}"))?.flatten();
        if email.is_none_or(|email| emails::is_settled(&email)) {
            arrived.push(*id);
        }
    }
    if arrived.is_empty() && !row.on_their_way.is_empty() {
        return Ok(Found::Nothing);
    }
    arrived.truncate(EMAILS_MAX);
    Ok(Found::Arrived(arrived))
}

/// Takes the addresses out of emails that have settled at last, and out of what came of them.
fn erase_arrived(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &Target,
    emails: &[EmailId],
) -> Result<Progress, StoreError> {
    let mut chunks_left = CHUNKS_MAX;
    let mut done = Vec::new();
    for id in emails {
        if erase_email(tx, target, *id, &mut chunks_left)? != EmailErasure::Erased {
            break;
        }
        done.push(*id);
    }
    if !done.is_empty() {
        audience::erase_brought(tx, row, target)?;
    }
    row.on_their_way.retain(|id| !done.contains(id));
    match row.rest_after {
        // There is room for as many again.
        Some(after) if row.on_their_way.len() <= ON_THEIR_WAY_MAX / 2 => {
            row.rest_after = None;
            row.stage = Stage::Emails { after };
        }
        None if row.on_their_way.is_empty() => row.stage = Stage::LateCaptured { after: Id::MIN },
        Some(_) | None => {}
    }
    Ok(Progress::More)
}
