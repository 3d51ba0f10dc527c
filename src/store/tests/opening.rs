//! Opening of files that are in use, of the other command, newer, damaged, or left by a kill.

use std::cell::Cell;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::rc::Rc;
use std::{env, fs};

use super::disk::Disk;
use super::meta::{META, MetaKey, MetaRow};
use super::*;

/// Environment variable that passes the directory to the child process of
/// [`a_second_process_reports_that_the_store_is_in_use`].
const IN_CHILD: &str = "RINGMAIL_TEST_STORE_IN_USE";

fn open_error(directory: &Path) -> String {
    Store::open(&options(directory)).map(drop).unwrap_err().to_string()
}

/// Opens a file and returns whether it was repaired.
fn is_repaired(path: &Path) -> bool {
    let repaired = Rc::new(Cell::new(false));
    let seen = Rc::clone(&repaired);
    drop(file::open_watched(path, 4 << 20, move |_| seen.set(true)).unwrap());
    repaired.get()
}

#[tokio::test]
async fn a_second_process_reports_that_the_store_is_in_use() {
    if let Ok(directory) = env::var(IN_CHILD) {
        println!("{}", open_error(Path::new(&directory)));
        return;
    }
    let (directory, store) = fresh();
    let path = directory.path().join(FILE_NAME);
    let expected = format!(
        "another Ringmail process has {} open; stop it, or choose another directory with --data-dir",
        path.display()
    );

    let this = "store::tests::opening::a_second_process_reports_that_the_store_is_in_use";
    let child = Command::new(env::current_exe().unwrap())
        .args([this, "--exact", "--nocapture"])
        .env(IN_CHILD, directory.path())
        .output()
        .unwrap();
    let output = String::from_utf8(child.stdout).unwrap();
    assert!(output.contains(&expected), "{output}");
    assert_eq!(open_error(directory.path()), expected);

    store.close().await;
    assert!(Store::open(&options(directory.path())).is_ok());
}

#[tokio::test]
async fn the_epoch_is_incremented_at_each_opening() {
    let directory = tempfile::tempdir().unwrap();
    let mut epochs = Vec::new();

    for _ in 0..3 {
        let store = Store::open(&options(directory.path())).unwrap();
        epochs.push(store.epoch());
        store.close().await;
    }
    // Dropped without a close, as after a panic of a task.
    drop(Store::open(&options(directory.path())).unwrap());
    epochs.push(Store::open(&options(directory.path())).unwrap().epoch());

    assert_eq!(epochs, [1, 2, 3, 5]);
}

#[tokio::test]
async fn a_newer_file_is_rejected_and_unchanged() {
    let (directory, store) = fresh();
    let newer = MetaRow { schema: migrations::SCHEMA_VERSION + 1, kind: StoreKind::Dev };
    store.write::<_, StoreError>(move |tx| tx.put(&META, &MetaKey::SCHEMA, &newer)).await.unwrap();
    store.close().await;
    let path = directory.path().join(FILE_NAME);
    let before = fs::read(&path).unwrap();

    let refused = Store::open(&options(directory.path())).map(drop).unwrap_err();

    let (found, known) = (migrations::SCHEMA_VERSION + 1, migrations::SCHEMA_VERSION);
    assert_eq!(
        refused.to_string(),
        format!(
            "{} was written by a newer Ringmail (schema {found}; this program knows {known}); \
             run the newer program, or restore a backup into another --data-dir",
            path.display()
        )
    );
    assert!(fs::read(&path).unwrap() == before);
    assert!(!directory.path().join("backups").exists());
}

#[tokio::test]
async fn a_newer_file_is_rejected_after_a_kill() {
    let (directory, store) = fresh();
    let newer = MetaRow { schema: 99, kind: StoreKind::Dev };
    store.write::<_, StoreError>(move |tx| tx.put(&META, &MetaKey::SCHEMA, &newer)).await.unwrap();
    let killed = tempfile::tempdir().unwrap();
    fs::copy(directory.path().join(FILE_NAME), killed.path().join(FILE_NAME)).unwrap();

    for _ in 0..2 {
        let refused = Store::open(&options(killed.path()));
        assert!(matches!(refused, Err(OpenError::Newer { found: 99, .. })));
    }
}

#[tokio::test]
async fn a_file_of_the_other_command_is_rejected_and_unchanged() {
    let (directory, store) = fresh();
    store.close().await;
    let path = directory.path().join(FILE_NAME);
    let before = fs::read(&path).unwrap();

    let refused =
        Store::open(&OpenOptions { kind: StoreKind::Serve, ..options(directory.path()) }).map(drop).unwrap_err();

    assert!(matches!(refused, OpenError::OtherKind { found: StoreKind::Dev, .. }));
    assert_eq!(
        refused.to_string(),
        format!("{} belongs to `ringmail dev`; run that, or choose another directory with --data-dir", path.display())
    );
    assert!(fs::read(&path).unwrap() == before);
}

#[tokio::test]
async fn the_error_names_a_directory_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    // Even root cannot create a directory at the path of a file.
    fs::write(directory.path().join("file"), "").unwrap();
    let inside = directory.path().join("file/data");

    let message = open_error(&inside);

    assert!(message.starts_with(&format!("cannot write to the data directory {}", inside.display())), "{message}");
    assert!(message.ends_with("choose another with --data-dir"), "{message}");
}

