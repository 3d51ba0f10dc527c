//! The rows, a page at a time.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::contact_properties::{self, Definitions};
use crate::contacts::{self, ContactRow};
use crate::context::Context;
use crate::id::{ContactId, SegmentId, TeamId};
use crate::segments::{self, Rule, Span, Walked};
use crate::store::tables::CONTACTS;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};

/// Contacts of a page.
const ROWS_MAX: usize = 500;
/// Contacts looked at for a page of a segment, which may hold few of them.
const LOOKED_AT_MAX: usize = 20_000;
/// The text of a page after which no contact is added to it.
const TEXT_BYTES_MAX: usize = 256 << 10;

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
                    Some(Rule::of(&found))
                }
                None => None,
            };
            let all = Span::all(Order::Ascending);
            let Some(span) = after.map_or(Some(all), |after| all.beyond(after)) else {
                return Ok(ExportPage { data: Vec::new(), next: None });
            };
            let mut open = Open::new(contact_properties::definitions(tx, team)?);
            match rule {
                Some(rule) => open.take_segment(tx, team, &rule, span)?,
                None => open.take_all(tx, team, span)?,
            }
            Ok(open.page)
        })
        .await
}

/// A page under way.
struct Open {
    definitions: Definitions,
    page: ExportPage,
    text_bytes: usize,
}

impl Open {
    fn new(definitions: Definitions) -> Self {
        Self { definitions, page: ExportPage { data: Vec::new(), next: None }, text_bytes: 0 }
    }

    fn take_all(&mut self, tx: &impl Reads, team: TeamId, span: Span) -> Result<(), StoreError> {
        tx.scan(&CONTACTS, &(team, span.from), &(team, span.to), span.order, |(_, id), row| {
            if self.ends_before() {
                return STOP;
            }
            self.push(id, row.decode()?);
            NEXT
        })
    }

    fn take_segment(&mut self, tx: &impl Reads, team: TeamId, rule: &Rule, span: Span) -> Result<(), StoreError> {
        let mut failed = Ok(());
        let walked = segments::walk(tx, team, rule, span, LOOKED_AT_MAX, |found| {
            if self.ends_before() {
                return ControlFlow::Break(());
            }
            match contacts::find(tx, team, found.contact) {
                Ok(row) => row.into_iter().for_each(|row| self.push(found.contact, row)),
                Err(error) => {
                    failed = Err(error);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        if let Walked::Paused(last) = walked {
            self.page.next = Some(last);
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

    fn push(&mut self, id: ContactId, row: ContactRow) {
        let ContactRow { email, first_name, last_name, unsubscribed_ms, properties, updated_ms } = row;
        let properties: BTreeMap<String, String> =
            properties.into_iter().filter(|(key, _)| self.definitions.find(key).is_some()).collect();
        let names = [&first_name, &last_name].into_iter().flatten().map(String::len).sum::<usize>();
        self.text_bytes += names + properties.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>();
        self.page.data.push(ExportedContact {
            id,
            email,
            first_name,
            last_name,
            unsubscribed: unsubscribed_ms.is_some(),
            created_at: clock::to_iso(id.created_ms()),
            updated_at: clock::to_iso(updated_ms.unwrap_or_else(|| id.created_ms())),
            properties,
        });
    }
}
