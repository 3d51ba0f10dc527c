//! Accepting emails: every rule that needs the store, and one transaction for all that follows.
//!
//! Everything costly (encryption, compression) happens before the transaction. The transaction
//! reads the sender's domain, the topic and the suppressions, and writes the email, its content,
//! its place in the queue, its idempotency row and the usage count, or nothing. The answer leaves
//! after the commit; a kill before it leaves nothing, a kill after it leaves an email that the
//! queue delivers.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::idempotency::{Answer, Idempotency, IdempotentRequest, KeyConflict, Reservation, ReservationRow, Reserved};
use super::model::{AttachmentInfo, Content, LastEvent, Recipient, RecipientKind, SendEmail};
use super::store::{DeliveryState, EmailRow, RecipientRow, StoredBlob, seal_attachment, seal_content};
use crate::address::EmailAddress;
use crate::api_keys::Caller;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::delivery::{Class, Due, DueKey, DueRow, QueueBell, simulated};
use crate::domains::{self, SenderDomainRow};
use crate::events::{self, Detail, Event, Kind};
use crate::id::{ApiKeyId, DomainId, EmailId, TeamId};
use crate::preferences::{LinkError, Links, PairOrigin};
use crate::store::tables::{AddressHash, DUE, EMAILS};
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, SendKind};
use crate::topics::{self, SendTopic};
use crate::{blocking, contacts, usage};

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

impl From<StoreError> for SendError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<KeyConflict> for SendError {
    fn from(conflict: KeyConflict) -> Self {
        Self::Key(conflict)
    }
}

/// A refused email of a batch: its index in the request, and why.
#[derive(Debug)]
pub struct BatchError {
    /// The index, from 0.
    pub index: usize,
    /// Why.
    pub error: SendError,
}

/// Errors that a store command can answer.
#[derive(Debug)]
enum AcceptError {
    Item(BatchError),
    Store(StoreError),
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
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
    pub(super) bell: QueueBell,
    idempotency: Arc<Idempotency>,
    tasks: TaskTracker,
    links: Links,
}

impl Emails {
    /// Wires the use cases of emails.
    pub fn new(
        context: Context,
        bell: QueueBell,
        idempotency: Arc<Idempotency>,
        tasks: TaskTracker,
        links: Links,
    ) -> Self {
        Self { context, bell, idempotency, tasks, links }
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
    ) -> Result<Option<Answer>, SendError> {
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
    /// [`BatchError`] of the first refused email; nothing is stored.
    pub async fn send_all(
        &self,
        sender: Sender,
        emails: Vec<SendEmail>,
        refused: Vec<(u32, String)>,
        request: Option<IdempotentRequest>,
    ) -> Result<Answer, BatchError> {
        let whole = |error: SendError| BatchError { index: 0, error };
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
        }
    }

    async fn accept(
        &self,
        sender: Sender,
        emails: Vec<SendEmail>,
        refused: Vec<(u32, String)>,
        reservation: Option<Reservation>,
    ) -> Result<(Answer, Option<Reservation>), BatchError> {
        let now = self.context.now_ms();
        let prepared = self.prepare(sender, emails, now).await;
        let answer = Answer { emails: prepared.iter().map(|email| email.id).collect(), refused };
        let key_row = reservation.as_ref().map(|reservation| reservation.row(self.context.id(), &answer));
        let bytes = prepared.iter().map(Prepared::bytes).sum();
        let group = AcceptGroup { context: self.context.clone(), sender, now, prepared, key_row };
        let accepted = self.context.store.write_sized(bytes, move |tx| group.apply(tx)).await;
        match accepted {
            Ok(queued) => {
                self.bell.ring_for(queued);
                Ok((answer, reservation))
            }
            Err(AcceptError::Item(error)) => Err(error),
            Err(AcceptError::Store(error)) => Err(BatchError { index: 0, error: error.into() }),
        }
    }

    async fn prepare(&self, sender: Sender, emails: Vec<SendEmail>, now: TimestampMs) -> Vec<Prepared> {
        let bytes: usize = emails.iter().map(content_bytes).sum();
        let (context, links) = (self.context.clone(), self.links.clone());
        let prepare = move |email| Prepared::new(&context, &links, sender, email, now);
        blocking::run_sized(bytes, move || emails.into_iter().map(prepare).collect()).await
    }
}

fn content_bytes(email: &SendEmail) -> usize {
    let parts = email.html.as_deref().map_or(0, str::len) + email.text.as_deref().map_or(0, str::len);
    parts + email.attachments.iter().map(|attachment| attachment.content().len()).sum::<usize>()
}

/// Checks that an email under a topic can carry its unsubscribe link. One without is left as it is.
fn check_link(links: &Links, email: &SendEmail) -> Result<(), LinkError> {
    if email.topic.is_none() {
        return Ok(());
    }
    let pair = if email.headers.has_unsubscribe_pair() { PairOrigin::Caller } else { PairOrigin::Generated };
    links.check(email.html.as_deref(), email.text.as_deref(), pair)
}

