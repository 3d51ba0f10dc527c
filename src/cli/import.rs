//! `ringmail import`: contacts from a CSV file.

use std::fs::File as StdFile;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::failure::Failure;
use super::output::{Output, table};
use super::private_file::PrivateFile;
use super::progress::{ProgressLine, ProgressUpdate, grouped};
use super::store_args::TeamVerbArgs;
use crate::admin::contacts::{ContactTransfer, ContactVerb};
use crate::admin::response::{Rows, ServerView};
use crate::admin::{AdminClient, ServerVerb};
use crate::base::id::{SegmentId, TopicId};
use crate::contacts::import::{
    ColumnMapping, ContactImport, ExistingContacts, ImportColumn, ImportItem, ImportOptions, ImportOutcome,
    ImportProgress, ImportProperty, MapError, RowError, RunMode,
};

/// Size of a read.
const BLOCK_BYTES: usize = 64 << 10;
/// Interval of pings while a pipe is silent: less than the idle timeout of the server.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Maximum number of failed rows in the output if there is no error file.
const ERRORS_SHOWN_MAX: usize = 20;
/// Maximum number of ignored columns that are named.
const COLUMNS_SHOWN_MAX: usize = 20;
/// File name that selects standard input.
const STDIN: &str = "-";

#[derive(Subcommand)]
pub(super) enum ImportVerb {
    /// Import contacts from a CSV file. An import never subscribes a contact that has opted out.
    Contacts(ImportContactsArgs),
}

#[derive(Clone, Copy, ValueEnum)]
enum OnConflictArg {
    /// Merge the row into the contact.
    Upsert,
    /// Leave the contact unchanged.
    Skip,
}

impl From<OnConflictArg> for ExistingContacts {
    fn from(conflict: OnConflictArg) -> Self {
        match conflict {
            OnConflictArg::Upsert => Self::Upsert,
            OnConflictArg::Skip => Self::Skip,
        }
    }
}

#[derive(Args)]
pub(super) struct ImportContactsArgs {
    /// CSV file with column names in the first row; - is standard input.
    file: PathBuf,

    /// Mapping of columns, as TARGET=COLUMN separated by commas. Targets: email, first_name, last_name,
    /// unsubscribed, property:KEY, segment, topic_opt_in and topic_opt_out (ids separated by spaces),
    /// ignore. Columns with the names of the first four targets or property:KEY, and the columns of an
    /// export, are mapped automatically.
    #[arg(long, value_name = "MAP", value_parser = mapping)]
    map: Vec<ColumnMapping>,

    /// Treatment of contacts that exist already.
    #[arg(long, value_enum, default_value = "upsert")]
    on_conflict: OnConflictArg,

    /// Check and count everything, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Write the failed rows to a CSV file with the columns line, email and error.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,

    /// Add every contact to the segment with this id; may be repeated.
    #[arg(long, value_name = "ID", value_parser = segment)]
    segment: Vec<SegmentId>,

    /// Opt every contact in to the topic with this id, unless it has opted out; may be repeated.
    #[arg(long, value_name = "ID", value_parser = topic)]
    topic: Vec<TopicId>,
}

fn mapping(text: &str) -> Result<ColumnMapping, MapError> {
    ColumnMapping::parse(text)
}

/// Parses the id of a segment.
pub(super) fn segment(text: &str) -> Result<SegmentId, &'static str> {
    SegmentId::parse(text).ok_or("the id of a segment is a UUID")
}

fn topic(text: &str) -> Result<TopicId, &'static str> {
    TopicId::parse(text).ok_or("the id of a topic is a UUID")
}

/// Result of an import.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    #[serde(flatten)]
    progress: ImportProgress,
    columns: Vec<ColumnReport>,
    /// First failed rows; empty if there is an error file.
    errors: Vec<ErrorReport>,
}

#[derive(Serialize)]
struct ColumnReport {
    name: String,
    /// `None` if the column is ignored.
    target: Option<String>,
}

#[derive(Serialize)]
struct ErrorReport {
    line: u64,
    email: String,
    error: String,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of a request, a file that cannot be read, and failed rows.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<ImportVerb>, output: Output) -> Result<(), Failure> {
    let ImportVerb::Contacts(args) = verb;
    let ImportContactsArgs { file, map, on_conflict, dry_run, errors, segment, topic } = args;
    let source = Source::open(&file).await?;
    let errors = errors.map(|path| create_error_file(&path, &file)).transpose()?;
    let mut client = team.open().await?;
    let transfer = (!dry_run).then_some(ContactTransfer::Import);
    let properties = ContactVerb::Properties { segments: segment.clone(), topics: topic.clone(), transfer };
    let properties: Rows<ImportProperty> = client.request(properties).await?;
    let existing = on_conflict.into();
    let run = if dry_run { RunMode::Check } else { RunMode::Write };
    let options = ImportOptions { mapping: ColumnMapping::joined(map), properties: properties.data, existing, run };
    let batch =
        move |items| ContactVerb::Import { existing, run, segments: segment.clone(), topics: topic.clone(), items };
    let mut job = Job { import: ContactImport::new(options), errors, shown: Vec::new(), line: ProgressLine::new() };
    let result = job.run(&mut client, source, batch).await;
    client.close().await;
    job.line.clear();
    let progress = job.import.progress();
    if let Err(failure) = result {
        if progress.created + progress.updated > 0 && !dry_run {
            eprintln!(
                "The import stopped after {} rows. Their changes are stored. Import the file again to add the rest.",
                grouped(progress.rows)
            );
        }
        return Err(failure);
    }
    job.report(dry_run, output)
}

