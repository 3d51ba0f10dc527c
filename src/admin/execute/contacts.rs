//! Contacts: import and export.

use super::super::response::{AdminError, Response, Rows};
use super::super::services::AdminServices;
use super::{Answer, teams};
use crate::base::id::{ContactId, SegmentId};
use crate::contacts::export::{self, ExportError};
use crate::contacts::import::{self, ImportDefaults, ImportError, ImportItem, WriteOptions};

pub(super) async fn begin(services: &AdminServices, team: Option<String>, defaults: ImportDefaults) -> Answer {
    let team = teams::chosen(services, team).await?;
    let properties = import::begin(&services.context, team, defaults).await?;
    Ok(Response::Properties(Rows { data: properties, has_more: false }))
}

pub(super) async fn import(
    services: &AdminServices,
    team: Option<String>,
    options: WriteOptions,
    items: Vec<ImportItem>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let outcomes = import::write_batch(&services.context, team, options, items).await?;
    Ok(Response::Imported(Rows { data: outcomes, has_more: false }))
}

pub(super) async fn export(
    services: &AdminServices,
    team: Option<String>,
    segment: Option<SegmentId>,
    after: Option<ContactId>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    Ok(Response::Exported(export::page(&services.context, team, segment, after).await?))
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