/// An email ready for its transaction.
struct Prepared {
    id: EmailId,
    row: EmailRow,
    sender_domain: String,
    /// Whether its unsubscribe link can be made.
    link: Result<(), LinkError>,
    /// What suppressions and contacts are found by, in the order of the row's recipients.
    recipients: Vec<AddressHash>,
    content: StoredBlob,
    attachments: Vec<StoredBlob>,
}

impl Prepared {
    fn new(context: &Context, links: &Links, sender: Sender, email: SendEmail, now: TimestampMs) -> Self {
        let link = check_link(links, &email);
        let SendEmail {
            from, recipients, reply_to, subject, html, text, headers, attachments, tags, scheduled_ms, topic,
        } = email;
        let id = context.id();
        let scheduled_ms = scheduled_ms.filter(|due| *due > now);
        let last_event = if scheduled_ms.is_some() { LastEvent::Scheduled } else { LastEvent::Queued };
        let content = Content { html, text, headers: headers.into() };
        let stored = (0..)
            .zip(&attachments)
            .map(|(number, attachment)| seal_attachment(&context.keyring, id, number, attachment.content()))
            .collect();
        let infos = attachments
            .iter()
            .map(|attachment| AttachmentInfo {
                id: context.id(),
                filename: attachment.filename().to_owned(),
                size: attachment.content().len() as u64,
                content_type: attachment.content_type().to_owned(),
            })
            .collect();
        let due_ms = scheduled_ms.unwrap_or(now);
        let waiting = |Recipient { kind, mailbox }: &Recipient| RecipientRow {
            kind: *kind,
            mailbox: mailbox.to_string(),
            group: 0,
            state: DeliveryState::Waiting { due_ms },
            last_event,
        };
        let row = EmailRow {
            created_ms: now,
            from: from.to_string(),
            // Known in the transaction, where the domain is read.
            domain: DomainId::MIN,
            key: sender.key,
            recipients: recipients.iter().map(waiting).collect(),
            reply_to: reply_to.iter().map(ToString::to_string).collect(),
            subject,
            tags: tags.iter().map(|tag| (tag.name().to_owned(), tag.value().to_owned())).collect(),
            topic,
            scheduled_ms,
            attachments: infos,
            last_event,
            hidden: false,
        };
        Self {
            id,
            row,
            sender_domain: from.address().domain().as_str().to_owned(),
            link,
            recipients: recipients
                .iter()
                .map(|recipient| suppressions::hash(recipient.mailbox.address()))
                .collect(),
            content: seal_content(&context.keyring, id, &content),
            attachments: stored,
        }
    }

    fn bytes(&self) -> usize {
        512 + self.content.len() + self.attachments.iter().map(StoredBlob::len).sum::<usize>()
    }
}

/// The emails of one request and the transaction that accepts them.
struct AcceptGroup {
    context: Context,
    sender: Sender,
    now: TimestampMs,
    prepared: Vec<Prepared>,
    key_row: Option<ReservationRow>,
}

impl AcceptGroup {
    /// Returns what became due, for the delivery engine.
    fn apply(&self, tx: &WriteTx<'_>) -> Result<Vec<Due>, AcceptError> {
        // Every check of every email comes before the first write: a refusal costs nothing.
        let mut checked = Vec::with_capacity(self.prepared.len());
        for (index, email) in self.prepared.iter().enumerate() {
            let (row, domain) = self.check(tx, email).map_err(|error| match error {
                SendError::Store(error) => AcceptError::Store(error),
                error => AcceptError::Item(BatchError { index, error }),
            })?;
            checked.push((row, domain));
        }
        let mut queued = Vec::with_capacity(self.prepared.len());
        for (email, (row, domain)) in self.prepared.iter().zip(checked) {
            self.store(tx, email, row, domain, &mut queued)?;
        }
        if let Some(key_row) = &self.key_row {
            key_row.put(tx)?;
        }
        let emails = self.prepared.len() as u64;
        usage::count(tx, self.sender.team, self.now, emails)?;
        Ok(queued)
    }

    /// Checks an email against what the store holds; returns its row without the recipients that
    /// may not be written to, and its sender's domain.
    fn check(&self, tx: &WriteTx<'_>, email: &Prepared) -> Result<(EmailRow, SenderDomainRow), SendError> {
        let team = self.sender.team;
        let domain = domains::find_sender(tx, team, &email.sender_domain)?
            .filter(|domain| domain.verified)
            .ok_or_else(|| SendError::DomainNotVerified(email.sender_domain.clone()))?;
        if self.sender.domain.is_some_and(|scope| scope != domain.id) {
            return Err(SendError::KeyOfAnotherDomain);
        }
        let topic = match email.row.topic {
            Some(id) => Some(topics::find_for_send(tx, team, id)?.ok_or(SendError::TopicNotFound)?),
            None => None,
        };
        email.link.clone().map_err(SendError::Link)?;
        let mut row = email.row.clone();
        row.domain = domain.id;
        row.recipients.clear();
        for (recipient, hash) in email.row.recipients.iter().zip(&email.recipients) {
            if self.may_receive(tx, hash, bare(&recipient.mailbox), topic)? {
                row.recipients.push(recipient.clone());
            }
        }
        if !row.recipients.iter().any(|recipient| recipient.kind == RecipientKind::To) {
            return Err(SendError::AllRecipientsSuppressed);
        }
        Ok((row, domain))
    }

