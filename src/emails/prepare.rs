//! Preparation of an email before its transaction: everything that needs no read of the store.
//!
//! The writer thread runs one command after another. Compression and encryption run here, so that
//! they do not delay other commands.

use super::event_recorder;
use super::model::{AttachmentInfo, EmailContent, LastEvent, Recipient, RecipientKind, SendEmail};
use super::send::Sender;
use super::store::{
    EmailRow, QueueDestination, RecipientRow, RecipientState, StoredBlob, seal_attachment, seal_content,
};
use crate::base::address::Mailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, EmailId, TopicId};
use crate::context::Context;
use crate::delivery::simulated::{self, SimulatedOutcome};
use crate::events::EmailEventData;
use crate::preferences::{LinkError, PairOrigin, PreferenceLinks, has_placeholder};
use crate::store::{NameHash, name_hash};
use crate::tables::AddressHash;

/// The properties of an email that are checked against the store.
pub(super) struct EmailChecks {
    /// Name of the sender's domain.
    pub(super) sender_domain: String,
    pub(super) sender_hash: NameHash,
    pub(super) topic: Option<TopicId>,
    /// Whether the email can carry its unsubscribe link.
    pub(super) link: Result<(), LinkError>,
    /// Kind and identity hash of each recipient, in the order of the email; no hash for a recipient that is simulated
    /// as suppressed.
    pub(super) recipients: Vec<(RecipientKind, Option<AddressHash>)>,
}

impl EmailChecks {
    pub(super) fn of(links: &PreferenceLinks, email: &SendEmail) -> Self {
        let sender_domain = email.from.address().domain().as_str().to_owned();
        let recipient = |recipient: &Recipient| (recipient.kind, suppression_hash(&recipient.mailbox));
        Self {
            sender_hash: name_hash(&sender_domain),
            sender_domain,
            topic: email.topic,
            link: check_link(links, email),
            recipients: email.recipients.iter().map(recipient).collect(),
        }
    }
}

/// An email ready for its transaction.
pub(super) struct PreparedEmail {
    pub(super) id: EmailId,
    pub(super) checks: EmailChecks,
    /// Whether each recipient has a separate link, under a topic or in the place of a placeholder.
    pub(super) has_link: bool,
    /// Row with all recipients. The transaction sets its domain and its groups.
    pub(super) row: EmailRow,
    /// Event data of a scheduled email; `None` if the email is due immediately.
    pub(super) event_data: Option<EmailEventData>,
    pub(super) content: StoredBlob,
    pub(super) attachments: Vec<StoredBlob>,
}

impl PreparedEmail {
    /// Seals the content and the attachments, and builds the row.
    pub(super) fn new(
        context: &Context,
        links: &PreferenceLinks,
        sender: Sender,
        email: SendEmail,
        now: TimestampMs,
    ) -> Self {
        let checks = EmailChecks::of(links, &email);
        let has_link = email.topic.is_some() || has_placeholder(email.html.as_deref(), email.text.as_deref());
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
            template,
        } = email;
        // The content is sealed under the id outside of the writer, so that the transaction cannot draw it. Of emails
        // that are sent at once, one with a lower id can be committed after one with a higher id.
        let id: EmailId = context.id();
        let scheduled_ms = scheduled_ms.filter(|due| *due > now);
        let due_ms = scheduled_ms.unwrap_or(now);
        let last_event = if scheduled_ms.is_some() { LastEvent::Scheduled } else { LastEvent::Queued };
        let content = EmailContent { html, text, headers: headers.into() };
        let sealed_attachments = (0..)
            .zip(&attachments)
            .map(|(number, attachment)| seal_attachment(&context.keyring, id, number, attachment.content()))
            .collect();
        let attachments = attachments
            .iter()
            .map(|attachment| AttachmentInfo {
                id: context.id(),
                filename: attachment.filename().to_owned(),
                size: attachment.content().len() as u64,
                content_type: attachment.content_type().to_owned(),
                content_id: attachment.content_id().map(|id| id.as_str().to_owned()),
            })
            .collect();
        let queued = |Recipient { kind, mailbox }: &Recipient| RecipientRow {
            kind: *kind,
            mailbox: mailbox.clone().into(),
            group: 0,
            destination: QueueDestination::Domain,
            state: RecipientState::Waiting { due_ms },
            last_event,
            unsubscribed_ms: None,
        };
        let row = EmailRow {
            // The time in the id, so that the order of ids is the order of creation times.
            created_ms: id.created_ms(),
            from: from.into(),
            domain: DomainId::MIN,
            key: sender.key,
            recipients: recipients.iter().map(queued).collect(),
            reply_to: reply_to.into_iter().map(Into::into).collect(),
            subject,
            tags: tags.iter().map(|tag| (tag.name().to_owned(), tag.value().to_owned())).collect(),
            topic,
            template,
            scheduled_ms,
            attachments,
            has_headers: !content.headers.is_empty(),
            last_event,
            hidden: false,
            erasure: None,
            broadcast: None,
        };
        Self {
            id,
            checks,
            has_link,
            event_data: scheduled_ms.map(|_| event_recorder::with_headers(id, &row, content.headers.clone())),
            row,
            content: seal_content(&context.keyring, id, &content),
            attachments: sealed_attachments,
        }
    }

    /// Returns the approximate size on disk, in bytes.
    pub(super) fn bytes(&self) -> usize {
        512 + self.content.len() + self.attachments.iter().map(StoredBlob::len).sum::<usize>()
    }
}

/// Checks that an email can carry its unsubscribe link. An email without a topic and without a placeholder needs
/// none.
fn check_link(links: &PreferenceLinks, email: &SendEmail) -> Result<(), LinkError> {
    let pair = match email.topic {
        None => PairOrigin::NoPair,
        Some(_) if email.headers.has_unsubscribe_pair() => PairOrigin::Caller,
        Some(_) => PairOrigin::Generated,
    };
    links.check(email.html.as_deref(), email.text.as_deref(), pair)
}

/// Returns the key of a recipient in the suppressions and contacts; `None` for a recipient that is
/// simulated as suppressed.
fn suppression_hash(mailbox: &Mailbox) -> Option<AddressHash> {
    let address = mailbox.address();
    let is_suppressed = simulated::outcome(&address.to_string()) == Some(SimulatedOutcome::Suppressed);
    (!is_suppressed).then(|| address.identity_hash())
}
