//! The blocks of the index and its positions in the store.

use serde::{Deserialize, Serialize};

use super::block::{BlockEmails, BlockWriter, Fingerprint};
use crate::base::address::{EmailAddress, Mailbox};
use crate::base::id::{EmailId, TeamId};
use crate::emails::store::EmailRow;
use crate::store::{Blob, Encoded, NEXT, Order, Reads, Row, STOP, StoreError, Stored, WriteTx, skip_corrupt};
use crate::tables::{EMAIL_SEARCH_BLOCKS, EMAIL_SEARCH_POSITIONS, EMAILS};
use crate::teams;

/// Blocks that one transaction deletes.
const DELETED_MAX: usize = 500;

/// Position of the index of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPositionRow {
    /// Last email in a block.
    pub indexed: EmailId,
    /// Email up to which no further email can be committed.
    pub verified: EmailId,
    /// Number of changes of emails that were not in a block yet.
    pub changes: u64,
}
impl Row for SearchPositionRow {}

impl Default for SearchPositionRow {
    fn default() -> Self {
        Self { indexed: EmailId::MIN, verified: EmailId::MIN, changes: 0 }
    }
}

/// A complete block, ready to be stored.
#[derive(Clone, Debug)]
pub(super) struct PreparedBlock {
    /// Position from which it was prepared.
    expected: Option<SearchPositionRow>,
    first: EmailId,
    pub(super) last: EmailId,
    bytes: Encoded<Blob>,
}

impl PreparedBlock {
    /// Returns the size on disk, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Returns the position of a team; `None` if it has no block, and no email of it was changed.
pub(super) fn position(tx: &impl Reads, team: TeamId) -> Result<Option<SearchPositionRow>, StoreError> {
    tx.get(&EMAIL_SEARCH_POSITIONS, &(team,))
}

/// Returns the newest email of a team up to `until`. Reads one key.
pub(super) fn newest(tx: &impl Reads, team: TeamId, until: EmailId) -> Result<Option<EmailId>, StoreError> {
    Ok(tx.first_key(&EMAILS, ((team, EmailId::MIN), (team, until)), Order::Descending)?.map(|(_, id)| id))
}

/// Prepares the next block of a team from its emails below `until`; `None` if there are not enough of them.
pub(super) fn prepare(tx: &impl Reads, team: TeamId, until: EmailId) -> Result<Option<PreparedBlock>, StoreError> {
    let expected = position(tx, team)?;
    let after = expected.unwrap_or_default().indexed;
    let (mut block, mut ends) = (BlockWriter::default(), None);
    tx.scan(&EMAILS, &(team, after), &(team, until), Order::Ascending, |(_, id), stored| {
        if id == after {
            return NEXT;
        }
        let recipients = skip_corrupt(stored_fingerprints(&stored), format_args!("email {id}"))?;
        block.add(id, recipients.unwrap_or_default());
        let (first, _) = ends.unwrap_or((id, id));
        ends = Some((first, id));
        if block.is_complete() { STOP } else { NEXT }
    })?;
    let Some((first, last)) = ends.filter(|_| block.is_complete()) else { return Ok(None) };
    Ok(Some(PreparedBlock { expected, first, last, bytes: Encoded::blob(block.finish()) }))
}

/// Stores a block, and `verified` as the position up to which late emails were looked for. Returns `false` if the position
/// has changed since, or the team was removed.
pub(super) fn put(
    tx: &WriteTx<'_>,
    team: TeamId,
    block: &PreparedBlock,
    verified: EmailId,
) -> Result<bool, StoreError> {
    if position(tx, team)? != block.expected || teams::find(tx, team)?.is_none() {
        return Ok(false);
    }
    let before = block.expected.unwrap_or_default();
    tx.put_encoded(&EMAIL_SEARCH_BLOCKS, &(team, block.first), &block.bytes)?;
    let verified = before.verified.max(verified);
    tx.put(&EMAIL_SEARCH_POSITIONS, &(team,), &SearchPositionRow { indexed: block.last, verified, ..before })?;
    Ok(true)
}

/// Returns the fingerprints of the recipients of an email that have not been erased.
pub(super) fn fingerprints(row: &EmailRow) -> impl Iterator<Item = Fingerprint> + '_ {
    row.recipients.iter().filter_map(|recipient| recipient.mailbox.address()).map(fingerprint)
}

/// Returns the [`fingerprints`] of a stored email without decoding its row, because each accepted email is read here.
fn stored_fingerprints(stored: &Stored<'_, EmailRow>) -> Result<Vec<Fingerprint>, StoreError> {
    let mut fingerprints = Vec::new();
    for recipient in stored.fields()?.field(b"recipients")?.items()? {
        let mailbox = recipient?.fields()?.field(b"mailbox")?.text()?;
        fingerprints.extend(Mailbox::from_stored(mailbox).map(|mailbox| fingerprint(mailbox.address())));
    }
    Ok(fingerprints)
}

fn fingerprint(address: &EmailAddress) -> Fingerprint {
    Fingerprint::of(&address.identity_hash())
}

