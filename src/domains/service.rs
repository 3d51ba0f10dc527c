//! The use cases: add, show, change, remove, and ask for verification.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::Semaphore;

use super::decide;
use super::error::{CreateDomainError, DomainRule, UpdateDomainError};
use super::model::{
    Domain, DomainChanges, DomainStatus, DomainWithRecords, Label, NAME_CHARS_MIN, NewDomain, RecordKind,
};
use super::queue::CheckQueue;
use super::records;
use super::settings::DomainSettings;
use super::signing::{self, NewKeys};
use super::store::{self, DomainRow};
use crate::api_keys::{self, ApiKeys};
use crate::base::address::DomainName;
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::dns::Resolver;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{StoreError, WriteTx};
use crate::tables::DOMAINS;

/// The return path's label when none is chosen: that of the compatible API.
const RETURN_PATH: &str = "send";
/// Key pairs made at once. Each keeps a core busy for up to a second.
const MAKING_MAX: usize = 2;

/// The sending domains of the instance.
pub struct Domains {
    pub(super) context: Context,
    pub(super) resolver: Resolver,
    pub(super) settings: Arc<DomainSettings>,
    pub(super) queue: CheckQueue,
    /// When the next sweep is due; the first at once.
    pub(super) sweep_ms: AtomicI64,
    keys: Arc<ApiKeys>,
    making: Semaphore,
}

impl Domains {
    /// Returns the domains of the instance that `context` belongs to.
    pub fn new(context: Context, resolver: Resolver, settings: DomainSettings, keys: Arc<ApiKeys>) -> Arc<Self> {
        Arc::new(Self {
            context,
            resolver,
            settings: Arc::new(settings),
            queue: CheckQueue::default(),
            sweep_ms: AtomicI64::new(TimestampMs::MIN),
            keys,
            making: Semaphore::new(MAKING_MAX),
        })
    }

    /// Adds a domain with keys of its own.
    ///
    /// # Errors
    /// [`CreateDomainError`].
    pub async fn create(&self, team: TeamId, new: NewDomain) -> Result<DomainWithRecords, CreateDomainError> {
        let (id, row) = self.draft(team, new).await?;
        self.insert(team, id, row.clone()).await?;
        Ok(self.with_records(id, &row))
    }

    /// Adds a domain whose records count as found without a look, as `ringmail dev --domain` does.
    /// One that is there already is made so.
    ///
    /// # Errors
    /// [`CreateDomainError`].
    pub async fn add_verified(&self, team: TeamId, name: DomainName) -> Result<DomainId, CreateDomainError> {
        if let Some(id) = self.assume_existing(team, &name).await? {
            return Ok(id);
        }
        let (id, mut row) = self.draft(team, NewDomain::named(name)).await?;
        let current = records::all(&row, &self.settings);
        decide::assume(&mut row, &current);
        self.insert(team, id, row).await?;
        Ok(id)
    }

    async fn assume_existing(&self, team: TeamId, name: &DomainName) -> Result<Option<DomainId>, StoreError> {
        let (name, settings) = (name.clone(), Arc::clone(&self.settings));
        self.context
            .store
            .write(move |tx| {
                let Some(sender) = store::find_sender(tx, team, name.as_str())? else { return Ok(None) };
                let Some(mut row) = store::find(tx, team, sender.id)? else { return Ok(None) };
                let current = records::all(&row, &settings);
                decide::assume(&mut row, &current);
                store::put(tx, team, sender.id, &row)?;
                Ok(Some(sender.id))
            })
            .await
    }

