//! What accepting an email does before its transaction: everything costly (compression,
//! encryption), and the rows as they will be written unless the store says otherwise.
//!
//! The writer thread serves one command after another, so that what is done here keeps nobody else
//! waiting. A [`EncodedEmail`] is a guess: that the sender's domain is as the last accept found it, and
//! that every recipient may be written to. The transaction looks for itself, and makes another
//! draft where the guess was wrong.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::event_recorder;
use super::model::{AttachmentInfo, EmailContent, LastEvent, Recipient, RecipientKind, SendEmail, bare};
use super::send::Sender;
use super::store::{EmailRow, RecipientRow, RecipientState, StoredBlob, seal_attachment, seal_content};
use crate::base::address::Mailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, EmailId, TeamId, TopicId};
use crate::context::Context;
use crate::delivery::{Class, Due, DueKey, DueRow, simulated};
use crate::domains::SenderDomainRow;
use crate::events::{Detail, EmailEventData, EmailEventKind, Event, PreparedEvent};
use crate::preferences::{LinkError, Links, PairOrigin};
use crate::store::{Encoded, NameHash, StoreError, WriteTx, name_hash};
use crate::tables::{AddressHash, DUE, EMAILS};

/// Senders' domains remembered; beyond that all are forgotten, and learned again one by one.
const SENDERS_MAX: usize = 1_000;

type Senders = HashMap<(TeamId, NameHash), SenderDomainRow>;

/// The senders' domains as the last accepts found them.
#[derive(Default)]
pub(super) struct SenderDomainCache(Mutex<Senders>);

impl SenderDomainCache {
    fn find(&self, team: TeamId, name: NameHash) -> Option<SenderDomainRow> {
        self.lock().get(&(team, name)).copied()
    }

    fn remember(&self, team: TeamId, name: NameHash, domain: SenderDomainRow) {
        let mut senders = self.lock();
        if senders.len() >= SENDERS_MAX {
            senders.clear();
        }
        senders.insert((team, name), domain);
    }

    fn lock(&self) -> MutexGuard<'_, Senders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An email ready for its transaction.
pub(super) struct PreparedEmail {
    pub(super) id: EmailId,
    /// The name of the sender's domain.
    pub(super) sender_domain: String,
    pub(super) sender_hash: NameHash,
    /// Whether its unsubscribe link can be made.
    pub(super) link: Result<(), LinkError>,
    /// What suppressions and contacts are found by, in the order of the row's recipients; none for
    /// one that is simulated as suppressed.
    pub(super) recipients: Vec<Option<AddressHash>>,
    /// With every recipient; its domain and its groups are the draft's affair.
    row: EmailRow,
    precomputed: Option<EncodedEmail>,
    /// What the event of an email for later says of it.
    facts: Option<EmailEventData>,
    content: StoredBlob,
    attachments: Vec<StoredBlob>,
}

impl PreparedEmail {
    pub(super) fn new(
        context: &Context,
        links: &Links,
        senders: &SenderDomainCache,
        sender: Sender,
        email: SendEmail,
        now: TimestampMs,
    ) -> Self {
        let link = check_link(links, &email);
        let SendEmail {
            from,
            recipients,
            reply_to,
            subject,
            html,
            text,
            headers,
            attachments,
            tags,
            scheduled_ms,
            topic,
        } = email;
        let id = context.id();
        let scheduled_ms = scheduled_ms.filter(|due| *due > now);
        let last_event = if scheduled_ms.is_some() { LastEvent::Scheduled } else { LastEvent::Queued };
        let content = EmailContent { html, text, headers: headers.into() };
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
            state: RecipientState::Waiting { due_ms },
            last_event,
        };
        let mut row = EmailRow {
            created_ms: now,
            from: from.to_string(),
            domain: DomainId::MIN,
            key: sender.key,
            recipients: recipients.iter().map(waiting).collect(),
            reply_to: reply_to.iter().map(ToString::to_string).collect(),
            subject,
            tags: tags.iter().map(|tag| (tag.name().to_owned(), tag.value().to_owned())).collect(),
            topic,
            scheduled_ms,
            attachments: infos,
            has_headers: !content.headers.is_empty(),
            last_event,
            hidden: false,
        };
        let facts = scheduled_ms.map(|_| event_recorder::with_headers(id, &row, content.headers.clone()));
        let sender_domain = from.address().domain().as_str().to_owned();
        let sender_hash = name_hash(&sender_domain);
        let domain = senders.find(sender.team, sender_hash);
        Self {
            id,
            link,
            recipients: recipients.iter().map(|recipient| found_by(&recipient.mailbox)).collect(),
            precomputed: domain.map(|domain| EncodedEmail::new(sender.team, id, &mut row, domain, facts.as_ref())),
            facts,
            row,
            sender_domain,
            sender_hash,
            content: seal_content(&context.keyring, id, &content),
            attachments: stored,
        }
    }

    /// Returns how many bytes it takes on disk, about.
    pub(super) fn bytes(&self) -> usize {
        512 + self.content.len() + self.attachments.iter().map(StoredBlob::len).sum::<usize>()
    }

