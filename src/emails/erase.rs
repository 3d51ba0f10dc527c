//! Erasure of addresses from emails.
//!
//! A recipient who waits for an attempt is dropped. The rest of an email is erased when no erased recipient is in
//! flight: a message in flight needs the address. If other recipients remain, each occurrence of the address in the
//! subject and in the content is replaced. Otherwise the content is deleted.
//!
//! The new content is prepared before the transaction, because it must be opened, compressed and sealed.

use std::collections::HashSet;

use super::event_recorder;
use super::model::{AttachmentInfo, EmailContent, LastEvent};
use super::queue_keys::queue_key;
use super::search;
use super::store::{
    BroadcastSend, EmailRow, ErasureMark, RecipientRow, RecipientState, StoredBlob, delete_content_rows, has_content,
    replace_content, seal_content, valid_content,
};
use super::stored::{find_valid_row, put_row};
use crate::base::address::{AddressSet, ERASED, StoredMailbox};
use crate::base::id::{EmailId, ErasureId, Id, TeamId};
use crate::context::Context;
use crate::delivery::{
    Class, DestinationHash, DueKey, DueRow, LaneKey, QUEUE_END, QueueKey, domain_of, released_destination, simulated,
};
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{Keyring, MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::{AddressHash, DUE};

/// Result of erasing addresses from an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmailErasure {
    /// The row contains none of the addresses. If all recipients are erased, the content is deleted.
    Erased,
    /// The row contains none of the addresses, but another recipient is in flight, and its message was composed before:
    /// its header can contain the addresses.
    ErasedInFlight,
    /// A recipient is in flight, or the sender is erased and the email is not settled. Only the waiting recipients have
    /// been dropped.
    NotSettled,
    /// The content has more chunks than one transaction may delete. The row is unchanged.
    Unfinished,
}

/// An email to erase addresses from, with its new content.
#[derive(Clone, Debug)]
pub(crate) struct PreparedErasure {
    pub(crate) id: EmailId,
    /// Whether no erased recipient was in flight, so that the content was searched.
    is_searched: bool,
    /// Content without the addresses; `None` if it contained none, or if no recipient remains.
    content: Option<StoredBlob>,
}

impl PreparedErasure {
    /// Returns the size of the new content on disk, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.content.as_ref().map_or(0, StoredBlob::len)
    }
}

/// Prepares the erasure of addresses from an email. Opens the content if other recipients remain. A missing or corrupt
/// row, and corrupt content, need no new content.
pub(crate) fn prepare_erasure(
    tx: &impl Reads,
    keyring: &Keyring,
    team: TeamId,
    id: EmailId,
    addresses: &AddressSet,
) -> Result<PreparedErasure, StoreError> {
    let mut prepared = PreparedErasure { id, is_searched: true, content: None };
    let Some(row) = find_valid_row(tx, team, id)? else { return Ok(prepared) };
    if !is_erasable(&row, addresses) {
        prepared.is_searched = false;
        return Ok(prepared);
    }
    if !row.recipients.iter().any(|recipient| remains(recipient, addresses)) {
        return Ok(prepared);
    }
    prepared.content = valid_content(tx, keyring, id)?
        .and_then(|content| content_without(content, addresses))
        .map(|content| seal_content(keyring, id, &content));
    Ok(prepared)
}

/// Returns the content without the addresses; `None` if it contains none of them.
fn content_without(content: EmailContent, addresses: &AddressSet) -> Option<EmailContent> {
    let EmailContent { mut html, mut text, mut headers } = content;
    let values = headers.iter_mut().map(|(_, value)| value);
    let mut is_changed = false;
    for part in html.iter_mut().chain(text.iter_mut()).chain(values) {
        if let Some(replaced) = addresses.replaced_in(part, ERASED) {
            *part = replaced;
            is_changed = true;
        }
    }
    is_changed.then_some(EmailContent { html, text, headers })
}

