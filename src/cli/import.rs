//! `ringmail import`: contacts from a CSV file.

use std::fs::File as StdFile;
use std::io::{BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::failure::Failure;
use super::output::{Output, table};
use super::private_file;
use super::progress::{ProgressLine, ProgressUpdate, grouped};
use super::store_args::{TeamArgs, ask, unexpected};
use crate::admin::{AdminClient, Request, Response};
use crate::base::id::{SegmentId, TopicId};
use crate::contacts::import::{
    Column, ExistingContacts, Import, ImportItem, ImportOptions, ImportOutcome, ImportProgress, MapError, Mapping,
    RowError, RunMode,
};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 64 << 10;
/// A pipe may be silent for longer than the server listens to a silent verb.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Rows that failed and are shown where no error file is asked for.
const ERRORS_SHOWN_MAX: usize = 20;
/// Maximum number of skipped columns that are printed.
const COLUMNS_SHOWN_MAX: usize = 20;
/// The name of standard input.
const STDIN: &str = "-";

#[derive(Subcommand)]
pub(super) enum ImportVerb {
    /// Import contacts from a CSV file. Nobody is subscribed again: who opted out stays out.
    Contacts(ImportContactsArgs),
}

#[derive(Clone, Copy, ValueEnum)]
enum OnConflictArg {
    /// Merge the row into the contact.
    Upsert,
    /// Leave the contact as it is.
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
    /// The file, whose first row names the columns; - is standard input.
    file: PathBuf,

    /// What columns say, as TARGET=COLUMN with commas between. Targets: email, first_name, last_name,
    /// unsubscribed, property:KEY, segment, topic_opt_in and topic_opt_out (ids with spaces between),
    /// ignore. Columns called like the first four, property:KEY, and the columns of an export map by
    /// themselves.
    #[arg(long, value_name = "MAP", value_parser = mapping)]
    map: Vec<Mapping>,

    /// What happens to contacts that are there already.
    #[arg(long, value_enum, default_value = "upsert")]
    on_conflict: OnConflictArg,

    /// Check everything, count the same, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Write the rows that failed to a CSV file: line, email, error.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,

    /// Add every contact to the segment with this id; may be given several times.
    #[arg(long, value_name = "ID", value_parser = segment)]
    segment: Vec<SegmentId>,

    /// Opt every contact in to the topic with this id, unless it has opted out; may be given several
    /// times.
    #[arg(long, value_name = "ID", value_parser = topic)]
    topic: Vec<TopicId>,

    #[command(flatten)]
    team: TeamArgs,
}

fn mapping(text: &str) -> Result<Mapping, MapError> {
    Mapping::parse(text)
}

/// Reads the id of a segment on the command line.
pub(super) fn segment(text: &str) -> Result<SegmentId, &'static str> {
    SegmentId::parse(text).ok_or("the id of a segment is a UUID")
}

fn topic(text: &str) -> Result<TopicId, &'static str> {
    TopicId::parse(text).ok_or("the id of a topic is a UUID")
}

/// What an import came to.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    #[serde(flatten)]
    progress: ImportProgress,
    columns: Vec<ColumnReport>,
    /// The first rows that failed, where there is no error file.
    errors: Vec<ErrorReport>,
}