    /// Returns the topic it is sent under.
    pub(super) fn topic(&self) -> Option<TopicId> {
        self.row.topic
    }

    /// Returns whether a `to` recipient is left without those of the `blocked` indexes.
    pub(super) fn reaches_anybody(&self, blocked: &[usize]) -> bool {
        let mut recipients = self.row.recipients.iter().enumerate();
        recipients.any(|(index, recipient)| recipient.kind == RecipientKind::To && !blocked.contains(&index))
    }

    /// Returns what is written when the sender's domain is this and the recipients of the `blocked`
    /// indexes are left out.
    pub(super) fn draft(
        &self,
        senders: &SenderDomainCache,
        team: TeamId,
        domain: SenderDomainRow,
        blocked: &[usize],
    ) -> Cow<'_, EncodedEmail> {
        let guess = self.precomputed.as_ref().filter(|guess| guess.domain == domain);
        if guess.is_none() {
            senders.remember(team, self.sender_hash, domain);
        }
        match guess {
            Some(guess) if blocked.is_empty() => Cow::Borrowed(guess),
            _ => {
                let mut row = self.row.clone();
                let mut index = 0..;
                row.recipients.retain(|_| index.next().is_some_and(|index| !blocked.contains(&index)));
                Cow::Owned(EncodedEmail::new(team, self.id, &mut row, domain, self.facts.as_ref()))
            }
        }
    }

    /// Writes the email as `draft` says, with its content.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn put(
        &self,
        tx: &WriteTx<'_>,
        context: &Context,
        team: TeamId,
        draft: &EncodedEmail,
    ) -> Result<(), StoreError> {
        for (due, row) in &draft.groups {
            tx.put_encoded(&DUE, &due.key.parts(), row)?;
        }
        tx.put_encoded(&EMAILS, &(team, self.id), &draft.row)?;
        self.content.put_content(tx, self.id)?;
        for (number, attachment) in (0..).zip(&self.attachments) {
            attachment.put_attachment(tx, self.id, number)?;
        }
        match &draft.scheduled {
            Some(event) => event.record(tx, context, team, self.id),
            None => Ok(()),
        }
    }
}

/// What is written of an email beside its content, encoded.
#[derive(Clone)]
pub(super) struct EncodedEmail {
    /// The sender's domain that it was made for.
    domain: SenderDomainRow,
    row: Encoded<EmailRow>,
    /// Its places in the queue.
    groups: Vec<(Due, Encoded<DueRow>)>,
    /// The event of an email for later.
    scheduled: Option<PreparedEvent>,
}

impl EncodedEmail {
    /// Fills in what the sender's domain decides, and encodes. `facts` are those of an email for later.
    fn new(
        team: TeamId,
        id: EmailId,
        row: &mut EmailRow,
        domain: SenderDomainRow,
        facts: Option<&EmailEventData>,
    ) -> Self {
        row.domain = domain.id;
        let due_ms = row.scheduled_ms.unwrap_or(row.created_ms);
        let place = |(group, destination)| {
            let due = DueRow::fresh(team, destination, due_ms);
            let key = DueKey { due_ms, class: Class::Transactional, email: id, group };
            (Due::new(key, &due), Encoded::new(&due))
        };
        let groups = assign_groups(row, domain).into_iter().map(place).collect();
        let scheduled = facts.and_then(|facts| {
            let recipients = row.recipients.iter().map(|recipient| bare(&recipient.mailbox).to_owned()).collect();
            let event =
                Event { kind: EmailEventKind::Scheduled, at_ms: row.created_ms, recipients, detail: Detail::None };
            PreparedEvent::new(team, event, facts)
        });
        Self { domain, row: Encoded::new(row), groups, scheduled }
    }

    /// Returns what it puts into the queue.
    pub(super) fn queued(&self) -> impl Iterator<Item = Due> + '_ {
        self.groups.iter().map(|(due, _)| due.clone())
    }
}

/// Checks that an email under a topic can carry its unsubscribe link. One without is left as it is.
fn check_link(links: &Links, email: &SendEmail) -> Result<(), LinkError> {
    if email.topic.is_none() {
        return Ok(());
    }
    let pair = if email.headers.has_unsubscribe_pair() { PairOrigin::Caller } else { PairOrigin::Generated };
    links.check(email.html.as_deref(), email.text.as_deref(), pair)
}

/// Returns what a recipient's suppression is found by; none for one that is simulated as suppressed.
fn found_by(mailbox: &Mailbox) -> Option<AddressHash> {
    let address = mailbox.address();
    let outcome = simulated::outcome(&address.to_string());
    (outcome != Some(simulated::SimulatedOutcome::Suppressed)).then(|| address.identity_hash())
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

/// Returns where a recipient's mail goes: its domain, or nowhere for a simulated one.
fn destination_of(mailbox: &str) -> &str {
    let address = bare(mailbox);
    if simulated::outcome(address).is_some() {
        return simulated::DESTINATION;
    }
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}
