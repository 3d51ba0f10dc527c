//! `ringmail export`: contacts as a CSV file.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::failure::Failure;
use super::import::segment;
use super::output::{Output, print_json, put};
use super::private_file::{PrivateFile, is_file, unwritable};
use super::progress::{ProgressLine, ProgressUpdate, grouped};
use super::store_args::TeamVerbArgs;
use crate::admin::AdminClient;
use crate::admin::contacts::{ContactTransfer, ContactVerb};
use crate::admin::response::Rows;
use crate::base::id::SegmentId;
use crate::contacts::export::{ExportColumns, ExportPage};
use crate::contacts::import::ImportProperty;

/// File name that selects standard output.
const STDOUT: &str = "-";

#[derive(Subcommand)]
pub(super) enum ExportVerb {
    /// Export contacts as a CSV file that `ringmail import contacts` can import.
    Contacts(ExportContactsArgs),
}

#[derive(Args)]
pub(super) struct ExportContactsArgs {
    /// File to write; - is standard output.
    #[arg(default_value = STDOUT)]
    file: PathBuf,

    /// Export only the contacts of the segment with this id.
    #[arg(long, value_name = "ID", value_parser = segment)]
    segment: Option<SegmentId>,
}

/// Result of an export.
#[derive(Serialize)]
struct Report {
    file: String,
    contacts: u64,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of a request, and a file that cannot be written.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<ExportVerb>, output: Output) -> Result<(), Failure> {
    let ExportVerb::Contacts(ExportContactsArgs { file, segment }) = verb;
    let is_stdout = file == Path::new(STDOUT);
    if is_stdout && output == Output::Json {
        return Err(Failure::usage("an export is CSV: with --json, name the file to write"));
    }
    let mut client = team.open().await?;
    let mut target = Target::open(&file)?;
    let written = write(&mut client, &mut target, segment).await;
    client.close().await;
    if written.is_err() {
        target.discard();
    }
    let contacts = written?;
    target.finish()?;
    if !is_stdout {
        match output {
            Output::Json => print_json(&Report { file: file.display().to_string(), contacts })?,
            Output::Text => {
                let noun = if contacts == 1 { "contact" } else { "contacts" };
                eprintln!("Exported {} {noun} to {}.", grouped(contacts), file.display());
            }
        }
    }
    Ok(())
}

async fn write(client: &mut AdminClient, target: &mut Target, segment: Option<SegmentId>) -> Result<u64, Failure> {
    let transfer = Some(ContactTransfer::Export { segment });
    let properties = ContactVerb::Properties { segments: Vec::new(), topics: Vec::new(), transfer };
    let properties: Rows<ImportProperty> = client.request(properties).await?;
    let sheet = ExportColumns::new(properties.data.into_iter().map(|property| property.key).collect());
    let mut line = ProgressLine::new();
    let mut count = 0;
    let mut after = None;
    let mut lines = sheet.header();
    loop {
        let page: ExportPage = client.request(ContactVerb::Export { segment, after }).await?;
        lines.extend(page.data.iter().map(|contact| sheet.line(contact)));
        if !target.put(&lines)? {
            return Ok(count);
        }
        lines.clear();
        count += page.data.len() as u64;
        if page.next.is_none() {
            return Ok(count);
        }
        after = page.next;
        if target.is_file() {
            line.show(ProgressUpdate { count, things: "contacts", share: None });
        }
    }
}

/// Destination of the lines.
enum Target {
    Stdout,
    /// A file with a temporary name until it is complete.
    File {
        partial: PrivateFile,
        path: PathBuf,
    },
}

impl Target {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new(STDOUT) {
            return Ok(Self::Stdout);
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        // The rename at the end would also replace a device or a link.
        is_file(path)?;
        Ok(Self::File { partial: PrivateFile::create(Path::new(&partial))?, path: path.to_owned() })
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Writes text; returns `false` if standard output is closed, for example by `head`.
    fn put(&mut self, text: &str) -> Result<bool, Failure> {
        match self {
            Self::Stdout => put(text),
            Self::File { partial, .. } => partial.write(text).map(|()| true),
        }
    }

    /// Deletes the incomplete file.
    fn discard(&self) {
        if let Self::File { partial, .. } = self {
            // If this fails, the name of the file still shows that it is incomplete.
            let _ = std::fs::remove_file(partial.path());
        }
    }

    fn finish(self) -> Result<(), Failure> {
        let Self::File { mut partial, path } = self else { return Ok(()) };
        partial.finish()?;
        std::fs::rename(partial.path(), &path).map_err(|error| unwritable(&path, error))
    }
}
