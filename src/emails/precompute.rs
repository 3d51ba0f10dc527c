//! Encoding of rows ahead of their transaction.
//!
//! The rows of an email depend on its sender's domain and on the recipients that are blocked, which
//! only the transaction knows. Before it, the rows are encoded for the domain that the last accept
//! found and for all recipients. The transaction encodes them again if either differs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use super::accept::queue_rows;
use super::prepare::PreparedEmail;
use super::store::EmailRow;
use crate::base::id::TeamId;
use crate::base::sync;
use crate::context::Context;
use crate::delivery::{Due, DueRow};
use crate::domains::SenderDomainRow;
use crate::events::{Detail, EmailEventKind, Event, PreparedEvent};
use crate::store::{Encoded, NameHash, StoreError, WriteTx};
use crate::tables::{DUE, EMAILS};

/// Domains in the cache. When it is full, it is cleared.
const DOMAINS_MAX: usize = 1_000;

type Domains = HashMap<(TeamId, NameHash), SenderDomainRow>;

/// Sender domains that the last accepts found.
#[derive(Default)]
pub(super) struct SenderDomainCache(Mutex<Domains>);

impl SenderDomainCache {
    /// Encodes the rows of an email for the cached domain of its sender; `None` if none is cached.
    pub(super) fn precompute(&self, team: TeamId, email: &PreparedEmail) -> Option<EncodedEmail> {
        let domain = self.lock().get(&(team, email.sender_hash)).copied()?;
        Some(EncodedEmail::new(team, email, domain, &[]))
    }

    /// Returns the rows of an email for a domain, without the recipients of the `blocked` indexes.
    pub(super) fn rows<'e>(
        &self,
        team: TeamId,
        email: &'e PreparedEmail,
        domain: SenderDomainRow,
        blocked: &[usize],
    ) -> Cow<'e, EncodedEmail> {
        let precomputed = email.precomputed.as_ref().filter(|rows| rows.domain == domain);
        if precomputed.is_none() {
            let mut domains = self.lock();
            if domains.len() >= DOMAINS_MAX {
                domains.clear();
            }
            domains.insert((team, email.sender_hash), domain);
        }
        match precomputed {
            Some(rows) if blocked.is_empty() => Cow::Borrowed(rows),
            _ => Cow::Owned(EncodedEmail::new(team, email, domain, blocked)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Domains> {
        sync::lock(&self.0)
    }
}

/// The rows of an email except its content, encoded.
#[derive(Clone)]
pub(super) struct EncodedEmail {
    /// The sender's domain that the rows are for.
    domain: SenderDomainRow,
    row: Encoded<EmailRow>,
    groups: Vec<(Due, Encoded<DueRow>)>,
    /// `email.scheduled` of a scheduled email.
    scheduled: Option<PreparedEvent>,
}

impl EncodedEmail {
    fn new(team: TeamId, email: &PreparedEmail, domain: SenderDomainRow, blocked: &[usize]) -> Self {
        let (row, groups) = queue_rows(team, email, domain, blocked);
        let scheduled = email.event_data.as_ref().and_then(|data| {
            let recipients = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
            let event =
                Event { kind: EmailEventKind::Scheduled, at_ms: row.created_ms, recipients, detail: Detail::None };
            PreparedEvent::new(team, event, data)
        });
        let groups = groups.into_iter().map(|(due, row)| (due, Encoded::new(&row))).collect();
        Self { domain, row: Encoded::new(&row), groups, scheduled }
    }

    /// Stores the rows of `email`; returns its queued groups.
    pub(super) fn put(
        &self,
        tx: &WriteTx<'_>,
        context: &Context,
        team: TeamId,
        email: &PreparedEmail,
    ) -> Result<impl Iterator<Item = Due>, StoreError> {
        for (due, row) in &self.groups {
            tx.put_encoded(&DUE, &due.key.parts(), row)?;
        }
        tx.put_encoded(&EMAILS, &(team, email.id), &self.row)?;
        if let Some(event) = &self.scheduled {
            event.record(tx, context, team, email.id)?;
        }
        Ok(self.groups.iter().map(|(due, _)| due.clone()))
    }
}
