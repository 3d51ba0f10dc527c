//! The bytes of a block: consecutive emails with a fingerprint of each recipient. Pure.
//!
//! Each email is its id, the number of its recipients, and four bytes of the SHA-256 of each address. Two addresses can
//! share a fingerprint, so that a search reads the row of each email that it finds here.

use crate::base::id::EmailId;
use crate::tables::AddressHash;

/// Number of emails of a complete block.
pub(super) const BLOCK_EMAILS: usize = 256;
/// Number of recipients after which a block is complete with fewer emails.
pub(super) const BLOCK_RECIPIENTS: usize = 1_024;
/// Maximum size of a block with emails that were committed late. A larger one is divided.
pub(super) const BLOCK_BYTES_MAX: usize = 32 << 10;
const ID_BYTES: usize = 16;
const FINGERPRINT_BYTES: usize = 4;

/// Start of the hash of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    pub(super) fn of(hash: &AddressHash) -> Self {
        Self([hash[0], hash[1], hash[2], hash[3]])
    }
}

/// An email in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexedEmail<'a> {
    pub(super) id: EmailId,
    recipients: &'a [u8],
}

impl IndexedEmail<'_> {
    pub(super) fn has(&self, fingerprint: Fingerprint) -> bool {
        self.recipients.chunks_exact(FINGERPRINT_BYTES).any(|recipient| recipient == fingerprint.0)
    }

    pub(super) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        let bytes = self.recipients.chunks_exact(FINGERPRINT_BYTES);
        bytes.map(|bytes| Fingerprint([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// The emails of a block, in ascending order of their ids. Bytes after the last complete email are ignored.
#[derive(Clone, Debug)]
pub(super) struct BlockEmails<'a>(&'a [u8]);

impl<'a> BlockEmails<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for BlockEmails<'a> {
    type Item = IndexedEmail<'a>;

    fn next(&mut self) -> Option<IndexedEmail<'a>> {
        let (id, rest) = self.0.split_at_checked(ID_BYTES)?;
        let (count, rest) = rest.split_first()?;
        let (recipients, rest) = rest.split_at_checked(usize::from(*count) * FINGERPRINT_BYTES)?;
        self.0 = rest;
        Some(IndexedEmail { id: EmailId::from_bytes(id.try_into().ok()?), recipients })
    }
}

/// A block that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockWriter {
    bytes: Vec<u8>,
    emails: usize,
    recipients: usize,
}

impl BlockWriter {
    /// Adds an email, whose id is above those before it. An email has at most 50 recipients.
    pub(super) fn add(&mut self, id: EmailId, fingerprints: impl IntoIterator<Item = Fingerprint>) {
        self.bytes.extend_from_slice(id.as_bytes());
        let count_at = self.bytes.len();
        self.bytes.push(0);
        let mut count = 0_u8;
        for Fingerprint(bytes) in fingerprints.into_iter().take(usize::from(u8::MAX)) {
            self.bytes.extend_from_slice(&bytes);
            count += 1;
        }
        self.bytes[count_at] = count;
        self.emails += 1;
        self.recipients += usize::from(count);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.emails >= BLOCK_EMAILS || self.recipients >= BLOCK_RECIPIENTS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.emails == 0
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_block_has_the_emails_that_were_added(
            emails in prop::collection::vec((any::<[u8; 16]>(), prop::collection::vec(any::<[u8; 4]>(), 0..50)), 0..40)
        ) {
            let mut block = BlockWriter::default();
            for (id, recipients) in &emails {
                block.add(EmailId::from_bytes(*id), recipients.iter().copied().map(Fingerprint));
            }
            let bytes = block.finish();

            let read: Vec<([u8; 16], Vec<[u8; 4]>)> = BlockEmails::of(&bytes)
                .map(|email| (*email.id.as_bytes(), email.fingerprints().map(|Fingerprint(bytes)| bytes).collect()))
                .collect();
            prop_assert_eq!(&read, &emails);
            for (email, (_, recipients)) in BlockEmails::of(&bytes).zip(&emails) {
                prop_assert!(recipients.iter().all(|recipient| email.has(Fingerprint(*recipient))));
            }
        }

        #[test]
        fn no_bytes_panic_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = BlockEmails::of(&bytes).count();
        }
    }

    #[test]
    fn a_block_is_complete_by_its_emails_or_its_recipients() {
        let mut block = BlockWriter::default();
        for _ in 0..20 {
            block.add(EmailId::MIN, [Fingerprint([0; 4]); 50]);
        }
        assert!(!block.is_complete());
        block.add(EmailId::MIN, [Fingerprint([0; 4]); 50]);
        assert!(block.is_complete());
    }
}
