//! The use cases of API keys. Requests are authenticated from the cache.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cache::KeyCache;
use super::model::{ApiKey, ApiKeyToken, Caller, NAME_CHARS_MAX, NewKey, TOKEN_PREFIX};
use super::store::{ApiKeyRow, ApiKeyUseRow};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, Id, TeamId};
use crate::base::one_line::one_line;
use crate::base::random;
use crate::base::sync;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{KeyOf, NEXT, Order, Reads, StoreError, WriteTx, from_store_error};
use crate::tables::{API_KEY_USES, API_KEYS};
use crate::teams;

/// Resolution of the last use. A busy key causes at most one write per minute.
const USE_RESOLUTION_MS: i64 = 60_000;
const TOKEN_RANDOM_BYTES: usize = 24;

/// Failure to create or rename a key.
#[derive(Debug)]
pub enum CreateKeyError {
    /// The name is empty, too long, or has control characters.
    Name,
    /// The team does not have the domain.
    DomainNotFound,
    Store(StoreError),
}

from_store_error!(CreateKeyError);

/// Function that returns whether a team has a domain. Passed in, because domains depend on API keys.
pub type DomainExists = fn(&WriteTx<'_>, TeamId, DomainId) -> Result<bool, StoreError>;

/// The API keys of the instance.
pub struct ApiKeys {
    context: Context,
    cache: Arc<RwLock<KeyCache>>,
    /// Held during a commit and the following change of the cache, so that the cache changes in the
    /// order of the commits.
    changing: Arc<tokio::sync::Mutex<()>>,
    /// Tasks that continue when the caller drops its future.
    tasks: TaskTracker,
    domain_exists: DomainExists,
    /// Uses not yet written. At most one entry a key.
    uses: Mutex<HashMap<(TeamId, ApiKeyId), TimestampMs>>,
}

impl ApiKeys {
    /// Loads the keys of all teams into the cache, except corrupt ones and those of removed teams. Blocks.
    pub fn load(context: Context, tasks: TaskTracker, domain_exists: DomainExists) -> Result<Arc<Self>, StoreError> {
        let cache = context.store.read_now::<_, StoreError>(|tx| {
            let mut cache = KeyCache::default();
            let removed: BTreeSet<TeamId> = teams::removed(tx)?.into_iter().map(|team| team.id).collect();
            let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
            tx.scan_valid(&API_KEYS, &from, &to, Order::Ascending, |(team, id), row| {
                if !removed.contains(&team) {
                    cache.insert(team, id, &row);
                }
                NEXT
            })?;
            Ok(cache)
        })?;
        let cache = Arc::new(RwLock::new(cache));
        Ok(Arc::new(Self { context, cache, changing: Arc::default(), tasks, domain_exists, uses: Mutex::default() }))
    }

    /// Returns the caller of a token and records its use; `None` if the token is not valid.
    pub fn authenticate(&self, token: &ApiKeyToken) -> Option<Caller> {
        let caller = sync::read(&self.cache).caller(&token.hash())?;
        let minute = self.context.now_ms().div_euclid(USE_RESOLUTION_MS) * USE_RESOLUTION_MS;
        sync::lock(&self.uses).insert((caller.team, caller.key), minute);
        Some(caller)
    }

    /// Returns a token that is cancelled when the caller's key is revoked. Long responses need it, because
    /// a request is authenticated only at its start.
    pub fn revocation(&self, caller: &Caller) -> CancellationToken {
        sync::read(&self.cache).revocation(caller)
    }

    /// Creates a key and returns it with its token. The token cannot be read again.
    pub async fn create(&self, by: impl Into<TeamActor>, new: NewKey) -> Result<(ApiKey, ApiKeyToken), CreateKeyError> {
        let token = draw_token();
        let key = self.create_with_token(by, new, &token).await?;
        Ok((key, token))
    }

    /// Creates a key with a given token, as `ringmail dev --api-key` does.
    pub async fn create_with_token(
        &self,
        by: impl Into<TeamActor>,
        new: NewKey,
        token: &ApiKeyToken,
    ) -> Result<ApiKey, CreateKeyError> {
        let by = by.into();
        let team = by.team;
        let NewKey { name, permission, domain } = new;
        let name = checked_name(&name).ok_or(CreateKeyError::Name)?;
        let (token_hash, last_four) = (token.hash(), token.last_four().to_owned());
        let (context, domain_exists) = (self.context.clone(), self.domain_exists);
        let commit = async move {
            let audited = context.clone();
            let insert = move |tx: &WriteTx<'_>| {
                if let Some(domain) = domain
                    && !domain_exists(tx, team, domain)?
                {
                    return Err(CreateKeyError::DomainNotFound);
                }
                let id: ApiKeyId = audited.id();
                let (name, last_four, created_ms) = (name.clone(), last_four.clone(), id.created_ms());
                let row = ApiKeyRow { name, permission, domain, token_hash, last_four, created_ms };
                tx.put(&API_KEYS, &(team, id), &row)?;
                let mut entry = entry(AuditAction::ApiKeyCreated, id, &row).with("permission", permission.as_str());
                if let Some(domain) = domain {
                    entry = entry.with("domain_id", domain.to_string());
                }
                audit::record(tx, &audited, by, entry)?;
                Ok((id, row))
            };
            context.store.write(insert).await
        };
        let (id, row) = self.change(commit, move |cache, (id, row)| cache.insert(team, *id, row)).await?;
        Ok(row.key(team, id, None))
    }

    /// Returns a page of the team's keys, newest first.
    pub async fn list(&self, team: TeamId, query: PageQuery<ApiKeyId>) -> Result<Page<ApiKey>, PageError> {
        self.flush_uses().await?;
        self.context
            .store
            .read(move |tx| {
                page(tx, &API_KEYS, team, query, |id, row| {
                    let used = tx.get_valid(&API_KEY_USES, &(team, id))?.map(|row| row.used_ms);
                    Ok(Some(row.key(team, id, used)))
                })
            })
            .await
    }

    /// Renames a key; returns `false` if the team has no such key.
    ///
    /// # Errors
    /// [`CreateKeyError::Name`], [`CreateKeyError::Store`].
    pub async fn rename(&self, by: impl Into<TeamActor>, id: ApiKeyId, name: &str) -> Result<bool, CreateKeyError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let name = checked_name(name).ok_or(CreateKeyError::Name)?;
        self.context
            .store
            .write(move |tx| {
                let Some(mut row) = tx.get(&API_KEYS, &(team, id))? else { return Ok(false) };
                if row.name == name {
                    return Ok(true);
                }
                let entry = entry(AuditAction::ApiKeyUpdated, id, &row).with("name", name.as_str());
                row.name.clone_from(&name);
                tx.put(&API_KEYS, &(team, id), &row)?;
                audit::record(tx, &context, by, entry)?;
                Ok(true)
            })
            .await
    }

    /// Returns the key with this id; `None` if the team has no such key.
    pub async fn find(&self, team: TeamId, id: ApiKeyId) -> Result<Option<ApiKeyRow>, StoreError> {
        self.context.store.read(move |tx| tx.get(&API_KEYS, &(team, id))).await
    }

    /// Revokes a key and cancels the tasks that run under it. Returns `false` if the team has no such
    /// key.
    pub async fn delete(&self, by: impl Into<TeamActor>, id: ApiKeyId) -> Result<bool, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let (store, now_ms) = (context.store.clone(), context.now_ms());
        let remove = move |tx: &WriteTx<'_>| {
            let row = tx.get_valid(&API_KEYS, &(team, id))?;
            // A key can revoke itself: its name is read before its row is deleted.
            if tx.contains(&API_KEYS, &(team, id))? {
                let named = row.map(|row| row.name).unwrap_or_default();
                let entry = AuditEntry::new(AuditAction::ApiKeyDeleted).of(AuditTargetKind::ApiKey, id).named(&named);
                audit::record(tx, &context, by, entry)?;
            }
            delete_row(tx, team, id, now_ms)
        };
        let commit = async move { store.write(remove).await };
        self.change(commit, move |cache, _| {
            cache.revoke(|caller| caller.team == team && caller.key == id);
        })
        .await
    }

    /// Runs the commit that deletes a domain and, with [`delete_scoped_to`], its scoped keys. Then removes
    /// the keys from the cache and cancels the tasks that run under them.
    ///
    /// # Errors
    /// The error of `commit`.
    pub(crate) async fn revoke_scoped_to<T: Send + 'static>(
        &self,
        team: TeamId,
        domain: DomainId,
        commit: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.change(commit, move |cache, _| {
            cache.revoke(|caller| caller.team == team && caller.domain == Some(domain));
        })
        .await
    }

    /// Runs the commit that removes a team or deletes its keys with [`delete_of_team`]. Then removes the keys from
    /// the cache and cancels the tasks that run under them.
    ///
    /// # Errors
    /// The error of `commit`.
    pub(crate) async fn revoke_of_team<T, E>(
        &self,
        team: TeamId,
        commit: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.change(commit, move |cache, _| cache.revoke(|caller| caller.team == team)).await
    }

    /// Runs a commit, then the change of the cache. Only one pair runs at a time. It runs in a separate
    /// task: if the caller drops its future, a key that is revoked in the store must not stay valid.
    async fn change<T, E>(
        &self,
        commit: impl Future<Output = Result<T, E>> + Send + 'static,
        follow: impl FnOnce(&mut KeyCache, &T) + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (cache, changing) = (Arc::clone(&self.cache), Arc::clone(&self.changing));
        let changed = self.tasks.spawn(async move {
            let _guard = changing.lock().await;
            let committed = commit.await?;
            follow(&mut sync::write(&cache), &committed);
            Ok(committed)
        });
        changed.await.unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Stores the uses since the last call in one commit.
    pub async fn flush_uses(&self) -> Result<(), StoreError> {
        let uses = std::mem::take(&mut *sync::lock(&self.uses));
        if uses.is_empty() {
            return Ok(());
        }
        let store = self.context.store.clone();
        let put = move |tx: &WriteTx<'_>| {
            for ((team, id), used_ms) in &uses {
                // The key may have been deleted since its use.
                if tx.contains(&API_KEYS, &(*team, *id))? {
                    tx.put(&API_KEY_USES, &(*team, *id), &ApiKeyUseRow { used_ms: *used_ms })?;
                }
            }
            Ok(())
        };
        // A separate task stores the uses even if the caller drops its future.
        let written = self.tasks.spawn(async move { store.write_bulk(put).await });
        written.await.unwrap_or(Err(StoreError::Panicked))
    }
}

