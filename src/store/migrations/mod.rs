//! Schema versions. The file stores its version. An older file is migrated after a snapshot, and a
//! newer file is rejected.
//!
//! A migration is one file in this folder: a numbered, named function that returns the number of
//! rows it changed. It is idempotent. `ALL` lists the migrations in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::info;

use super::meta::{EPOCH, EpochRow, META, MetaKey, MetaRow};
use super::reads::{ReadTx, Reads as _};
use super::transaction::WriteTx;
use super::{Keyring, OpenError, OpenOptions, StoreError, StoreKind, file, nodes};

/// Label of the value that is derived from the master key to recognize it. Must never change.
const KEY_CHECK: &[u8] = b"key check";

/// Schema version that this program writes.
pub const SCHEMA_VERSION: u32 = 1;

/// One step from a schema version to the next.
pub(super) struct Migration {
    /// Schema version after the step.
    pub(super) to: u32,
    /// Description of the step, for the log.
    pub(super) name: &'static str,
    /// Function that migrates the rows; returns the number of changed rows.
    pub(super) run: fn(&WriteTx<'_>) -> Result<u64, StoreError>,
}

/// Every migration, oldest first.
pub(super) const ALL: &[Migration] = &[];

/// Rejects a file of a newer schema or of the other command without changing a byte of it. If the file
/// needs a repair, it cannot be read without writing, and [`bring_up_to_date`] checks it later.
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

/// Writes the schema version to a new file, rejects a newer file or one of the other command, and
/// migrates an older file.
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
    // The snapshot copies the closed file, so that its bytes are those that the older program wrote.
    drop(database);
    let snapshot = snapshot(path, &options.directory, meta.schema)?;
    info!("saved the store before the migration to {}", snapshot.display());
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

/// Increments the boot epoch and returns it. Every node of an older epoch has ended. Stores the check of the master key at
/// the first opening with a key, and compares it at every later one.
///
/// # Errors
/// [`OpenError::OtherKey`] if the store was opened with another key before; nothing is stored.
pub(super) fn begin_epoch(
    database: &Arc<redb::Database>,
    path: &Path,
    keyring: Option<&Keyring>,
) -> Result<EpochRow, OpenError> {
    let key_check = keyring.map(|keyring| keyring.derive(KEY_CHECK));
    let has_nodes = ReadTx::begin(database.as_ref()).and_then(|tx| nodes::has_rows(&tx))?;
    commit(database, |tx| {
        let stored = tx.get(&EPOCH, &MetaKey::EPOCH)?;
        let known = stored.as_ref().and_then(|row| row.key_check);
        if key_check.is_some() && known.is_some() && key_check != known {
            return Err(OpenError::OtherKey(path.into()));
        }
        let epoch = stored.map_or(1, |row| row.epoch.wrapping_add(1));
        let row = EpochRow { epoch, key_check: known.or(key_check), commit: 0 };
        tx.put(&EPOCH, &MetaKey::EPOCH, &row)?;
        if has_nodes {
            nodes::end_others(tx)?;
        }
        Ok(row)
    })
}

fn read_meta(database: &impl redb::ReadableDatabase, path: &Path) -> Result<Option<MetaRow>, OpenError> {
    match ReadTx::begin(database).and_then(|tx| tx.get(&META, &MetaKey::SCHEMA)) {
        Ok(meta) => Ok(meta),
        Err(StoreError::Corrupt(what)) => Err(OpenError::Damaged(path.into(), what)),
        Err(error) => Err(error.into()),
    }
}

/// Commits one command while no commands of the queues are applied. The commit enables quick repair, so that a
/// kill after this start does not delay the next start.
pub(super) fn commit<T, E: From<StoreError>>(
    database: &redb::Database,
    work: impl FnOnce(&WriteTx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut transaction = database.begin_write().map_err(StoreError::from)?;
    transaction.set_quick_repair(true);
    let result = {
        let tx = WriteTx::new(&transaction);
        work(&tx)?
    };
    transaction.commit().map_err(StoreError::from)?;
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
