//! Sending domains.

use std::time::Duration;

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::pages::{find_rows, page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::address::DomainName;
use crate::base::clock::to_iso;
use crate::base::id::{DomainId, TeamId};
use crate::config;
use crate::domains::api::response::{DomainResponse, DomainWithRecordsResponse};
use crate::domains::{self, CreateDomainError, Domain, DomainStatus, DomainWithRecords, NewDomain};
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
        /// Print the records as lines of a zone file.
        #[arg(long)]
        #[serde(skip)]
        zone: bool,
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

/// A domain with its records, as in the API, and the time of their last check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckedDomain {
    #[serde(flatten)]
    pub details: DomainWithRecordsResponse,
    /// Time of the last check; `None` before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<String>,
}

/// A removed domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovedView {
    pub id: DomainId,
    pub name: String,
    pub deleted: bool,
}

impl From<DomainWithRecords> for CheckedDomain {
    fn from(domain: DomainWithRecords) -> Self {
        Self { details: domain.into(), checked_at: None }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: DomainVerb) -> VerbResult {
    let (domains, by) = (&services.domains, Actor::CommandLine.in_team(team));
    match verb {
        DomainVerb::Add { name, verified } => {
            let name = DomainName::parse(&name)
                .map_err(|error| AdminError::invalid(format!("`{name}` is not a domain name: {error}")))?;
            if !verified {
                return Ok(CheckedDomain::from(domains.create(by, NewDomain::named(name)).await?).into());
            }
            if services.kind == StoreKind::Serve {
                return Err(AdminError::invalid(
                    "--verified is only for development instances (`ringmail dev`); here a domain is verified by its DNS records",
                ));
            }
            let id = domains.add_verified(by, name).await?;
            show(services, team, id).await
        }
        DomainVerb::List { after } => {
            Ok(Rows::of(domains.list(team, page_after(after)).await?, DomainResponse::from).into())
        }
        DomainVerb::Show { domain, zone: _ } => {
            let id = find(services, team, &domain).await?;
            show(services, team, id).await
        }
        DomainVerb::Check { domain, wait: _ } => {
            let id = find(services, team, &domain).await?;
            if !domains.request_verification(by, id).await? {
                return Err(unknown("domain", &domain));
            }
            show(services, team, id).await
        }
        DomainVerb::Remove { domain } => {
            let id = find(services, team, &domain).await?;
            match domains.find(team, id).await?.map(|found| found.domain.name) {
                Some(name) if domains.delete(by, id).await? => Ok(RemovedView { id, name, deleted: true }.into()),
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
    Ok(CheckedDomain { details: domain.into(), checked_at: row.checked_ms.map(to_iso) }.into())
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
