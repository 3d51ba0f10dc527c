//! Compaction of the file of a store that no process has open. Moves its pages to the front and gives the rest back to
//! the file system.
//!
//! The engine commits each step, so that a kill leaves a file with all of its rows. The next opening checks it as after
//! any crash.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{FILE_NAME, OpenError, file};

/// Sizes of the file before and after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    pub before_bytes: u64,
    pub after_bytes: u64,
}

/// Compacts the file in a data directory. Rows and schema stay as they are. Blocks; about ten seconds for each GiB.
///
/// # Errors
/// [`OpenError::Directory`] if there is no file, [`OpenError::InUse`] if a process has it open, and every other failure
/// of an opening.
pub fn compact(directory: &Path, cache_bytes: usize) -> Result<Compaction, OpenError> {
    let path = directory.join(FILE_NAME);
    let bytes = || fs::metadata(&path).map(|metadata| metadata.len());
    let before_bytes = bytes().map_err(|error| OpenError::Directory(path.clone(), error))?;
    let mut database = file::open_existing(&path, cache_bytes)?;
    file::guarded_start(&path, || {
        database.compact().map_err(|error| OpenError::Engine(path.clone(), Arc::new(error)))?;
        // The end of the process would do the same, but its failure would not be reported.
        drop(database);
        Ok(())
    })?;
    let after_bytes = bytes().map_err(|error| OpenError::Directory(path.clone(), error))?;
    Ok(Compaction { before_bytes, after_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EmailId;
    use crate::store::{Blob, OpenOptions, Reads as _, Store, StoreError, StoreKind, WriteTx};
    use crate::tables::EMAIL_BODIES;

    const CACHE_BYTES: usize = 8 << 20;
    /// Rows of the test. Three of four are deleted.
    const ROWS: u64 = 2_000;

    fn key(number: u64) -> (EmailId, u32) {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        (EmailId::from_bytes(bytes), 0)
    }

    #[tokio::test]
    async fn a_compacted_file_is_smaller_and_has_the_same_rows() {
        let directory = tempfile::tempdir().unwrap();
        let options =
            OpenOptions { directory: directory.path().into(), kind: StoreKind::Serve, cache_bytes: CACHE_BYTES };
        let store = Store::open(&options).unwrap();
        let put = |tx: &WriteTx<'_>| {
            (0..ROWS).try_for_each(|number| tx.put(&EMAIL_BODIES, &key(number), &Blob(vec![7; 4_000])))
        };
        store.write::<_, StoreError>(put).await.unwrap();
        let delete = |tx: &WriteTx<'_>| {
            (0..ROWS)
                .filter(|number| number % 4 != 0)
                .try_for_each(|number| tx.delete(&EMAIL_BODIES, &key(number)).map(drop))
        };
        store.write::<_, StoreError>(delete).await.unwrap();
        assert!(matches!(compact(directory.path(), CACHE_BYTES), Err(OpenError::InUse(_))));
        store.close().await;

        let Compaction { before_bytes, after_bytes } = compact(directory.path(), CACHE_BYTES).unwrap();

        assert!(after_bytes * 2 < before_bytes, "{before_bytes} bytes before, {after_bytes} after");
        let store = Store::open(&options).unwrap();
        for number in 0..ROWS {
            let found = store.read_now::<_, StoreError>(|tx| tx.contains(&EMAIL_BODIES, &key(number))).unwrap();
            assert_eq!(found, number % 4 == 0, "row {number}");
        }
        store.close().await;
    }

    #[test]
    fn a_directory_without_a_store_is_refused_and_stays_empty() {
        let directory = tempfile::tempdir().unwrap();

        assert!(matches!(compact(directory.path(), CACHE_BYTES), Err(OpenError::Directory(_, _))));

        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