    /// Checks a new domain and makes its keys. Nothing is stored.
    async fn draft(&self, team: TeamId, new: NewDomain) -> Result<(DomainId, DomainRow), CreateDomainError> {
        let NewDomain { name, region, return_path, open_tracking, click_tracking, tracking_subdomain } = new;
        let region = self.region(region)?;
        let return_path = return_path.map_or_else(|| RETURN_PATH.to_owned(), Label::into_string);
        let tracking_subdomain = tracking_subdomain.map(Label::into_string);
        if name.as_str().len() < NAME_CHARS_MIN {
            return Err(CreateDomainError::NameTooShort);
        }
        check_labels(name.as_str(), &return_path, tracking_subdomain.as_deref())?;
        if (open_tracking || click_tracking) && !self.settings.links_allowed {
            return Err(DomainRule::TrackingUnreachable.into());
        }
        // Before the costly keys; the transaction that stores the domain looks again.
        let wanted = name.clone();
        let taken = self.context.store.read(move |tx| store::find_sender(tx, team, wanted.as_str())).await?;
        if taken.is_some() {
            return Err(CreateDomainError::Taken(name));
        }
        let id: DomainId = self.context.id();
        let NewKeys { rsa, ed25519 } = self.make_keys(id).await?;
        let row = DomainRow {
            name: name.as_str().to_owned(),
            region,
            status: DomainStatus::NotStarted,
            return_path,
            open_tracking,
            click_tracking,
            tracking_subdomain,
            rsa,
            ed25519,
            records: Vec::new(),
            checked_ms: None,
            pending_since_ms: None,
            assumed: false,
            created_ms: self.context.now_ms(),
        };
        Ok((id, row))
    }

    fn region(&self, asked: Option<String>) -> Result<String, CreateDomainError> {
        let offered = &self.settings.regions;
        let region = match asked {
            Some(asked) => offered.iter().find(|region| **region == asked),
            None => offered.first(),
        };
        region.cloned().ok_or_else(|| CreateDomainError::Region(offered.clone()))
    }

    async fn make_keys(&self, id: DomainId) -> Result<NewKeys, CreateDomainError> {
        let Ok(_place) = self.making.acquire().await else {
            return Err(StoreError::Closed.into());
        };
        let keyring = self.context.keyring.clone();
        blocking::run(move || signing::generate(&keyring, id)).await.map_err(CreateDomainError::Keys)
    }

    async fn insert(&self, team: TeamId, id: DomainId, row: DomainRow) -> Result<(), CreateDomainError> {
        self.context
            .store
            .write(move |tx| {
                if store::find_sender(tx, team, &row.name)?.is_some() {
                    let name = DomainName::parse(&row.name).expect("the name of a draft was parsed");
                    return Err(CreateDomainError::Taken(name));
                }
                store::put(tx, team, id, &row)?;
                Ok(())
            })
            .await
    }

