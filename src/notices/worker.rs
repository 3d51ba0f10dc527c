//! Tells notices: to the log, and to the owners by email.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::email_text::{self, NoticeEmail};
use super::result::{NotifyError, NotifyResult};
use super::store::NoticeRow;
use crate::base::address::{DomainName, Mailbox};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, NoticeId, TeamId};
use crate::context::Context;
use crate::emails::headers::CustomHeaders;
use crate::emails::{Emails, IdempotentRequest, Recipient, RecipientKind, SendEmail, SendError, Sender};
use crate::store::{NEXT, Order, Reads, StoreError};
use crate::tables::NOTICES;
use crate::users::User;
use crate::{domains, teams, users};

/// Notices that are read in one transaction.
pub(super) const NOTICES_MAX: usize = 100;
/// Owners of a team who are told.
const OWNERS_MAX: usize = 20;
/// How long a notice is worth telling.
const NOTICE_TTL_MS: i64 = 7 * DAY_MS;
/// How long it is remembered who has been written to: longer than a notice is tried.
const KEY_LIFETIME_MS: i64 = NOTICE_TTL_MS + DAY_MS;
/// How long a notice that could not be told waits before it is tried again; the last one repeats.
const WAITS_MS: [i64; 5] = [60_000, 5 * 60_000, 15 * 60_000, 60 * 60_000, 4 * 60 * 60_000];
/// Notices whose failures are remembered; one beyond them is tried once in every look.
pub(super) const FAILURES_MAX: usize = 10_000;

type Key = (TeamId, NoticeId);
/// A notice as it was found: a row that does not read is one that cannot be told.
type Found = (Key, Result<NoticeRow, StoreError>);

/// A notice that could not be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryState {
    pub(super) failures: usize,
    pub(super) due_ms: TimestampMs,
}

/// Who an email about a notice comes from: an address, and the team whose email it is.
struct SystemSender {
    from: Mailbox,
    team: TeamId,
}

/// The worker.
pub struct NoticeWorker {
    context: Context,
    emails: Arc<Emails>,
    from: Option<Mailbox>,
    troubles: Mutex<HashMap<NoticeId, RetryState>>,
}

impl NoticeWorker {
    /// Wires the worker. Without a sender, notices go to the log alone.
    pub fn new(context: Context, emails: Arc<Emails>, from: Option<Mailbox>) -> Self {
        Self { context, emails, from, troubles: Mutex::default() }
    }

