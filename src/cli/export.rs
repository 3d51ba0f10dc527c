//! `ringmail export`: contacts as a CSV file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::failure::Failure;
use super::import::segment;
use super::output::{Output, print_json};
use super::private_file;
use super::progress::{ProgressLine, ProgressUpdate, grouped};
use super::store_args::{TeamArgs, ask, unexpected};
use crate::admin::{AdminClient, Request, Response};
use crate::base::id::SegmentId;
use crate::contacts::export::Sheet;

/// The name of standard output.
const STDOUT: &str = "-";

#[derive(Subcommand)]
pub(super) enum ExportVerb {
    /// Export contacts as a CSV file that `ringmail import contacts` reads back.
    Contacts(ExportContactsArgs),
}

#[derive(Args)]
pub(super) struct ExportContactsArgs {
    /// The file; - is standard output.
    #[arg(default_value = STDOUT)]
    file: PathBuf,

    /// Export the contacts of the segment with this id alone.
    #[arg(long, value_name = "ID", value_parser = segment)]
    segment: Option<SegmentId>,

    #[command(flatten)]
    team: TeamArgs,
}

/// What an export came to.
#[derive(Serialize)]
struct Report {
    file: String,
    contacts: u64,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses, and a file that cannot be written.
pub(super) async fn run(verb: ExportVerb, output: Output) -> Result<(), Failure> {
    let ExportVerb::Contacts(ExportContactsArgs { file, segment, team: TeamArgs { team, place } }) = verb;
    let is_stdout = file == Path::new(STDOUT);
    if is_stdout && output == Output::Json {
        return Err(Failure::usage("an export is CSV: with --json, name the file it goes to"));
    }
    let mut door = place.open().await?;
    let mut target = Target::open(&file)?;
    let written = write(&mut door, &mut target, team, segment).await;
    door.close().await;
    if written.is_err() {
        target.discard();
    }
    let contacts = written?;
    target.finish()?;
    if !is_stdout {
        match output {
            Output::Json => print_json(&Report { file: file.display().to_string(), contacts })?,
            Output::Text => eprintln!("{} contacts are in {}.", grouped(contacts), file.display()),
        }
    }
    Ok(())
}

async fn write(
    door: &mut AdminClient,
    target: &mut Target,
    team: Option<String>,
    segment: Option<SegmentId>,
) -> Result<u64, Failure> {
    let sheet = match ask(door, Request::ExportBegin { team: team.clone() }).await? {
        Response::Properties(properties) => {
            Sheet::new(properties.data.into_iter().map(|property| property.key).collect())
        }
        other => return Err(unexpected(&other)),
    };
    let mut line = ProgressLine::new();
    let mut count = 0;
    let mut after = None;
    let mut lines = sheet.header();
    loop {
        let page = match ask(door, Request::ExportContacts { team: team.clone(), segment, after }).await? {
            Response::Exported(page) => page,
            other => return Err(unexpected(&other)),
        };
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

/// Where the lines go.
enum Target {
    Stdout,
    /// A file under another name until it is whole, so that nobody takes a half for it.
    File {
        out: BufWriter<File>,
        partial: PathBuf,
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
        let partial = PathBuf::from(partial);
        let refused = |path: &Path, error| Failure::usage(format!("{} cannot be written: {error}", path.display()));
        // It is renamed over this name, which would replace a device as readily as a file.
        private_file::is_file(path).map_err(|error| refused(path, error))?;
        let file = private_file::create(&partial).map_err(|error| refused(&partial, error))?;
        Ok(Self::File { out: BufWriter::new(file), partial, path: path.to_owned() })
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Writes text; `false` when its reader has gone away, as `head` does.
    fn put(&mut self, text: &str) -> Result<bool, Failure> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
                    Err(error) => Err(Failure::failed(format!("standard output could not be written: {error}"))),
                }
            }
            Self::File { out, partial, .. } => {
                out.write_all(text.as_bytes()).map(|()| true).map_err(|error| unwritable(partial, &error))
            }
        }
    }

    /// Removes what was written of a file.
    fn discard(&self) {
        if let Self::File { partial, .. } = self {
            // What cannot be removed is told from a whole file by its name.
            let _ = std::fs::remove_file(partial);
        }
    }

    fn finish(self) -> Result<(), Failure> {
        let Self::File { out, partial, path } = self else { return Ok(()) };
        let whole = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        whole.map_err(|error| unwritable(&partial, &error))?;
        std::fs::rename(&partial, &path).map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} cannot be written: {error}", path.display()))
}
