//! Sending of one email or a batch, with or without an idempotency key.
//!
//! Emails are prepared (`prepare.rs`) and accepted in one transaction (`accept.rs`). The response is sent
//! after the commit. A kill before the commit leaves nothing. After a kill after the commit, the queue
//! delivers the emails.

use std::fmt;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::accept::{AcceptError, AcceptTransaction, SuppressedItems, check};
use super::guard::{NeverPaused, SendingGuard, SendingPause};
use super::idempotency::{
    Idempotency, IdempotentRequest, IdempotentResponse, KeyConflict, Reservation, ReserveError, ReserveResult,
};
use super::model::SendEmail;
use super::prepare::{EmailChecks, PreparedEmail};
use crate::api_keys::Caller;
use crate::audit::{Actor, TeamActor};
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, EmailId, TeamId};
use crate::context::Context;
use crate::delivery::{DeliverOnly, QueueNotifier};
use crate::preferences::{LinkError, PreferenceLinks};
use crate::store::{ReadTx, StoreError, from_store_error};
use crate::suppressions::SuppressionOrigin;

/// Failure to accept an email.
#[derive(Debug)]
pub enum SendError {
    /// New sends of the team are refused for some time.
    SendingPaused(SendingPause),
    /// The team has no verified domain of this name.
    DomainNotVerified(String),
    /// The key is scoped to another domain.
    KeyOfAnotherDomain,
    /// The team has no such topic.
    TopicNotFound,
    /// The unsubscribe link of an email under a topic cannot be created.
    Link(LinkError),
    /// Every `to` recipient is suppressed or opted out: the blocked recipients.
    AllRecipientsSuppressed(Vec<BlockedRecipient>),
    /// The idempotency key conflicts with another request.
    Key(KeyConflict),
    Store(StoreError),
}

from_store_error!(SendError);

impl From<ReserveError> for SendError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Conflict(conflict) => Self::Key(conflict),
            ReserveError::Store(error) => Self::Store(error),
        }
    }
}

/// A recipient that an email is not sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedRecipient {
    /// The bare address.
    pub address: String,
    pub reason: BlockReason,
}

/// Reason why a recipient is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockReason {
    /// The address is on the suppression list, with this origin.
    Suppressed(SuppressionOrigin),
    /// The recipient opted out of the topic or of all marketing email, or the default of the topic is an opt-out.
    OptedOut,
    /// The address is simulated as suppressed.
    Simulated,
}

impl fmt::Display for BlockedRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, reason } = self;
        match reason {
            BlockReason::Suppressed(origin) => write!(f, "{address} is suppressed ({})", origin.as_str()),
            BlockReason::OptedOut => write!(f, "{address} does not receive emails under the topic"),
            BlockReason::Simulated => write!(f, "{address} is simulated as suppressed"),
        }
    }
}

/// Failure to accept one email of a batch.
#[derive(Debug)]
pub struct SendBatchError {
    /// Index of the email in the request, from 0.
    pub index: u32,
    pub error: SendError,
}

/// The emails of one request.
#[derive(Debug)]
pub struct SendBatch {
    pub emails: Vec<SendEmail>,
    /// Index in the request of each email.
    pub indexes: Vec<u32>,
    /// The items that a permissive batch skips: index and message. They are stored with the response, for replays.
    pub refused: Vec<(u32, String)>,
    /// Effect of an email whose recipients are all suppressed.
    pub suppressed: SuppressedItems,
    /// Whether the emails are accepted while the sending of the team is paused.
    pub is_exempt: bool,
}

impl SendBatch {
    /// Returns the request of one email.
    pub fn of(email: SendEmail) -> Self {
        let suppressed = SuppressedItems::RefuseAll;
        Self { emails: vec![email], indexes: vec![0], refused: Vec::new(), suppressed, is_exempt: false }
    }
}

/// The sender of emails: an API key, a user of the dashboard, the command line, or the server.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    pub team: TeamId,
    /// Actor of the entries of the audit log.
    pub actor: Actor,
    /// API key, or the id of a user in its place; `None` for the command line and the server.
    pub key: Option<ApiKeyId>,
    /// The only domain that can be sent from; `None` for all domains.
    pub domain: Option<DomainId>,
}

impl Sender {
    /// Returns whether the sender may send and change emails of a domain.
    pub(super) fn may_use(self, domain: DomainId) -> bool {
        self.domain.is_none_or(|scope| scope == domain)
    }

