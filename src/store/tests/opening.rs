//! Opening: the file in use, foreign, newer, damaged, and left behind by a kill.

use std::cell::Cell;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::rc::Rc;
use std::{env, fs};

use super::disk::Disk;
use super::meta::{META, MetaKey, MetaRow};
use super::*;

/// Names the directory to the child process of [`a_second_process_is_told_that_the_store_is_in_use`].
const IN_CHILD: &str = "RINGMAIL_TEST_STORE_IN_USE";

fn sentence(directory: &Path) -> String {
    Store::open(&options(directory)).map(drop).unwrap_err().to_string()
}

/// Opens a file and returns whether that took a repair.
fn takes_repair(path: &Path) -> bool {
    let repaired = Rc::new(Cell::new(false));
    let seen = Rc::clone(&repaired);
    drop(file::open_watched(path, 4 << 20, move |_| seen.set(true)).unwrap());
    repaired.get()
}

#[tokio::test]
async fn a_second_process_is_told_that_the_store_is_in_use() {
    if let Ok(directory) = env::var(IN_CHILD) {
        println!("{}", sentence(Path::new(&directory)));
        return;
    }
    let (directory, store) = fresh();
    let path = directory.path().join(FILE_NAME);
    let expected = format!(
        "another Ringmail process has {} open; stop it, or choose another directory with --data-dir",
        path.display()
    );

    let this = "store::tests::opening::a_second_process_is_told_that_the_store_is_in_use";
    let child = Command::new(env::current_exe().unwrap())
        .args([this, "--exact", "--nocapture"])
        .env(IN_CHILD, directory.path())
        .output()
        .unwrap();
    let told = String::from_utf8(child.stdout).unwrap();
    assert!(told.contains(&expected), "{told}");
    assert_eq!(sentence(directory.path()), expected);

    store.close().await;
    assert!(Store::open(&options(directory.path())).is_ok());
}

#[tokio::test]
async fn the_epoch_grows_at_every_start() {
    let directory = tempfile::tempdir().unwrap();
    let mut epochs = Vec::new();

    for _ in 0..3 {
        let store = Store::open(&options(directory.path())).unwrap();
        epochs.push(store.epoch());
        store.close().await;
    }
    // Dropped without a close, as a task that panics leaves it.
    drop(Store::open(&options(directory.path())).unwrap());
    epochs.push(Store::open(&options(directory.path())).unwrap().epoch());

    assert_eq!(epochs, [1, 2, 3, 5]);
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_as_it_was() {
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
async fn a_newer_file_that_a_kill_left_is_refused_too() {
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
async fn a_file_of_the_other_command_is_refused_and_left_as_it_was() {
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
async fn a_directory_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    // What root, too, cannot do: make a directory where a file is.
    fs::write(directory.path().join("file"), "").unwrap();
    let inside = directory.path().join("file/data");

    let told = sentence(&inside);

    assert!(told.starts_with(&format!("cannot write to the data directory {}", inside.display())), "{told}");
    assert!(told.ends_with("choose another with --data-dir"), "{told}");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(FILE_NAME)).unwrap();

    let told = sentence(directory.path());

    assert!(told.contains(&directory.path().join(FILE_NAME).display().to_string()), "{told}");
    assert!(told.contains("--data-dir"), "{told}");
}

#[tokio::test]
async fn the_directory_and_the_file_are_their_owners_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("new/data");

    drop(Store::open(&options(&data)).unwrap());

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join(FILE_NAME)), 0o600);
}

#[test]
fn a_file_whose_making_was_cut_off_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    let mut unfinished = vec![0; 1 << 20];
    unfinished[9..200].fill(3);
    for bytes in [&[][..], &[0], &unfinished[..5_000], &unfinished] {
        fs::write(&path, bytes).unwrap();

        assert_eq!(Store::open(&options(directory.path())).unwrap().epoch(), 1);
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    // The last would be an unfinished file, had it nothing after its first page.
    let almost_blank = [vec![0; 8_191], vec![1]].concat();
    for bytes in [&b"SQLite format 3\0"[..], b"redb", &[7; 9_000], &almost_blank] {
        fs::write(&path, bytes).unwrap();

        let told = sentence(directory.path());

        let expected = format!("{} is not a Ringmail store or is damaged", path.display());
        assert!(told.starts_with(&expected), "{told}");
        assert!(told.ends_with("restore a backup, or choose another directory with --data-dir"), "{told}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_damaged_file_gives_a_sentence_or_opens_but_never_panics() {
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
                // What was damaged may be a page that only a read meets.
                let _ = store.read_now::<_, StoreError>(|tx| tx.get(&LEFT, &(1,)));
                opened += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        };
        // Every byte of the header, then one in each sector that holds anything.
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
async fn a_kill_of_an_idle_store_costs_the_next_start_no_repair() {
    let (directory, store) = fresh();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy.redb");
    let left_behind = || fs::copy(directory.path().join(FILE_NAME), &copy).unwrap();

    left_behind();
    assert!(!takes_repair(&copy), "a store that was only opened is quick to open again");

    // Under load there is a repair: the price of fast commits. The writer is held, so that it
    // cannot be idle between the commit and the copy.
    let first = Held::hold(&store);
    let write = queued(store.write::<(), TestError>(|tx| Ok(tx.put(&LEFT, &(1,), &blob("row"))?)));
    let entered = Notes::default();
    let noted = entered.clone();
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    // More bytes than a group takes, so that the command after it is in the next group.
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
    assert!(takes_repair(&copy), "a kill under load takes a repair");

    drop(open);
    second.await.unwrap();
    until("an idle moment", || {
        left_behind();
        (!takes_repair(&copy)).then_some(())
    });
}