/// Returns the block that an id belongs to: its first id and its bytes.
pub(super) fn block_of(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<(EmailId, Vec<u8>)>, StoreError> {
    let mut found = None;
    tx.scan(&EMAIL_SEARCH_BLOCKS, &(team, EmailId::MIN), &(team, id), Order::Descending, |(_, first), stored| {
        found = Some((first, stored.bytes().to_vec()));
        STOP
    })?;
    Ok(found)
}

/// Removes an email from the index, in the transaction that deletes its row.
pub(in crate::emails) fn forget_email(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<(), StoreError> {
    change(tx, team, id, |_| None)
}

/// Removes addresses of an email from the index, in the transaction that erases them from its row.
pub(in crate::emails) fn forget_addresses(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    hashes: &[crate::tables::AddressHash],
) -> Result<(), StoreError> {
    if hashes.is_empty() {
        return Ok(());
    }
    let erased: Vec<Fingerprint> = hashes.iter().map(Fingerprint::of).collect();
    change(tx, team, id, |recipients| Some(recipients.filter(|recipient| !erased.contains(recipient)).collect()))
}

/// Changes an email in its block. `change` returns the recipients that stay; `None` removes the email. An email that is in
/// no block invalidates the block that is being prepared.
fn change(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    change: impl Fn(&mut dyn Iterator<Item = Fingerprint>) -> Option<Vec<Fingerprint>>,
) -> Result<(), StoreError> {
    let position = match position(tx, team)? {
        Some(position) => position,
        // The worker that deletes the rows of a removed team must not find a new one.
        None if teams::is_removed(tx, team)? => return Ok(()),
        None => SearchPositionRow::default(),
    };
    if id > position.indexed {
        let changes = position.changes.wrapping_add(1);
        return tx.put(&EMAIL_SEARCH_POSITIONS, &(team,), &SearchPositionRow { changes, ..position });
    }
    let Some((first, bytes)) = block_of(tx, team, id)? else { return Ok(()) };
    let (mut block, mut is_changed) = (BlockWriter::default(), false);
    for email in BlockEmails::of(&bytes) {
        if email.id != id {
            block.add(email.id, email.fingerprints());
            continue;
        }
        is_changed = true;
        if let Some(left) = change(&mut email.fingerprints()) {
            block.add(email.id, left);
        }
    }
    if block.is_empty() {
        tx.delete(&EMAIL_SEARCH_BLOCKS, &(team, first))?;
    } else if is_changed {
        // The key stays, also if the first email is gone: it is the start of the range.
        tx.put_encoded(&EMAIL_SEARCH_BLOCKS, &(team, first), &Encoded::blob(block.finish()))?;
    }
    Ok(())
}

/// Deletes the blocks of the emails from `bound` on, and the block before them, so that they are written again. A
/// process calls it at its start, because its clock may show an earlier time than that of the process before it. Its
/// new emails then have lower ids. Returns whether more blocks are left.
pub(super) fn reset_from(tx: &WriteTx<'_>, team: TeamId, bound: EmailId) -> Result<bool, StoreError> {
    let Some(position) = position(tx, team)?.filter(|position| position.indexed > bound) else { return Ok(false) };
    let later = tx.delete_range(&EMAIL_SEARCH_BLOCKS, &(team, bound), &(team, EmailId::MAX), DELETED_MAX)?;
    if later == DELETED_MAX {
        return Ok(true);
    }
    let indexed = match block_of(tx, team, bound)? {
        Some((first, _)) => {
            tx.delete(&EMAIL_SEARCH_BLOCKS, &(team, first))?;
            id_before(first)
        }
        None => EmailId::MIN,
    };
    let verified = position.verified.min(indexed);
    let changes = position.changes.wrapping_add(1);
    tx.put(&EMAIL_SEARCH_POSITIONS, &(team,), &SearchPositionRow { indexed, verified, changes })?;
    Ok(false)
}

fn id_before(id: EmailId) -> EmailId {
    EmailId::from_bytes(u128::from_be_bytes(*id.as_bytes()).saturating_sub(1).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::ERASED;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::emails::LastEvent;
    use crate::emails::store::{RecipientRow, RecipientState};

    #[tokio::test]
    async fn a_stored_row_has_the_fingerprints_of_the_decoded_one() {
        let (_directory, context) = Context::temporary();
        let of = |mailbox: &&str| RecipientRow::example(mailbox, RecipientState::Settled, LastEvent::Delivered);
        let texts = ["Ada@example.net", "Ada <ada@example.org>", "\"Lovelace, Ada\" <\"a <b\"@example.com>", ERASED];
        let row = EmailRow::example(texts.iter().map(of).collect(), LastEvent::Delivered);
        let expected: Vec<Fingerprint> = fingerprints(&row).collect();
        context.commit(move |tx| tx.put(&EMAILS, &(TeamId::MIN, EmailId::MIN), &row)).await;

        let mut found = Vec::new();
        context.read(|tx| {
            tx.scan(&EMAILS, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, stored| {
                found = stored_fingerprints(&stored)?;
                STOP
            })
        });

        assert_eq!((expected.len(), found), (3, expected));
    }
}
