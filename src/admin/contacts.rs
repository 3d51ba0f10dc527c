//! Import and export of contacts.

use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::{self, Actor, AuditAction, AuditEntry};
use crate::base::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::contacts::export::{self, ExportError};
use crate::contacts::import::{self, ExistingContacts, ImportDefaults, ImportError, ImportItem, RunMode, WriteOptions};
use crate::store::{StoreError, WriteTx};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum ContactVerb {
    /// Returns the contact properties of the team, for an import or an export. Fails if a segment or a
    /// topic does not exist.
    #[serde(rename = "contact_properties")]
    Properties {
        segments: Vec<SegmentId>,
        topics: Vec<TopicId>,
        /// Kind of the transfer, for the audit log; `None` for a check that stores nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<ContactTransfer>,
    },
    /// Imports up to 1,000 contacts.
    #[serde(rename = "import_contacts")]
    Import {
        existing: ExistingContacts,
        run: RunMode,
        /// Segments that each contact is added to.
        segments: Vec<SegmentId>,
        /// Topics that each contact is opted in to, unless the contact has opted out.
        topics: Vec<TopicId>,
        items: Vec<ImportItem>,
    },
    /// Returns a page of contacts, oldest first.
    #[serde(rename = "export_contacts")]
    Export {
        /// Segment of the contacts; `None` selects all contacts.
        segment: Option<SegmentId>,
        /// Last contact that the previous page read.
        after: Option<ContactId>,
    },
}

/// Direction of a transfer of contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContactTransfer {
    Import,
    Export {
        /// Segment of the contacts; `None` for all contacts.
        segment: Option<SegmentId>,
    },
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: ContactVerb) -> VerbResult {
    let context = &services.context;
    match verb {
        ContactVerb::Properties { segments, topics, transfer } => {
            let properties = import::begin(context, team, ImportDefaults { segments, topics }).await?;
            if let Some(transfer) = transfer {
                record(services, team, transfer).await?;
            }
            Ok(Rows::whole(properties).into())
        }
        ContactVerb::Import { existing, run, segments, topics, items } => {
            let options = WriteOptions { existing, run, defaults: ImportDefaults { segments, topics } };
            Ok(Rows::whole(import::write_batch(context, team, options, items).await?).into())
        }
        ContactVerb::Export { segment, after } => Ok(export::page(context, team, segment, after).await?.into()),
    }
}

/// Records the start of a transfer. Its pages are separate requests, which have no entries.
async fn record(services: &AdminServices, team: TeamId, transfer: ContactTransfer) -> Result<(), AdminError> {
    let entry = match transfer {
        ContactTransfer::Import => AuditEntry::new(AuditAction::ContactImportStarted),
        ContactTransfer::Export { segment: None } => AuditEntry::new(AuditAction::ContactExportStarted),
        ContactTransfer::Export { segment: Some(id) } => {
            AuditEntry::new(AuditAction::ContactExportStarted).with("segment_id", id.to_string())
        }
    };
    let (context, by) = (services.context.clone(), Actor::CommandLine.in_team(team));
    let write = move |tx: &WriteTx<'_>| audit::record(tx, &context, by, entry.clone());
    Ok(services.context.store.write::<_, StoreError>(write).await?)
}

impl From<ImportError> for AdminError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::TooMany => Self::invalid(error.to_string()),
            ImportError::SegmentNotFound(_) | ImportError::TopicNotFound(_) => Self::not_found(error.to_string()),
            ImportError::Store(error) => error.into(),
        }
    }
}

impl From<ExportError> for AdminError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::SegmentNotFound(_) => Self::not_found(error.to_string()),
            ExportError::Store(error) => error.into(),
        }
    }
}