/// An import and its output.
struct Job {
    import: ContactImport,
    errors: Option<PrivateFile>,
    shown: Vec<RowError>,
    line: ProgressLine,
}

impl Job {
    async fn run(
        &mut self,
        client: &mut AdminClient,
        mut source: Source,
        verb: impl Fn(Vec<ImportItem>) -> ContactVerb,
    ) -> Result<(), Failure> {
        let mut block = vec![0; BLOCK_BYTES];
        let mut is_header_read = false;
        loop {
            let read = source.read(&mut block, client).await?;
            let fed = if read == 0 { self.import.finish() } else { self.import.feed(&block[..read]) };
            fed.map_err(|error| Failure::usage(format!("{}: {error}", source.name)))?;
            if !is_header_read && !self.import.columns().is_empty() {
                is_header_read = true;
                self.print_ignored_columns();
            }
            while let Some(batch) = self.import.next_batch() {
                let outcomes: Rows<ImportOutcome> = client.request(verb(batch.items.clone())).await?;
                self.import.settle(batch, outcomes.data);
                self.show_progress(source.bytes);
            }
            self.collect_errors()?;
            if read == 0 {
                return self.errors.as_mut().map_or(Ok(()), PrivateFile::finish);
            }
            self.show_progress(source.bytes);
        }
    }

    fn print_ignored_columns(&mut self) {
        let mut names: Vec<String> = self
            .import
            .columns()
            .iter()
            .filter(|column| column.target.is_none())
            .map(ImportColumn::shown_name)
            .collect();
        if names.len() > COLUMNS_SHOWN_MAX {
            names.truncate(COLUMNS_SHOWN_MAX);
            names.push("…".to_owned());
        }
        if !names.is_empty() {
            eprintln!("Ignored columns: {}. Map a column with --map.", names.join(", "));
        }
    }

    fn show_progress(&mut self, bytes: Option<u64>) {
        let ImportProgress { rows, bytes: read, .. } = self.import.progress();
        self.line.show(ProgressUpdate { count: rows, things: "rows", share: bytes.map(|all| (read, all)) });
    }

    fn collect_errors(&mut self) -> Result<(), Failure> {
        for error in self.import.take_errors() {
            match &mut self.errors {
                Some(file) => file.write(&error.csv_line())?,
                None if self.shown.len() < ERRORS_SHOWN_MAX => self.shown.push(error),
                None => {}
            }
        }
        Ok(())
    }

    fn report(self, dry_run: bool, output: Output) -> Result<(), Failure> {
        let progress = self.import.progress();
        let columns = self.import.columns().iter().map(|column| ColumnReport {
            name: column.name.clone(),
            target: column.target.as_ref().map(ToString::to_string),
        });
        let errors = self.shown.iter().map(|error| ErrorReport {
            line: error.line,
            email: error.email.clone(),
            error: error.sentence(),
        });
        let report = Report { dry_run, progress, columns: columns.collect(), errors: errors.collect() };
        output.print(&report, text)?;
        if output == Output::Text {
            for error in &report.errors {
                eprintln!("line {}: {}", error.line, error.error);
            }
        }
        if dry_run {
            eprintln!("A dry run: nothing was written.");
        }
        if progress.failed == 0 {
            return Ok(());
        }
        let hint = match &self.errors {
            Some(file) => format!("they are in {}", file.path().display()),
            None => "write them to a file with --errors FILE".to_owned(),
        };
        let (failed, rows) = (grouped(progress.failed), grouped(progress.rows));
        Err(Failure::failed(format!("{failed} of {rows} rows failed; {hint}")))
    }
}

fn text(report: &Report) -> String {
    let ImportProgress { rows, created, updated, skipped, failed, bytes: _ } = report.progress;
    let counts = [rows, created, updated, skipped, failed].map(grouped).to_vec();
    table(&["ROWS", "CREATED", "UPDATED", "SKIPPED", "FAILED"], std::iter::once(counts))
}

/// The imported file.
struct Source {
    file: File,
    name: String,
    /// Length in bytes; `None` for a pipe.
    bytes: Option<u64>,
}

impl Source {
    async fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
        let file = if path == Path::new(STDIN) {
            let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?;
            File::from_std(StdFile::from(input))
        } else {
            File::open(path).await.map_err(unreadable)?
        };
        let found = file.metadata().await.map_err(unreadable)?;
        if found.is_dir() {
            return Err(Failure::usage(format!("{} is a directory", path.display())));
        }
        let bytes = found.is_file().then_some(found.len());
        Ok(Self { file, name: path.display().to_string(), bytes })
    }

    /// Reads a block; returns 0 at the end of the file.
    async fn read(&mut self, block: &mut [u8], client: &mut AdminClient) -> Result<usize, Failure> {
        let Self { file, name, bytes: _ } = self;
        let reading = file.read(block);
        tokio::pin!(reading);
        loop {
            tokio::select! {
                read = &mut reading => {
                    return read.map_err(|error| Failure::failed(format!("{name} cannot be read: {error}")));
                }
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    client.request::<ServerView>(ServerVerb::Ping).await?;
                }
            }
        }
    }
}

/// Creates the CSV file for failed rows, with its header.
fn create_error_file(path: &Path, imported: &Path) -> Result<PrivateFile, Failure> {
    if path.canonicalize().is_ok_and(|path| imported.canonicalize().is_ok_and(|imported| imported == path)) {
        return Err(Failure::usage("the error file is the imported file; name another"));
    }
    let mut file = PrivateFile::create(path)?;
    file.write(&RowError::csv_header())?;
    Ok(file)
}