    /// Returns the response to an earlier request with the same idempotency key.
    ///
    /// # Errors
    /// [`SendError::KeyOfAnotherDomain`] if that request sent from a domain that the sender may not use.
    pub(super) fn replay(self, response: IdempotentResponse) -> Result<IdempotentResponse, SendError> {
        let may_read = response.domains.iter().all(|domain| self.may_use(*domain));
        if may_read { Ok(response) } else { Err(SendError::KeyOfAnotherDomain) }
    }
}

impl From<Caller> for Sender {
    fn from(caller: Caller) -> Self {
        let TeamActor { team, actor } = caller.into();
        Self { team, actor, key: Some(caller.key), domain: caller.domain }
    }
}

/// Use cases of emails.
pub struct Emails {
    pub(super) context: Context,
    pub(super) notifier: QueueNotifier,
    idempotency: Arc<Idempotency>,
    tasks: TaskTracker,
    links: PreferenceLinks,
    deliver_only: DeliverOnly,
    pub(super) guard: Arc<dyn SendingGuard>,
}

impl Emails {
    /// Creates the use cases. No send is paused.
    pub fn new(
        context: Context,
        notifier: QueueNotifier,
        idempotency: Arc<Idempotency>,
        tasks: TaskTracker,
        links: PreferenceLinks,
    ) -> Self {
        let (deliver_only, guard) = (DeliverOnly::default(), Arc::new(NeverPaused));
        Self { context, notifier, idempotency, tasks, links, deliver_only, guard }
    }

    /// Sets the recipients that are delivered to.
    #[must_use]
    pub fn delivering_only(self, deliver_only: DeliverOnly) -> Self {
        Self { deliver_only, ..self }
    }

    /// Sets the guard, which can pause the sending of a team.
    #[must_use]
    pub fn guarded_by(self, guard: Arc<dyn SendingGuard>) -> Self {
        Self { guard, ..self }
    }

    /// Returns the current time, which relative dates are based on.
    pub fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Reserves the key of a request, or returns the response to an earlier request with the same key and payload. Call
    /// it before the rules are checked, because the current state may break them for a repeat. Dropping the reservation
    /// releases the key.
    ///
    /// # Errors
    /// - [`SendError::Key`] if the key was used with another payload, or its first request is in progress.
    /// - [`SendError::KeyOfAnotherDomain`] if the earlier request sent from another domain than the API key's.
    /// - [`SendError::Store`].
    pub async fn reserve(
        &self,
        sender: Sender,
        request: Option<&IdempotentRequest>,
    ) -> Result<ReserveResult, SendError> {
        let Some(request) = request else { return Ok(ReserveResult::First(None)) };
        match self.idempotency.reserve(sender.team, request).await? {
            ReserveResult::Replay(response) => Ok(ReserveResult::Replay(sender.replay(response)?)),
            first @ ReserveResult::First(_) => Ok(first),
        }
    }

