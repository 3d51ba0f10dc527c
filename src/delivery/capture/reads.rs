//! Reads of the mailbox for one team.
//!
//! The mailbox belongs to the instance. A team reads the messages of its own emails. The messages of other programs
//! belong to the first team, and while an instance has one team, that team reads all messages.

use super::content::{CapturedContent, CapturedPart, inline_images, read_part};
use super::erase::{delete_message, match_messages};
use super::mailbox::{CaptureMailbox, read_message};
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::base::id::{CapturedId, TeamId};
use crate::delivery::rows::CapturedRow;
use crate::emails;
use crate::store::page::{Cursor, PageQuery};
use crate::store::{NEXT, Order, ReadTx, Reads, STOP, ScanLimit, StoreError, WriteTx};
use crate::tables::CAPTURED;
use crate::teams;

/// Rows of a page of a deletion.
const PAGE_ROWS: usize = 1_000;
/// Chunks that one commit deletes: 3.75 MiB.
const CHUNKS_MAX: usize = 64;

/// Reader of the mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailboxReader {
    /// The operator, who reads all messages.
    Operator,
    Team(TeamId),
}

/// Messages to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedFilter {
    /// Recipient: a whole address, or a part of one.
    pub to: Option<String>,
    /// Part of the subject.
    pub subject: Option<String>,
}

/// A captured message in a list.
#[derive(Clone, Debug)]
pub struct CapturedSummary {
    pub id: CapturedId,
    pub row: CapturedRow,
    pub from: String,
    pub subject: String,
}

/// A page of captured messages, newest first.
#[derive(Clone, Debug, Default)]
pub struct CapturedPage {
    pub rows: Vec<CapturedSummary>,
    /// Whether more messages can follow in the direction of the page.
    pub has_more: bool,
    /// Message from which the next page continues, if this one ended at its bound of rows or time.
    pub position: Option<CapturedId>,
}

/// Permissions of a reader as of one transaction.
struct View {
    team: Option<TeamId>,
    is_first: bool,
    is_only: bool,
}

impl View {
    fn of(tx: &impl Reads, reader: MailboxReader) -> Result<Self, StoreError> {
        let MailboxReader::Team(team) = reader else {
            return Ok(Self { team: None, is_first: true, is_only: true });
        };
        let oldest = teams::oldest(tx, 2)?;
        let is_first = oldest.first().is_some_and(|first| first.id == team);
        Ok(Self {
            team: Some(team),
            is_first,
            is_only: is_first && oldest.len() == 1 && teams::removed(tx)?.is_empty(),
        })
    }

    fn includes(&self, tx: &impl Reads, row: &CapturedRow) -> Result<bool, StoreError> {
        match (row.email, self.team) {
            (_, None) => Ok(true),
            (None, Some(_)) => Ok(self.is_first),
            (Some(email), Some(team)) => Ok(self.is_only || emails::has_row(tx, team, email)?),
        }
    }
}

impl CapturedFilter {
    /// Returns the filter with its texts in lower case and without spaces around them. An empty text filters nothing.
    pub fn normalized(self) -> Self {
        let text = |text: Option<String>| text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        Self { to: text(self.to), subject: text(self.subject) }
    }

    fn has_recipient(&self, row: &CapturedRow) -> bool {
        let Some(to) = &self.to else { return true };
        let is_address = to.find('@').is_some_and(|at| at > 0 && at + 1 < to.len());
        row.recipients.iter().map(|recipient| recipient.to_lowercase()).any(|recipient| match is_address {
            true => recipient == *to,
            false => recipient.contains(to.as_str()),
        })
    }

    fn has_subject(&self, subject: &str) -> bool {
        self.subject.as_ref().is_none_or(|part| subject.to_lowercase().contains(part.as_str()))
    }
}

impl MailboxReader {
    /// Returns an actor with the log that gets the entries of the reader.
    const fn actor(self, by: Actor) -> TeamActor {
        match self {
            Self::Operator => by.on_server(),
            Self::Team(team) => by.in_team(team),
        }
    }
}