/// Scans up to `rows_max` queue rows after `after` for emails of the team, up to `last`, with a waiting recipient among
/// the addresses. Reads only the emails to the domains of the addresses.
pub(crate) fn match_queued(
    tx: &impl Reads,
    team: TeamId,
    (after, last): (QueueKey, EmailId),
    all: &AddressSet,
    addresses: impl Fn(EmailId) -> AddressSet,
    rows_max: usize,
) -> Result<MatchPage<QueueKey>, StoreError> {
    let destinations = destinations_of(all);
    let matches = |(destination, .., id, _): QueueKey, due: Option<DueRow>| {
        let is_candidate = destinations.contains(&destination) && due.is_some_and(|due| due.team == team);
        if !is_candidate || id > last {
            return Ok(false);
        }
        let Some(row) = find_valid_row(tx, team, id)? else { return Ok(false) };
        let addresses = addresses(id);
        Ok(row.recipients.iter().any(|recipient| is_waiting(recipient) && is_meant(&recipient.mailbox, &addresses)))
    };
    match_page(tx, &DUE, after, QUEUE_END, rows_max, matches)
}

/// Returns the hashes of all destinations in the queue that a recipient among the addresses can have.
fn destinations_of(addresses: &AddressSet) -> HashSet<DestinationHash> {
    let hash = |destination: &str| LaneKey::new(destination, Class::Transactional, Id::MIN).destination;
    let of_address = |address: &str| {
        let domain = domain_of(address);
        [hash(domain), hash(address), hash(&released_destination(domain))]
    };
    addresses.identities().flat_map(of_address).chain([hash(simulated::DESTINATION)]).collect()
}

fn is_meant(mailbox: &StoredMailbox, addresses: &AddressSet) -> bool {
    mailbox.address().is_some_and(|address| addresses.contains_address(address))
}

/// Returns the hashes of the recipients among the addresses.
fn meant_hashes(row: &EmailRow, addresses: &AddressSet) -> Vec<AddressHash> {
    let recipients = row.recipients.iter().filter_map(|recipient| recipient.mailbox.address());
    recipients.filter(|address| addresses.contains_address(address)).map(|address| address.identity_hash()).collect()
}

fn is_waiting(recipient: &RecipientRow) -> bool {
    matches!(recipient.state, RecipientState::Waiting { .. })
}

/// Returns whether a recipient keeps the email after the erasure.
fn remains(recipient: &RecipientRow, addresses: &AddressSet) -> bool {
    !recipient.mailbox.is_erased() && !is_meant(&recipient.mailbox, addresses)
}

/// Returns whether the addresses can be erased from an email after its waiting recipients have been dropped. The
/// messages of other recipients need the sender.
pub(crate) fn is_erasable(row: &EmailRow, addresses: &AddressSet) -> bool {
    let is_in_flight = |recipient: &RecipientRow| {
        recipient.state == RecipientState::InFlight && is_meant(&recipient.mailbox, addresses)
    };
    let needs_sender = |recipient: &RecipientRow| {
        recipient.state != RecipientState::Settled && !is_meant(&recipient.mailbox, addresses)
    };
    // The sender of a broadcast is not in this row.
    let is_sender_needed =
        row.broadcast.is_none() && is_meant(&row.from, addresses) && row.recipients.iter().any(needs_sender);
    !is_sender_needed && !row.recipients.iter().any(is_in_flight)
}

/// Returns whether a recipient of an email is in flight.
pub(crate) fn is_in_flight(row: &EmailRow) -> bool {
    row.recipients.iter().any(|recipient| recipient.state == RecipientState::InFlight)
}

/// Returns whether the row of an email contains one of the addresses.
pub(crate) fn mentions(row: &EmailRow, addresses: &AddressSet) -> bool {
    erased(row, addresses).is_some()
}

