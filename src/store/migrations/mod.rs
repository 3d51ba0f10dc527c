//! Schema versions: a file knows which it has, an older one is brought up to date after a
//! snapshot, a newer one is refused.
//!
//! A migration is one file here: a numbered, named function that returns how many rows it changed
//! and that finds nothing left to do when it runs again. `ALL` lists them in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::info;

use super::meta::{META, MetaKey, MetaRow};
use super::transaction::{ReadTx, Reads as _, WriteTx};
use super::{OpenError, OpenOptions, StoreError, StoreKind, file};

/// The schema this program writes.
pub const SCHEMA_VERSION: u32 = 1;

/// One step from a schema version to the next.
pub(super) struct Migration {
    /// The version the step leads to.
    pub(super) to: u32,
    /// What the step does, for the log.
    pub(super) name: &'static str,
    /// Does it; returns how many rows changed.
    pub(super) run: fn(&WriteTx<'_>) -> Result<u64, StoreError>,
}

/// Every migration, oldest first.
pub(super) const ALL: &[Migration] = &[];

/// Refuses a file that this program must not write, without changing a byte of it. What cannot be
/// told without writing (the file needs a repair) is left to [`bring_up_to_date`].
pub(super) fn refuse_unfit(path: &Path, kind: StoreKind) -> Result<(), OpenError> {
    let Some(database) = file::open_read_only(path) else { return Ok(()) };
    let Some(meta) = read_meta(&database, path)? else { return Ok(()) };
    refuse(&meta, path, kind, SCHEMA_VERSION)
}

fn refuse(meta: &MetaRow, path: &Path, kind: StoreKind, known: u32) -> Result<(), OpenError> {
    if meta.schema > known {
        return Err(OpenError::Newer { path: path.into(), found: meta.schema, known });
    }
    if meta.kind != kind {
        return Err(OpenError::OtherKind { path: path.into(), found: meta.kind });
    }
    Ok(())
}

/// Marks a fresh file, refuses a newer or foreign one, and migrates an older one.
pub(super) fn bring_up_to_date(
    database: redb::Database,
    path: &Path,
    options: &OpenOptions,
) -> Result<redb::Database, OpenError> {
    migrate(database, path, options, SCHEMA_VERSION, ALL)
}

pub(super) fn migrate(
    database: redb::Database,
    path: &Path,
    options: &OpenOptions,
    known: u32,
    migrations: &[Migration],
) -> Result<redb::Database, OpenError> {
    let Some(meta) = read_meta(&database, path)? else {
        commit(&database, |tx| tx.put(&META, &MetaKey::SCHEMA, &MetaRow { schema: known, kind: options.kind }))?;
        return Ok(database);
    };
    refuse(&meta, path, options.kind, known)?;
    if meta.schema == known {
        return Ok(database);
    }
    // The snapshot is a copy of the closed file, so that it is the very file the older program wrote.
    drop(database);
    let snapshot = snapshot(path, &options.directory, meta.schema)?;
    info!("kept the store as it was before the migration at {}", snapshot.display());
    let database = file::open(path, options.cache_bytes)?;
    for migration in migrations.iter().filter(|migration| migration.to > meta.schema) {
        let rows = commit(&database, |tx| {
            let rows = (migration.run)(tx)?;
            tx.put(&META, &MetaKey::SCHEMA, &MetaRow { schema: migration.to, kind: meta.kind })?;
            Ok(rows)
        })
        .map_err(|error| OpenError::Migration {
            path: path.into(),
            to: migration.to,
            name: migration.name,
            error,
            snapshot: snapshot.clone(),
        })?;
        info!(rows, "migrated the store to schema {}: {}", migration.to, migration.name);
    }
    Ok(database)
}

/// Raises the boot epoch and returns it: leases of an older one are void.
pub(super) fn begin_epoch(database: &Arc<redb::Database>) -> Result<u32, OpenError> {
    let epoch = commit(database, |tx| {
        let epoch = tx.get(&super::meta::EPOCH, &MetaKey::EPOCH)?.map_or(1, |row| row.epoch.wrapping_add(1));
        tx.put(&super::meta::EPOCH, &MetaKey::EPOCH, &super::meta::EpochRow { epoch })?;
        Ok(epoch)
    })?;
    Ok(epoch)
}

fn read_meta(database: &impl redb::ReadableDatabase, path: &Path) -> Result<Option<MetaRow>, OpenError> {
    match ReadTx::begin(database).and_then(|tx| tx.get(&META, &MetaKey::SCHEMA)) {
        Ok(meta) => Ok(meta),
        Err(StoreError::Corrupt(what)) => Err(OpenError::Damaged(path.into(), what)),
        Err(error) => Err(error.into()),
    }
}

/// Commits one command before the writer thread exists. The commit is quick to repair, so that a
/// kill right after a start does not cost the next one.
fn commit<T>(
    database: &redb::Database,
    work: impl FnOnce(&WriteTx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let result = {
        let tx = WriteTx::new(&transaction);
        work(&tx)?
    };
    transaction.commit()?;
    Ok(result)
}

fn snapshot(path: &Path, directory: &Path, schema: u32) -> Result<PathBuf, OpenError> {
    let backups = directory.join("backups");
    let target = backups.join(format!("before-migration-from-schema-{schema}.redb"));
    let copy = || {
        file::make_directory(&backups)?;
        file::copy(path, &target)
    };
    copy().map_err(|error| OpenError::Snapshot(target.clone(), error))?;
    Ok(target)
}