impl CaptureMailbox {
    /// Returns a page of the messages that a filter selects. Ends at the bounds of [`ScanLimit::REQUEST`]. The cursor can
    /// be any id.
    pub async fn search(
        &self,
        reader: MailboxReader,
        filter: CapturedFilter,
        query: PageQuery<CapturedId>,
    ) -> Result<CapturedPage, StoreError> {
        let filter = filter.normalized();
        self.context.store.read(move |tx| search(tx, reader, &filter, query, CapturedId::MIN, ScanLimit::REQUEST)).await
    }

    /// Returns a message with its envelope, byte for byte as it was received; `None` if the reader has no such message.
    pub async fn read(
        &self,
        reader: MailboxReader,
        id: CapturedId,
    ) -> Result<Option<(CapturedSummary, Vec<u8>)>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let view = View::of(tx, reader)?;
                let Some((row, bytes)) = read_message(tx, &keyring, id)? else { return Ok(None) };
                if !view.includes(tx, &row)? {
                    return Ok(None);
                }
                Ok(Some((summary(tx, id, row)?, bytes)))
            })
            .await
    }

    /// Returns the envelope of a message; `None` if the reader has no such message.
    pub async fn find(&self, reader: MailboxReader, id: CapturedId) -> Result<Option<CapturedSummary>, StoreError> {
        let find = move |tx: &ReadTx| {
            let view = View::of(tx, reader)?;
            let Some(row) = tx.get(&CAPTURED, &(id,))? else { return Ok(None) };
            if view.includes(tx, &row)? { summary(tx, id, row).map(Some) } else { Ok(None) }
        };
        self.context.store.read(find).await
    }

    /// Returns the parts of a message; `None` if the reader has no such message.
    pub async fn content(
        &self,
        reader: MailboxReader,
        id: CapturedId,
    ) -> Result<Option<(CapturedSummary, CapturedContent)>, StoreError> {
        let Some((summary, bytes)) = self.read(reader, id).await? else { return Ok(None) };
        let content = blocking::run_sized(bytes.len(), move || CapturedContent::of(&bytes)).await;
        Ok(Some((summary, content)))
    }

    /// Returns the HTML or the text of a message with its inline images; `None` if the reader has no such message.
    pub async fn content_with_images(
        &self,
        reader: MailboxReader,
        id: CapturedId,
    ) -> Result<Option<(CapturedContent, Vec<(String, String, Vec<u8>)>)>, StoreError> {
        let Some((_, bytes)) = self.read(reader, id).await? else { return Ok(None) };
        let parse = move || (CapturedContent::of(&bytes), inline_images(&bytes));
        Ok(Some(blocking::run(parse).await))
    }

    /// Returns a part of a message with its bytes; `None` if the reader has no such message or part.
    pub async fn part(
        &self,
        reader: MailboxReader,
        id: CapturedId,
        index: usize,
    ) -> Result<Option<(CapturedPart, Vec<u8>)>, StoreError> {
        let Some((_, bytes)) = self.read(reader, id).await? else { return Ok(None) };
        Ok(blocking::run_sized(bytes.len(), move || read_part(&bytes, index)).await)
    }

    /// Deletes a message. Returns `false` if the reader has no such message.
    pub async fn delete(&self, reader: MailboxReader, by: Actor, id: CapturedId) -> Result<bool, StoreError> {
        if self.find(reader, id).await?.is_none() {
            return Ok(false);
        }
        let entry = AuditEntry::new(AuditAction::CapturedDeleted).of(AuditTargetKind::Captured, id);
        self.delete_messages(&[id], &mut Some((reader.actor(by), entry))).await?;
        Ok(true)
    }

    /// Deletes the messages of a reader that were stored before the call. Returns their number. The first commit has the
    /// entry of the audit log.
    ///
    /// # Errors
    /// [`StoreError`]. The messages deleted before the error stay deleted.
    pub async fn clear(&self, reader: MailboxReader, by: Actor) -> Result<usize, StoreError> {
        let until: CapturedId = self.context.id();
        let mut entry = Some((reader.actor(by), AuditEntry::new(AuditAction::CapturedDeleted)));
        let (mut after, mut deleted) = (CapturedId::MIN, 0);
        loop {
            let page = self.context.store.read(move |tx| {
                let view = View::of(tx, reader)?;
                match_messages(tx, after, PAGE_ROWS, |id, row| Ok(id < until && view.includes(tx, row)?))
            });
            let page = page.await?;
            self.delete_messages(&page.hits, &mut entry).await?;
            deleted += page.hits.len();
            match page.next.filter(|next| *next < until) {
                Some(next) => after = next,
                None => return Ok(deleted),
            }
        }
    }

    /// Deletes messages, as many in one commit as their chunks permit. The first commit takes the entry of the audit log.
    async fn delete_messages(
        &self,
        ids: &[CapturedId],
        entry: &mut Option<(TeamActor, AuditEntry)>,
    ) -> Result<(), StoreError> {
        let (now_ms, mut deleted) = (self.context.now_ms(), 0);
        while deleted < ids.len() {
            let next: Vec<CapturedId> = ids[deleted..].iter().copied().take(CHUNKS_MAX).collect();
            let (context, recorded) = (self.context.clone(), entry.take());
            let delete = move |tx: &WriteTx<'_>| {
                if let Some((by, entry)) = recorded.clone() {
                    audit::record(tx, &context, by, entry)?;
                }
                let (mut chunks_left, mut complete) = (CHUNKS_MAX, 0);
                for id in &next {
                    if !delete_message(tx, *id, &mut chunks_left, now_ms)? {
                        break;
                    }
                    complete += 1;
                }
                Ok(complete)
            };
            deleted += self.context.store.write_bulk::<_, StoreError>(delete).await?;
        }
        Ok(())
    }
}