/// Erases addresses from an email and stores `erasure` in its row. Drops the waiting recipients. If no recipient
/// remains, deletes the content and the attachments as retention does, and cancels an email whose recipients have all
/// been canceled. Subtracts the deleted chunks from `chunks_left`, which limits them. A missing or corrupt row counts
/// as erased.
pub(crate) fn erase(
    tx: &WriteTx<'_>,
    context: &Context,
    (team, erasure): (TeamId, ErasureId),
    prepared: &PreparedErasure,
    addresses: &AddressSet,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let id = prepared.id;
    let Some(mut row) = find_valid_row(tx, team, id)? else { return Ok(EmailErasure::Erased) };
    let hashes = meant_hashes(&row, addresses);
    let dropped = drop_waiting(team, id, &mut row, addresses);
    // An attempt may have ended since the content was prepared. The next scan prepares it.
    if !prepared.is_searched || !is_erasable(&row, addresses) {
        if !dropped.is_empty() {
            delete_empty_groups(tx, &row, &dropped)?;
            row.erasure = Some(ErasureMark { id: erasure, is_searched: false });
            put_without(tx, context, team, id, &row, &hashes)?;
        }
        return Ok(EmailErasure::NotSettled);
    }
    let erased = erased(&row, addresses);
    let mut is_changed = erased.is_some() || !dropped.is_empty();
    let mut row = erased.unwrap_or(row);
    if is_changed {
        row.erasure = Some(ErasureMark { id: erasure, is_searched: true });
    } else if let Some(mark) = &mut row.erasure
        && !mark.is_searched
    {
        mark.is_searched = true;
        is_changed = true;
    }
    let has_recipient = row.recipients.iter().any(|recipient| !recipient.mailbox.is_erased());
    // The row is written after the content is deleted: until then, the next scan finds the email again.
    if !has_recipient && has_content(tx, id)? {
        *chunks_left = chunks_left.saturating_sub(delete_content_rows(tx, id, *chunks_left)?);
        if has_content(tx, id)? {
            return Ok(EmailErasure::Unfinished);
        }
    }
    if has_recipient
        && let Some(content) = &prepared.content
        && has_content(tx, id)?
    {
        replace_content(tx, id, content)?;
    }
    // An earlier transaction may have dropped the last recipient.
    let is_canceled = !has_recipient
        && row.last_event != LastEvent::Canceled
        && row.recipients.iter().all(|recipient| recipient.last_event == LastEvent::Canceled);
    if is_canceled {
        row.last_event.advance(LastEvent::Canceled);
        let recipients = row.recipients.iter().map(|recipient| recipient.mailbox.to_string()).collect();
        let event =
            Event { kind: EmailEventKind::Canceled, at_ms: context.now_ms(), recipients, detail: EventDetail::None };
        event_recorder::record(tx, context, team, id, &row, event)?;
    }
    delete_empty_groups(tx, &row, &dropped)?;
    if is_changed || is_canceled {
        put_without(tx, context, team, id, &row, &hashes)?;
    }
    Ok(if is_in_flight(&row) { EmailErasure::ErasedInFlight } else { EmailErasure::Erased })
}

/// Stores the row of an email without addresses, and removes them from the search index.
fn put_without(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
    hashes: &[AddressHash],
) -> Result<(), StoreError> {
    if row.broadcast.is_none() {
        search::forget_addresses(tx, team, id, hashes)?;
    }
    put_row(tx, team, id, row, context.now_ms())
}

/// Settles the waiting recipients among the addresses as canceled. Returns the queue key of the group of each.
fn drop_waiting(team: TeamId, id: EmailId, row: &mut EmailRow, addresses: &AddressSet) -> Vec<DueKey> {
    let mut dropped = Vec::new();
    for recipient in &mut row.recipients {
        if let RecipientState::Waiting { due_ms } = recipient.state
            && is_meant(&recipient.mailbox, addresses)
        {
            dropped.push(queue_key((team, id), row.broadcast.as_ref(), recipient, due_ms));
            recipient.state = RecipientState::Settled;
            recipient.last_event.advance(LastEvent::Canceled);
            recipient.mailbox = StoredMailbox::erased();
        }
    }
    if let (Some(send), false) = (&mut row.broadcast, dropped.is_empty()) {
        send.values.clear();
        ERASED.clone_into(&mut row.subject);
    }
    dropped
}

