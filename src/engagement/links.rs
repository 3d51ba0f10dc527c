//! The links of a broadcast behind the destinations of its clicks, and the counts of the clicks by link.
//!
//! A destination can contain values of the recipient. The counts have the link as the content of the broadcast has it, with
//! merge fields. To find it, the links of the content are filled in for the recipient, before the write transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::id::EventId;
use crate::broadcast_rows::{self, BroadcastContentCache, LinkChange, MergeValues};
use crate::context::Context;
use crate::emails::{BroadcastSend, EmailRow};
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{Keyring, Reads, StoreError, WriteTx, skip_corrupt};
use crate::tracking::source_link;

/// Numbers of recorded clicks of a recipient by destination.
pub(super) type ClicksByLink = BTreeMap<String, usize>;

/// Returns the recorded clicks of a recipient by destination.
pub(super) fn clicks_by_link(timeline: &[(EventId, Event)], address: &str) -> ClicksByLink {
    let mut clicks = ClicksByLink::new();
    for (_, event) in timeline {
        let is_own = event.kind == EmailEventKind::Clicked && event.recipients.iter().any(|it| it == address);
        if let EventDetail::Click(click) = &event.detail
            && is_own
        {
            *clicks.entry(click.link.clone()).or_default() += 1;
        }
    }
    clicks
}

/// Reads the links behind destinations.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceLinks {
    contents: Arc<BroadcastContentCache>,
    /// Links by destination; `None` if the content has none.
    known: BTreeMap<String, Option<String>>,
}

impl SourceLinks {
    /// Reads the links behind destinations in an email. The email of the API has none.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(super) fn read<'d>(
        mut self,
        tx: &impl Reads,
        keyring: &Keyring,
        row: &EmailRow,
        destinations: impl Iterator<Item = &'d str>,
    ) -> Result<Self, StoreError> {
        let Some(send) = &row.broadcast else { return Ok(self) };
        for destination in destinations {
            if !self.known.contains_key(destination) {
                let link = self.find(tx, keyring, row, send, destination)?;
                self.known.insert(destination.to_owned(), link);
            }
        }
        Ok(self)
    }

    /// Adds the links that were counted before and have no merge fields. Returns whether the links behind all destinations
    /// are known then.
    pub(super) fn with_counted<'d>(
        &self,
        tx: &impl Reads,
        row: &EmailRow,
        destinations: impl Iterator<Item = &'d str>,
    ) -> Result<(Self, bool), StoreError> {
        let (mut links, mut are_complete) = (self.clone(), true);
        let Some(send) = &row.broadcast else { return Ok((links, true)) };
        for destination in destinations {
            if links.known.contains_key(destination) {
                continue;
            }
            if broadcast_rows::has_link(tx, send.id, destination)? {
                links.known.insert(destination.to_owned(), Some(destination.to_owned()));
            } else {
                are_complete = false;
            }
        }
        Ok((links, are_complete))
    }

    /// Counts the change of the clicks of the recipient of an email, for the links that are known.
    pub(super) fn count(
        &self,
        tx: &WriteTx<'_>,
        context: &Context,
        row: &EmailRow,
        (before, after): (&ClicksByLink, &ClicksByLink),
    ) -> Result<(), StoreError> {
        let Some(send) = &row.broadcast else { return Ok(()) };
        let added = after.keys().filter(|link| !before.contains_key(*link));
        for destination in before.keys().chain(added) {
            let number = |clicks: &ClicksByLink| clicks.get(destination).copied().unwrap_or(0);
            let change = LinkChange::between(number(before), number(after));
            if change == LinkChange::default() {
                continue;
            }
            if let Some(Some(link)) = self.known.get(destination) {
                broadcast_rows::count_link(tx, send.id, link, change, context.now_ms())?;
            }
        }
        Ok(())
    }

    /// Returns the link behind a destination; `None` if the content has none, or is not stored.
    fn find(
        &self,
        tx: &impl Reads,
        keyring: &Keyring,
        row: &EmailRow,
        send: &BroadcastSend,
        destination: &str,
    ) -> Result<Option<String>, StoreError> {
        // The common case: a link without merge fields, which has been clicked before.
        if broadcast_rows::has_link(tx, send.id, destination)? {
            return Ok(Some(destination.to_owned()));
        }
        let content =
            skip_corrupt(self.contents.find(tx, keyring, send.id), format_args!("content of broadcast {}", send.id))?;
        let content = content.flatten();
        let html = content.as_ref().and_then(|content| content.html.as_deref());
        let (Some(html), Some(recipient)) = (html, row.recipients.first()) else { return Ok(None) };
        let address = recipient.mailbox.bare();
        let values = MergeValues { address: &address, values: &send.values };
        Ok(source_link(html, destination, |href| broadcast_rows::merge_html(href, values)))
    }
}
