//! Opening of the file again after a failure of the engine, such as a full disk.
//!
//! After an I/O error, the engine rejects every transaction until its file is opened again.
//!
//! The boot epoch stays the same, so that the leases of this process stay valid and the outcomes of its deliveries can
//! be stored. Another process that opened the file in the meantime has begun another epoch. The store then fails
//! permanently, because that process requeued the leases.
//!
//! Every commit stores its number. After the file is open, the number shows whether the commit that failed is on the
//! disk, so that its callers get the right result.

use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};

use super::commits::{DoubtfulGroup, WriterLoop, run_callbacks};
use super::error::{OpenError, StoreError};
use super::meta::{EPOCH, EpochRow, MetaKey};
use super::migrations;
use super::reads::{ReadTx, Reads as _};
use super::writer::reject;
use crate::base::clock::monotonic;
use crate::base::sync;

/// Pause before the second attempt to open the file again. It doubles with each further one.
const REOPEN_PAUSE_MIN: Duration = Duration::from_millis(250);
/// Maximum pause between two attempts to open the file again.
const REOPEN_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Function that opens the existing file.
pub(super) type OpenFile = Box<dyn Fn() -> Result<redb::Database, OpenError> + Send>;

/// Failure to open the file again.
#[derive(Debug)]
enum ReopenError {
    /// A later attempt can succeed.
    Temporary(OpenError),
    /// No attempt of this process can succeed.
    Permanent(StoreError),
}

/// Opens the file again. Makes a commit, which proves that the disk accepts writes. Returns the number of the last
/// commit of this boot epoch.
fn open_again(open: &OpenFile, epoch: &EpochRow) -> Result<(redb::Database, u64), ReopenError> {
    let database = open().map_err(classify)?;
    let stored = ReadTx::begin(&database).and_then(|tx| tx.get(&EPOCH, &MetaKey::EPOCH)).map_err(temporary)?;
    let Some(stored) = stored.filter(|stored| stored.epoch == epoch.epoch) else {
        let why = "another process has opened the store; start the server again".to_owned();
        return Err(ReopenError::Permanent(StoreError::Lost(why)));
    };
    migrations::commit(&database, |tx| tx.put(&EPOCH, &MetaKey::EPOCH, &stored)).map_err(temporary)?;
    info!("opened the store again");
    Ok((database, stored.commit))
}

fn temporary(error: StoreError) -> ReopenError {
    ReopenError::Temporary(OpenError::Store(error))
}

fn classify(error: OpenError) -> ReopenError {
    match error {
        OpenError::Directory(..) | OpenError::InUse(_) | OpenError::Engine(..) | OpenError::Store(_) => {
            ReopenError::Temporary(error)
        }
        OpenError::Newer { .. }
        | OpenError::OtherKind { .. }
        | OpenError::MasterKey(..)
        | OpenError::OtherKey(_)
        | OpenError::Snapshot(..)
        | OpenError::Migration { .. }
        | OpenError::Damaged(..)
        | OpenError::Blank(_) => ReopenError::Permanent(StoreError::Lost(error.to_string())),
    }
}

impl<B> WriterLoop<B> {
    /// Opens the file again, until it succeeds, the store is closed, or no attempt can succeed.
    pub(super) fn reopen(&mut self, failure: &StoreError, mut doubtful: Option<DoubtfulGroup>) {
        error!(error = %failure, "the store rejects changes until its file can be opened again: check the free space of the disk");
        let is_in_doubt = doubtful.is_some();
        self.shared.suspend();
        // Drops the last handles, which closes the file. Running reads fail when they access it.
        sync::write(&self.slot).take();
        self.database = None;
        self.needs_quick_repair = false;
        if self.reopened_at.is_none_or(|at| at.elapsed() > 2 * REOPEN_PAUSE_MAX) {
            self.reopen_pause = Duration::ZERO;
        }
        for attempt in 1_u32.. {
            if !self.shared.pause(self.reopen_pause) {
                break;
            }
            self.reopen_pause = (2 * self.reopen_pause).clamp(REOPEN_PAUSE_MIN, REOPEN_PAUSE_MAX);
            match open_again(&self.open_file, &self.epoch) {
                Ok((_, commit)) if is_in_doubt && doubtful.is_none() && commit == self.epoch.commit => {
                    let why = "it contains a commit that was reported as failed; start the server again";
                    self.shared.fail_all(&StoreError::Lost(why.to_owned()));
                    return;
                }
                Ok((database, commit)) => {
                    let database = Arc::new(database);
                    *sync::write(&self.slot) = Some(Arc::clone(&database));
                    self.database = Some(database);
                    self.reopened_at = Some(monotonic());
                    self.shared.resume();
                    if let Some(DoubtfulGroup { group, callbacks }) = doubtful.take() {
                        let has_committed = commit == self.epoch.commit;
                        if has_committed {
                            run_callbacks(callbacks);
                        }
                        let failure = (!has_committed).then_some(StoreError::Unavailable);
                        group.into_iter().for_each(|queued| queued.answer(failure.clone()));
                    }
                    self.epoch.commit = commit;
                    return;
                }
                Err(ReopenError::Permanent(failure)) => {
                    error!(error = %failure, "{failure}");
                    self.shared.fail_all(&failure);
                    break;
                }
                Err(ReopenError::Temporary(error)) => {
                    if attempt.is_power_of_two() {
                        warn!(%error, attempt, "could not open the store again: {error}");
                    }
                    if let Some(DoubtfulGroup { group, .. }) = doubtful.take() {
                        reject(group, &StoreError::Unavailable);
                    }
                }
            }
        }
        if let Some(DoubtfulGroup { group, .. }) = doubtful {
            reject(group, &StoreError::Unavailable);
        }
    }
}
