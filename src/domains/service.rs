//! The use cases: add, show, change and delete a domain, and request verification.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::Semaphore;

use super::decide;
use super::error::{CreateDomainError, DomainRule, UpdateDomainError};
use super::model::{
    DnsLabel, Domain, DomainChanges, DomainStatus, DomainWithRecords, NAME_CHARS_MIN, NewDomain, RecordKind,
};
use super::queue::CheckQueue;
use super::records;
use super::settings::DomainSettings;
use super::signing::{self, NewKeys};
use super::store::{self, DomainRow};
use crate::api_keys::{self, ApiKeys};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::address::DomainName;
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::dns::Resolver;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{Keyring, StoreError, WriteTx};
use crate::tables::DOMAINS;

/// Default label of the return path, as in the compatible API.
const RETURN_PATH: &str = "send";
/// Maximum number of domains whose keys are generated concurrently. Each needs one second of CPU time at most.
const KEY_GENERATIONS_MAX: usize = 2;

/// A valid new domain with its keys, before it has an id.
struct DomainDraft {
    name: DomainName,
    region: String,
    return_path: String,
    open_tracking: bool,
    click_tracking: bool,
    tracking_subdomain: Option<String>,
    keys: NewKeys,
}

impl DomainDraft {
    /// Returns the row of the domain with its keys sealed under `id`.
    fn row(&self, keyring: &Keyring, id: DomainId) -> DomainRow {
        let Self { name, region, return_path, open_tracking, click_tracking, tracking_subdomain, keys } = self;
        DomainRow {
            name: name.as_str().to_owned(),
            region: region.clone(),
            status: DomainStatus::NotStarted,
            return_path: return_path.clone(),
            open_tracking: *open_tracking,
            click_tracking: *click_tracking,
            tracking_subdomain: tracking_subdomain.clone(),
            rsa: keys.rsa.seal(keyring, id),
            ed25519: keys.ed25519.seal(keyring, id),
            records: Vec::new(),
            checked_ms: None,
            pending_since_ms: None,
            assumed: false,
            refusal: None,
            created_ms: id.created_ms(),
        }
    }
}

/// Status of a domain when it is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InitialStatus {
    /// The domain becomes verified by checks.
    NotStarted,
    /// The domain is verified without a check.
    Assumed,
}

/// The sending domains of the instance.
pub struct Domains {
    pub(super) context: Context,
    pub(super) resolver: Resolver,
    pub(super) settings: Arc<DomainSettings>,
    pub(super) queue: CheckQueue,
    /// Due time of the next sweep on the monotonic clock. The first one is due immediately.
    pub(super) next_sweep_ms: AtomicI64,
    keys: Arc<ApiKeys>,
    key_generations: Semaphore,
}

impl Domains {
    pub fn new(context: Context, resolver: Resolver, settings: DomainSettings, keys: Arc<ApiKeys>) -> Arc<Self> {
        Arc::new(Self {
            context,
            resolver,
            settings: Arc::new(settings),
            queue: CheckQueue::default(),
            next_sweep_ms: AtomicI64::new(TimestampMs::MIN),
            keys,
            key_generations: Semaphore::new(KEY_GENERATIONS_MAX),
        })
    }

    /// Adds a domain and generates its keys. Needs about one second, or more if other keys are being generated.
    pub async fn create(
        &self,
        by: impl Into<TeamActor>,
        new: NewDomain,
    ) -> Result<DomainWithRecords, CreateDomainError> {
        let by = by.into();
        let draft = self.draft(by.team, new).await?;
        let (id, row) = self.insert(by, draft, InitialStatus::NotStarted).await?;
        Ok(self.with_records(id, &row))
    }