    /// Tells notices as they are written down, and looks for them every `period` besides, until the
    /// stop.
    ///
    /// # Errors
    /// None: what fails is tried again.
    pub async fn run(self: Arc<Self>, period: Duration, stop: CancellationToken) -> Result<(), StoreError> {
        loop {
            let looked = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                looked = self.process_due() => looked,
            };
            match looked {
                Ok(()) => {}
                Err(StoreError::Closed) => return Ok(()),
                Err(error) => warn!(%error, "the store failed while owners were being told: {error}"),
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = self.context.event_bus.notices_notified() => {}
                () = tokio::time::sleep(period) => {}
            }
        }
    }

    /// Takes up each notice that is due once, the oldest first.
    pub(super) async fn process_due(&self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let due = self.due(after).await?;
            let is_last = due.len() < NOTICES_MAX;
            // One that neither goes nor rests must not come up again in this look, which would never end.
            after = due.last().map(|((_, id), _)| *id);
            for found in due {
                self.process(found).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Tells one notice and removes it, or has it wait. It may be told again: no email is sent twice.
    async fn process(&self, (key, row): Found) -> Result<(), StoreError> {
        let (team, id) = key;
        let what = match &row {
            Ok(row) => email_text::sentence(&row.notice, row.at_ms),
            Err(_) => "there is a notice to owners".to_owned(),
        };
        if self.context.now_ms() - id.created_ms() > NOTICE_TTL_MS {
            warn!(team.id = %team, notice.id = %id, "{what}; after a week, owners are not told of it any more");
            return self.remove(key).await;
        }
        let told = match row {
            Ok(row) => self.notify_owners(key, &row).await,
            Err(error) => Err(NotifyError::Row(error)),
        };
        match told {
            Ok(told) => {
                warn!(team.id = %team, notice.id = %id, "{what}; {told}");
                self.remove(key).await
            }
            Err(error) if error.is_closed() => Err(StoreError::Closed),
            Err(error) => {
                let minutes = self.schedule_retry(id) / 60_000;
                warn!(
                    team.id = %team, notice.id = %id,
                    "{what}; not every owner could be told by email, which is tried again in {minutes} min: {error}"
                );
                Ok(())
            }
        }
    }

    /// Writes to every owner who can be written to.
    ///
    /// # Errors
    /// The first [`NotifyError`]; the owners behind it have been written to all the same.
    pub(super) async fn notify_owners(&self, key: Key, row: &NoticeRow) -> Result<NotifyResult, NotifyError> {
        let Some(from) = self.from.clone() else { return Ok(NotifyResult::NoSender) };
        let domain = from.address().domain().clone();
        let looked_up = domain.clone();
        let (team, _) = key;
        let found = self.context.store.read::<_, StoreError>(move |tx| {
            let Some(sender) = team_of(tx, &looked_up)? else { return Ok(None) };
            let name = teams::find(tx, team)?.map(|team| team.name).unwrap_or_default();
            Ok(Some((sender, name, users::owners(tx, team, OWNERS_MAX)?)))
        });
        let Some((sender, name, owners)) = found.await.map_err(NotifyError::Store)? else {
            return Err(NotifyError::NoDomain(domain));
        };
        let letter = email_text::compose(&row.notice, row.at_ms, &name);
        let sender = SystemSender { from, team: sender };
        let (mut told, mut passed_over, mut failed) = (0, 0, None);
        for owner in owners {
            match self.write_to(&sender, key, &owner, letter.clone()).await {
                Ok(()) => told += 1,
                Err(NotifyError::Send(SendError::AllRecipientsSuppressed)) => passed_over += 1,
                Err(error) if error.is_closed() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => Ok(NotifyResult::Owners { told, suppressed: passed_over }),
            Some(error) => Err(error),
        }
    }

    async fn write_to(
        &self,
        sender: &SystemSender,
        (team, notice): Key,
        owner: &User,
        letter: NoticeEmail,
    ) -> Result<(), NotifyError> {
        let NoticeEmail { subject, text } = letter;
        let email = SendEmail {
            from: sender.from.clone(),
            recipients: vec![Recipient {
                kind: RecipientKind::To,
                mailbox: Mailbox::parse(&owner.email).map_err(NotifyError::Owner)?,
            }],
            reply_to: Vec::new(),
            subject,
            html: None,
            text: Some(text),
            headers: CustomHeaders::default(),
            attachments: Vec::new(),
            tags: Vec::new(),
            scheduled_ms: None,
            topic: None,
        };
        // The same notice to the same owner is the same request, even if its words or its sender have changed since.
        let request = IdempotentRequest::of_instance(team, &format!("notice/{notice}/{}", owner.id), KEY_LIFETIME_MS);
        let by = Sender { team: sender.team, key: None, domain: None };
        self.emails.send(by, email, Some(request)).await.map(drop).map_err(NotifyError::Send)
    }

    /// Returns the oldest notices of all teams that are due, of those younger than `after`.
    pub(super) async fn due(&self, after: Option<NoticeId>) -> Result<Vec<Found>, StoreError> {
        let now_ms = self.context.now_ms();
        let resting: HashMap<NoticeId, TimestampMs> =
            self.failures().iter().map(|(id, trouble)| (*id, trouble.due_ms)).collect();
        self.context
            .store
            .read(move |tx| {
                let mut oldest = BTreeMap::new();
                let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
                tx.scan(&NOTICES, &from, &to, Order::Ascending, |(team, id), row| {
                    let rests = resting.get(&id).is_some_and(|due_ms| *due_ms > now_ms);
                    if after.is_none_or(|after| id > after) && !rests {
                        oldest.insert(id, ((team, id), row.decode()));
                        if oldest.len() > NOTICES_MAX {
                            oldest.pop_last();
                        }
                    }
                    NEXT
                })?;
                Ok(oldest.into_values().collect())
            })
            .await
    }

    /// Has a notice wait until it is tried again; returns for how long, in milliseconds.
    fn schedule_retry(&self, id: NoticeId) -> i64 {
        let now_ms = self.context.now_ms();
        let mut troubles = self.failures();
        let failures = troubles.get(&id).map_or(0, |trouble| trouble.failures);
        let wait_ms = WAITS_MS[failures.min(WAITS_MS.len() - 1)];
        if troubles.len() < FAILURES_MAX || troubles.contains_key(&id) {
            troubles.insert(id, RetryState { failures: failures + 1, due_ms: now_ms + wait_ms });
        }
        wait_ms
    }

    async fn remove(&self, key: Key) -> Result<(), StoreError> {
        self.context.store.write_bulk::<_, StoreError>(move |tx| tx.delete(&NOTICES, &key).map(drop)).await?;
        let (_, id) = key;
        self.failures().remove(&id);
        Ok(())
    }

    pub(super) fn failures(&self) -> MutexGuard<'_, HashMap<NoticeId, RetryState>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the oldest team that has verified a domain.
fn team_of(tx: &impl Reads, domain: &DomainName) -> Result<Option<TeamId>, StoreError> {
    for team in teams::list(tx)? {
        if domains::find_sender(tx, team.id, domain.as_str())?.is_some_and(|domain| domain.verified) {
            return Ok(Some(team.id));
        }
    }
    Ok(None)
}