    /// Returns a page of the team's domains, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, team: TeamId, query: PageQuery<DomainId>) -> Result<Page<Domain>, PageError> {
        self.context
            .store
            .read(move |tx| page(tx, &DOMAINS, team, query, |id, row| Ok(Some(domain(id, &row.decode()?)))))
            .await
    }

    /// Returns a domain with the records it should publish.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, team: TeamId, id: DomainId) -> Result<Option<DomainWithRecords>, StoreError> {
        let row = self.context.store.read(move |tx| store::find(tx, team, id)).await?;
        Ok(row.map(|row| self.with_records(id, &row)))
    }

    /// Changes how mail of a domain is tracked.
    ///
    /// # Errors
    /// [`UpdateDomainError`].
    pub async fn update(&self, team: TeamId, id: DomainId, changes: DomainChanges) -> Result<(), UpdateDomainError> {
        let settings = Arc::clone(&self.settings);
        let look_again = self
            .context
            .store
            .write(move |tx| {
                let mut row = store::find(tx, team, id)?.ok_or(UpdateDomainError::NotFound)?;
                let label_before = row.tracking_subdomain.clone();
                change(&mut row, &changes, &settings)?;
                let relabelled = row.tracking_subdomain != label_before;
                if relabelled {
                    row.records.retain(|state| state.kind != RecordKind::Tracking);
                }
                if row.assumed {
                    let current = records::all(&row, &settings);
                    decide::assume(&mut row, &current);
                }
                store::put(tx, team, id, &row)?;
                Ok::<_, UpdateDomainError>(relabelled && row.checked_ms.is_some())
            })
            .await?;
        if look_again {
            self.queue.push(team, id, self.context.now_ms());
        }
        Ok(())
    }

    /// Removes a domain and, with it, the keys scoped to it: a scope never widens. `false` when the
    /// team has none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, team: TeamId, id: DomainId) -> Result<bool, StoreError> {
        let store = self.context.store.clone();
        let remove = move |tx: &WriteTx<'_>| {
            let Some(row) = store::find(tx, team, id)? else { return Ok(false) };
            api_keys::delete_scoped_to(tx, team, id)?;
            store::remove(tx, team, id, &row)?;
            Ok(true)
        };
        self.keys.revoke_scoped_to(team, id, async move { store.write(remove).await }).await
    }

    /// Asks for a domain's records to be looked for, and answers before they are. `false` when the
    /// team has none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn request_verification(&self, team: TeamId, id: DomainId) -> Result<bool, StoreError> {
        let now_ms = self.context.now_ms();
        let existed = self
            .context
            .store
            .write::<_, StoreError>(move |tx| {
                let Some(mut row) = store::find(tx, team, id)? else { return Ok(false) };
                let before = (row.status, row.pending_since_ms);
                decide::ask(&mut row, now_ms);
                if before != (row.status, row.pending_since_ms) {
                    store::put(tx, team, id, &row)?;
                }
                Ok(true)
            })
            .await?;
        if existed {
            self.queue.push(team, id, now_ms);
        }
        Ok(existed)
    }

    fn with_records(&self, id: DomainId, row: &DomainRow) -> DomainWithRecords {
        let view = |record| records::view(record, row);
        DomainWithRecords {
            domain: domain(id, row),
            records: records::expected(row, &self.settings).into_iter().map(view).collect(),
            recommended: vec![view(records::dmarc_advice(row))],
        }
    }
}

/// Shows a row without its keys and records.
fn domain(id: DomainId, row: &DomainRow) -> Domain {
    Domain {
        id,
        name: row.name.clone(),
        status: row.status,
        created_ms: row.created_ms,
        region: row.region.clone(),
        open_tracking: row.open_tracking,
        click_tracking: row.click_tracking,
        tracking_subdomain: row.tracking_subdomain.clone(),
    }
}

fn change(row: &mut DomainRow, changes: &DomainChanges, settings: &DomainSettings) -> Result<(), DomainRule> {
    let DomainChanges { open_tracking, click_tracking, tracking_subdomain } = changes;
    let switched_on = |before: bool, asked: Option<bool>| asked == Some(true) && !before;
    let turns_on = switched_on(row.open_tracking, *open_tracking) || switched_on(row.click_tracking, *click_tracking);
    if turns_on && !settings.links_allowed {
        return Err(DomainRule::TrackingUnreachable);
    }
    row.open_tracking = open_tracking.unwrap_or(row.open_tracking);
    row.click_tracking = click_tracking.unwrap_or(row.click_tracking);
    match tracking_subdomain {
        Patch::Keep => {}
        Patch::Clear => row.tracking_subdomain = None,
        Patch::Set(label) => row.tracking_subdomain = Some(label.as_str().to_owned()),
    }
    check_labels(&row.name, &row.return_path, row.tracking_subdomain.as_deref())
}

fn check_labels(name: &str, return_path: &str, tracking: Option<&str>) -> Result<(), DomainRule> {
    if tracking == Some(return_path) {
        return Err(DomainRule::SameLabel);
    }
    if !records::names_fit(name, &[return_path, tracking.unwrap_or_default()]) {
        return Err(DomainRule::NameTooLong);
    }
    Ok(())
}