#[derive(Serialize)]
struct ColumnReport {
    name: String,
    /// Field that the column sets; `None` if the column is skipped.
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
/// What the server or the store refuses, a file that cannot be read, and rows that failed.
pub(super) async fn run(verb: ImportVerb, output: Output) -> Result<(), Failure> {
    let ImportVerb::Contacts(args) = verb;
    let ImportContactsArgs { file, map, on_conflict, dry_run, errors, segment, topic, team: TeamArgs { team, place } } =
        args;
    let source = Source::open(&file).await?;
    let errors = errors.map(|path| ErrorFile::create(&path, &file)).transpose()?;
    let mut door = place.open().await?;
    let begin = Request::ImportBegin { team: team.clone(), segments: segment.clone(), topics: topic.clone() };
    let properties = match ask(&mut door, begin).await? {
        Response::Properties(properties) => properties.data,
        other => return Err(unexpected(&other)),
    };
    let existing = on_conflict.into();
    let run = if dry_run { RunMode::Check } else { RunMode::Write };
    let options = ImportOptions { mapping: Mapping::joined(map), properties, existing, run };
    let request = move |items| Request::ImportContacts {
        team: team.clone(),
        existing,
        run,
        segments: segment.clone(),
        topics: topic.clone(),
        items,
    };
    let mut job = Job { import: Import::new(options), errors, shown: Vec::new(), line: ProgressLine::new() };
    let done = job.run(&mut door, source, request).await;
    door.close().await;
    job.line.clear();
    let progress = job.import.progress();
    if let Err(failure) = done {
        if progress.created + progress.updated > 0 && !dry_run {
            eprintln!(
                "Broken off after {} rows; what was answered is stored, and importing the file again adds the rest.",
                grouped(progress.rows)
            );
        }
        return Err(failure);
    }
    job.report(dry_run, output)
}

/// An import and what is said of it.
struct Job {
    import: Import,
    errors: Option<ErrorFile>,
    shown: Vec<RowError>,
    line: ProgressLine,
}

impl Job {
    async fn run(
        &mut self,
        door: &mut AdminClient,
        mut source: Source,
        request: impl Fn(Vec<ImportItem>) -> Request,
    ) -> Result<(), Failure> {
        let mut block = vec![0; BLOCK_BYTES];
        let mut is_introduced = false;
        loop {
            let read = source.read(&mut block, door).await?;
            let fed = if read == 0 { self.import.finish() } else { self.import.feed(&block[..read]) };
            fed.map_err(|error| Failure::usage(format!("{}: {error}", source.name)))?;
            if !is_introduced && !self.import.columns().is_empty() {
                is_introduced = true;
                self.introduce();
            }
            while let Some(batch) = self.import.next_batch() {
                let outcomes: Vec<ImportOutcome> = match ask(door, request(batch.items.clone())).await? {
                    Response::Imported(outcomes) => outcomes.data,
                    other => return Err(unexpected(&other)),
                };
                self.import.settle(batch, outcomes);
                self.say(source.bytes);
            }
            self.note_errors()?;
            if read == 0 {
                return self.errors.as_mut().map_or(Ok(()), ErrorFile::finish);
            }
            self.say(source.bytes);
        }
    }

    /// Prints the names of the skipped columns.
    fn introduce(&mut self) {
        let mut names: Vec<String> =
            self.import.columns().iter().filter(|column| column.target.is_none()).map(Column::shown_name).collect();
        if names.len() > COLUMNS_SHOWN_MAX {
            names.truncate(COLUMNS_SHOWN_MAX);
            names.push("…".to_owned());
        }
        if !names.is_empty() {
            eprintln!("Skipped columns: {}. Use --map to import a column.", names.join(", "));
        }
    }

    fn say(&mut self, bytes: Option<u64>) {
        let ImportProgress { rows, bytes: read, .. } = self.import.progress();
        self.line.show(ProgressUpdate { count: rows, things: "rows", share: bytes.map(|all| (read, all)) });
    }

    fn note_errors(&mut self) -> Result<(), Failure> {
        for error in self.import.take_errors() {
            match &mut self.errors {
                Some(file) => file.write(&error)?,
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
            Some(file) => format!("they are in {}", file.path.display()),
            None => "--errors FILE keeps them".to_owned(),
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

/// What is imported.
struct Source {
    file: File,
    name: String,
    /// Its length, where it has one.
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

    /// Reads a block, and none at the end.
    async fn read(&mut self, block: &mut [u8], door: &mut AdminClient) -> Result<usize, Failure> {
        let Self { file, name, bytes: _ } = self;
        let reading = file.read(block);
        tokio::pin!(reading);
        loop {
            tokio::select! {
                read = &mut reading => {
                    return read.map_err(|error| Failure::failed(format!("{name} cannot be read: {error}")));
                }
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    ask(door, Request::Ping).await?;
                }
            }
        }
    }
}

/// Where rows that failed are written to.
struct ErrorFile {
    path: PathBuf,
    out: BufWriter<StdFile>,
}

impl ErrorFile {
    fn create(path: &Path, imported: &Path) -> Result<Self, Failure> {
        let same = |one: &Path, other: &Path| matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other);
        if same(path, imported) {
            return Err(Failure::usage("the error file is the file that is imported; name another"));
        }
        let file = private_file::create(path)
            .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))?;
        let mut file = Self { path: path.to_owned(), out: BufWriter::new(file) };
        file.put(&RowError::csv_header())?;
        Ok(file)
    }

    fn write(&mut self, error: &RowError) -> Result<(), Failure> {
        self.put(&error.csv_line())
    }

    fn put(&mut self, line: &str) -> Result<(), Failure> {
        self.out.write_all(line.as_bytes()).map_err(|error| unwritable(&self.path, &error))
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{} cannot be written: {error}", path.display()))
}
