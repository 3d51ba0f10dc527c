//! The worker: logs each notice and sends it to the owners by email.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::email_text::{self, NoticeEmail};
use super::result::{NotifyError, NotifyResult};
use super::store::NoticeRow;
use crate::audit::Actor;
use crate::base::address::{DomainName, Mailbox};
use crate::base::clock::DAY_MS;
use crate::base::id::{Id, NoticeId, TeamId};
use crate::base::sync;
use crate::context::Context;
use crate::emails::headers::CustomHeaders;
use crate::emails::{Emails, IdempotentRequest, Recipient, RecipientKind, SendEmail, SendError, Sender};
use crate::store::{NEXT, Order, Reads, StoreError};
use crate::tables::NOTICES;
use crate::users::User;
use crate::workers::repeat;
use crate::{domains, teams, users};

/// Notices read in one transaction.
pub(super) const NOTICES_MAX: usize = 100;
/// Owners of a team who are notified.
const OWNERS_MAX: usize = 20;
/// Time after which a notice is dropped.
const NOTICE_TTL_MS: i64 = 7 * DAY_MS;
/// Lifetime of the idempotency keys of notice emails: longer than a notice is retried.
const KEY_LIFETIME_MS: i64 = NOTICE_TTL_MS + DAY_MS;
/// Delays before the retries of a notice. The last delay repeats.
const RETRY_DELAYS_MS: [i64; 5] = [60_000, 5 * 60_000, 15 * 60_000, 60 * 60_000, 4 * 60 * 60_000];
/// Notices whose failures are kept in memory. Any further notice is retried in each pass.
pub(super) const FAILURES_MAX: usize = 10_000;

type NoticeKey = (TeamId, NoticeId);
/// Stored notice with its key; an error if the row is corrupt.
type StoredNotice = (NoticeKey, Result<NoticeRow, StoreError>);

/// Failures of a notice and the time of its next attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryState {
    pub(super) failures: usize,
    /// On the monotonic clock.
    pub(super) due_ms: i64,
}

/// Sender of notice emails: its address, and the team that owns the emails.
struct SystemSender {
    from: Mailbox,
    team: TeamId,
}

/// Worker that processes notices.
pub struct NoticeWorker {
    context: Context,
    emails: Arc<Emails>,
    from: Option<Mailbox>,
    failures: Mutex<HashMap<NoticeId, RetryState>>,
}

impl NoticeWorker {
    /// Creates the worker. Without a sender, notices are only logged.
    pub fn new(context: Context, emails: Arc<Emails>, from: Option<Mailbox>) -> Self {
        Self { context, emails, from, failures: Mutex::default() }
    }

    /// Processes notices when they are recorded and every `period`, until `stop`. Retries after a failure.
    ///
    /// # Errors
    /// Never fails; the signature is that of a supervised worker.
    pub async fn run(self: Arc<Self>, period: Duration, stop: CancellationToken) -> Result<(), StoreError> {
        let process = || async {
            match self.process_due().await {
                Err(error) if !matches!(error, StoreError::Closed) => {
                    warn!(%error, "could not process notices: {error}");
                    Ok(())
                }
                processed => processed,
            }
        };
        // The only error left means that the store is closed.
        repeat(stop, process, || self.context.event_bus.notices().notified_within(period)).await.or(Ok(()))
    }

