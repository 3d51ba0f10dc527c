//! Reads the contacts of an export, one page at a time.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::contact_properties::{self, PropertyDefinitions};
use crate::contacts::{self, ContactRow};
use crate::context::Context;
use crate::segments::{self, ContactRange, SegmentRule};
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, StoreError, from_store_error};
use crate::topics::{self, Subscription};

/// Maximum number of contacts on a page.
const ROWS_MAX: usize = 500;
/// Size of the texts of a page after which no further contact is added.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Bytes of an id with its separator.
const ID_BYTES: usize = 37;

/// A contact of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedContact {
    pub id: ContactId,
    pub email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether the contact opted out of all marketing email.
    pub unsubscribed: bool,
    /// Segments that the contact is a member of, oldest first. Segments whose filter matches it are not
    /// included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// Topics that the contact explicitly opted in to, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_ins: Vec<TopicId>,
    /// Topics that the contact explicitly opted out of, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_outs: Vec<TopicId>,
    /// Creation time in ISO 8601.
    pub created_at: String,
    /// Time of the last change in ISO 8601; the creation time if the contact has not changed.
    pub updated_at: String,
    /// Stored values of the properties that the team defines, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// A page of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportPage {
    /// Contacts, oldest first. A page can be empty although more contacts follow.
    pub data: Vec<ExportedContact>,
    /// The value of `after` for the next page; `None` on the last page.
    pub next: Option<ContactId>,
}

/// Reason why a page cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("the team has no segment {0}")]
    SegmentNotFound(SegmentId),
    #[error("{0}")]
    Store(StoreError),
}

from_store_error!(ExportError);

/// Returns a page of the contacts that follow `after`, of one segment or of the whole team. A contact
/// that is added or removed during an export may or may not be in it. This does not affect other
/// contacts.
pub async fn page(
    context: &Context,
    team: TeamId,
    segment: Option<SegmentId>,
    after: Option<ContactId>,
) -> Result<ExportPage, ExportError> {
    context
        .store
        .read(move |tx| {
            let rule = match segment {
                Some(id) => {
                    let found = segments::find(tx, team, id)?.ok_or(ExportError::SegmentNotFound(id))?;
                    Some(SegmentRule::of(&found))
                }
                None => None,
            };
            let all = ContactRange::all(Order::Ascending);
            let Some(range) = after.map_or(Some(all), |after| all.beyond(after)) else {
                return Ok(ExportPage { data: Vec::new(), next: None });
            };
            let mut builder = PageBuilder::new(tx, team)?;
            // A page of all contacts ends when it is full.
            let time_max = if rule.is_some() { ScanLimit::STEP.time_max } else { Duration::MAX };
            let limit = ScanLimit { time_max, ..ScanLimit::STEP };
            let mut last_of_full = None;
            let last_read = segments::scan_contacts(tx, team, rule.as_ref(), range, limit, |id, contact| {
                if builder.is_full() {
                    last_of_full = builder.data.last().map(|contact| contact.id);
                    return STOP;
                }
                if let Some(row) = contact.valid_row() {
                    builder.push(id, row)?;
                }
                NEXT
            })?;
            Ok(ExportPage { data: builder.data, next: last_of_full.or(last_read) })
        })
        .await
}

/// The contacts of a page that is being read.
struct PageBuilder<'a, T> {
    tx: &'a T,
    team: TeamId,
    definitions: PropertyDefinitions,
    /// Topics of the team. Choices for deleted topics are not exported.
    topics: HashSet<TopicId>,
    data: Vec<ExportedContact>,
    text_bytes: usize,
}

impl<'a, T: Reads> PageBuilder<'a, T> {
    fn new(tx: &'a T, team: TeamId) -> Result<Self, StoreError> {
        let definitions = contact_properties::definitions(tx, team)?;
        let topics = topics::ids(tx, team)?.into_iter().collect();
        Ok(Self { tx, team, definitions, topics, data: Vec::new(), text_bytes: 0 })
    }

    fn is_full(&self) -> bool {
        self.data.len() == ROWS_MAX || self.text_bytes > TEXT_BYTES_MAX
    }

    fn push(&mut self, id: ContactId, row: ContactRow) -> Result<(), StoreError> {
        let ContactRow { email, first_name, last_name, unsubscribed_ms, properties, numbers: _, updated_ms } = row;
        let properties: BTreeMap<String, String> =
            properties.into_iter().filter(|(key, _)| self.definitions.find(key).is_some()).collect();
        let segments = segments::of_contact(self.tx, self.team, id)?;
        let (mut opt_ins, mut opt_outs) = (Vec::new(), Vec::new());
        for (topic, subscription) in contacts::choices_of(self.tx, self.team, id)? {
            if self.topics.contains(&topic) {
                match subscription {
                    Subscription::OptIn => opt_ins.push(topic),
                    Subscription::OptOut => opt_outs.push(topic),
                }
            }
        }
        let names = [&first_name, &last_name].into_iter().flatten().map(String::len).sum::<usize>();
        self.text_bytes += names + properties.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>();
        self.text_bytes += ID_BYTES * (segments.len() + opt_ins.len() + opt_outs.len());
        self.data.push(ExportedContact {
            id,
            email: email.to_string(),
            first_name,
            last_name,
            unsubscribed: unsubscribed_ms.is_some(),
            segments,
            opt_ins,
            opt_outs,
            created_at: clock::to_iso(id.created_ms()),
            updated_at: clock::to_iso(updated_ms.unwrap_or_else(|| id.created_ms())),
            properties,
        });
        Ok(())
    }
}
