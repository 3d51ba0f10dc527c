//! Encryption at rest: message content, DKIM private keys and signing secrets under the
//! instance's master key (AES-256-GCM, one random nonce a value, bound to where the value lies).

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;

use super::file::sync_parent;
use super::{OpenError, StoreError};
use crate::base::random;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
/// The first byte of a sealed value. It can never change for values already sealed.
const SEALED_V1: u8 = 1;

/// The keys derived from the master key. `Debug` prints none of them.
#[derive(Clone)]
pub struct Keyring(Arc<Keys>);

struct Keys {
    content: LessSafeKey,
    master: [u8; KEY_BYTES],
    #[cfg(test)]
    opened: std::sync::atomic::AtomicUsize,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keyring(hidden)")
    }
}

impl Keyring {
    /// Reads the master key file of a store that exists. A key made here would open nothing of it.
    ///
    /// # Errors
    /// [`OpenError::MasterKey`] when the file is not there, cannot be read, or is not 32 bytes.
    pub fn open_existing(path: &Path) -> Result<Self, OpenError> {
        if path.is_file() {
            return Self::open(path);
        }
        Err(OpenError::MasterKey(path.into(), "it is not there, and the store was sealed with it".into()))
    }

    /// Reads the master key file, or makes it (mode 0600) when there is none.
    ///
    /// # Errors
    /// [`OpenError::MasterKey`] when the file cannot be read, made, or is not 32 bytes.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let refuse = |why: String| OpenError::MasterKey(PathBuf::from(path), why);
        let master = match fs::read(path) {
            Ok(bytes) => <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
                .map_err(|_| refuse(format!("it holds {} bytes where 32 are needed", bytes.len())))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let master = random::bytes();
                write_private(path, &master).map_err(|error| refuse(error.to_string()))?;
                master
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        Ok(Self::from_master(master))
    }

    fn from_master(master: [u8; KEY_BYTES]) -> Self {
        let content = derive(&master, b"content at rest");
        let content = UnboundKey::new(&AES_256_GCM, &content).expect("the key has AES-256's length");
        Self(Arc::new(Keys {
            content: LessSafeKey::new(content),
            master,
            #[cfg(test)]
            opened: std::sync::atomic::AtomicUsize::new(0),
        }))
    }

    /// Returns how many sealed values have been opened: nothing else tells what work was left out.
    #[cfg(test)]
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Derives 32 bytes for another purpose; a different label gives unrelated bytes (RFC 5869).
    pub fn derive(&self, label: &[u8]) -> [u8; 32] {
        derive(&self.0.master, label)
    }

    /// Encrypts `plain`; `place` is the table and key it will lie under and must be given to open it.
    pub fn seal(&self, place: &[u8], plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = random::bytes();
        let mut sealed = Vec::with_capacity(1 + NONCE_BYTES + plain.len() + AES_256_GCM.tag_len());
        sealed.push(SEALED_V1);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let tag = self
            .0
            .content
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place),
                &mut sealed[1 + NONCE_BYTES..],
            )
            .expect("a value is far shorter than AES-GCM's limit");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    /// Decrypts what [`Keyring::seal`] made for the same place.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the key, the place or the bytes are not those of the sealing.
    pub fn open_sealed(&self, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        #[cfg(test)]
        self.0.opened.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let corrupt = || StoreError::Corrupt("a sealed value does not open; is this its master key?".into());
        let Some((&SEALED_V1, rest)) = sealed.split_first() else { return Err(corrupt()) };
        let Some((nonce, sealed)) = rest.split_at_checked(NONCE_BYTES) else { return Err(corrupt()) };
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| corrupt())?;
        let mut plain = sealed.to_vec();
        let opened = self.0.content.open_in_place(nonce, Aad::from(place), &mut plain).map_err(|_| corrupt())?.len();
        plain.truncate(opened);
        Ok(plain)
    }
}

fn derive(master: &[u8; KEY_BYTES], label: &[u8]) -> [u8; 32] {
    let mut derived = [0; 32];
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"ringmail")
        .extract(master)
        .expand(&[label], hkdf::HKDF_SHA256)
        .and_then(|key| key.fill(&mut derived))
        .expect("32 bytes are within what HKDF-SHA256 expands to");
    derived
}

/// Writes a file that only its owner reads, whole or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let beside = path.with_extension("key.new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    sync_parent(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_opens_in_its_place_alone() {
        let keyring = Keyring::from_master([7; 32]);

        let sealed = keyring.seal(b"bodies/1", b"hello");

        assert_eq!(keyring.open_sealed(b"bodies/1", &sealed).unwrap(), b"hello");
        assert!(keyring.open_sealed(b"bodies/2", &sealed).is_err());
        assert!(Keyring::from_master([8; 32]).open_sealed(b"bodies/1", &sealed).is_err());
        assert!(keyring.open_sealed(b"bodies/1", &sealed[..10]).is_err());
        assert!(!sealed.windows(5).any(|window| window == b"hello"));
    }

    #[test]
    fn the_master_key_file_is_made_once_and_only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");

        let first = Keyring::open(&path).unwrap();
        let second = Keyring::open(&path).unwrap();

        assert_eq!(first.derive(b"x"), second.derive(b"x"));
        assert_ne!(first.derive(b"x"), first.derive(b"y"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn no_key_is_made_for_a_store_that_exists() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");

        assert!(matches!(Keyring::open_existing(&path), Err(OpenError::MasterKey(..))));
        assert!(!path.exists());
    }

    #[test]
    fn a_master_key_of_another_length_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");
        fs::write(&path, b"short").unwrap();

        assert!(matches!(Keyring::open(&path), Err(OpenError::MasterKey(..))));
    }
}
