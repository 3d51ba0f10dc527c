//! Lists of the recipients of a broadcast.

use super::service::Broadcasts;
use crate::base::address::StoredMailbox;
use crate::base::id::{BroadcastId, ContactId, EmailId, TeamId};
use crate::base::words::words;
use crate::broadcast_rows::{self, BroadcastOutcome};
use crate::contacts;
use crate::emails::{BroadcastEmailList, BroadcastEmailScan, EmailRow, broadcast_emails_step};
use crate::events::{BounceType, EmailEventKind, Event, EventDetail, email_timeline};
use crate::store::page::{Page, PageError, PageQuery};
use crate::store::{ReadTx, Reads, StoreError};

/// Maximum number of clicked links of a recipient in a list. A link has up to 2,000 bytes.
const LINKS_MAX: usize = 10;

words! {
    /// Recipients that a list shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RecipientType {
        /// Emails whose delivery has started.
        Sent = "sent",
        Delivered = "delivered",
        /// Recipients who opened their email. Software does not count.
        Opened = "opened",
        /// Recipients who followed a link.
        Clicked = "clicked",
        Bounced = "bounced",
        Complained = "complained",
        /// Recipients who opted out with the link of their email.
        Unsubscribed = "unsubscribed",
        /// Emails that were not sent, because the contact had left the audience.
        Suppressed = "suppressed",
    } with ALL, parse
}

impl RecipientType {
    const fn emails(self) -> BroadcastEmailList {
        match self {
            Self::Sent => BroadcastEmailList::Attempted,
            Self::Delivered => BroadcastEmailList::Outcome(BroadcastOutcome::Delivered),
            Self::Bounced => BroadcastEmailList::Outcome(BroadcastOutcome::Bounced),
            Self::Complained => BroadcastEmailList::Outcome(BroadcastOutcome::Complained),
            Self::Suppressed => BroadcastEmailList::Outcome(BroadcastOutcome::Suppressed),
            Self::Opened => BroadcastEmailList::Opened,
            Self::Clicked => BroadcastEmailList::Clicked,
            Self::Unsubscribed => BroadcastEmailList::Unsubscribed,
        }
    }
}

/// Recipients to list.
#[derive(Clone, Debug)]
pub struct RecipientFilter {
    pub kind: RecipientType,
    /// Only recipients whose address contains this text, in lower case.
    pub address: Option<String>,
    /// Only bounces of this type. For bounces.
    pub bounce: Option<BounceType>,
}

/// A recipient of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastRecipient {
    pub email: EmailId,
    /// The contact; `None` if it has been deleted.
    pub contact: Option<ContactId>,
    /// The address, or the text of an erased address.
    pub address: String,
    pub detail: RecipientDetail,
}

/// Details of a recipient, by the type of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientDetail {
    /// Of a list without details.
    None,
    /// The type of the last bounce; `None` if its event was deleted.
    Bounced(Option<BounceType>),
    /// Number of stored opens, at least one.
    Opened { count: u64 },
    /// Number of stored clicks, at least one, and the clicked links in the order of their first click, at most [`LINKS_MAX`].
    Clicked { count: u64, links: Vec<RecipientLink> },
}

/// A link that a recipient clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientLink {
    pub url: String,
    pub clicks: u64,
}

impl RecipientDetail {
    /// Reads the details of a recipient from the events of the email, some hundred at most. Opens and clicks of software do not
    /// count.
    fn read(tx: &impl Reads, kind: RecipientType, email: EmailId) -> Result<Self, StoreError> {
        // The recipient is in the list, and retention deletes old events.
        let count = |events: &[Event], counted: EmailEventKind| {
            events.iter().filter(|event| event.kind == counted).count().max(1) as u64
        };
        Ok(match kind {
            RecipientType::Bounced => Self::Bounced(last_bounce(&email_timeline(tx, email)?)),
            RecipientType::Opened => Self::Opened { count: count(&email_timeline(tx, email)?, EmailEventKind::Opened) },
            RecipientType::Clicked => {
                let events = email_timeline(tx, email)?;
                Self::Clicked { count: count(&events, EmailEventKind::Clicked), links: clicked_links(&events) }
            }
            RecipientType::Sent
            | RecipientType::Delivered
            | RecipientType::Complained
            | RecipientType::Unsubscribed
            | RecipientType::Suppressed => Self::None,
        })
    }
}

/// Returns the links of the clicks of people, each once, at most [`LINKS_MAX`].
fn clicked_links(events: &[Event]) -> Vec<RecipientLink> {
    let mut links: Vec<RecipientLink> = Vec::new();
    for event in events.iter().filter(|event| event.kind == EmailEventKind::Clicked) {
        let EventDetail::Click(click) = &event.detail else { continue };
        match links.iter().position(|link| link.url == click.link) {
            Some(at) => links[at].clicks += 1,
            None if links.len() < LINKS_MAX => links.push(RecipientLink { url: click.link.clone(), clicks: 1 }),
            None => {}
        }
    }
    links
}

impl Broadcasts {
    /// Returns a page of the recipients of a broadcast, newest email first; `None` if the team has no such broadcast.
    /// The cost is that of the emails between the cursor and the end of the page.
    pub async fn recipients(
        &self,
        team: TeamId,
        id: BroadcastId,
        filter: RecipientFilter,
        query: PageQuery<EmailId>,
    ) -> Result<Option<Page<BroadcastRecipient>>, PageError> {
        let exists = move |tx: &ReadTx| Ok::<_, PageError>(broadcast_rows::find(tx, team, id)?.is_some());
        if !self.context.store.read(exists).await? {
            return Ok(None);
        }
        let list = filter.kind.emails();
        let kind = filter.kind;
        let mut scan = BroadcastEmailScan::default();
        while !scan.is_complete {
            let filter = filter.clone();
            let step = move |tx: &ReadTx| {
                let keep = |email: EmailId, mailbox: &StoredMailbox| {
                    let contains = |part: &String| mailbox.bare().to_lowercase().contains(part);
                    Ok(filter.address.as_ref().is_none_or(contains)
                        && (filter.bounce.is_none() || last_bounce(&email_timeline(tx, email)?) == filter.bounce))
                };
                broadcast_emails_step(tx, team, id, list, query, scan, keep)
            };
            scan = self.context.store.read(step).await?;
        }
        let Page { rows, has_more } = scan.into_page();
        let read = move |tx: &ReadTx| {
            let rows = rows.into_iter().map(|(email, row)| recipient(tx, team, email, &row, kind));
            rows.collect::<Result<_, StoreError>>()
        };
        Ok(Some(Page { rows: self.context.store.read(read).await?, has_more }))
    }
}

fn address_of(row: &EmailRow) -> String {
    row.recipients.first().map(|recipient| recipient.mailbox.bare()).unwrap_or_default()
}

fn recipient(
    tx: &impl Reads,
    team: TeamId,
    email: EmailId,
    row: &EmailRow,
    kind: RecipientType,
) -> Result<BroadcastRecipient, StoreError> {
    let contact = row.broadcast.as_ref().map(|broadcast| broadcast.contact);
    let contact = match contact {
        Some(contact) if contacts::find(tx, team, contact)?.is_some() => Some(contact),
        _ => None,
    };
    let detail = RecipientDetail::read(tx, kind, email)?;
    Ok(BroadcastRecipient { email, contact, address: address_of(row), detail })
}

/// Returns the type of the last bounce of an email.
fn last_bounce(events: &[Event]) -> Option<BounceType> {
    events.iter().rev().find_map(|event| match &event.detail {
        EventDetail::Bounce(bounce) => Some(bounce.bounce_type),
        _ => None,
    })
}