    /// Adds a domain that is verified without a check, as `ringmail dev --domain` does. If the team already has the
    /// domain, marks it as verified.
    pub async fn add_verified(
        &self,
        by: impl Into<TeamActor>,
        name: DomainName,
    ) -> Result<DomainId, CreateDomainError> {
        let by = by.into();
        if let Some(id) = self.assume_existing(by.team, &name).await? {
            return Ok(id);
        }
        let draft = self.draft(by.team, NewDomain::named(name)).await?;
        let (id, _) = self.insert(by, draft, InitialStatus::Assumed).await?;
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

    /// Validates a new domain and generates its keys. Stores nothing.
    async fn draft(&self, team: TeamId, new: NewDomain) -> Result<DomainDraft, CreateDomainError> {
        let NewDomain { name, region, return_path, open_tracking, click_tracking, tracking_subdomain } = new;
        let region = self.region(region)?;
        let return_path = return_path.map_or_else(|| RETURN_PATH.to_owned(), DnsLabel::into_string);
        let tracking_subdomain = tracking_subdomain.map(DnsLabel::into_string);
        if name.as_str().len() < NAME_CHARS_MIN {
            return Err(CreateDomainError::NameTooShort);
        }
        check_labels(name.as_str(), &return_path, tracking_subdomain.as_deref())?;
        if (open_tracking || click_tracking) && !self.settings.links_allowed {
            return Err(DomainRule::TrackingUnreachable.into());
        }
        // Checked before the keys are generated, which is costly. `insert` checks again in its transaction.
        let new_name = name.clone();
        let taken = self.context.store.read(move |tx| store::find_sender(tx, team, new_name.as_str())).await?;
        if taken.is_some() {
            return Err(CreateDomainError::Taken(name));
        }
        let keys = self.generate_keys().await?;
        Ok(DomainDraft { name, region, return_path, open_tracking, click_tracking, tracking_subdomain, keys })
    }

    fn region(&self, requested: Option<String>) -> Result<String, CreateDomainError> {
        let offered = &self.settings.regions;
        let region = match requested {
            Some(requested) => offered.iter().find(|region| **region == requested),
            None => offered.first(),
        };
        region.cloned().ok_or_else(|| CreateDomainError::Region(offered.clone()))
    }

    async fn generate_keys(&self) -> Result<NewKeys, CreateDomainError> {
        let Ok(_permit) = self.key_generations.acquire().await else {
            return Err(StoreError::Closed.into());
        };
        blocking::run(signing::generate).await.map_err(CreateDomainError::Keys)
    }

    /// Stores a draft. The id is drawn in the transaction: the keys of another domain may need longer, and the order of
    /// ids is the order of creation.
    async fn insert(
        &self,
        by: TeamActor,
        draft: DomainDraft,
        initial: InitialStatus,
    ) -> Result<(DomainId, DomainRow), CreateDomainError> {
        let (context, settings, team) = (self.context.clone(), Arc::clone(&self.settings), by.team);
        self.context
            .store
            .write(move |tx| {
                if store::find_sender(tx, team, draft.name.as_str())?.is_some() {
                    return Err(CreateDomainError::Taken(draft.name.clone()));
                }
                let id: DomainId = context.id();
                let mut row = draft.row(&context.keyring, id);
                if initial == InitialStatus::Assumed {
                    let current = records::all(&row, &settings);
                    decide::assume(&mut row, &current);
                }
                store::put(tx, team, id, &row)?;
                let entry = tracking_changes(entry(AuditAction::DomainCreated, id, &row), None, &row);
                audit::record(tx, &context, by, entry)?;
                Ok((id, row))
            })
            .await
    }

    /// Returns a page of the team's domains, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<DomainId>) -> Result<Page<Domain>, PageError> {
        let now_ms = self.context.now_ms();
        let domain = move |id, row: DomainRow| Ok(Some(domain(id, &row, now_ms)));
        self.context.store.read(move |tx| page(tx, &DOMAINS, team, query, domain)).await
    }

    /// Returns a domain with the records it should publish; `None` if the team has no domain with this id.
    pub async fn find(&self, team: TeamId, id: DomainId) -> Result<Option<DomainWithRecords>, StoreError> {
        let row = self.context.store.read(move |tx| store::find(tx, team, id)).await?;
        Ok(row.map(|row| self.with_records(id, &row)))
    }

    /// Changes the tracking settings of a domain. If a checked domain gets a new tracking label, it is checked again.
    pub async fn update(
        &self,
        by: impl Into<TeamActor>,
        id: DomainId,
        changes: DomainChanges,
    ) -> Result<(), UpdateDomainError> {
        let by = by.into();
        let (settings, context, team) = (Arc::clone(&self.settings), self.context.clone(), by.team);
        let recheck = self
            .context
            .store
            .write(move |tx| {
                let mut row = store::find(tx, team, id)?.ok_or(UpdateDomainError::NotFound)?;
                let before = row.clone();
                apply_changes(&mut row, &changes, &settings)?;
                let label_changed = row.tracking_subdomain != before.tracking_subdomain;
                if label_changed {
                    row.records.retain(|state| state.kind != RecordKind::Tracking);
                }
                if row.assumed {
                    let current = records::all(&row, &settings);
                    decide::assume(&mut row, &current);
                }
                store::put(tx, team, id, &row)?;
                let entry = tracking_changes(entry(AuditAction::DomainUpdated, id, &row), Some(&before), &row);
                if entry.has_detail() {
                    audit::record(tx, &context, by, entry)?;
                }
                Ok::<_, UpdateDomainError>(label_changed && row.checked_ms.is_some())
            })
            .await?;
        if recheck {
            self.queue.push(team, id, self.context.clock.elapsed_ms());
        }
        Ok(())
    }

