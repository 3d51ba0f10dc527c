//! Composition of the message of a recipient group: opens the content, adds tracking, composes MIME and signs with
//! DKIM. Blocks, so callers run it on the threads for blocking work.

use std::sync::Arc;

use tracing::error;

use super::broadcast_message;
use super::outcome::{Deferral, RecipientDisposition};
use super::queue::Claimed;
use super::return_path::ReturnPaths;
use super::smtp::Envelope;
use crate::base::address::{Mailbox, StoredMailbox};
use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::broadcast_rows::BroadcastContentCache;
use crate::context::Context;
use crate::domains::{SenderTracking, SigningKeyCache, SigningKeys};
use crate::emails::{self, EmailContent, EmailRow, RecipientKind, message_id};
use crate::mime::dkim::{self, DkimParameters, SignError, SignRequest};
use crate::mime::{self, AddressForm, Message, MimeAttachment, MimeMailbox};
use crate::preferences::{LinkScope, PreferenceLinks, UnsubscribeToken, has_placeholder};
use crate::store::{ReadTx, StoreError, from_store_error};
use crate::tracking::{TrackedRecipient, Tracker};

/// A composed message with its envelope.
pub(super) struct Composed {
    pub(super) envelope: Envelope,
    /// `DKIM-Signature` header fields, to be sent before `message`.
    pub(super) signatures: Vec<u8>,
    /// The other header fields and the body.
    pub(super) message: Vec<u8>,
}

/// A composed message before it is signed.
pub(super) struct Unsigned {
    envelope: Envelope,
    pub(super) message: Vec<u8>,
    domain: Arc<SigningKeys>,
}

impl Unsigned {
    fn into_composed(self, signatures: Result<Vec<u8>, SignError>) -> Result<Composed, MessageError> {
        let signatures = signatures.map_err(|error| invalid(&error))?;
        Ok(Composed { envelope: self.envelope, signatures, message: self.message })
    }
}

/// Reason why a message cannot be composed. Permanent, except for `Store`.
#[derive(Debug)]
pub(super) enum MessageError {
    /// The content was deleted, by retention or by request.
    ContentDeleted,
    /// The domain of the sender was deleted.
    DomainDeleted,
    /// The stored fields are not a valid message. The API should have rejected them.
    Invalid(String),
    Store(StoreError),
}

from_store_error!(MessageError);

/// Returns the disposition of a message of an email that cannot be composed.
pub(super) fn compose_failure(email: EmailId, error: MessageError) -> RecipientDisposition {
    let failed =
        |reason: &str, reply: Option<String>| RecipientDisposition::Failed { reason: reason.to_owned(), reply };
    match error {
        MessageError::ContentDeleted => failed("content_removed", None),
        MessageError::DomainDeleted => failed("domain_removed", None),
        MessageError::Invalid(why) => failed("invalid_message", Some(why)),
        MessageError::Store(error) => {
            error!(%error, email.id = %email, "could not read the content of an email: {error}");
            // A corrupt row stays corrupt, so that the attempt counts and the delays grow.
            let is_corrupt = matches!(error, StoreError::Corrupt(_));
            let defer = if is_corrupt { Deferral::ordinary } else { Deferral::free };
            RecipientDisposition::Deferred(defer(None))
        }
    }
}

