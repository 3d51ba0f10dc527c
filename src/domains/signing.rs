//! DKIM keys of a domain: generation, sealed storage, and a cache of opened keys for signing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::records::SELECTOR_CHARS;
use super::store::{self, DkimKeyRow, DomainRow, SenderDomainRow, SenderTracking};
use crate::base::id::{DomainId, TeamId};
use crate::base::random;
use crate::base::sync;
use crate::mime::dkim::{Algorithm, KeyError, SigningKey};
use crate::store::{Keyring, Reads, StoreError};

/// Maximum number of domains in the cache of opened keys. Each takes a few kilobytes.
const CACHED_DOMAINS_MAX: usize = 4_096;
/// Number of random characters of a selector: 50 bits, so that two rows do not share a selector.
const SELECTOR_RANDOM_CHARS: usize = 10;
/// Crockford's base 32 in lower case, without letters that look like digits.
const SELECTOR_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Keys of a domain that has no id yet.
pub(super) struct NewKeys {
    pub(super) rsa: UnsealedKey,
    pub(super) ed25519: UnsealedKey,
}

/// Key of a domain that has no id yet.
pub(super) struct UnsealedKey {
    selector: String,
    record: String,
    /// Private key (PKCS #8).
    pkcs8: Vec<u8>,
}

impl UnsealedKey {
    /// Seals the key under the id of its domain.
    pub(super) fn seal(&self, keyring: &Keyring, id: DomainId) -> DkimKeyRow {
        let sealed = keyring.seal(&associated_data(id, &self.selector), &self.pkcs8);
        DkimKeyRow { selector: self.selector.clone(), record: self.record.clone(), sealed }
    }
}

/// Generates both keys of a domain. Needs one second of CPU time at most: call it on a blocking thread.
///
/// # Errors
/// Returns [`KeyError`] if the cryptographic library fails.
pub(super) fn generate() -> Result<NewKeys, KeyError> {
    let prefix = draw_selector();
    let key = |algorithm, suffix| {
        let selector = format!("{prefix}-{suffix}");
        debug_assert!(selector.len() <= SELECTOR_CHARS, "`names_fit` assumes a shorter selector");
        let key = SigningKey::generate(algorithm)?;
        Ok(UnsealedKey { selector, record: key.public_record(), pkcs8: key.to_pkcs8()? })
    };
    Ok(NewKeys { rsa: key(Algorithm::RsaSha256, "rsa")?, ed25519: key(Algorithm::Ed25519Sha256, "ed")? })
}

fn draw_selector() -> String {
    let mut number = random::number();
    let mut selector = String::with_capacity(SELECTOR_RANDOM_CHARS + 2);
    selector.push_str("rm");
    for _ in 0..SELECTOR_RANDOM_CHARS {
        selector.push(char::from(SELECTOR_ALPHABET[(number % 32) as usize]));
        number /= 32;
    }
    selector
}

/// Returns the associated data of a sealed private key, which binds it to its domain and selector.
fn associated_data(id: DomainId, selector: &str) -> Vec<u8> {
    format!("domains/{id}/{selector}").into_bytes()
}

/// Opened keys that sign the email of a domain, and its other settings of composition.
#[derive(Debug)]
pub struct SigningKeys {
    /// Name of the domain: the `d=` tag of its signatures.
    pub domain: String,
    /// Host of the return path.
    pub return_path: String,
    /// Selectors and keys in signing order: RSA, then Ed25519 if its record is published.
    pub keys: Vec<(String, SigningKey)>,
    pub tracking: SenderTracking,
}

/// Opens the keys of a domain; `None` if the team has no domain with this id. Costs about as much as two signatures.
/// [`SigningKeyCache`] caches the result.
///
/// # Errors
/// Returns [`StoreError`], also if the master key of this instance cannot open a key.
pub fn signing_keys(
    tx: &impl Reads,
    keyring: &Keyring,
    team: TeamId,
    id: DomainId,
) -> Result<Option<SigningKeys>, StoreError> {
    let Some(row) = store::find(tx, team, id)? else { return Ok(None) };
    open(keyring, id, &row).map(Some)
}

fn open(keyring: &Keyring, id: DomainId, row: &DomainRow) -> Result<SigningKeys, StoreError> {
    let key = |algorithm, key: &DkimKeyRow| {
        let pkcs8 = keyring.open_sealed(&associated_data(id, &key.selector), &key.sealed)?;
        let opened = SigningKey::from_pkcs8(algorithm, &pkcs8)
            .map_err(|error| StoreError::Corrupt(format!("the key {} of domain {id}: {error}", key.selector)))?;
        Ok::<_, StoreError>((key.selector.clone(), opened))
    };
    let mut keys = vec![key(Algorithm::RsaSha256, &row.rsa)?];
    if row.ed25519_published() {
        keys.push(key(Algorithm::Ed25519Sha256, &row.ed25519)?);
    }
    Ok(SigningKeys { domain: row.name.clone(), return_path: row.return_path_host(), keys, tracking: row.tracking() })
}

/// Cache of opened keys by domain. Every use compares the index row of the domain with the one that was read with the
/// keys. A deletion, a new key or a new tracking setting therefore takes effect with the next message that is composed, also if
/// another process made the change.
#[derive(Debug)]
pub struct SigningKeyCache {
    keyring: Keyring,
    keys: Mutex<HashMap<(TeamId, DomainId), CachedKeys>>,
}