/// Returns a page of the messages above `newer_than`.
pub(super) fn search(
    tx: &impl Reads,
    reader: MailboxReader,
    filter: &CapturedFilter,
    query: PageQuery<CapturedId>,
    newer_than: CapturedId,
    bounds: ScanLimit,
) -> Result<CapturedPage, StoreError> {
    let view = View::of(tx, reader)?;
    let (from, to, order, cursor) = match query.cursor {
        Cursor::Newest => (newer_than, CapturedId::MAX, Order::Descending, newer_than),
        Cursor::After(id) => (newer_than, id, Order::Descending, id),
        Cursor::Before(id) => (id.max(newer_than), CapturedId::MAX, Order::Ascending, id),
    };
    let (mut page, mut read, mut last, started) = (CapturedPage::default(), 0, None, monotonic());
    tx.scan(&CAPTURED, &(from,), &(to,), order, |(id,), stored| {
        if id == cursor || id == newer_than {
            return NEXT;
        }
        if bounds.is_reached(read, started) {
            // The next page continues after the last message that was read: this one was not.
            (page.has_more, page.position) = (true, last);
            return STOP;
        }
        read += 1;
        last = Some(id);
        let Some(row) = stored.valid() else { return NEXT };
        if !filter.has_recipient(&row) || !view.includes(tx, &row)? {
            return NEXT;
        }
        let summary = summary(tx, id, row)?;
        if !filter.has_subject(&summary.subject) {
            return NEXT;
        }
        if page.rows.len() == query.limit {
            page.has_more = true;
            return STOP;
        }
        page.rows.push(summary);
        NEXT
    })?;
    if order == Order::Ascending {
        page.rows.reverse();
    }
    Ok(page)
}

/// Returns the sender and the subject of a message. The rows of earlier versions have neither, and the email has both.
fn summary(tx: &impl Reads, id: CapturedId, row: CapturedRow) -> Result<CapturedSummary, StoreError> {
    let (mut from, mut subject) = (row.from.clone(), row.subject.clone());
    if let (None, Some(email)) = (&from, row.email) {
        for team in teams::list(tx)? {
            let Some(email) = emails::find_valid_row(tx, team.id, email)? else { continue };
            (from, subject) = (Some(email.from.to_string()), Some(email.subject));
            break;
        }
    }
    let from = from.unwrap_or_else(|| row.sender.clone());
    Ok(CapturedSummary { id, row, from, subject: subject.unwrap_or_default() })
}