    /// Deletes a domain and the API keys scoped to it, so that no key gets a wider scope. Returns `false` if the team
    /// has no domain with this id.
    pub async fn delete(&self, by: impl Into<TeamActor>, id: DomainId) -> Result<bool, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let (store, now_ms, team) = (context.store.clone(), context.now_ms(), by.team);
        let remove = move |tx: &WriteTx<'_>| {
            let Some(row) = store::find(tx, team, id)? else { return Ok(false) };
            // A scoped key can delete its own domain: its name is read before its row is deleted.
            let entry = entry(AuditAction::DomainDeleted, id, &row);
            audit::record(tx, &context, by, entry)?;
            api_keys::delete_scoped_to(tx, &context, by, id)?;
            store::remove(tx, team, id, &row, now_ms)?;
            Ok(true)
        };
        self.keys.revoke_scoped_to(team, id, async move { store.write(remove).await }).await
    }

    /// Starts the verification of a domain and returns before the check. Returns `false` if the team has no domain with
    /// this id.
    pub async fn request_verification(&self, by: impl Into<TeamActor>, id: DomainId) -> Result<bool, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let (now_ms, team) = (context.now_ms(), by.team);
        let existed = self
            .context
            .store
            .write::<_, StoreError>(move |tx| {
                let Some(mut row) = store::find(tx, team, id)? else { return Ok(false) };
                let before = (row.status, row.pending_since_ms);
                decide::request_check(&mut row, now_ms);
                if before != (row.status, row.pending_since_ms) {
                    store::put(tx, team, id, &row)?;
                }
                audit::record(tx, &context, by, entry(AuditAction::DomainVerificationRequested, id, &row))?;
                Ok(true)
            })
            .await?;
        if existed {
            self.queue.push(team, id, self.context.clock.elapsed_ms());
        }
        Ok(existed)
    }

    fn with_records(&self, id: DomainId, row: &DomainRow) -> DomainWithRecords {
        let view = |record| records::view(record, row);
        DomainWithRecords {
            domain: domain(id, row, self.context.now_ms()),
            records: records::expected(row, &self.settings).into_iter().map(view).collect(),
            recommended: vec![view(records::recommended_dmarc(row))],
            checked_ms: row.checked_ms,
        }
    }
}

fn entry(action: AuditAction, id: DomainId, row: &DomainRow) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::Domain, id).named(&row.name)
}

/// Adds the tracking settings that differ from those of `before`; all of them for a new domain.
fn tracking_changes(mut entry: AuditEntry, before: Option<&DomainRow>, row: &DomainRow) -> AuditEntry {
    if before.is_none_or(|before| before.open_tracking != row.open_tracking) {
        entry = entry.with("open_tracking", row.open_tracking);
    }
    if before.is_none_or(|before| before.click_tracking != row.click_tracking) {
        entry = entry.with("click_tracking", row.click_tracking);
    }
    if before.is_none_or(|before| before.tracking_subdomain != row.tracking_subdomain) {
        entry = entry.with("tracking_subdomain", row.tracking_subdomain.clone());
    }
    entry
}

/// Converts a row to a domain without its keys and records.
fn domain(id: DomainId, row: &DomainRow, now_ms: TimestampMs) -> Domain {
    Domain {
        id,
        name: row.name.clone(),
        status: row.status,
        created_ms: row.created_ms,
        region: row.region.clone(),
        open_tracking: row.open_tracking,
        click_tracking: row.click_tracking,
        tracking_subdomain: row.tracking_subdomain.clone(),
        refusal: row.recent_refusal(now_ms),
    }
}

fn apply_changes(row: &mut DomainRow, changes: &DomainChanges, settings: &DomainSettings) -> Result<(), DomainRule> {
    let DomainChanges { open_tracking, click_tracking, tracking_subdomain } = changes;
    let switched_on = |before: bool, requested: Option<bool>| requested == Some(true) && !before;
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