impl SigningKeyCache {
    pub fn new(keyring: Keyring) -> Self {
        Self { keyring, keys: Mutex::default() }
    }

    /// Returns the keys of a domain; `None` if the team has no domain with this id. A hit costs one read of a small
    /// row.
    ///
    /// # Errors
    /// Returns the errors of [`signing_keys`].
    pub fn find(&self, tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<Arc<SigningKeys>>, StoreError> {
        if let Some(CachedKeys { keys, sender }) = self.cached(team, id)
            && sender.is_some()
            && store::find_sender(tx, team, &keys.domain)? == sender
        {
            return Ok(Some(keys));
        }
        let opened = match signing_keys(tx, &self.keyring, team, id)? {
            Some(keys) => {
                Some(CachedKeys { sender: store::find_sender(tx, team, &keys.domain)?, keys: Arc::new(keys) })
            }
            None => None,
        };
        self.insert(team, id, opened.clone());
        Ok(opened.map(|opened| opened.keys))
    }

    fn cached(&self, team: TeamId, id: DomainId) -> Option<CachedKeys> {
        sync::lock(&self.keys).get(&(team, id)).cloned()
    }

    fn insert(&self, team: TeamId, id: DomainId, opened: Option<CachedKeys>) {
        let mut keys = sync::lock(&self.keys);
        let Some(opened) = opened else {
            keys.remove(&(team, id));
            return;
        };
        if keys.len() >= CACHED_DOMAINS_MAX && !keys.contains_key(&(team, id)) {
            // Evicts an arbitrary entry. The next use of its domain opens the keys again.
            let evicted = keys.keys().next().copied();
            evicted.map(|evicted| keys.remove(&evicted));
        }
        keys.insert((team, id), opened);
    }
}

/// Entry of the cache.
#[derive(Clone, Debug)]
struct CachedKeys {
    keys: Arc<SigningKeys>,
    /// Index row of the domain when the keys were opened.
    sender: Option<SenderDomainRow>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::domains::model::{DomainStatus, RecordKind, RecordState, RecordStatus};
    use crate::domains::testing::{context, row};

    #[test]
    fn a_selector_is_a_random_label() {
        let (one, other) = (draw_selector(), draw_selector());

        assert_ne!(one, other);
        assert_eq!(one.len(), 12);
        assert!(one.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{one}");
    }

    #[tokio::test]
    async fn the_cache_returns_stored_keys_and_follows_every_change() {
        let (_directory, context) = context();
        let (team, id) = (Id::MIN, context.id());
        let cache = SigningKeyCache::new(context.keyring.clone());
        let NewKeys { rsa, ed25519 } = generate().unwrap();
        let (rsa, ed25519) = (rsa.seal(&context.keyring, id), ed25519.seal(&context.keyring, id));
        let mut stored = DomainRow { status: DomainStatus::Verified, rsa, ed25519, ..row("example.org") };
        let find = || context.read(|tx| cache.find(tx, team, id));
        let put = async |row: &DomainRow| {
            let row = row.clone();
            context.commit(move |tx| store::put(tx, team, id, &row)).await;
        };

        assert!(find().is_none());
        put(&stored).await;
        let first = find().unwrap();
        assert_eq!((first.domain.as_str(), first.return_path.as_str()), ("example.org", "send.example.org"));
        assert_eq!(first.keys.len(), 1);
        assert_eq!(first.keys[0].0, stored.rsa.selector);
        assert_eq!(first.keys[0].1.public_record(), stored.rsa.record);
        assert!(Arc::ptr_eq(&first, &find().unwrap()));

        stored.records = vec![RecordState::unchecked(RecordKind::DkimEd25519, RecordStatus::Verified)];
        put(&stored).await;
        let second = find().unwrap();
        assert_eq!(second.keys.len(), 2);
        assert_eq!(second.keys[1].1.public_record(), stored.ed25519.record);
        assert!(!second.tracking.is_on());

        for (label, host) in
            [(Some("links"), Some("links.example.org")), (Some("go"), Some("go.example.org")), (None, None)]
        {
            stored.click_tracking = true;
            stored.tracking_subdomain = label.map(str::to_owned);
            stored.records = vec![RecordState::unchecked(RecordKind::Tracking, RecordStatus::Verified)];
            put(&stored).await;
            let tracked = find().unwrap();
            assert_eq!(tracked.tracking.host.as_deref(), host);
            assert!(tracked.tracking.clicks && !tracked.tracking.opens);
        }

        let removed = stored.clone();
        context.commit(move |tx| store::remove(tx, team, id, &removed, 0)).await;
        assert!(find().is_none());
        assert!(cache.cached(team, id).is_none());
    }

    #[test]
    fn a_key_cannot_be_opened_for_another_domain() {
        let (_directory, context) = context();
        let NewKeys { rsa, ed25519 } = generate().unwrap();
        let id = context.id();
        let (rsa, ed25519) = (rsa.seal(&context.keyring, id), ed25519.seal(&context.keyring, id));
        let copied = DomainRow { rsa, ed25519, ..row("example.org") };

        assert!(matches!(open(&context.keyring, context.id(), &copied), Err(StoreError::Corrupt(_))));
    }
}
