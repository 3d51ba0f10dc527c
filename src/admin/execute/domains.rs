//! Sending domains.

use super::super::request::DomainTrust;
use super::super::response::{AdminError, DnsRecordView, DomainView, RemovedView, Response, Rows};
use super::super::services::AdminServices;
use super::{Answer, page_after, teams, time};
use crate::base::address::DomainName;
use crate::base::id::{DomainId, TeamId};
use crate::domains::{self, CreateDomainError, Domain, DomainRule, DomainWithRecords, NewDomain};
use crate::store::StoreKind;

pub(super) async fn add(services: &AdminServices, team: Option<String>, name: &str, trust: DomainTrust) -> Answer {
    let name =
        DomainName::parse(name).map_err(|error| AdminError::invalid(format!("`{name}` is no domain name: {error}")))?;
    let team = teams::chosen(services, team).await?;
    match (trust, services.kind) {
        (DomainTrust::Records, _) => {
            let domain = services.domains.create(team, NewDomain::named(name)).await?;
            Ok(Response::Domain(with_records(domain, None)))
        }
        (DomainTrust::Given, StoreKind::Dev) => {
            let id = services.domains.add_verified(team, name).await?;
            found(services, team, id).await
        }
        (DomainTrust::Given, StoreKind::Serve) => Err(AdminError::invalid(
            "--verified is for development instances (`ringmail dev`) alone; here a domain is verified by its DNS records",
        )),
    }
}

pub(super) async fn list(services: &AdminServices, team: Option<String>, after: Option<DomainId>) -> Answer {
    let team = teams::chosen(services, team).await?;
    let page = services.domains.list(team, page_after(after)).await?;
    Ok(Response::Domains(Rows { data: page.rows.into_iter().map(view).collect(), has_more: page.has_more }))
}

pub(super) async fn show(services: &AdminServices, team: Option<String>, domain: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let id = named(services, team, domain).await?;
    found(services, team, id).await
}

pub(super) async fn check(services: &AdminServices, team: Option<String>, domain: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let id = named(services, team, domain).await?;
    if !services.domains.request_verification(team, id).await? {
        return Err(unknown(domain));
    }
    found(services, team, id).await
}

pub(super) async fn remove(services: &AdminServices, team: Option<String>, domain: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let id = named(services, team, domain).await?;
    let name = services.domains.find(team, id).await?.map(|found| found.domain.name);
    match name {
        Some(name) if services.domains.delete(team, id).await? => {
            Ok(Response::Removed(RemovedView { id, name, deleted: true }))
        }
        _ => Err(unknown(domain)),
    }
}

/// Returns the domain of that name or id.
pub(super) async fn named(services: &AdminServices, team: TeamId, text: &str) -> Result<DomainId, AdminError> {
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
    found.await?.ok_or_else(|| unknown(text))
}

/// Returns the newest verified domain of a team, to send a test from.
pub(super) async fn newest_verified(services: &AdminServices, team: TeamId) -> Result<Option<String>, AdminError> {
    let mut after = None;
    loop {
        let page = services.domains.list(team, page_after(after)).await?;
        after = page.rows.last().map(|domain| domain.id);
        if let Some(domain) = page.rows.into_iter().find(|domain| domain.status == domains::DomainStatus::Verified) {
            return Ok(Some(domain.name));
        }
        if !page.has_more {
            return Ok(None);
        }
    }
}

async fn found(services: &AdminServices, team: TeamId, id: DomainId) -> Answer {
    let row = services.context.store.read(move |tx| domains::find(tx, team, id)).await?;
    let domain = services.domains.find(team, id).await?;
    let (Some(row), Some(domain)) = (row, domain) else {
        return Err(AdminError::not_found("the domain has just been removed"));
    };
    Ok(Response::Domain(with_records(domain, row.checked_ms.map(time))))
}

fn unknown(domain: &str) -> AdminError {
    AdminError::not_found(format!("the team has no domain `{domain}`; `ringmail domain list` shows those there are"))
}

fn view(domain: Domain) -> DomainView {
    let Domain { id, name, status, created_ms, region, open_tracking: _, click_tracking: _, tracking_subdomain: _ } =
        domain;
    DomainView {
        id,
        name,
        status: status.as_str().to_owned(),
        created_at: time(created_ms),
        region,
        checked_at: None,
        records: Vec::new(),
        recommended_records: Vec::new(),
    }
}

fn with_records(domain: DomainWithRecords, checked_at: Option<String>) -> DomainView {
    let DomainWithRecords { domain, records, recommended } = domain;
    DomainView {
        checked_at,
        records: records.into_iter().map(record).collect(),
        recommended_records: recommended.into_iter().map(record).collect(),
        ..view(domain)
    }
}

fn record(record: domains::RecordView) -> DnsRecordView {
    let domains::RecordView {
        record,
        name,
        dns_type,
        value,
        priority,
        status,
        live,
        detail,
        inherited_from: _,
        policy: _,
    } = record;
    DnsRecordView {
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

impl From<CreateDomainError> for AdminError {
    fn from(error: CreateDomainError) -> Self {
        match error {
            CreateDomainError::Taken(name) => {
                Self::conflict(format!("the team has the domain {name} already; see `ringmail domain show {name}`"))
            }
            CreateDomainError::NameTooShort => Self::invalid("the name is shorter than a domain can be"),
            CreateDomainError::Rule(rule) => Self::invalid(match rule {
                DomainRule::NameTooLong => "the name leaves no room for the names of its records",
                DomainRule::SameLabel => "the return path and the tracking host would have the same name",
                DomainRule::TrackingUnreachable => {
                    "tracking needs a public address that recipients reach; set one with --public-url"
                }
            }),
            CreateDomainError::Region(offered) => {
                Self::invalid(format!("the region is not offered; there are: {}", offered.join(", ")))
            }
            CreateDomainError::Keys(error) => Self::failed(format!("no signing key could be made: {error}")),
            CreateDomainError::Store(error) => error.into(),
        }
    }
}