/// Deletes up to `rows_max` keys of a removed team and as many uses; returns the number of rows. Call it in the
/// commit of [`ApiKeys::revoke_of_team`].
pub(crate) fn delete_of_team(tx: &WriteTx<'_>, team: TeamId, rows_max: usize) -> Result<usize, StoreError> {
    let uses = tx.delete_range(&API_KEY_USES, &(team, Id::MIN), &(team, Id::MAX), rows_max)?;
    Ok(uses + tx.delete_range(&API_KEYS, &(team, Id::MIN), &(team, Id::MAX), rows_max)?)
}

/// Deletes the keys that are scoped to a deleted domain, so that no scope becomes wider. Records them in one entry of
/// the audit log. Call it in the transaction that deletes the domain.
pub(crate) fn delete_scoped_to(
    tx: &WriteTx<'_>,
    context: &Context,
    by: TeamActor,
    domain: DomainId,
) -> Result<(), StoreError> {
    let (team, now_ms) = (by.team, context.now_ms());
    let scoped = tx.collect(&API_KEYS, KeyOf::bounds(team), Order::Ascending, |(_, id), row| {
        Ok(row.valid().filter(|row| row.domain == Some(domain)).map(|row| (id, row.name)))
    })?;
    let entry = AuditEntry::new(AuditAction::ApiKeyDeleted).with("domain_id", domain.to_string());
    match scoped.as_slice() {
        [] => return Ok(()),
        [(id, name)] => audit::record(tx, context, by, entry.of(AuditTargetKind::ApiKey, id).named(name))?,
        _ => audit::record(tx, context, by, entry.with("count", scoped.len()))?,
    }
    for (id, _) in scoped {
        delete_row(tx, team, id, now_ms)?;
    }
    Ok(())
}

fn entry(action: AuditAction, id: ApiKeyId, row: &ApiKeyRow) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::ApiKey, id).named(&row.name)
}

fn delete_row(tx: &WriteTx<'_>, team: TeamId, id: ApiKeyId, now_ms: TimestampMs) -> Result<bool, StoreError> {
    if !tx.contains(&API_KEYS, &(team, id))? {
        return Ok(false);
    }
    tx.delete(&API_KEY_USES, &(team, id))?;
    tx.delete_listed(&API_KEYS, &(team, id), now_ms)
}

fn draw_token() -> ApiKeyToken {
    let text = format!("{TOKEN_PREFIX}{}", random::token::<TOKEN_RANDOM_BYTES>());
    ApiKeyToken::parse(&text).expect("24 bytes are the 32 characters of a token")
}

fn checked_name(name: &str) -> Option<String> {
    one_line(name, NAME_CHARS_MAX).map(str::to_owned)
}

#[cfg(test)]
mod tests;
