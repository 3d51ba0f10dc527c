//! Opening of the store together with its master key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::make_directory;
use super::{FILE_NAME, Keyring, OpenError, OpenOptions, Store};
use crate::base::blocking;
use crate::base::clock::monotonic;

/// Maximum time to wait for a store that another process has open.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// Pause between two attempts.
const IN_USE_PAUSE: Duration = Duration::from_millis(50);

/// Opens the store and its master key. If another process has the store open, retries for up to
/// [`IN_USE_MAX`]: a command of the command line opens the store while no server runs.
pub(crate) async fn open_in_time(options: OpenOptions, key_file: PathBuf) -> Result<(Store, Keyring), OpenError> {
    let started = monotonic();
    loop {
        let (options, key_file) = (options.clone(), key_file.clone());
        match blocking::run(move || open_with_key(&options, &key_file)).await {
            Err(OpenError::InUse(_)) if started.elapsed() < IN_USE_MAX => tokio::time::sleep(IN_USE_PAUSE).await,
            opened => return opened,
        }
    }
}

/// Opens the store and its master key. Creates them if the store does not exist, the key first. If a start is
/// interrupted between the two, a key without a store remains, which the next start uses. A store without a key never
/// remains. Blocks.
///
/// # Errors
/// [`OpenError`], for example if the store was sealed with another key.
pub(crate) fn open_with_key(options: &OpenOptions, key_file: &Path) -> Result<(Store, Keyring), OpenError> {
    if !options.directory.join(FILE_NAME).is_file() {
        make_directory(&options.directory).map_err(|error| OpenError::Directory(options.directory.clone(), error))?;
        Keyring::open(key_file)?;
    }
    // The file comes first, so that a store in use is reported before its key.
    let (database, path) = Store::open_file(options)?;
    let keyring = Keyring::open_existing(key_file)?;
    Ok((Store::start(database, path, options, Some(&keyring), None)?, keyring))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreKind;

    /// Returns an empty directory, and the options and the key file of a store in it.
    fn new_store() -> (tempfile::TempDir, OpenOptions, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let key_file = path.join("master.key");
        (directory, OpenOptions { directory: path, kind: StoreKind::Serve, cache_bytes: 8 << 20 }, key_file)
    }

    #[tokio::test]
    async fn opening_waits_for_a_store_that_is_briefly_in_use() {
        let (_directory, options, key_file) = new_store();
        let (held, _) = open_with_key(&options, &key_file).unwrap();
        assert!(matches!(open_with_key(&options, &key_file), Err(OpenError::InUse(_))));

        let (opened, ()) = tokio::join!(open_in_time(options, key_file), held.close());

        opened.unwrap().0.close().await;
    }

    #[tokio::test]
    async fn a_store_opens_only_with_the_key_that_it_was_first_opened_with() {
        let (directory, options, key_file) = new_store();
        let (store, _) = open_with_key(&options, &key_file).unwrap();
        let epoch = store.epoch();
        store.close().await;

        let other = directory.path().join("other.key");
        std::fs::write(&other, [9; 32]).unwrap();
        let refused = open_with_key(&options, &other).map(|(store, _)| store.epoch());
        assert!(matches!(refused, Err(OpenError::OtherKey(_))), "{refused:?}");

        let (store, _) = open_with_key(&options, &key_file).unwrap();
        assert_eq!(store.epoch(), epoch + 1, "the refused opening stored nothing");
        store.close().await;
    }
}