/// Composes the message of a claimed group. `address_form` depends on the extensions of the server.
pub(super) fn compose(
    tx: &ReadTx,
    context: &Context,
    signing: &SigningKeyCache,
    return_paths: &ReturnPaths,
    (links, contents, tracker): (&PreferenceLinks, &BroadcastContentCache, &Tracker),
    claimed: &Claimed,
    address_form: AddressForm,
) -> Result<Unsigned, MessageError> {
    let (row, id) = (&claimed.row, claimed.key.email);
    let (content, date_ms) = match &row.broadcast {
        Some(send) => {
            let content =
                broadcast_message::content_of(tx, context, contents, links, (claimed.due.team, id), row, send)?;
            let first_attempt_ms = claimed.due.date_ms.unwrap_or(claimed.due.first_due_ms);
            (content, broadcast_message::date_ms(row, first_attempt_ms))
        }
        None => (own_content(tx, context, links, claimed)?, date_ms(row)),
    };
    let domain = signing.find(tx, claimed.due.team, row.domain)?.ok_or(MessageError::DomainDeleted)?;
    let content = with_tracking(content, tracker, &domain.tracking, claimed);
    let mut files = Vec::with_capacity(row.attachments.len());
    for (number, info) in (0..).zip(&row.attachments) {
        let bytes = emails::read_attachment(tx, &context.keyring, id, number, info.size)?;
        let bytes = bytes.ok_or(MessageError::ContentDeleted)?;
        files.push((info, bytes));
    }
    let fields = AddressFields::parse(row)?;
    let attachments: Vec<MimeAttachment<'_>> = files
        .iter()
        .map(|(info, bytes)| MimeAttachment {
            filename: Some(&info.filename),
            content_type: &info.content_type,
            content_id: info.part_content_id(),
            content: bytes,
        })
        .collect();
    let headers: Vec<(&str, &str)> =
        content.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let message_id = message_id(id, &row.from);
    let message = Message {
        from: mime_mailbox(&fields.from),
        to: &mime_mailboxes(&fields.to),
        cc: &mime_mailboxes(&fields.cc),
        reply_to: &mime_mailboxes(&fields.reply_to),
        address_form,
        subject: &row.subject,
        date_ms,
        message_id: &message_id,
        headers: &headers,
        text: content.text.as_deref(),
        html: content.html.as_deref(),
        attachments: &attachments,
    };
    let bytes = mime::compose(&message, boundary_seed(claimed)).map_err(|error| invalid(&error))?;
    let envelope = Envelope {
        sender: return_paths.address(id, claimed.key.group, &domain.return_path),
        recipients: claimed.addresses(),
    };
    Ok(Unsigned { envelope, message: bytes, domain })
}

/// Signs composed messages.
pub(super) fn sign(messages: Vec<Unsigned>, now_ms: TimestampMs) -> Vec<Result<Composed, MessageError>> {
    let time_s = u64::try_from(now_ms / 1000).unwrap_or(0);
    let parameters: Vec<Vec<DkimParameters<'_>>> =
        messages.iter().map(|unsigned| parameters(&unsigned.domain)).collect();
    let requests: Vec<_> = messages
        .iter()
        .zip(&parameters)
        .map(|(unsigned, signatures)| SignRequest { message: &unsigned.message, signatures, time_s })
        .collect();
    let signed = dkim::sign(&requests);
    drop(parameters);
    messages.into_iter().zip(signed).map(|(unsigned, signatures)| unsigned.into_composed(signatures)).collect()
}

fn parameters(domain: &SigningKeys) -> Vec<DkimParameters<'_>> {
    domain.keys.iter().map(|(selector, key)| DkimParameters { domain: &domain.domain, selector, key }).collect()
}

/// Returns the content of an email of the API, with the link of the recipient if it has one.
fn own_content(
    tx: &ReadTx,
    context: &Context,
    links: &PreferenceLinks,
    claimed: &Claimed,
) -> Result<EmailContent, MessageError> {
    let content = emails::read_content(tx, &context.keyring, claimed.key.email)?.ok_or(MessageError::ContentDeleted)?;
    match claimed.row.topic {
        Some(topic) => with_link(content, links, claimed, LinkScope::Topic(topic)),
        None if has_placeholder(content.html.as_deref(), content.text.as_deref()) => {
            with_link(content, links, claimed, LinkScope::Everything)
        }
        None => Ok(content),
    }
}

/// Replaces the placeholders with the link of the recipient. Under a topic, also adds the unsubscribe pair unless the
/// email has its own `List-Unsubscribe`. Each recipient of an email with a link is a group, so the group has one
/// recipient.
fn with_link(
    content: EmailContent,
    links: &PreferenceLinks,
    claimed: &Claimed,
    scope: LinkScope,
) -> Result<EmailContent, MessageError> {
    let Some(index) = claimed.recipients.first() else { return Ok(content) };
    let mailbox = parsed(&claimed.row.recipients[*index].mailbox)?;
    let token = UnsubscribeToken {
        team: claimed.due.team,
        scope,
        email: Some(claimed.key.email),
        address: mailbox.address().clone(),
    };
    let link = links.link(&token);
    let EmailContent { html, text, mut headers } = content;
    if scope != LinkScope::Everything && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("List-Unsubscribe"))
    {
        headers.extend(link.headers());
    }
    Ok(EmailContent {
        html: html.map(|html| link.fill_html(html)),
        text: text.map(|text| link.fill_text(text)),
        headers,
    })
}