    /// Checks emails against the store as their acceptance does, and returns each with its refusal. For emails whose
    /// completion is expensive: the acceptance checks them again.
    ///
    /// # Errors
    /// [`SendError::SendingPaused`]; [`SendError::Store`].
    pub(super) async fn check<E: AsRef<SendEmail> + Send + 'static>(
        &self,
        sender: Sender,
        emails: Vec<E>,
    ) -> Result<Vec<(E, Option<SendError>)>, SendError> {
        let (links, guard) = (self.links.clone(), Arc::clone(&self.guard));
        let read = move |tx: &ReadTx| {
            if let Some(pause) = guard.find_sending_pause(tx, sender.team)? {
                return Err(SendError::SendingPaused(pause));
            }
            let checked = |email: E| {
                let checks = EmailChecks::of(&links, email.as_ref());
                let address = |index: usize| email.as_ref().recipients[index].mailbox.address().to_string();
                match check(tx, sender, &checks, address) {
                    Ok(_) => Ok((email, None)),
                    Err(error @ SendError::Store(_)) => Err(error),
                    Err(error) => Ok((email, Some(error))),
                }
            };
            emails.into_iter().map(checked).collect()
        };
        self.context.store.read(read).await
    }

    /// Accepts one email and returns its id.
    ///
    /// # Errors
    /// [`SendError`]; nothing is stored.
    pub async fn send(
        &self,
        sender: Sender,
        email: SendEmail,
        request: Option<IdempotentRequest>,
    ) -> Result<EmailId, SendError> {
        self.send_batch_of_one(sender, SendBatch::of(email), request).await
    }

    /// Accepts one email even while the sending of the team is paused. Such an email is a notice of this server, or a
    /// test email to users of the team.
    ///
    /// # Errors
    /// [`SendError`]; nothing is stored.
    pub async fn send_exempt(
        &self,
        sender: Sender,
        email: SendEmail,
        request: Option<IdempotentRequest>,
    ) -> Result<EmailId, SendError> {
        self.send_batch_of_one(sender, SendBatch { is_exempt: true, ..SendBatch::of(email) }, request).await
    }

    async fn send_batch_of_one(
        &self,
        sender: Sender,
        batch: SendBatch,
        request: Option<IdempotentRequest>,
    ) -> Result<EmailId, SendError> {
        let response = match self.reserve(sender, request.as_ref()).await? {
            ReserveResult::Replay(response) => response,
            ReserveResult::First(reservation) => {
                self.send_all(sender, batch, reservation).await.map_err(|error| error.error)?
            }
        };
        Ok(response.emails.first().copied().expect("one email was accepted"))
    }

    /// Accepts all emails or none. A permissive batch skips the emails whose recipients are all suppressed. If another
    /// process has accepted a request with the same key meanwhile, returns its response.
    ///
    /// # Errors
    /// [`SendBatchError`] of the first rejected email; nothing is stored.
    pub async fn send_all(
        &self,
        sender: Sender,
        batch: SendBatch,
        reservation: Option<Reservation>,
    ) -> Result<IdempotentResponse, SendBatchError> {
        let batch_error = |error: SendError| SendBatchError { index: 0, error };
        // If the client disconnects, the future of the request is dropped. The key must stay reserved until the commit,
        // and the queue must be notified after it, so that both run in a separate task.
        let this = self.clone_for_task();
        let accepted = self.tasks.spawn(async move { this.accept(sender, batch, reservation.as_ref()).await });
        accepted.await.unwrap_or_else(|_| Err(batch_error(SendError::Store(StoreError::Panicked))))
    }

    fn clone_for_task(&self) -> Self {
        Self {
            context: self.context.clone(),
            notifier: self.notifier.clone(),
            idempotency: Arc::clone(&self.idempotency),
            tasks: self.tasks.clone(),
            links: self.links.clone(),
            deliver_only: self.deliver_only.clone(),
            guard: Arc::clone(&self.guard),
        }
    }

    async fn accept(
        &self,
        sender: Sender,
        batch: SendBatch,
        reservation: Option<&Reservation>,
    ) -> Result<IdempotentResponse, SendBatchError> {
        let now = self.context.now_ms();
        let SendBatch { emails, indexes, refused, suppressed, is_exempt } = batch;
        let emails = self.prepare(sender, emails, now).await;
        let key = reservation.map(Reservation::claim);
        let bytes = emails.iter().map(PreparedEmail::bytes).sum();
        let context = self.context.clone();
        let deliver_only = self.deliver_only.clone();
        let guard = (!is_exempt).then(|| Arc::clone(&self.guard));
        let accept =
            AcceptTransaction { context, sender, now, emails, indexes, suppressed, refused, key, deliver_only, guard };
        let accepted = self.context.store.write_sized(bytes, move |tx| accept.apply(tx)).await;
        match accepted {
            Ok((response, queued)) => {
                self.notifier.groups_queued(queued);
                Ok(response)
            }
            Err(AcceptError::Item(error)) => Err(error),
            Err(AcceptError::Store(error)) => Err(SendBatchError { index: 0, error: error.into() }),
        }
    }

    async fn prepare(&self, sender: Sender, emails: Vec<SendEmail>, now: TimestampMs) -> Vec<PreparedEmail> {
        let bytes: usize = emails.iter().map(content_bytes).sum();
        let (context, links) = (self.context.clone(), self.links.clone());
        let prepare = move |email| PreparedEmail::new(&context, &links, sender, email, now);
        blocking::run_sized(bytes, move || emails.into_iter().map(prepare).collect()).await
    }
}

fn content_bytes(email: &SendEmail) -> usize {
    let parts = email.html.as_deref().map_or(0, str::len) + email.text.as_deref().map_or(0, str::len);
    parts + email.attachments.iter().map(|attachment| attachment.content().len()).sum::<usize>()
}
