//! Migrations run once, in order, after a snapshot, and continue after a kill between two of them.

use std::cell::RefCell;
use std::fs;

use super::meta::{META, MetaKey, MetaRow};
use super::migrations::{Migration, migrate};
use super::*;

/// Migrations to a schema 4 of these tests. Each one records that it ran.
const STEPS: &[Migration] = &[
    Migration { to: 2, name: "number the rows", run: |tx| note(tx, 2) },
    Migration { to: 3, name: "name the rows", run: |tx| note(tx, 3) },
    Migration { to: 4, name: "file the rows", run: |tx| note(tx, 4) },
];

/// Adds a step to the list of completed steps, which is the row under key 0.
fn note(tx: &WriteTx<'_>, step: u8) -> Result<u64, StoreError> {
    let Blob(mut ran) = tx.get(&LEFT, &(0,))?.unwrap_or(Blob(Vec::new()));
    ran.push(step);
    tx.put(&LEFT, &(0,), &Blob(ran)).map(|()| 1)
}

fn ran(database: &redb::Database) -> (Option<Vec<u8>>, u32) {
    let tx = ReadTx::begin(database).unwrap();
    let ran = tx.get(&LEFT, &(0,)).unwrap().map(|Blob(ran)| ran);
    (ran, tx.get(&META, &MetaKey::SCHEMA).unwrap().unwrap().schema)
}

/// Returns a closed store of schema 1, and a function that opens it as another version would.
async fn of_schema_1() -> (TempDir, impl Fn(u32, &[Migration]) -> Result<redb::Database, OpenError>) {
    let (directory, store) = fresh();
    let meta = MetaRow { schema: 1, kind: StoreKind::Dev };
    store.write::<_, StoreError>(move |tx| tx.put(&META, &MetaKey::SCHEMA, &meta)).await.unwrap();
    store.close().await;
    let options = options(directory.path());
    let path = directory.path().join(FILE_NAME);
    let open = move |known: u32, steps: &[Migration]| {
        let database = file::open(&path, options.cache_bytes)?;
        migrate(database, &path, &options, known, steps)
    };
    (directory, open)
}

#[tokio::test]
async fn the_steps_run_once_and_in_order() {
    let (_directory, open) = of_schema_1().await;

    assert_eq!(ran(&open(4, STEPS).unwrap()), (Some(vec![2, 3, 4]), 4));
    assert_eq!(ran(&open(4, STEPS).unwrap()), (Some(vec![2, 3, 4]), 4));
}

#[tokio::test]
async fn a_file_of_an_intermediate_schema_takes_the_later_steps() {
    let (_directory, open) = of_schema_1().await;

    assert_eq!(ran(&open(2, &STEPS[..1]).unwrap()), (Some(vec![2]), 2));
    assert_eq!(ran(&open(4, STEPS).unwrap()), (Some(vec![2, 3, 4]), 4));
}

#[tokio::test]
async fn a_new_file_needs_no_step() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);

    let database = migrate(file::open(&path, 4 << 20).unwrap(), &path, &options(directory.path()), 4, STEPS).unwrap();

    assert_eq!(ran(&database), (None, 4));
    assert!(!directory.path().join("backups").exists());
}

#[tokio::test]
async fn the_snapshot_is_the_file_before_the_migration() {
    let (directory, open) = of_schema_1().await;
    let snapshot = directory.path().join("backups/before-migration-from-schema-1.redb");
    thread_local!(static SNAPSHOT: RefCell<PathBuf> = RefCell::default());
    SNAPSHOT.set(snapshot.clone());
    let look = |tx: &WriteTx<'_>| {
        assert!(SNAPSHOT.with_borrow(|snapshot| snapshot.is_file()), "a step runs before the snapshot");
        note(tx, 2)
    };

    drop(open(2, &[Migration { to: 2, name: "look for the snapshot", run: look }]).unwrap());

    let kept = file::open(&snapshot, 4 << 20).unwrap();
    assert_eq!(ran(&kept), (None, 1));
    let names: Vec<_> =
        fs::read_dir(snapshot.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [snapshot.file_name().unwrap()]);
}

#[tokio::test]
async fn a_failed_snapshot_stops_before_the_first_step() {
    let (directory, open) = of_schema_1().await;
    // Even root cannot create a directory at the path of a file.
    fs::write(directory.path().join("backups"), "").unwrap();

    let refused = open(4, STEPS).map(drop).unwrap_err();

    assert!(matches!(refused, OpenError::Snapshot(..)));
    assert!(refused.to_string().contains("free some space or make the directory writable"), "{refused}");
    fs::remove_file(directory.path().join("backups")).unwrap();
    assert_eq!(ran(&open(1, &[]).unwrap()), (None, 1));
}

#[tokio::test]
async fn a_failed_step_keeps_the_earlier_steps_and_runs_again() {
    let (directory, open) = of_schema_1().await;
    let failing = [
        Migration { to: 2, name: "number the rows", run: |tx| note(tx, 2) },
        Migration {
            to: 3,
            name: "fail",
            run: |tx| note(tx, 9).and(Err(StoreError::Corrupt("a row of a test".into()))),
        },
    ];

    let refused = open(3, &failing).map(drop).unwrap_err();

    let snapshot = directory.path().join("backups/before-migration-from-schema-1.redb");
    assert_eq!(
        refused.to_string(),
        format!(
            "{} could not be migrated to schema 3, fail (store: corrupt data: a row of a test); \
             a copy of the file before the migration is at {}",
            directory.path().join(FILE_NAME).display(),
            snapshot.display()
        )
    );
    assert_eq!(ran(&open(2, &failing).unwrap()), (Some(vec![2]), 2));
    assert_eq!(ran(&open(4, STEPS).unwrap()), (Some(vec![2, 3, 4]), 4));
    assert!(directory.path().join("backups/before-migration-from-schema-2.redb").is_file());
}

#[test]
fn the_last_migration_leads_to_the_current_schema() {
    let mut at = 1;
    for migration in migrations::ALL {
        at += 1;
        assert_eq!(migration.to, at, "{}", migration.name);
        assert!(!migration.name.is_empty());
    }

    assert_eq!(at, migrations::SCHEMA_VERSION);
}
