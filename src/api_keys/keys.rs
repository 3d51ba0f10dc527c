//! The use cases of API keys, and the cache that answers every request's question: whose key?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use subtle::ConstantTimeEq as _;

use super::model::{ApiKey, Caller, NAME_CHARS_MAX, NewKey, Token};
use super::store::{ApiKeyRow, ApiKeyUseRow};
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::domains;
use crate::id::{ApiKeyId, DomainId, Id, TeamId};
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::tables::{API_KEY_USES, API_KEYS};
use crate::store::{NEXT, Order, Reads, StoreError, WriteTx};

/// Uses within one minute count as one, so that a busy key writes a row a minute.
const USE_RESOLUTION_MS: i64 = 60_000;

/// Why a key cannot be made.
#[derive(Debug)]
pub enum CreateKeyError {
    /// The name is empty, too long or has control characters.
    Name,
    /// The domain is not one of the team.
    DomainNotFound,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for CreateKeyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

struct Cached {
    token_hash: [u8; 32],
    caller: Caller,
}

/// The API keys of the instance.
pub struct ApiKeys {
    context: Context,
    /// By the first half of the token's hash; the whole is compared in constant time.
    cache: RwLock<HashMap<[u8; 16], Cached>>,
    /// Uses not yet written. At most one entry a key.
    uses: Mutex<HashMap<(TeamId, ApiKeyId), TimestampMs>>,
}

impl ApiKeys {
    /// Reads every key into the cache.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn load(context: Context) -> Result<Arc<Self>, StoreError> {
        let cache = context.store.read_now::<_, StoreError>(|tx| {
            let mut cache = HashMap::new();
            let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
            tx.scan(&API_KEYS, &from, &to, Order::Ascending, |(team, id), row| {
                let row = row.decode()?;
                cache.insert(half(&row.token_hash), cached(team, id, &row));
                NEXT
            })?;
            Ok(cache)
        })?;
        Ok(Arc::new(Self { context, cache: RwLock::new(cache), uses: Mutex::default() }))
    }

    /// Returns whose token this is, and remembers that it was used.
    pub fn authenticate(&self, token: &Token) -> Option<Caller> {
        let hash = token.hash();
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        let cached = cache.get(&half(&hash))?;
        if !bool::from(cached.token_hash.ct_eq(&hash)) {
            return None;
        }
        let caller = cached.caller;
        drop(cache);
        let minute = self.context.now_ms().div_euclid(USE_RESOLUTION_MS) * USE_RESOLUTION_MS;
        self.uses.lock().unwrap_or_else(PoisonError::into_inner).insert((caller.team, caller.key), minute);
        Some(caller)
    }

    /// Makes a key with a token of its own; the token is in this answer and nowhere else.
    ///
    /// # Errors
    /// [`CreateKeyError`].
    pub async fn create(&self, team: TeamId, new: NewKey) -> Result<(ApiKey, Token), CreateKeyError> {
        let token = Token::draw();
        let key = self.create_with_token(team, new, &token).await?;
        Ok((key, token))
    }

    /// Makes a key for a token that was chosen outside, as `ringmail dev --api-key` does.
    ///
    /// # Errors
    /// [`CreateKeyError`].
    pub async fn create_with_token(&self, team: TeamId, new: NewKey, token: &Token) -> Result<ApiKey, CreateKeyError> {
        let NewKey { name, permission, domain } = new;
        let name = checked_name(&name).ok_or(CreateKeyError::Name)?;
        let id: ApiKeyId = self.context.id();
        let row = ApiKeyRow {
            name,
            permission,
            domain,
            token_hash: token.hash(),
            last_four: token.last_four().to_owned(),
            created_ms: self.context.now_ms(),
        };
        let stored = row.clone();
        self.context
            .store
            .write(move |tx| {
                if let Some(domain) = stored.domain
                    && !domains::exists(tx, team, domain)?
                {
                    return Err(CreateKeyError::DomainNotFound);
                }
                tx.put(&API_KEYS, &(team, id), &stored)?;
                Ok(())
            })
            .await?;
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        cache.insert(half(&row.token_hash), cached(team, id, &row));
        drop(cache);
        Ok(row.key(team, id, None))
    }