    fn may_receive(
        &self,
        tx: &WriteTx<'_>,
        hash: &AddressHash,
        address: &str,
        topic: Option<SendTopic>,
    ) -> Result<bool, StoreError> {
        if simulated::outcome(address) == Some(simulated::Outcome::Suppressed) {
            return Ok(false);
        }
        may_write_to(tx, self.sender.team, hash, topic)
    }

    fn store(
        &self,
        tx: &WriteTx<'_>,
        email: &Prepared,
        mut row: EmailRow,
        domain: SenderDomainRow,
        queued: &mut Vec<Due>,
    ) -> Result<(), StoreError> {
        let team = self.sender.team;
        let due_ms = row.scheduled_ms.unwrap_or(self.now);
        for (group, destination) in assign_groups(&mut row, domain) {
            let key = DueKey { due_ms, class: Class::Transactional, email: email.id, group };
            let due = DueRow::fresh(team, destination, due_ms);
            tx.put(&DUE, &key.parts(), &due)?;
            queued.push(Due::new(key, &due));
        }
        tx.put(&EMAILS, &(team, email.id), &row)?;
        email.content.put_content(tx, email.id)?;
        for (number, attachment) in (0..).zip(&email.attachments) {
            attachment.put_attachment(tx, email.id, number)?;
        }
        if row.last_event == LastEvent::Scheduled {
            let recipients = row.recipients.iter().map(|recipient| bare(&recipient.mailbox).to_owned()).collect();
            let event = Event { kind: Kind::Scheduled, at_ms: self.now, recipients, detail: Detail::None };
            events::record(tx, self.context.id(), team, email.id, event)?;
        }
        Ok(())
    }
}

/// Returns whether the team may write to an address: it is not suppressed, and has not opted out.
fn may_write_to(
    tx: &WriteTx<'_>,
    team: TeamId,
    hash: &AddressHash,
    topic: Option<SendTopic>,
) -> Result<bool, StoreError> {
    let kind = if topic.is_some() { SendKind::Topic } else { SendKind::Transactional };
    if suppressions::blocks(tx, team, hash, kind)? {
        return Ok(false);
    }
    match topic {
        Some(topic) => contacts::receives_topic(tx, team, hash, topic),
        None => Ok(true),
    }
}

/// Returns those of an email's recipients (indexes into its row) whom the team may still write to.
/// A topic that has been deleted meanwhile asks nobody any more.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn still_wanted(
    tx: &WriteTx<'_>,
    team: TeamId,
    row: &EmailRow,
    recipients: &[usize],
) -> Result<Vec<usize>, StoreError> {
    let topic = match row.topic {
        Some(id) => topics::find_for_send(tx, team, id)?,
        None => None,
    };
    let mut wanted = Vec::with_capacity(recipients.len());
    for index in recipients {
        let Ok(address) = EmailAddress::parse(bare(&row.recipients[*index].mailbox)) else { continue };
        if may_write_to(tx, team, &suppressions::hash(&address), topic)? {
            wanted.push(*index);
        }
    }
    Ok(wanted)
}

/// Numbers the recipients that share a transaction and returns each number's destination domain.
///
/// One person, one message, where each gets tokens of their own: under a topic, or from a domain
/// that tracks. Otherwise the recipients of one domain share one.
fn assign_groups(row: &mut EmailRow, domain: SenderDomainRow) -> Vec<(u16, String)> {
    let personal = row.topic.is_some() || domain.tracked;
    let mut groups: Vec<(u16, String)> = Vec::new();
    for recipient in &mut row.recipients {
        let destination = destination_of(&recipient.mailbox);
        let shared = groups.iter().find(|(_, other)| !personal && other == destination).map(|(group, _)| *group);
        recipient.group = shared.unwrap_or_else(|| {
            let group = u16::try_from(groups.len()).expect("an email has at most 50 recipients");
            groups.push((group, destination.to_owned()));
            group
        });
    }
    groups
}

/// Returns the bare address of a stored mailbox.
pub(crate) fn bare(mailbox: &str) -> &str {
    match mailbox.strip_suffix('>').and_then(|mailbox| mailbox.rsplit_once('<')) {
        Some((_, address)) => address,
        None => mailbox,
    }
}

/// Returns where a recipient's mail goes: its domain, or nowhere for a simulated one.
fn destination_of(mailbox: &str) -> &str {
    let address = bare(mailbox);
    if simulated::outcome(address).is_some() {
        return simulated::DESTINATION;
    }
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}
