//! The rows, a page at a time.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::{self, TimestampMs};
use crate::contact_properties::{self, Definitions};
use crate::contacts::ContactRow;
use crate::context::Context;
use crate::id::{ContactId, SegmentId, TeamId};
use crate::segments;
use crate::store::tables::CONTACTS;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};

/// Contacts of a page, and contacts looked at for it.
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
            if let Some(id) = segment
                && !segments::exists(tx, team, id)?
            {
                return Err(ExportError::SegmentNotFound(id));
            }
            let mut open = Open::new(contact_properties::definitions(tx, team)?);
            open.take(tx, team, segment, after)?;
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

    fn take(
        &mut self,
        tx: &impl Reads,
        team: TeamId,
        segment: Option<SegmentId>,
        after: Option<ContactId>,
    ) -> Result<(), StoreError> {
        let from = after.unwrap_or(ContactId::MIN);
        let mut looked_at = 0;
        tx.scan(&CONTACTS, &(team, from), &(team, ContactId::MAX), Order::Ascending, |(_, id), row| {
            if Some(id) == after {
                return NEXT;
            }
            if self.is_full() || looked_at == LOOKED_AT_MAX {
                return STOP;
            }
            looked_at += 1;
            self.page.next = Some(id);
            if segment.is_none_or(|_| true) {
                self.push(id, row.decode()?);
            }
            NEXT
        })
    }

    fn is_full(&self) -> bool {
        self.page.data.len() == ROWS_MAX || self.text_bytes > TEXT_BYTES_MAX
    }

    fn push(&mut self, id: ContactId, row: ContactRow) {
        let ContactRow { email, first_name, last_name, unsubscribed_ms, properties, updated_ms } = row;
        let time = |ms: TimestampMs| clock::to_iso(ms);
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
            created_at: time(id.created_ms()),
            updated_at: time(updated_ms.unwrap_or_else(|| id.created_ms())),
            properties,
        });
    }
}
