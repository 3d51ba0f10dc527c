//! DKIM keys: made once for a domain, kept sealed, opened for whoever signs its mail.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::records::SELECTOR_CHARS;
use super::store::{self, DkimKeyRow, DomainRow};
use crate::base::id::{DomainId, TeamId};
use crate::base::random;
use crate::mime::dkim::{Algorithm, KeyError, SigningKey};
use crate::store::{Keyring, Reads, StoreError};

/// Domains whose opened keys are kept in memory, each of a few kilobytes.
const CACHED_DOMAINS_MAX: usize = 4_096;
/// Characters of a selector that are drawn: 50 bits, so that no two rows share one.
const SELECTOR_RANDOM_CHARS: usize = 10;
/// Crockford's base 32 in lower case: no letters that are read as digits.
const SELECTOR_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The keys of a domain that is to be stored.
pub(super) struct NewKeys {
    pub(super) rsa: DkimKeyRow,
    pub(super) ed25519: DkimKeyRow,
}

/// Makes both keys of a domain and seals them. Takes up to a second: off the runtime.
///
/// # Errors
/// [`KeyError`] when the cryptographic library fails.
pub(super) fn generate(keyring: &Keyring, id: DomainId) -> Result<NewKeys, KeyError> {
    let drawn = draw_selector();
    let key = |algorithm, suffix| {
        let selector = format!("{drawn}-{suffix}");
        debug_assert!(selector.len() <= SELECTOR_CHARS, "names are accepted that this selector does not fit before");
        let key = SigningKey::generate(algorithm)?;
        let sealed = keyring.seal(&place(id, &selector), &key.to_pkcs8()?);
        Ok(DkimKeyRow { selector, record: key.public_record(), sealed })
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

/// Where a private key lies, which its seal is bound to.
fn place(id: DomainId, selector: &str) -> Vec<u8> {
    format!("domains/{id}/{selector}").into_bytes()
}

/// What signs the mail of a domain.
#[derive(Debug)]
pub struct SigningKeys {
    /// The domain's name: the `d=` of its signatures.
    pub domain: String,
    /// The host that bounces of its mail return to.
    pub return_path: String,
    /// Selectors and keys in the order they sign: RSA, then Ed25519 once its record is found.
    pub keys: Vec<(String, SigningKey)>,
}

/// Opens the keys of a domain; `None` when the team has none of that id. Costs about as much as a
/// signature: [`SigningKeyCache`] keeps what it returns.
///
/// # Errors
/// [`StoreError`], also when a key does not open under this instance's master key.
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
        let pkcs8 = keyring.open_sealed(&place(id, &key.selector), &key.sealed)?;
        let opened = SigningKey::from_pkcs8(algorithm, &pkcs8)
            .map_err(|error| StoreError::Corrupt(format!("the key {} of domain {id}: {error}", key.selector)))?;
        Ok::<_, StoreError>((key.selector.clone(), opened))
    };
    let mut keys = vec![key(Algorithm::RsaSha256, &row.rsa)?];
    if row.ed25519_published() {
        keys.push(key(Algorithm::Ed25519Sha256, &row.ed25519)?);
    }
    Ok(SigningKeys { domain: row.name.clone(), return_path: row.return_path_host(), keys })
}

/// Opened keys by domain, each checked against the store at every use, so that a deletion or a
/// newly published key is seen at once, whoever made the change.
#[derive(Debug)]
pub struct SigningKeyCache {
    keyring: Keyring,
    keys: Mutex<HashMap<(TeamId, DomainId), Arc<SigningKeys>>>,
}

impl SigningKeyCache {
    /// Returns an empty cache.
    pub fn new(keyring: Keyring) -> Self {
        Self { keyring, keys: Mutex::default() }
    }

    /// Returns the keys of a domain; `None` when the team has none of that id. A hit costs one read
    /// of a small row.
    ///
    /// # Errors
    /// As [`signing_keys`].
    pub fn find(&self, tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<Arc<SigningKeys>>, StoreError> {
        if let Some(keys) = self.cached(team, id)
            && is_current(tx, team, id, &keys)?
        {
            return Ok(Some(keys));
        }
        let opened = signing_keys(tx, &self.keyring, team, id)?.map(Arc::new);
        self.keep(team, id, opened.clone());
        Ok(opened)
    }

    fn cached(&self, team: TeamId, id: DomainId) -> Option<Arc<SigningKeys>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&(team, id)).cloned()
    }

    fn keep(&self, team: TeamId, id: DomainId, opened: Option<Arc<SigningKeys>>) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(opened) = opened else {
            keys.remove(&(team, id));
            return;
        };
        if keys.len() >= CACHED_DOMAINS_MAX && !keys.contains_key(&(team, id)) {
            // Any will do: beyond this many domains the next use opens its keys again.
            let evicted = keys.keys().next().copied();
            evicted.map(|evicted| keys.remove(&evicted));
        }
        keys.insert((team, id), opened);
    }
}

fn is_current(tx: &impl Reads, team: TeamId, id: DomainId, keys: &SigningKeys) -> Result<bool, StoreError> {
    let sender = store::find_sender(tx, team, &keys.domain)?;
    Ok(sender.is_some_and(|sender| sender.id == id && sender.ed25519 == (keys.keys.len() == 2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::domains::model::{RecordKind, RecordState, RecordStatus};
    use crate::domains::testing::{context, row};

    #[test]
    fn a_selector_is_a_label_and_no_two_are_alike() {
        let (one, other) = (draw_selector(), draw_selector());

        assert_ne!(one, other);
        assert_eq!(one.len(), 12);
        assert!(one.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{one}");
    }

    #[tokio::test]
    async fn keys_open_again_and_the_cache_sees_every_change() {
        let (_directory, context) = context();
        let (team, id) = (Id::MIN, context.id());
        let cache = SigningKeyCache::new(context.keyring.clone());
        let NewKeys { rsa, ed25519 } = generate(&context.keyring, id).unwrap();
        let mut stored = DomainRow { rsa, ed25519, ..row("example.org") };
        let find = || context.store.read_now(|tx| cache.find(tx, team, id)).unwrap();
        let put = async |row: &DomainRow| {
            let row = row.clone();
            context.store.write(move |tx| store::put(tx, team, id, &row)).await.unwrap();
        };

        assert!(find().is_none());
        put(&stored).await;
        let first = find().unwrap();
        assert_eq!((first.domain.as_str(), first.return_path.as_str()), ("example.org", "send.example.org"));
        assert_eq!(first.keys.len(), 1);
        assert_eq!(first.keys[0].0, stored.rsa.selector);
        assert_eq!(first.keys[0].1.public_record(), stored.rsa.record);
        assert!(Arc::ptr_eq(&first, &find().unwrap()));

        stored.records = vec![RecordState::unseen(RecordKind::DkimEd25519, RecordStatus::Verified)];
        put(&stored).await;
        let second = find().unwrap();
        assert_eq!(second.keys.len(), 2);
        assert_eq!(second.keys[1].1.public_record(), stored.ed25519.record);

        let gone = stored.clone();
        context.store.write(move |tx| store::remove(tx, team, id, &gone)).await.unwrap();
        assert!(find().is_none());
        assert!(cache.cached(team, id).is_none());
    }

    #[test]
    fn a_key_does_not_open_for_another_domain() {
        let (_directory, context) = context();
        let NewKeys { rsa, ed25519 } = generate(&context.keyring, context.id()).unwrap();
        let stolen = DomainRow { rsa, ed25519, ..row("example.org") };

        assert!(matches!(open(&context.keyring, context.id(), &stolen), Err(StoreError::Corrupt(_))));
    }
}
