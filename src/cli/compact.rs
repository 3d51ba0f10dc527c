//! `ringmail compact`: gives unused space of the store back to the file system, while no server runs.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::store_args::StoreArgs;
use crate::base::blocking;
use crate::store::{Compaction, FILE_NAME, OpenError, compact};

const MIB: f64 = 1_048_576.0;

#[derive(Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    store: StoreArgs,
}

/// Result of a compaction.
#[derive(Serialize)]
struct CompactionView {
    file: String,
    before_bytes: u64,
    after_bytes: u64,
}

/// Runs the verb.
///
/// # Errors
/// If the directory has no store, if a process has it open, or if the file cannot be read or written.
pub(super) async fn run(args: CompactArgs, output: Output) -> Result<(), Failure> {
    let config = args.store.config().await?;
    let file = config.data_dir.join(FILE_NAME);
    if !file.is_file() {
        let sentence = format!("there is no store at {}; name its directory with --data-dir", file.display());
        return Err(Failure::new(Exit::NotFound, sentence));
    }
    let (directory, cache_bytes) = (config.data_dir, config.cache_bytes);
    let compacted = blocking::run(move || compact(&directory, cache_bytes)).await;
    let Compaction { before_bytes, after_bytes } = compacted.map_err(|error| match error {
        OpenError::InUse(path) => Failure::new(
            Exit::Conflict,
            format!("a Ringmail process has {} open; stop the server, and run this again", path.display()),
        ),
        error => Failure::failed(error.to_string()),
    })?;
    let view = CompactionView { file: file.display().to_string(), before_bytes, after_bytes };
    output.print(&view, |view| {
        format!("{}: {} before, {} after.", view.file, mebibytes(view.before_bytes), mebibytes(view.after_bytes))
    })
}

#[expect(clippy::cast_precision_loss, reason = "the number is rounded for a reader")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB)
}
