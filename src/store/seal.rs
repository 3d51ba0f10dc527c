//! Encryption at rest of message content, DKIM private keys and signing secrets.
//!
//! Values are sealed with AES-256-GCM under a key that is derived from the master key. Each value has
//! a random nonce. The associated data identifies its row, so that a value opens only there.

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
/// First byte of a sealed value: its format. It must never change for stored values.
const SEALED_V1: u8 = 1;

/// The keys derived from the master key. `Debug` does not print them.
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
    /// Reads the master key file of an existing store. Creates no file, because a new key could not open
    /// the sealed values.
    ///
    /// # Errors
    /// [`OpenError::MasterKey`] if the file does not exist, cannot be read, or is not 32 bytes long.
    pub fn open_existing(path: &Path) -> Result<Self, OpenError> {
        if path.is_file() {
            return Self::open(path);
        }
        Err(OpenError::MasterKey(path.into(), "the file does not exist, and the store is sealed with it".into()))
    }

    /// Reads the master key file, or creates it with mode 0600 if it does not exist.
    ///
    /// # Errors
    /// [`OpenError::MasterKey`] if the file cannot be read or created, or is not 32 bytes long.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let refuse = |why: String| OpenError::MasterKey(PathBuf::from(path), why);
        let master = match fs::read(path) {
            Ok(bytes) => <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
                .map_err(|_| refuse(format!("the file has {} bytes instead of 32", bytes.len())))?,
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

    /// Returns the number of values opened so far, so that a test can prove that a value was not opened.
    #[cfg(test)]
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Derives a key for another purpose (RFC 5869). Different labels give independent keys.
    pub fn derive(&self, label: &[u8]) -> [u8; 32] {
        derive(&self.0.master, label)
    }

    /// Encrypts `plain`. Opening it requires the same associated data.
    pub fn seal(&self, associated_data: &[u8], plain: &[u8]) -> Vec<u8> {
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
                Aad::from(associated_data),
                &mut sealed[1 + NONCE_BYTES..],
            )
            .expect("a value is far shorter than AES-GCM's limit");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    /// Decrypts a value of [`Keyring::seal`].
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the key, the associated data or the bytes differ.
    pub fn open_sealed(&self, associated_data: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        #[cfg(test)]
        self.0.opened.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let corrupt = || StoreError::Corrupt("a sealed value cannot be opened with this master key".into());
        let Some((&SEALED_V1, rest)) = sealed.split_first() else { return Err(corrupt()) };
        let Some((nonce, sealed)) = rest.split_at_checked(NONCE_BYTES) else { return Err(corrupt()) };
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| corrupt())?;
        let mut plain = sealed.to_vec();
        let opened =
            self.0.content.open_in_place(nonce, Aad::from(associated_data), &mut plain).map_err(|_| corrupt())?.len();
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

/// Writes a file with mode 0600 atomically.
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
    fn a_sealed_value_opens_only_with_its_associated_data() {
        let keyring = Keyring::from_master([7; 32]);

        let sealed = keyring.seal(b"bodies/1", b"hello");

        assert_eq!(keyring.open_sealed(b"bodies/1", &sealed).unwrap(), b"hello");
        assert!(keyring.open_sealed(b"bodies/2", &sealed).is_err());
        assert!(Keyring::from_master([8; 32]).open_sealed(b"bodies/1", &sealed).is_err());
        assert!(keyring.open_sealed(b"bodies/1", &sealed[..10]).is_err());
        assert!(!sealed.windows(5).any(|window| window == b"hello"));
    }

    #[test]
    fn the_master_key_file_is_created_once_and_readable_by_its_owner_only() {
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
    fn no_key_is_created_for_an_existing_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");

        assert!(matches!(Keyring::open_existing(&path), Err(OpenError::MasterKey(..))));
        assert!(!path.exists());
    }

    #[test]
    fn a_master_key_of_another_length_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");
        fs::write(&path, b"short").unwrap();

        assert!(matches!(Keyring::open(&path), Err(OpenError::MasterKey(..))));
    }
}