    /// Returns a page of the team's keys, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, team: TeamId, query: PageQuery<ApiKeyId>) -> Result<Page<ApiKey>, PageError> {
        self.flush_uses().await?;
        self.context
            .store
            .read(move |tx| {
                page(tx, &API_KEYS, team, query, |id, row| {
                    let used = tx.get(&API_KEY_USES, &(team, id))?.map(|row| row.used_ms);
                    Ok(Some(row.decode()?.key(team, id, used)))
                })
            })
            .await
    }

    /// Renames a key; `false` when the team has none of that id.
    ///
    /// # Errors
    /// [`CreateKeyError::Name`], [`CreateKeyError::Store`].
    pub async fn rename(&self, team: TeamId, id: ApiKeyId, name: &str) -> Result<bool, CreateKeyError> {
        let name = checked_name(name).ok_or(CreateKeyError::Name)?;
        self.context
            .store
            .write(move |tx| {
                let Some(mut row) = tx.get(&API_KEYS, &(team, id))? else { return Ok(false) };
                row.name.clone_from(&name);
                tx.put(&API_KEYS, &(team, id), &row)?;
                Ok(true)
            })
            .await
    }

    /// Revokes a key: it stops at once. `false` when the team has none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, team: TeamId, id: ApiKeyId) -> Result<bool, StoreError> {
        let existed = self.context.store.write(move |tx| delete_row(tx, team, id)).await?;
        self.forget(|caller| caller.team == team && caller.key == id);
        Ok(existed)
    }

    /// Drops from the cache the keys scoped to a domain whose deletion has just been committed.
    pub fn forget_scoped_to(&self, team: TeamId, domain: DomainId) {
        self.forget(|caller| caller.team == team && caller.domain == Some(domain));
    }

    fn forget(&self, gone: impl Fn(&Caller) -> bool) {
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|_, cached| !gone(&cached.caller));
    }

    /// Writes the uses remembered since the last call, all in one commit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn flush_uses(&self) -> Result<(), StoreError> {
        let uses = std::mem::take(&mut *self.uses.lock().unwrap_or_else(PoisonError::into_inner));
        if uses.is_empty() {
            return Ok(());
        }
        self.context
            .store
            .write_bulk(move |tx| {
                for ((team, id), used_ms) in &uses {
                    // A key deleted meanwhile leaves no trace of its last use.
                    if tx.contains(&API_KEYS, &(*team, *id))? {
                        tx.put(&API_KEY_USES, &(*team, *id), &ApiKeyUseRow { used_ms: *used_ms })?;
                    }
                }
                Ok(())
            })
            .await
    }
}

/// Revokes, inside the caller's transaction, every key scoped to a domain that goes away: a scope
/// never widens.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn delete_scoped_to(tx: &WriteTx<'_>, team: TeamId, domain: DomainId) -> Result<(), StoreError> {
    let mut scoped = Vec::new();
    tx.scan(&API_KEYS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, id), row| {
        if row.decode()?.domain == Some(domain) {
            scoped.push(id);
        }
        NEXT
    })?;
    for id in scoped {
        delete_row(tx, team, id)?;
    }
    Ok(())
}

fn delete_row(tx: &WriteTx<'_>, team: TeamId, id: ApiKeyId) -> Result<bool, StoreError> {
    if !tx.contains(&API_KEYS, &(team, id))? {
        return Ok(false);
    }
    tx.delete(&API_KEY_USES, &(team, id))?;
    tx.delete(&API_KEYS, &(team, id))
}

fn checked_name(name: &str) -> Option<String> {
    let name = name.trim();
    let length = name.chars().count();
    let fits = (1..=NAME_CHARS_MAX).contains(&length) && !name.chars().any(char::is_control);
    fits.then(|| name.to_owned())
}

fn half(hash: &[u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

fn cached(team: TeamId, id: ApiKeyId, row: &ApiKeyRow) -> Cached {
    let caller = Caller { key: id, team, permission: row.permission, domain: row.domain };
    Cached { token_hash: row.token_hash, caller }
}
