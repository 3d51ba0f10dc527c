//! Sending: one email or a batch, under an idempotency key or none.
//!
//! An email is prepared (`prepare.rs`), accepted in one transaction (`accept.rs`) and answered
//! after the commit; a kill before the commit leaves nothing, a kill after it leaves an email that
//! the queue delivers.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::accept::{AcceptError, AcceptTransaction};
use super::idempotency::{Idempotency, IdempotentRequest, IdempotentResponse, KeyConflict, Reservation, Reserved};
use super::model::SendEmail;
use super::precompute::SenderDomainCache;
use super::prepare::PreparedEmail;
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, EmailId, TeamId};
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::preferences::{LinkError, Links};
use crate::store::{StoreError, from_store_error};

/// Why an email is refused by what the store holds.
#[derive(Debug)]
pub enum SendError {
    /// The team has no verified domain of that name.
    DomainNotVerified(String),
    /// The key may send from another domain alone.
    KeyOfAnotherDomain,
    /// The team has no such topic.
    TopicNotFound,
    /// The unsubscribe links of an email under a topic cannot be made.
    Link(LinkError),
    /// No `to` recipient is left.
    AllRecipientsSuppressed,
    /// The idempotency key refuses the request.
    Key(KeyConflict),
    /// The store failed.
    Store(StoreError),
}

from_store_error!(SendError);

impl From<KeyConflict> for SendError {
    fn from(conflict: KeyConflict) -> Self {
        Self::Key(conflict)
    }
}

/// A refused email of a batch: its index in the request, and why.
#[derive(Debug)]
pub struct SendBatchError {
    /// The index, from 0.
    pub index: usize,
    /// Why.
    pub error: SendError,
}

/// Who sends: a key, or the command line for a team.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The team.
    pub team: TeamId,
    /// The key; none from the command line.
    pub key: Option<ApiKeyId>,
    /// The one domain it may send from.
    pub domain: Option<DomainId>,
}

impl From<Caller> for Sender {
    fn from(caller: Caller) -> Self {
        Self { team: caller.team, key: Some(caller.key), domain: caller.domain }
    }
}

/// The emails of the instance.
pub struct Emails {
    pub(super) context: Context,
    pub(super) bell: QueueNotifier,
    idempotency: Arc<Idempotency>,
    tasks: TaskTracker,
    links: Links,
    senders: Arc<SenderDomainCache>,
}

impl Emails {
    /// Wires the use cases of emails.
    pub fn new(
        context: Context,
        bell: QueueNotifier,
        idempotency: Arc<Idempotency>,
        tasks: TaskTracker,
        links: Links,
    ) -> Self {
        Self { context, bell, idempotency, tasks, links, senders: Arc::default() }
    }

    /// Returns the present time, which relative dates count from.
    pub fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Returns what was answered to an earlier request with the same key and payload: before any
    /// rule is looked at, because the rules may have come to say something else since.
    ///
    /// # Errors
    /// [`SendError::Key`] when the key came with another payload, or its first request still runs.
    pub async fn replay(
        &self,
        team: TeamId,
        request: Option<&IdempotentRequest>,
    ) -> Result<Option<IdempotentResponse>, SendError> {
        match request {
            Some(request) => Ok(self.idempotency.replay(team, request).await?),
            None => Ok(None),
        }
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
        let answer = self.send_all(sender, vec![email], Vec::new(), request).await.map_err(|error| error.error)?;
        Ok(answer.emails.first().copied().expect("one email was accepted, so that one id is answered"))
    }

    /// Accepts every email or none. `refused` are the items a permissive caller lets go, kept with
    /// the answer so that a replay repeats them.
    ///
    /// # Errors
    /// [`SendBatchError`] of the first refused email; nothing is stored.
    pub async fn send_all(
        &self,
        sender: Sender,
        emails: Vec<SendEmail>,
        refused: Vec<(u32, String)>,
        request: Option<IdempotentRequest>,
    ) -> Result<IdempotentResponse, SendBatchError> {
        let whole = |error: SendError| SendBatchError { index: 0, error };
        let mut reservation = None;
        if let Some(request) = request {
            let reserved = self.idempotency.reserve(sender.team, &request).await;
            match reserved.map_err(|conflict| whole(conflict.into()))? {
                Reserved::Replay(answer) => return Ok(answer),
                Reserved::First(first) => reservation = Some(first),
            }
        }
        // A caller who hangs up drops the request's future; the commit, the bell of the queue and
        // the settling of the key go on together in a task of their own.
        let this = self.clone_for_task();
        let accepted = self.tasks.spawn(async move {
            let (answer, reservation) = this.accept(sender, emails, refused, reservation).await?;
            if let Some(reservation) = reservation {
                reservation.settle(answer.clone());
            }
            Ok(answer)
        });
        accepted.await.unwrap_or_else(|_| Err(whole(SendError::Store(StoreError::Panicked))))
    }

    fn clone_for_task(&self) -> Self {
        Self {
            context: self.context.clone(),
            bell: self.bell.clone(),
            idempotency: Arc::clone(&self.idempotency),
            tasks: self.tasks.clone(),
            links: self.links.clone(),
            senders: Arc::clone(&self.senders),
        }
    }

    async fn accept(
        &self,
        sender: Sender,
        emails: Vec<SendEmail>,
        refused: Vec<(u32, String)>,
        reservation: Option<Reservation>,
    ) -> Result<(IdempotentResponse, Option<Reservation>), SendBatchError> {
        let now = self.context.now_ms();
        let emails = self.prepare(sender, emails, now).await;
        let answer = IdempotentResponse { emails: emails.iter().map(|email| email.id).collect(), refused };
        let key_row = reservation.as_ref().map(|reservation| reservation.row(self.context.id(), &answer));
        let bytes = emails.iter().map(PreparedEmail::bytes).sum();
        let (context, senders) = (self.context.clone(), Arc::clone(&self.senders));
        let accept = AcceptTransaction { context, senders, sender, now, emails, key_row };
        let accepted = self.context.store.write_sized(bytes, move |tx| accept.apply(tx)).await;
        match accepted {
            Ok(queued) => {
                self.bell.groups_queued(queued);
                Ok((answer, reservation))
            }
            Err(AcceptError::Item(error)) => Err(error),
            Err(AcceptError::Store(error)) => Err(SendBatchError { index: 0, error: error.into() }),
        }
    }

    async fn prepare(&self, sender: Sender, emails: Vec<SendEmail>, now: TimestampMs) -> Vec<PreparedEmail> {
        let bytes: usize = emails.iter().map(content_bytes).sum();
        let (context, links, senders) = (self.context.clone(), self.links.clone(), Arc::clone(&self.senders));
        let prepare = move |email| {
            let mut email = PreparedEmail::new(&context, &links, sender, email, now);
            email.precomputed = senders.precompute(sender.team, &email);
            email
        };
        blocking::run_sized(bytes, move || emails.into_iter().map(prepare).collect()).await
    }
}

fn content_bytes(email: &SendEmail) -> usize {
    let parts = email.html.as_deref().map_or(0, str::len) + email.text.as_deref().map_or(0, str::len);
    parts + email.attachments.iter().map(|attachment| attachment.content().len()).sum::<usize>()
}