/// Deletes the queue rows of groups that have no waiting recipient any more.
fn delete_empty_groups(tx: &WriteTx<'_>, row: &EmailRow, groups: &[DueKey]) -> Result<(), StoreError> {
    for key in groups {
        if !row.recipients.iter().any(|recipient| recipient.group == key.group && is_waiting(recipient)) {
            tx.delete(&DUE, &key.parts())?;
        }
    }
    Ok(())
}

/// Returns the row without the addresses; `None` if it contains none of them.
fn erased(row: &EmailRow, addresses: &AddressSet) -> Option<EmailRow> {
    if let Some(send) = &row.broadcast {
        return erased_of_broadcast(row, send, addresses);
    }
    let is_meant = |mailbox: &StoredMailbox| is_meant(mailbox, addresses);
    let mention = |text: &str| addresses.is_mentioned_in(text);
    let EmailRow {
        created_ms: _,
        from,
        domain: _,
        key: _,
        recipients,
        reply_to,
        subject,
        // A tag cannot contain an `@`.
        tags: _,
        topic: _,
        template: _,
        scheduled_ms: _,
        attachments,
        has_headers: _,
        last_event: _,
        hidden: _,
        erasure: _,
        broadcast: _,
    } = row;
    let mentions_in_id = |info: &AttachmentInfo| info.content_id.as_deref().is_some_and(&mention);
    let is_clean = !is_meant(from)
        && !recipients.iter().any(|recipient| is_meant(&recipient.mailbox))
        && !reply_to.iter().any(is_meant)
        && !mention(subject)
        && !attachments.iter().any(|info| mention(&info.filename) || mentions_in_id(info));
    if is_clean {
        return None;
    }
    let mailbox = |it: &StoredMailbox| if is_meant(it) { StoredMailbox::erased() } else { it.clone() };
    let text = |text: &str| if mention(text) { ERASED.to_owned() } else { text.to_owned() };
    // The other recipients keep the rest of the subject.
    let has_other = recipients.iter().any(|recipient| remains(recipient, addresses));
    let without = || addresses.replaced_in(subject, ERASED).filter(|subject| !mention(subject));
    let subject = if has_other { without().unwrap_or_else(|| text(subject)) } else { text(subject) };
    Some(EmailRow {
        from: mailbox(from),
        recipients: recipients
            .iter()
            .map(|recipient| RecipientRow { mailbox: mailbox(&recipient.mailbox), ..recipient.clone() })
            .collect(),
        reply_to: reply_to.iter().map(mailbox).collect(),
        subject,
        attachments: attachments
            .iter()
            .map(|info| AttachmentInfo {
                filename: text(&info.filename),
                content_id: info.content_id.as_deref().map(text),
                ..info.clone()
            })
            .collect(),
        ..row.clone()
    })
}

/// Does the same as [`erased`], of an email of a broadcast. Only the recipient and the values are in its row: an email
/// of an erased recipient keeps no value.
fn erased_of_broadcast(row: &EmailRow, send: &BroadcastSend, addresses: &AddressSet) -> Option<EmailRow> {
    let is_recipient = row.recipients.iter().any(|recipient| is_meant(&recipient.mailbox, addresses));
    if !is_recipient && !send.values.iter().any(|(_, value)| addresses.is_mentioned_in(value)) {
        return None;
    }
    let mut row = row.clone();
    if is_recipient {
        row.recipients.iter_mut().for_each(|recipient| recipient.mailbox = StoredMailbox::erased());
        ERASED.clone_into(&mut row.subject);
    }
    if let Some(send) = &mut row.broadcast {
        for (_, value) in &mut send.values {
            if let Some(replaced) = addresses.replaced_in(value, ERASED) {
                *value = replaced;
            }
        }
        if is_recipient {
            send.values.clear();
        }
    }
    Some(row)
}
