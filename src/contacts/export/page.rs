//! The rows, a page at a time.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::contact_properties::{self, Definitions};
use crate::contacts::{self, ContactRow};
use crate::context::Context;
use crate::segments::{self, ContactRange, ScanLimit, SegmentRule};
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::CONTACTS;
use crate::topics::{self, Subscription};

/// Contacts of a page.
const ROWS_MAX: usize = 500;
/// The text of a page after which no contact is added to it.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// An id with what stands between two.
const ID_BYTES: usize = 37;

/// A contact as it is exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedContact {
    /// Its id.
    pub id: ContactId,
    /// Its address.
    pub email: String,
    /// Its first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Its last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether it opted out of all marketing email.
    pub unsubscribed: bool,
    /// The segments it was added to by hand, oldest first. Those whose filter matches it are told by
    /// what is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// The topics that it chose to receive, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_ins: Vec<TopicId>,
    /// The topics that it opted out of, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_outs: Vec<TopicId>,
    /// When it was added.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// Its values of the properties that the team has, as they are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// A page of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportPage {
    /// The contacts, oldest first; there may be none although more follow.
    pub data: Vec<ExportedContact>,
    /// Where the next page begins; none after the last one.
    pub next: Option<ContactId>,
}

/// Why there is no page.
#[derive(Debug)]
pub enum ExportError {
    /// The team has no such segment.
    SegmentNotFound(SegmentId),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SegmentNotFound(id) => write!(f, "the team has no segment {id}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

/// Returns the contacts that follow `after`: of a segment, or all. Contacts that are added or removed
/// meanwhile are in the export or not, and keep no other out of it.
///
/// # Errors
/// [`ExportError`].
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
            let Some(span) = after.map_or(Some(all), |after| all.beyond(after)) else {
                return Ok(ExportPage { data: Vec::new(), next: None });
            };
            let mut open = Open::new(tx, team)?;
            match rule {
                Some(rule) => open.take_segment(&rule, span)?,
                None => open.take_all(span)?,
            }
            Ok(open.page)
        })
        .await
}

/// A page under way.
struct Open<'a, T> {
    tx: &'a T,
    team: TeamId,
    definitions: Definitions,
    /// The topics that the team has: a choice outlives its topic.
    topics: HashSet<TopicId>,
    page: ExportPage,
    text_bytes: usize,
}

impl<'a, T: Reads> Open<'a, T> {
    fn new(tx: &'a T, team: TeamId) -> Result<Self, StoreError> {
        let definitions = contact_properties::definitions(tx, team)?;
        let topics = topics::all(tx, team)?.into_iter().map(|topic| topic.id).collect();
        let page = ExportPage { data: Vec::new(), next: None };
        Ok(Self { tx, team, definitions, topics, page, text_bytes: 0 })
    }

    fn take_all(&mut self, span: ContactRange) -> Result<(), StoreError> {
        let team = self.team;
        self.tx.scan(&CONTACTS, &(team, span.from), &(team, span.to), span.order, |(_, id), row| {
            if self.ends_before() {
                return STOP;
            }
            self.push(id, row.decode()?)?;
            NEXT
        })
    }

    fn take_segment(&mut self, rule: &SegmentRule, span: ContactRange) -> Result<(), StoreError> {
        let (tx, team) = (self.tx, self.team);
        let mut failed = Ok(());
        let last = segments::scan(tx, team, rule, span, ScanLimit::DEFAULT, |contact| {
            if self.ends_before() {
                return ControlFlow::Break(());
            }
            let row = contacts::find(tx, team, contact);
            let pushed = row.and_then(|row| row.map_or(Ok(()), |row| self.push(contact, row)));
            match pushed {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if last.is_some() {
            self.page.next = last;
        }
        failed
    }

    /// Returns whether the page is full, and notes then that the next one begins behind its last
    /// contact.
    fn ends_before(&mut self) -> bool {
        let is_full = self.page.data.len() == ROWS_MAX || self.text_bytes > TEXT_BYTES_MAX;
        if is_full {
            self.page.next = self.page.data.last().map(|contact| contact.id);
        }
        is_full
    }

    fn push(&mut self, id: ContactId, row: ContactRow) -> Result<(), StoreError> {
        let ContactRow { email, first_name, last_name, unsubscribed_ms, properties, updated_ms } = row;
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
        self.page.data.push(ExportedContact {
            id,
            email,
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
