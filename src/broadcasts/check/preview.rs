//! Previews and test emails: a broadcast as one contact would see it.

use super::BroadcastChecks;
use super::sample::{SampleContact, SampleValues};
use crate::base::address::Mailbox;
use crate::base::blocking;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::broadcast_rows::{
    self, BroadcastContent, BroadcastRow, RenderedBroadcast, merge_subject, read_content, render, value_names,
};
use crate::emails::headers::CustomHeaders;
use crate::emails::{Recipient, RecipientKind, SendEmail, SendError, Sender};
use crate::merge_fields::{self, MergeField, Placeholder};
use crate::store::{ReadTx, StoreError, from_store_error};
use crate::{contact_properties, users};

/// Maximum number of recipients of a test email.
pub const TEST_RECIPIENTS_MAX: usize = 10;
/// Start of the subject of a test email.
const TEST_SUBJECT: &str = "[Test] ";
/// Maximum length of a subject, in characters.
const SUBJECT_CHARS_MAX: usize = 998;
/// Target of the unsubscribe links of a preview. A preview has no recipient who could leave.
const PREVIEW_LINK: &str = "#unsubscribe";

/// Error of a preview.
#[derive(Debug)]
pub enum PreviewBroadcastError {
    /// The team has no broadcast of that id.
    NotFound,
    /// The team has no such contact.
    ContactNotFound,
    Store(StoreError),
}

from_store_error!(PreviewBroadcastError);

/// Error of a test email.
#[derive(Debug)]
pub enum TestBroadcastError {
    Preview(PreviewBroadcastError),
    /// The broadcast has neither HTML nor text.
    NoContent,
    /// The sender was erased.
    NoSender,
    Send(SendError),
}

impl From<PreviewBroadcastError> for TestBroadcastError {
    fn from(error: PreviewBroadcastError) -> Self {
        Self::Preview(error)
    }
}

/// A broadcast as one contact would see it.
#[derive(Clone, Debug)]
pub struct BroadcastPreview {
    pub contact: SampleValues,
    pub from: String,
    pub subject: String,
    /// As in the HTML, where it is a hidden block.
    pub preview_text: Option<String>,
    pub html: Option<String>,
    pub text: Option<String>,
}

/// A rendered broadcast, with the placeholders of the unsubscribe link.
struct Rendered {
    row: BroadcastRow,
    contact: SampleValues,
    message: RenderedBroadcast,
    preview_text: Option<String>,
}

impl BroadcastChecks {
    /// Renders a broadcast for a contact. Its unsubscribe links lead nowhere.
    pub async fn preview(
        &self,
        team: TeamId,
        id: BroadcastId,
        contact: SampleContact,
    ) -> Result<BroadcastPreview, PreviewBroadcastError> {
        let Rendered { row, contact, message, preview_text } = self.rendered(team, id, contact).await?;
        let RenderedBroadcast { subject, html, text } = message;
        let [html, text] = [html, text].map(|part| part.map(|part| without_links(&part)));
        Ok(BroadcastPreview { contact, from: row.from.to_string(), subject, preview_text, html, text })
    }

    /// Sends a broadcast as one email to some addresses, with a subject that starts with `[Test]`. The email does not
    /// belong to the broadcast, and its unsubscribe links are those of the addresses. If all of them are users of the team,
    /// it is sent while sending is paused.
    ///
    /// # Errors
    /// [`TestBroadcastError`]; nothing is sent.
    pub async fn send_test(
        &self,
        by: Sender,
        id: BroadcastId,
        to: Vec<Mailbox>,
        contact: SampleContact,
    ) -> Result<EmailId, TestBroadcastError> {
        let Rendered { row, message, .. } = self.rendered(by.team, id, contact).await?;
        let RenderedBroadcast { subject, html, text } = message;
        let [html, text] = [html, text].map(|part| part.filter(|part| !part.trim().is_empty()));
        if html.is_none() && text.is_none() {
            return Err(TestBroadcastError::NoContent);
        }
        let addresses: Vec<_> = to.iter().map(|mailbox| mailbox.address().clone()).collect();
        let team = by.team;
        let are_members = self.context.store.read(move |tx| users::are_members(tx, team, &addresses));
        let is_exempt = are_members.await.map_err(PreviewBroadcastError::from)?;
        let recipients = to.into_iter().map(|mailbox| Recipient { kind: RecipientKind::To, mailbox }).collect();
        let email = SendEmail {
            from: row.from.mailbox().cloned().ok_or(TestBroadcastError::NoSender)?,
            recipients,
            reply_to: row.reply_to.iter().filter_map(|mailbox| mailbox.mailbox().cloned()).collect(),
            subject: TEST_SUBJECT.chars().chain(subject.chars()).take(SUBJECT_CHARS_MAX).collect(),
            html,
            text,
            headers: CustomHeaders::default(),
            attachments: Vec::new(),
            tags: Vec::new(),
            scheduled_ms: None,
            // An opt-out of the topic does not stop a test.
            topic: None,
            template: None,
        };
        let sent = if is_exempt {
            self.emails.send_exempt(by, email, None).await
        } else {
            self.emails.send(by, email, None).await
        };
        sent.map_err(TestBroadcastError::Send)
    }

    async fn rendered(
        &self,
        team: TeamId,
        id: BroadcastId,
        contact: SampleContact,
    ) -> Result<Rendered, PreviewBroadcastError> {
        let keyring = self.context.keyring.clone();
        let read = move |tx: &ReadTx| {
            let row = broadcast_rows::find(tx, team, id)?.ok_or(PreviewBroadcastError::NotFound)?;
            let content = read_content(tx, &keyring, id)?.unwrap_or_default();
            let definitions = contact_properties::definitions(tx, team)?;
            let names = value_names(&content, &row.subject, row.preview_text.as_deref());
            let contact = SampleValues::read(tx, team, &contact, &names, &definitions)?;
            let contact = contact.ok_or(PreviewBroadcastError::ContactNotFound)?;
            Ok::<_, PreviewBroadcastError>((row, content, contact))
        };
        let (row, content, contact) = self.context.store.read(read).await?;
        let render = move || render_for(row, &content, contact);
        Ok(blocking::run(render).await)
    }
}

fn render_for(row: BroadcastRow, content: &BroadcastContent, contact: SampleValues) -> Rendered {
    let preview_text = row.preview_text.as_deref();
    let values = contact.merge_values();
    let message = render(content, &row.subject, preview_text, values, None);
    let preview_text = preview_text.map(|text| merge_subject(text, values));
    Rendered { message, preview_text, row, contact }
}

/// Replaces the placeholders of the unsubscribe link.
fn without_links(part: &str) -> String {
    let (mut shown, mut end) = (String::with_capacity(part.len()), 0);
    for (range, placeholder) in merge_fields::placeholders(part) {
        match placeholder {
            Placeholder::Unsubscribe => {
                shown.push_str(&part[end..range.start]);
                shown.push_str(PREVIEW_LINK);
                end = range.end;
            }
            // The value of a contact can look like a field.
            Placeholder::Field(MergeField { .. }) => {}
        }
    }
    shown.push_str(&part[end..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unsubscribe_links_of_a_preview_lead_nowhere() {
        assert_eq!(
            without_links("<a href=\"{{{UNSUBSCRIBE_URL}}}\">é</a> {{{A}}} {{{RESEND_UNSUBSCRIBE_URL}}}"),
            "<a href=\"#unsubscribe\">é</a> {{{A}}} #unsubscribe"
        );
    }
}
