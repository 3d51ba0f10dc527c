//! Sending domains.

use std::time::Duration;

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::pages::{find_rows, page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::base::address::DomainName;
use crate::base::clock::to_iso;
use crate::base::id::{DomainId, TeamId};
use crate::config;
use crate::domains::{self, CreateDomainError, Domain, DomainStatus, DomainWithRecords, NewDomain, RecordView};
use crate::store::StoreKind;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum DomainVerb {
    /// Add a domain and print the DNS records it needs.
    #[serde(rename = "domain_add")]
    Add {
        /// Name of the domain.
        name: String,
        /// Treat the domain as verified without DNS records. Only for `ringmail dev`.
        #[arg(long)]
        verified: bool,
    },
    /// List the domains.
    #[serde(rename = "domain_list")]
    List {
        #[arg(skip)]
        after: Option<DomainId>,
    },
    /// Show a domain and its DNS records.
    #[serde(rename = "domain_show")]
    Show {
        /// Name or id of the domain.
        domain: String,
    },
    /// Check the DNS records of a domain and show the result. Fails unless the domain is verified.
    #[serde(rename = "domain_check")]
    Check {
        /// Name or id of the domain.
        domain: String,
        /// Maximum wait for the result.
        #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = config::wait)]
        #[serde(skip)]
        wait: Duration,
    },
    /// Remove a domain, and the API keys that may send only from it.
    #[serde(rename = "domain_remove")]
    Remove {
        /// Name or id of the domain.
        domain: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainView {
    pub id: DomainId,
    pub name: String,
    pub status: String,
    pub created_at: String,
    pub region: String,
    /// Time of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<String>,
    /// Records that sending needs; empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<DnsRecordView>,
    /// Recommended records; empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended_records: Vec<DnsRecordView>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DnsRecordView {
    pub record: String,
    pub name: String,
    #[serde(rename = "type")]
    pub dns_type: String,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A removed domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovedView {
    pub id: DomainId,
    pub name: String,
    pub deleted: bool,
}

impl From<Domain> for DomainView {
    fn from(domain: Domain) -> Self {
        let Domain { id, name, status, created_ms, region, .. } = domain;
        Self {
            id,
            name,
            status: status.as_str().to_owned(),
            created_at: to_iso(created_ms),
            region,
            checked_at: None,
            records: Vec::new(),
            recommended_records: Vec::new(),
        }
    }
}

impl From<DomainWithRecords> for DomainView {
    fn from(domain: DomainWithRecords) -> Self {
        let DomainWithRecords { domain, records, recommended } = domain;
        Self {
            records: records.into_iter().map(DnsRecordView::from).collect(),
            recommended_records: recommended.into_iter().map(DnsRecordView::from).collect(),
            ..domain.into()
        }
    }
}

impl From<RecordView> for DnsRecordView {
    fn from(record: RecordView) -> Self {
        let RecordView { record, name, dns_type, value, priority, status, live, detail, .. } = record;
        Self {
            record: record.to_owned(),
            name,
            dns_type: dns_type.to_owned(),
            value,
            priority,
            status: status.as_str().to_owned(),
            live: live.map(|live| live.as_str().to_owned()),
            detail,
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: DomainVerb) -> VerbResult {
    let domains = &services.domains;
    match verb {
        DomainVerb::Add { name, verified } => {
            let name = DomainName::parse(&name)
                .map_err(|error| AdminError::invalid(format!("`{name}` is not a domain name: {error}")))?;
            if !verified {
                return Ok(DomainView::from(domains.create(team, NewDomain::named(name)).await?).into());
            }
            if services.kind == StoreKind::Serve {
                return Err(AdminError::invalid(
                    "--verified is only for development instances (`ringmail dev`); here a domain is verified by its DNS records",
                ));
            }
            let id = domains.add_verified(team, name).await?;
            show(services, team, id).await
        }
        DomainVerb::List { after } => {
            Ok(Rows::of(domains.list(team, page_after(after)).await?, DomainView::from).into())
        }
        DomainVerb::Show { domain } => {
            let id = find(services, team, &domain).await?;
            show(services, team, id).await
        }
        DomainVerb::Check { domain, wait: _ } => {
            let id = find(services, team, &domain).await?;
            if !domains.request_verification(team, id).await? {
                return Err(unknown("domain", &domain));
            }
            show(services, team, id).await
        }
        DomainVerb::Remove { domain } => {
            let id = find(services, team, &domain).await?;
            match domains.find(team, id).await?.map(|found| found.domain.name) {
                Some(name) if domains.delete(team, id).await? => Ok(RemovedView { id, name, deleted: true }.into()),
                _ => Err(unknown("domain", &domain)),
            }
        }
    }
}

/// Returns the id of the domain with the given name or id.
pub(super) async fn find(services: &AdminServices, team: TeamId, text: &str) -> Result<DomainId, AdminError> {
    let (name, id) = (DomainName::parse(text).ok(), DomainId::parse(text));
    let found = services.context.store.read::<_, AdminError>(move |tx| {
        if let Some(name) = name
            && let Some(row) = domains::find_sender(tx, team, name.as_str())?
        {
            return Ok(Some(row.id));
        }
        match id {
            Some(id) if domains::exists(tx, team, id)? => Ok(Some(id)),
            _ => Ok(None),
        }
    });
    found.await?.ok_or_else(|| unknown("domain", text))
}

/// Returns the name of the team's newest verified domain; `None` if it has none.
pub(super) async fn newest_verified(services: &AdminServices, team: TeamId) -> Result<Option<String>, AdminError> {
    let list = |query| services.domains.list(team, query);
    let is_verified = |domain: &Domain| domain.status == DomainStatus::Verified;
    let mut newest = find_rows(list, |domain: &Domain| domain.id, is_verified, 1).await?;
    Ok(newest.pop().map(|domain| domain.name))
}

async fn show(services: &AdminServices, team: TeamId, id: DomainId) -> VerbResult {
    let row = services.context.store.read(move |tx| domains::find(tx, team, id)).await?;
    let (Some(row), Some(domain)) = (row, services.domains.find(team, id).await?) else {
        return Err(AdminError::not_found("the domain has just been removed"));
    };
    Ok(DomainView { checked_at: row.checked_ms.map(to_iso), ..domain.into() }.into())
}

impl From<CreateDomainError> for AdminError {
    fn from(error: CreateDomainError) -> Self {
        let message = error.to_string();
        match error {
            CreateDomainError::Taken(_) => Self::conflict(message),
            CreateDomainError::NameTooShort | CreateDomainError::Rule(_) | CreateDomainError::Region(_) => {
                Self::invalid(message)
            }
            CreateDomainError::Keys(_) => Self::failed(message),
            CreateDomainError::Store(error) => error.into(),
        }
    }
}