/// Adds the pixel and the tracked links of the recipient, if the domain tracks.
///
/// A group with several recipients is not tracked, because a hit could be of any of them. Its email was accepted before
/// the tracking was turned on.
fn with_tracking(
    content: EmailContent,
    tracker: &Tracker,
    tracking: &SenderTracking,
    claimed: &Claimed,
) -> EmailContent {
    let group = claimed.key.group;
    let recipients = claimed.row.recipients.iter().filter(|recipient| recipient.group == group);
    let html = content.html.as_deref().filter(|_| tracking.is_on() && recipients.count() == 1);
    let recipient = TrackedRecipient { team: claimed.due.team, email: claimed.key.email, group };
    let Some((html, tracked)) = html.and_then(|html| Some((html, tracker.track(tracking, recipient, html)?))) else {
        return content;
    };
    // A derived text part has the links of the email, not the tracked ones.
    let text = content.text.or_else(|| Some(mime::text_from_html(html)));
    EmailContent { html: Some(tracked), text, headers: content.headers }
}

fn invalid(error: &dyn std::fmt::Display) -> MessageError {
    MessageError::Invalid(error.to_string())
}

fn parsed(mailbox: &StoredMailbox) -> Result<&Mailbox, MessageError> {
    mailbox.mailbox().ok_or_else(|| MessageError::Invalid("a stored mailbox is invalid".to_owned()))
}

/// Display name and address of a mailbox in a header field.
struct HeaderMailbox {
    name: Option<String>,
    address: String,
}

/// The parsed mailboxes of the address fields.
struct AddressFields {
    from: HeaderMailbox,
    to: Vec<HeaderMailbox>,
    cc: Vec<HeaderMailbox>,
    reply_to: Vec<HeaderMailbox>,
}

impl AddressFields {
    fn parse(row: &EmailRow) -> Result<Self, MessageError> {
        let field = |mailbox: &StoredMailbox| {
            let mailbox = parsed(mailbox)?;
            Ok(HeaderMailbox { name: mailbox.name().map(ToOwned::to_owned), address: mailbox.address().to_string() })
        };
        let line = |kind: RecipientKind| -> Result<Vec<HeaderMailbox>, MessageError> {
            // The address of a recipient can have been erased since the email was accepted.
            row.mailboxes(kind).filter(|mailbox| !mailbox.is_erased()).map(field).collect()
        };
        Ok(Self {
            from: field(&row.from)?,
            to: line(RecipientKind::To)?,
            cc: line(RecipientKind::Cc)?,
            reply_to: row
                .reply_to
                .iter()
                .filter(|mailbox| !mailbox.is_erased())
                .map(field)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn mime_mailboxes(mailboxes: &[HeaderMailbox]) -> Vec<MimeMailbox<'_>> {
    mailboxes.iter().map(mime_mailbox).collect()
}

fn mime_mailbox(mailbox: &HeaderMailbox) -> MimeMailbox<'_> {
    MimeMailbox { name: mailbox.name.as_deref(), address: &mailbox.address }
}

/// Returns the date of the message, which is the same in every attempt.
fn date_ms(row: &EmailRow) -> TimestampMs {
    row.scheduled_ms.map_or(row.created_ms, |scheduled_ms| scheduled_ms.max(row.created_ms))
}

/// Returns the seed of the MIME boundaries. It is the same in every attempt of an email.
fn boundary_seed(claimed: &Claimed) -> u64 {
    let mut seed = [0; 8];
    seed.copy_from_slice(&claimed.key.email.as_bytes()[8..]);
    u64::from_be_bytes(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::outcome::Charge;

    #[test]
    fn an_attempt_with_corrupt_content_counts_and_one_without_a_store_does_not() {
        for (error, expected) in
            [(StoreError::Corrupt("content".into()), Charge::Counted), (StoreError::Unavailable, Charge::Free)]
        {
            match compose_failure(EmailId::MIN, MessageError::Store(error)) {
                RecipientDisposition::Deferred(deferral) => assert_eq!(deferral.charge, expected),
                other => panic!("{other:?}"),
            }
        }
    }
}