    /// Processes each due notice once, oldest first.
    pub(super) async fn process_due(&self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let due = self.due(after).await?;
            let is_last = due.len() < NOTICES_MAX;
            // A notice that fails without a retry time must not repeat in this pass, or the pass would not end.
            after = due.last().map(|((_, id), _)| *id);
            for notice in due {
                self.process(notice).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Processes one notice and deletes it, or schedules a retry. A retry sends no email twice.
    async fn process(&self, (key, row): StoredNotice) -> Result<(), StoreError> {
        let (team, id) = key;
        let sentence = match &row {
            Ok(row) => email_text::sentence(&row.notice, row.at_ms),
            Err(_) => "a notice to owners is corrupt".to_owned(),
        };
        if self.context.now_ms() - id.created_ms() > NOTICE_TTL_MS {
            warn!(team.id = %team, notice.id = %id, "{sentence}; dropped the notice after a week");
            return self.remove(key).await;
        }
        let result = match row {
            Ok(row) => self.notify_owners(key, &row).await,
            Err(error) => Err(NotifyError::Row(error)),
        };
        match result {
            Ok(result) => {
                warn!(team.id = %team, notice.id = %id, "{sentence}; {result}");
                self.remove(key).await
            }
            Err(error) if error.is_closed() => Err(StoreError::Closed),
            Err(error) => {
                let minutes = self.schedule_retry(id) / 60_000;
                warn!(
                    team.id = %team, notice.id = %id,
                    "{sentence}; could not email every owner, retrying in {minutes} min: {error}"
                );
                Ok(())
            }
        }
    }

    /// Sends the notice to every owner.
    ///
    /// # Errors
    /// The first [`NotifyError`]. The remaining owners have been notified anyway.
    pub(super) async fn notify_owners(&self, key: NoticeKey, row: &NoticeRow) -> Result<NotifyResult, NotifyError> {
        let Some(from) = self.from.clone() else { return Ok(NotifyResult::NoSender) };
        let domain = from.address().domain().clone();
        let looked_up = domain.clone();
        let (team, _) = key;
        let found = self.context.store.read::<_, StoreError>(move |tx| {
            let Some(sender) = team_with_domain(tx, &looked_up)? else { return Ok(None) };
            let name = teams::find(tx, team)?.map(|team| team.name).unwrap_or_default();
            Ok(Some((sender, name, users::owners(tx, team, OWNERS_MAX)?)))
        });
        let Some((sender, name, owners)) = found.await.map_err(NotifyError::Store)? else {
            return Err(NotifyError::NoDomain(domain));
        };
        let email = email_text::compose(&row.notice, row.at_ms, &name);
        let sender = SystemSender { from, team: sender };
        let (mut notified, mut suppressed, mut first_error) = (0, 0, None);
        for owner in owners {
            match self.send_to(&sender, key, &owner, email.clone()).await {
                Ok(()) => notified += 1,
                Err(NotifyError::Send(SendError::AllRecipientsSuppressed(_))) => suppressed += 1,
                Err(error) if error.is_closed() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            None => Ok(NotifyResult::Owners { notified, suppressed }),
            Some(error) => Err(error),
        }
    }

    /// Sends the email of a notice to one owner, at most once for each notice and owner.
    async fn send_to(
        &self,
        sender: &SystemSender,
        (team, notice): NoticeKey,
        owner: &User,
        email: NoticeEmail,
    ) -> Result<(), NotifyError> {
        let NoticeEmail { subject, text } = email;
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
            template: None,
        };
        // One notice to one owner is one request, even if the text or the sender changes between attempts.
        let request = IdempotentRequest::of_instance(team, &format!("notice/{notice}/{}", owner.id), KEY_LIFETIME_MS);
        let by = Sender { team: sender.team, actor: Actor::Server, key: None, domain: None };
        self.emails.send_exempt(by, email, Some(request)).await.map(drop).map_err(NotifyError::Send)
    }

    /// Returns the oldest due notices of all teams that are newer than `after`.
    pub(super) async fn due(&self, after: Option<NoticeId>) -> Result<Vec<StoredNotice>, StoreError> {
        let now_ms = self.context.clock.elapsed_ms();
        let retries: HashMap<NoticeId, i64> = self.failures().iter().map(|(id, state)| (*id, state.due_ms)).collect();
        self.context
            .store
            .read(move |tx| {
                let mut oldest = BTreeMap::new();
                let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
                tx.scan(&NOTICES, &from, &to, Order::Ascending, |(team, id), row| {
                    let is_waiting = retries.get(&id).is_some_and(|due_ms| *due_ms > now_ms);
                    if after.is_none_or(|after| id > after) && !is_waiting {
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

    /// Schedules the next attempt; returns the delay in milliseconds.
    fn schedule_retry(&self, id: NoticeId) -> i64 {
        let now_ms = self.context.clock.elapsed_ms();
        let mut states = self.failures();
        let failures = states.get(&id).map_or(0, |state| state.failures);
        let delay_ms = RETRY_DELAYS_MS[failures.min(RETRY_DELAYS_MS.len() - 1)];
        if states.len() < FAILURES_MAX || states.contains_key(&id) {
            states.insert(id, RetryState { failures: failures + 1, due_ms: now_ms + delay_ms });
        }
        delay_ms
    }

    async fn remove(&self, key: NoticeKey) -> Result<(), StoreError> {
        self.context.store.write_bulk::<_, StoreError>(move |tx| tx.delete(&NOTICES, &key).map(drop)).await?;
        let (_, id) = key;
        self.failures().remove(&id);
        Ok(())
    }

    pub(super) fn failures(&self) -> MutexGuard<'_, HashMap<NoticeId, RetryState>> {
        sync::lock(&self.failures)
    }
}

/// Returns the oldest team that has verified a domain.
fn team_with_domain(tx: &impl Reads, domain: &DomainName) -> Result<Option<TeamId>, StoreError> {
    for team in teams::list(tx)? {
        if domains::find_sender(tx, team.id, domain.as_str())?.is_some_and(|domain| domain.verified) {
            return Ok(Some(team.id));
        }
    }
    Ok(None)
}