#[tokio::test]
async fn the_error_names_a_file_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(FILE_NAME)).unwrap();

    let message = open_error(directory.path());

    assert!(message.contains(&directory.path().join(FILE_NAME).display().to_string()), "{message}");
    assert!(message.contains("--data-dir"), "{message}");
}

#[tokio::test]
async fn only_the_owner_can_access_the_directory_and_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("new/data");

    drop(Store::open(&options(&data)).unwrap());

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join(FILE_NAME)), 0o600);
}

/// Returns files that are empty, zeroed, or whose creation was interrupted.
fn blank_files() -> [Vec<u8>; 5] {
    let mut unfinished = vec![0; 1 << 20];
    unfinished[9..200].fill(3);
    [Vec::new(), vec![0], vec![0; 1 << 20], unfinished[..5_000].to_vec(), unfinished]
}

#[test]
fn a_file_whose_creation_was_interrupted_is_created_again() {
    for bytes in blank_files() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ringmail.redb.new"), &bytes).unwrap();

        assert_eq!(Store::open(&options(directory.path())).unwrap().epoch(), 1);

        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [FILE_NAME]);
    }
}

#[test]
fn an_empty_or_zeroed_file_is_rejected_and_unchanged() {
    for bytes in blank_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        fs::write(&path, &bytes).unwrap();

        let message = open_error(directory.path());

        let expected = format!(
            "{} is empty, so its data is lost; restore a backup, or move the file away to start with an empty store",
            path.display()
        );
        assert_eq!(message, expected);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_store_that_another_process_is_creating_is_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let creating = fs::File::create(directory.path().join("ringmail.redb.new")).unwrap();
    creating.lock().unwrap();

    let refused = Store::open(&options(directory.path())).map(drop);

    assert!(matches!(refused, Err(OpenError::InUse(_))), "{refused:?}");
    assert!(!directory.path().join(FILE_NAME).exists());
    drop(creating);
    assert_eq!(Store::open(&options(directory.path())).unwrap().epoch(), 1);
}

#[test]
fn a_file_that_is_not_a_store_is_rejected_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    // The last one is not an unfinished file, because it has a byte after its first page.
    let almost_blank = [vec![0; 8_191], vec![1]].concat();
    for bytes in [&b"SQLite format 3\0"[..], b"redb", &[7; 9_000], &almost_blank] {
        fs::write(&path, bytes).unwrap();

        let message = open_error(directory.path());

        let expected = format!("{} is not a Ringmail store or is damaged", path.display());
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.ends_with("restore a backup, or choose another directory with --data-dir"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_damaged_file_is_rejected_or_opens_without_a_panic() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    for key in 0..40 {
        store.write::<_, StoreError>(move |tx| tx.put(&LEFT, &(key,), &Blob(vec![5; 500]))).await.unwrap();
    }
    let killed = disk.image();
    store.close().await;
    let closed = disk.image();

    let mut opened = 0;
    let mut refused = 0;
    for whole in [&killed, &closed] {
        let mut attempt = |bytes: &[u8]| match Disk::holding(bytes.to_vec()).open_store() {
            Ok(store) => {
                // The damaged page may be one that only a read accesses.
                let _ = store.read_now::<_, StoreError>(|tx| tx.get(&LEFT, &(1,)));
                opened += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        };
        // Every byte of the header, then one in each sector that is not empty.
        for at in (0..320).chain((320..whole.len()).step_by(512).filter(|at| whole[*at] != 0)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            attempt(&bytes);
        }
        for len in [8, 9, 100, 320, 4_096, 5_000, 40_960, whole.len() / 2, whole.len() - 1] {
            attempt(&whole[..len]);
        }
    }

    assert!(opened > 0 && refused > 0, "{opened} opened, {refused} refused");
}

#[tokio::test]
async fn an_idle_store_needs_no_repair_after_a_kill() {
    let (directory, store) = fresh();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy.redb");
    let left_behind = || fs::copy(directory.path().join(FILE_NAME), &copy).unwrap();

    left_behind();
    assert!(!is_repaired(&copy), "a store without writes needs no repair");

    // Under load a repair is needed, because commits without quick repair are faster. The writer is
    // blocked, so that it is not idle between the commit and the copy.
    let first = BlockedWriter::block(&store);
    let write = queued(store.write::<(), TestError>(|tx| Ok(tx.put(&LEFT, &(1,), &blob("row"))?)));
    let entered = Notes::default();
    let noted = entered.clone();
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    // More bytes than the bound of a group, so that the next command is in the next group.
    let full = queued(store.write_sized::<(), TestError>(8 << 20, |_| Ok(())));
    let second = queued(store.write::<(), TestError>(move |_| {
        noted.add(());
        let _ = opened.lock().unwrap().recv();
        Ok(())
    }));
    first.release().await;
    write.await.unwrap();
    full.await.unwrap();
    until("the next command", || entered.all().pop());
    left_behind();
    assert!(is_repaired(&copy), "no repair after a kill under load");

    drop(open);
    second.await.unwrap();
    until("an idle moment", || {
        left_behind();
        (!is_repaired(&copy)).then_some(())
    });
}
